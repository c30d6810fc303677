"""Statements of earlier versions of documents, extracted on demand from the versions that are kept."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, cast

from pinakes.catalog import Connection, entities, history
from pinakes.catalog.history import State
from pinakes.catalog.stated_edges import CONTEXT_BEFORE, CONTEXT_CHARS, Evidence
from pinakes.core.graph_records import Findings, Mention, StatedRelation
from pinakes.core.records import Document, DocumentKind
from pinakes.extraction import Extraction
from pinakes.graph.following import ends_of
from pinakes.graph.metadata_evidence import with_words
from pinakes.settings import GraphRules

MOST_VERSIONS: Final = 1_000
"""Earlier versions of so many documents are extracted for one time."""

MOST_CHARS: Final = 20_000_000
"""So many characters of earlier versions are extracted for one time."""

_WORDS: Final = 500


@dataclass(frozen=True, slots=True)
class PastStatement:
    """A relation between canonical entities, and the place of an earlier version that states it."""

    source_id: int
    type: str
    target_id: int
    place: Evidence


@dataclass(frozen=True, slots=True)
class PastGraph:
    """What documents said at a time that are another version by now, or gone.

    ``mentions``: canonical id → places. ``versions``: how many were extracted; ``unread`` were over the limits, of
    ``lost`` documents it is not kept what they were.
    """

    mentions: dict[int, list[Evidence]]
    statements: Sequence[PastStatement]
    versions: int
    unread: int
    lost: int


def past_graph(connection: Connection, collection_id: int, extraction: Extraction, at: str) -> PastGraph:
    """Return what earlier versions said at the time ``at``, written as the catalogue writes times.

    Names mean what they mean now: merges and types are those of the present graph.
    """
    there = sorted(history.numbers_at(connection, collection_id, at).items())
    found: list[tuple[State, Findings]] = []
    chars = 0
    for uid, number in there[:MOST_VERSIONS]:
        state = history.state(connection, collection_id, uid, number)
        if state is not None and chars + len(state.text) <= MOST_CHARS:
            chars += len(state.text)
            document = Document(state.text, state.title, cast("DocumentKind", state.kind), state.language)
            found.append((state, extraction.extract(state.path, state.title, document, state.metadata)))
    named = {one.key for _, findings in found for one in findings.entities()}
    ids = entities.canonical_of(connection, collection_id, named)
    types = {number: one.type for number, one in entities.of_ids(connection, ids.values()).items()}
    mentions: dict[int, list[Evidence]] = {}
    for state, findings in found:
        for one in findings.mentions:
            if one.entity.key in ids:
                mentions.setdefault(ids[one.entity.key], []).append(_place(state, one))
    ends = ends_of(extraction.rules)
    statements = [
        one
        for state, findings in found
        for one in _statements(state, findings, ids, extraction.rules)
        if _fits(one, types, ends)
    ]
    lost = history.lost_at(connection, collection_id, at)
    return PastGraph(mentions, statements, len(found), len(there) - len(found), lost)


def _statements(
    state: State, findings: Findings, ids: dict[tuple[str, str], int], rules: GraphRules
) -> Iterator[PastStatement]:
    for one in findings.relations:
        source, target = ids.get(one.source.key), ids.get(one.target.key)
        if source is not None and target is not None and source != target:
            place = with_words(_place(state, one), rules, state.metadata, (one.source.name, one.target.name))
            yield PastStatement(source, one.type, target, place)


def _fits(one: PastStatement, types: dict[int, str], ends: dict[str, tuple[set[str], set[str]]]) -> bool:
    source, target = types.get(one.source_id, ""), types.get(one.target_id, "")
    sources, targets = ends.get(one.type, (set[str](), set[str]()))
    return bool(source and target) and (not sources or source in sources) and (not targets or target in targets)


def _place(state: State, one: Mention | StatedRelation) -> Evidence:
    before = max(one.start - CONTEXT_BEFORE, 0)
    words = state.text[one.start : min(one.end, one.start + _WORDS)]
    context = state.text[before : before + CONTEXT_CHARS]
    return Evidence(
        *(0, state.uid, state.path, state.title, one.start, one.end, None),
        *(words, context, one.confidence, one.extractor),
    )
