"""Entities and relations of documents, found by lists, declarations, patterns and forms; no model is needed.

``Extraction`` runs the extractors of a collection one after the other, so that each knows what those before it found,
and keeps what they find within limits.
"""

from __future__ import annotations

import hashlib
import json
import logging
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Final

from pinakes.core.errors import InvalidSetting
from pinakes.core.graph_records import (
    MAX_NAME_CHARS,
    UNTYPED,
    EntityName,
    ExtractionSubject,
    Findings,
    Mention,
    StatedRelation,
    folded,
)
from pinakes.core.ports import Extractor
from pinakes.core.records import Chunk, Document, Metadata
from pinakes.extraction.build_files import BuildFiles
from pinakes.extraction.candidate_names import CandidateNames
from pinakes.extraction.code_graph import CodeGraph
from pinakes.extraction.declared_names import DeclaredNames
from pinakes.extraction.document_links import DocumentLinks
from pinakes.extraction.documented_symbols import DocumentedSymbols
from pinakes.extraction.gazetteer import Gazetteer, Listing, listing, read_list, without_repeats
from pinakes.extraction.listed_relations import ListedRelations
from pinakes.extraction.name_patterns import NamePatterns
from pinakes.extraction.prose_text import prose_of
from pinakes.extraction.stated_relations import StatedRelations
from pinakes.platform import plugins
from pinakes.settings import GraphRules, Settings

MAX_TEXT_CHARS: Final = 2_000_000
"""Of a longer text the beginning is looked at."""

MAX_PLACES: Final = 16
"""So many mentions of one entity are kept of a document, the surest first."""

MAX_CANDIDATE_PLACES: Final = 4
"""The same for a candidate."""

MAX_MENTIONS: Final = 5_000
MAX_RELATIONS: Final = 2_000
_RECIPE_CHARS: Final = 16
_REASON_CHARS: Final = 200

_log = logging.getLogger(__name__)


class Extraction:
    """The extractors of one collection. ``recipe``: changes whenever their findings may change. Thread-safe.

    ``listings``: the curated lists. ``problems``: what was wrong with them, in words. ``plan``: makes it again in
    another process (``planned``); empty where it has extractors of other packages.
    """

    def __init__(self, rules: GraphRules, listings: Iterable[Listing] = (), extra: Sequence[Extractor] = ()) -> None:
        self.rules = rules
        listed = [one for one in listings if one.entity.type in rules.types]
        kind, _, owner = rules.owner.partition(":")
        if owner:
            listed.append(Listing(EntityName(kind, owner)))  # whoever is named in the settings is known
        self.listings, self.problems = without_repeats(listed)
        self._declared = DeclaredNames(rules)
        self._finders: list[Extractor] = [Gazetteer(self.listings, rules.types, rules.not_names), NamePatterns(rules)]
        if rules.candidates:
            self._finders.append(CandidateNames(rules))
        self._finders += extra
        self._relations: list[Extractor] = [StatedRelations(rules), ListedRelations(rules)]
        self._structure: list[Extractor] = [DocumentLinks(rules.link_roots)] if rules.links else []
        self._code: list[Extractor] = []
        if rules.code:
            self._code = [CodeGraph(rules), BuildFiles(rules), DocumentedSymbols(rules)]
        of_prose = self.listings, rules.patterns, rules.candidates, extra, rules.relations, self._structure
        self._reads_prose = any(of_prose)
        every = (self._declared, *self._finders, *self._relations, *self._structure, *self._code)
        prints = [*(one.fingerprint for one in every), f"derived:1 {rules.co_occurs} {rules.topics}"]
        self.recipe = hashlib.sha256("\n".join(prints).encode(errors="replace")).hexdigest()[:_RECIPE_CHARS]
        self.plan = b"" if extra else _plan(rules, self.listings)

    def extract(
        self,
        path: str,
        title: str,
        document: Document,
        metadata: Metadata,
        chunks: Sequence[Chunk] = (),
        of_text: Findings | None = None,
    ) -> Findings:
        """Return what a document says of the graph, within the limits of this module. Linear time.

        ``of_text``: what ``in_text`` found, if that is known.
        """
        if of_text is None or of_text.recipe != self.recipe:
            of_text = self.in_text(path, title, document, metadata, chunks)
        problems = list(of_text.problems)
        declared = _tried(self._declared, ExtractionSubject(path, title, document, metadata, ""), problems)
        if not (declared.mentions or declared.relations):
            return replace(of_text, problems=tuple(problems))
        declared = self._within_limits(declared.mentions, declared.relations, of_text.left_out, problems)
        return replace(
            declared,
            mentions=[*declared.mentions, *of_text.mentions],
            relations=[*declared.relations, *of_text.relations],
        )

    def in_text(
        self, path: str, title: str, document: Document, metadata: Metadata, chunks: Sequence[Chunk] = ()
    ) -> Findings:
        """Return what a text says, without what its document declares; ``metadata`` is for extractors of others.

        An extractor that fails is named in ``problems`` of the findings; what the others find stays.
        """
        if len(document.text) > MAX_TEXT_CHARS:
            document = Document(document.text[:MAX_TEXT_CHARS], kind=document.kind, language=document.language)
        problems: list[str] = []
        of_code = self._of_code(ExtractionSubject(path, title, document, metadata, "", (), chunks), problems)
        if not self._reads_prose:
            return replace(of_code, recipe=self.recipe, problems=tuple(problems))
        prose, links = prose_of(document.text)
        subject = ExtractionSubject(path, title, document, metadata, prose, links, chunks)
        mentions: list[Mention] = []
        relations: list[StatedRelation] = []
        for finder in self._finders:
            found = _tried(finder, subject, problems)
            mentions += found.mentions
            relations += found.relations
            named = in_order(one for one in mentions if _is_name(one.entity))
            subject = ExtractionSubject(path, title, document, metadata, prose, links, chunks, named)
        for relating in self._relations:
            relations += _tried(relating, subject, problems).relations
        for one in self._structure:
            found = _tried(one, subject, problems)
            mentions += found.mentions
            relations += found.relations
        found = self._within_limits(mentions, relations, of_code.left_out, problems)
        return replace(
            found,
            mentions=[*found.mentions, *of_code.mentions],
            relations=[*found.relations, *of_code.relations],
        )

    def _of_code(self, subject: ExtractionSubject, problems: list[str]) -> Findings:
        """Return what the extractors of code find; each has limits of its own."""
        found = [_tried(one, subject, problems) for one in self._code]
        problems += [f"not all of the graph: {problem}" for one in found for problem in one.problems]
        mentions = [one for each in found for one in each.mentions]
        relations = [one for each in found for one in each.relations]
        most = MAX_NAME_CHARS
        named = [one for one in mentions if len(one.entity.name) <= most]
        kept = [one for one in relations if len(one.source.name) <= most and len(one.target.name) <= most]
        dropped = len(mentions) - len(named) + len(relations) - len(kept)
        return Findings(named, kept, left_out=dropped + sum(one.left_out for one in found))

    def _within_limits(
        self, mentions: Sequence[Mention], relations: Sequence[StatedRelation], left_out: int, problems: Sequence[str]
    ) -> Findings:
        kept = _limited([one for one in mentions if _is_name(one.entity)])
        left_out += len(mentions) - len(kept) + max(0, len(relations) - MAX_RELATIONS)
        return Findings(kept, relations[:MAX_RELATIONS], self.recipe, left_out, tuple(problems))


@lru_cache(maxsize=4)
def planned(plan: bytes) -> Extraction:
    """Return the extraction of a ``plan``, in another process."""
    held = json.loads(plan)
    listings = [Listing(EntityName(kind, name), tuple(aliases)) for kind, name, aliases in held["listings"]]
    return Extraction(GraphRules.model_validate(held["rules"]), listings)


def _plan(rules: GraphRules, listings: Sequence[Listing]) -> bytes:
    listed = [(one.entity.type, one.entity.name, list(one.aliases)) for one in listings]
    return json.dumps({"rules": rules.model_dump(mode="json"), "listings": listed}).encode()


def extraction_of(settings: Settings, collection: str, rules: GraphRules) -> Extraction | None:
    """Return the extraction of a collection, None where its settings name no types of entities.

    Raises:
        InvalidSetting: a list cannot be read, or an extractor is unknown.
        PluginBroken: an extractor of another package cannot be used.
    """
    if not rules.types:
        return None
    listings = [
        _entry(one.type, one.name, list(one.aliases)) for one in settings.entities if one.collection in ("", collection)
    ]
    for kind, one_type in rules.types.items():
        listings += [_entry(kind, name, list(aliases)) for name, aliases in one_type.names.items()]
    for place in rules.lists:
        path = Path(place).expanduser()
        listings += read_list(path if path.is_absolute() else settings.home / path)
    extra = [plugins.build("extractors", {}, name, lambda kind: kind.open(rules)) for name in rules.extractors]
    return Extraction(rules, listings, extra)


def _tried(extractor: Extractor, subject: ExtractionSubject, problems: list[str]) -> Findings:
    """Return what an extractor finds; one that fails finds nothing, and ``problems`` has the reason."""
    try:
        return extractor.extract(subject)
    except MemoryError:
        raise
    except Exception as error:  # noqa: BLE001 - of another package, too; told for its document
        _log.warning("extractor %s failed for %s", type(extractor).__name__, subject.path, exc_info=True)
        reason = " ".join(str(error).split())[:_REASON_CHARS]
        problems.append(f"not all of the graph: {type(extractor).__name__}: {type(error).__name__}: {reason}")
        return Findings()


def _is_name(entity: EntityName) -> bool:
    return 0 < len(entity.name) <= MAX_NAME_CHARS and bool(folded(entity.name))


def in_order(mentions: Iterable[Mention]) -> list[Mention]:
    """Return the mentions in the text by place, typed ones before candidates, the longest of those that overlap.

    Mentions of one place may differ in type: all of them stay.
    """
    ranked = sorted(
        (one for one in mentions if one.is_in_text),
        key=lambda one: (one.start, one.entity.type == UNTYPED, -one.end, -one.confidence),
    )
    kept: list[Mention] = []
    for one in ranked:
        last = kept[-1] if kept else None
        if last is None or one.start >= last.end or _is_another_type(last, one):
            kept.append(one)
    return kept


def _is_another_type(last: Mention, one: Mention) -> bool:
    same_place = (last.start, last.end) == (one.start, one.end)
    return same_place and one.entity.type not in (UNTYPED, last.entity.type)


def _limited(mentions: Sequence[Mention]) -> list[Mention]:
    """Return at most ``MAX_PLACES`` mentions of each entity, the surest and then the first, by place."""
    counts: Counter[tuple[str, str]] = Counter()
    kept: list[Mention] = []
    for one in sorted(mentions, key=lambda one: (-one.confidence, one.start)):
        key = one.entity.key
        most = MAX_PLACES if one.entity.type != UNTYPED else MAX_CANDIDATE_PLACES
        if counts[key] < most and len(kept) < MAX_MENTIONS:
            counts[key] += 1
            kept.append(one)
    return sorted(kept, key=lambda one: (one.start, one.end, one.entity))


def _entry(kind: str, name: str, aliases: list[str]) -> Listing:
    try:
        return listing(kind, name, aliases)
    except ValueError as error:
        raise InvalidSetting(f"entities: {error}.") from error


__all__ = ["Extraction", "Listing", "extraction_of", "in_order", "planned"]
