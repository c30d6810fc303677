"""Boosts: score adjustments for names in paths, kinds of code, metadata, entities, and documents with many chunks.

Each signal is a share of the score; the shares add up, and the score is multiplied by 1 + their sum. So a signal has
the same effect under every fusion. Constants: ``benchmarks/quality/signals.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, date, datetime
from functools import cache, partial

import numpy as np

from pinakes.core.filters import normal_name, normal_text
from pinakes.core.graph_records import TOPIC
from pinakes.core.ports import lexicon_of
from pinakes.core.records import Float32, Int64
from pinakes.search.query.understanding import ParsedRequest
from pinakes.search.ranking.context import SearchContext
from pinakes.search.retrieval.candidates import Candidates
from pinakes.search.retrieval.scoring import ScoreAdjustments
from pinakes.search.statistics.document_features import DocumentFeatures, is_one_of
from pinakes.search.statistics.name_terms import name_terms, query_terms_in_order, terms_in_order
from pinakes.settings import BoostRule, BoostSettings

_NAMES = {
    "test": ("test", "tests", "testing", "testdata", "selftest", "selftests", "fixtures", "e2e"),
    "generated": ("generated", "autogen", "zz", "pb", "pb2"),
    "vendored": ("vendor", "vendored", "third_party", "thirdparty", "node_modules"),
    "legacy": ("legacy", "deprecated", "obsolete", "attic"),
    "example": ("example", "examples", "sample", "samples", "demo", "demos"),
}
"""Kinds of code: names of their folders, and first or last words of their file names."""


def boosted(asked: ParsedRequest, found: Candidates, context: SearchContext) -> Candidates:
    """Return ``found`` with score adjustments; unchanged if no signal is enabled.

    Only the mode "hybrid" has boosts; the other modes show the order of one retriever.
    """
    query, settings = asked.text, context.settings.boosts
    rules = context.settings.of_collection(context.collection.name, context.collection.kept).boosts
    if not len(found.ids) or asked.request.mode != "hybrid":
        return found
    signals = _structural(query, settings)
    if not (signals or rules or settings.symbol_definition):
        adjustments = ScoreAdjustments(saturation=settings.saturation)
        return replace(found, adjustments=adjustments) if settings.saturation else found
    with context.tracer.stage("boost") as detail:
        shares = dict(_definitions(query, found, settings))
        if signals or rules:
            shares |= _by_document(query, found, signals, rules, context)
        detail |= {name: int(np.count_nonzero(share)) for name, share in shares.items() if share.any()}
    total = np.sum(list(shares.values()), axis=0) if shares else np.zeros(len(found.ids))
    factors = np.maximum(1 + total, 0).astype(np.float32)
    return replace(found, adjustments=ScoreAdjustments(factors, shares, settings.saturation))


def fields_of(rules: Sequence[BoostRule]) -> tuple[str, ...]:
    """Return the normalised names of the metadata fields that ``rules`` use."""
    return tuple(dict.fromkeys(normal_name(rule.field) for rule in rules if rule.field))


_Signal = Callable[[Sequence[DocumentFeatures]], Iterable[float]]


def _by_document(
    query: str, found: Candidates, signals: Mapping[str, _Signal], rules: Sequence[BoostRule], context: SearchContext
) -> dict[str, Float32]:
    """Return signal → share for each candidate, float32 (n,); only those of entities differ within a document."""
    owners, owner_of = np.unique(found.documents, return_inverse=True)
    facts = context.statistics.features.features_of(
        context.catalog.read_each, context.collection, owners.tolist(), fields_of(rules)
    )
    shares = {name: np.fromiter(signal(facts), np.float32, len(facts)) for name, signal in signals.items()}
    by_rule = [(name, share[owner_of]) for name, share in _by_rules(query, rules, facts)]
    by_rule += _by_entities(query, found.ids, rules, context)
    capped = _capped(by_rule, context.settings.boosts.metadata_most)
    return _joined([*((name, share[owner_of]) for name, share in shares.items()), *capped])


def _by_entities(
    query: str, chunks: Int64, rules: Sequence[BoostRule], context: SearchContext
) -> Iterator[tuple[str, Float32]]:
    """Yield (rule, share of each of ``chunks``) for those that name an entity of the query."""
    some = [rule for rule in rules if rule.when == "entity" and rule.weight]
    if not some or context.graph is None:
        return
    lexicon = lexicon_of(context.index)
    links = context.graph.links(query, lexicon.has if lexicon else lambda _: False)
    if any(TOPIC in rule.types for rule in some):
        links = [*links, *context.graph.topics(query)]
    ids = chunks.tolist()
    types = context.graph.naming(links, ids)
    for rule in some:
        fits = (bool(types.get(one, set()).intersection(rule.types or types.get(one, ()))) for one in ids)
        share = np.fromiter(fits, np.float32, len(ids)) * np.float32(rule.weight)
        if share.any():
            yield rule.name or "entity", share


def _joined(shares: Iterable[tuple[str, Float32]]) -> dict[str, Float32]:
    """Return name → share; the shares of equal names are summed."""
    found: dict[str, Float32] = {}
    for name, share in shares:
        found[name] = found[name] + share if name in found else share
    return found


def _structural(query: str, settings: BoostSettings) -> dict[str, _Signal]:
    """Return name → signal for those that are enabled and apply to ``query``."""
    signals: dict[str, _Signal] = {}
    penalties = {kind: float(getattr(settings, f"{kind}_penalty")) for kind in _NAMES}
    if not (settings.stem_match or settings.path_match or any(penalties.values())):
        return signals
    words = name_terms(query)
    if settings.stem_match and words:
        signals["file name"] = partial(_stem, words, settings.stem_match)
    if settings.path_match and words:
        signals["path"] = partial(_path, words, settings.path_match)
    for kind, penalty in penalties.items():
        if penalty and not any(one <= words for one in _named_by(kind)):
            signals[kind] = partial(_penalty, frozenset(_NAMES[kind]), penalty)
    return signals


def _stem(words: frozenset[str], weight: float, facts: Sequence[DocumentFeatures]) -> Iterable[float]:
    stems = [one.path.stem for one in facts]
    return [weight * len(stem & words) / len(stem) if stem else 0.0 for stem in stems]


def _path(words: frozenset[str], weight: float, facts: Sequence[DocumentFeatures]) -> Iterable[float]:
    return [weight * len(one.path.words & words) / len(words) for one in facts]


def _penalty(names: frozenset[str], penalty: float, facts: Sequence[DocumentFeatures]) -> Iterable[float]:
    return [-penalty if is_one_of(one.path, names) else 0.0 for one in facts]


@cache
def _named_by(kind: str) -> tuple[frozenset[str], ...]:
    """Return the words of each name of a kind of code; a query with all words of one asks for that kind."""
    return tuple(filter(None, map(name_terms, _NAMES[kind])))


def _definitions(query: str, found: Candidates, settings: BoostSettings) -> Iterator[tuple[str, Float32]]:
    if not settings.symbol_definition or found.evidence is None:
        return
    from pinakes.search.query.routing import looks_like_symbol

    if looks_like_symbol(query) is not None:
        yield "definition", np.where(found.evidence.definitions > 0, settings.symbol_definition, 0).astype(np.float32)


def _by_rules(
    query: str, rules: Sequence[BoostRule], facts: Sequence[DocumentFeatures]
) -> Iterator[tuple[str, Float32]]:
    text, today = query_terms_in_order(query) if rules else "", datetime.now(UTC).date()
    for rule in rules:
        if rule.when == "entity":
            continue
        held = [one.values.get(normal_name(rule.field), ()) for one in facts]
        fits = partial(_named, text, _aliases(rule)) if rule.when == "named" else partial(_recent, today, rule)
        fitting = {value: share for value in set[str]().union(*held) if (share := fits(value))}
        if fitting and rule.weight:
            shares = (max((fitting.get(value, 0.0) for value in values), default=0.0) for values in held)
            yield rule.name or rule.field, np.fromiter(shares, np.float32, len(held)) * np.float32(rule.weight)


def _named(text: str, aliases: Mapping[str, Sequence[str]], value: str) -> float:
    return float(any(len(name) > 2 and name in text for name in map(terms_in_order, (value, *aliases.get(value, ())))))


def _aliases(rule: BoostRule) -> dict[str, tuple[str, ...]]:
    return {normal_text(value): names for value, names in rule.aliases.items()}


def _recent(today: date, rule: BoostRule, value: str) -> float:
    day = _day(value)
    if day is None:
        return 0.0
    age = (today - day).days
    if age < rule.full_days:
        return 1.0
    return rule.later_share if age <= rule.later_days else 0.0


def _day(value: str) -> date | None:
    """Return the day of a date or time, for a month or a year its first day; None if ``value`` is neither."""
    year, month, day, *_ = [*value[:10].split("-"), "1", "1"]
    try:
        return date(int(year), int(month), int(day)) if len(year) == 4 else None
    except ValueError:
        return None


def _capped(shares: Sequence[tuple[str, Float32]], most: float) -> Sequence[tuple[str, Float32]]:
    """Return ``shares``, scaled down where their sum exceeds ``most``."""
    if not shares:
        return shares
    total = np.sum([share for _, share in shares], axis=0)
    fits = (np.minimum(total, most) / np.where(total > 0, total, 1)).astype(np.float32)
    return [(name, share * fits) for name, share in shares]
