"""Boosts: score adjustments for tests, metadata, entities, and documents with many chunks.

Each signal is a share of the score; the shares add up, and the score is multiplied by 1 + their sum. So a signal has
the same effect under every fusion. Constants: ``benchmarks/quality/signals.py``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
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
from pinakes.search.statistics.document_features import TEST_NAMES, DocumentFeatures
from pinakes.search.statistics.name_terms import name_terms, query_terms_in_order, terms_in_order
from pinakes.settings import BoostRule


def boosted(asked: ParsedRequest, found: Candidates, context: SearchContext) -> Candidates:
    """Return ``found`` with score adjustments; unchanged if no signal is enabled.

    Only the mode "hybrid" has boosts; the other modes show the order of one retriever.
    """
    query, settings = asked.text, context.settings.boosts
    rules = context.settings.of_collection(context.collection.name, context.collection.kept).boosts
    if not len(found.ids) or asked.request.mode != "hybrid":
        return found
    test_penalty = 0.0 if _asks_for_tests(query) else settings.test_penalty
    if not (test_penalty or rules):
        adjustments = ScoreAdjustments(saturation=settings.saturation)
        return replace(found, adjustments=adjustments) if settings.saturation else found
    with context.tracer.stage("boost") as detail:
        shares = _by_document(query, found, test_penalty, rules, context)
        detail |= {name: int(np.count_nonzero(share)) for name, share in shares.items() if share.any()}
    total = np.sum(list(shares.values()), axis=0) if shares else np.zeros(len(found.ids))
    factors = np.maximum(1 + total, 0).astype(np.float32)
    return replace(found, adjustments=ScoreAdjustments(factors, shares, settings.saturation))


def fields_of(rules: Sequence[BoostRule]) -> tuple[str, ...]:
    """Return the normalised names of the metadata fields that ``rules`` use."""
    return tuple(dict.fromkeys(normal_name(rule.field) for rule in rules if rule.field))


def _by_document(
    query: str, found: Candidates, test_penalty: float, rules: Sequence[BoostRule], context: SearchContext
) -> dict[str, Float32]:
    """Return signal → share for each candidate, float32 (n,); only those of entities differ within a document."""
    owners, owner_of = np.unique(found.documents, return_inverse=True)
    facts = context.statistics.features.features_of(
        context.catalog.read_each, context.collection, owners.tolist(), fields_of(rules)
    )
    tests = (-test_penalty if one.is_test else 0.0 for one in facts)
    penalties = [("test", np.fromiter(tests, np.float32, len(facts))[owner_of])] if test_penalty else []
    by_rule = [(name, share[owner_of]) for name, share in _by_rules(query, rules, facts)]
    by_rule += _by_entities(query, found.ids, rules, context)
    capped = _capped(by_rule, context.settings.boosts.metadata_most)
    return _joined([*penalties, *capped])


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


def _asks_for_tests(query: str) -> bool:
    """Return whether a query has all words of one of the names of tests."""
    words = name_terms(query)
    return any(name <= words for name in _terms_of_test_names())


@cache
def _terms_of_test_names() -> tuple[frozenset[str], ...]:
    return tuple(filter(None, map(name_terms, TEST_NAMES)))


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
