"""An entity as of a time: the documents that mentioned it, and its relations."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Final

from pinakes.app import App
from pinakes.catalog import graph_state, stated_edges
from pinakes.catalog.collections import CollectionRecord
from pinakes.catalog.stated_edges import Edge, Evidence
from pinakes.core.graph_records import WEAK
from pinakes.core.lru_cache import LruCache
from pinakes.core.wording import counted
from pinakes.graph.past_statements import PastGraph, PastStatement, past_graph
from pinakes.search.as_of import in_words

_REMEMBERED: Final = 2
_MOST_STATEMENTS: Final = 5_000
_MOST_MENTIONS: Final = 5_000
NAMES_OF_NOW: Final = "names, merges and types of entities are those of now"


@dataclass(frozen=True, slots=True)
class EntityAsOf:
    """What documents said of an entity at a time: relations with the places that state each, and mentions."""

    relations: Sequence[tuple[Edge, Sequence[Evidence]]]
    mentions: Sequence[Evidence]
    documents: int
    notes: Sequence[str]


class GraphAsOf:
    """Answers for times. Remembers what it extracted for the last few. Thread-safe."""

    def __init__(self, app: App) -> None:
        self._app = app
        self._known = LruCache[tuple[int, int, str, str, str], PastGraph](_REMEMBERED)

    def entity(
        self, record: CollectionRecord, entity_id: int, at: str, meant: Sequence[tuple[Collection[str], str]]
    ) -> EntityAsOf:
        """Return what documents said of a canonical entity at the time ``at``, as the catalogue writes times.

        ``meant``: types of relations and the direction to follow each in, as ``RelationNames.meant`` returns them.
        """
        past = self._past(record, at)
        with self._app.catalog.read() as connection:
            rows = stated_edges.statements_until(connection, entity_id, at, _MOST_STATEMENTS)
            mentions = stated_edges.mentions_until(connection, entity_id, at, _MOST_MENTIONS)
        stated = [PastStatement(*row) for row in rows]
        stated += [one for one in past.statements if entity_id in (one.source_id, one.target_id)]
        places: dict[tuple[int, str, int], list[Evidence]] = {}
        for one in stated:
            if any(_follows(one, entity_id, types, direction) for types, direction in meant):
                places.setdefault((one.source_id, one.type, one.target_id), []).append(one.place)
        edges = [(Edge(*key, max(one.confidence for one in found), len(found)), found) for key, found in places.items()]
        edges.sort(key=lambda one: (-one[0].confidence, -one[0].statements, one[0].type, one[0].source_id))
        mentions += past.mentions.get(entity_id, ())
        notes = _notes(past, in_words(at, record.created_at))
        return EntityAsOf(edges, mentions, len({one.uid for one in mentions}), notes)

    def _past(self, record: CollectionRecord, at: str) -> PastGraph:
        extraction = self._app.graphs.of(record).extraction
        if extraction is None:
            return PastGraph({}, (), 0, 0, 0)
        with self._app.catalog.read() as connection:
            state = graph_state.state(connection, record.id)
        key = record.id, record.written, extraction.recipe, state.computed_at, at

        def extracted() -> PastGraph:
            with self._app.catalog.read() as connection:
                return past_graph(connection, record.id, extraction, at)

        return self._known.get_or_make(key, extracted)


def _follows(one: PastStatement, entity_id: int, types: Collection[str], direction: str) -> bool:
    ends = {"out": [one.source_id], "in": [one.target_id]}.get(direction, [one.source_id, one.target_id])
    return entity_id in ends and (one.type in types if types else one.type not in WEAK)


def _notes(past: PastGraph, time_in_words: str) -> list[str]:
    notes = [f"{time_in_words}: mentions and stated relations, {counted(past.versions, 'earlier version')} extracted"]
    notes.append(NAMES_OF_NOW)
    if past.unread:
        notes.append(f"{counted(past.unread, 'earlier version')} over the limits were not extracted")
    if past.lost:
        notes.append(f"of {counted(past.lost, 'document')} it is not kept what they were (history.days)")
    return notes
