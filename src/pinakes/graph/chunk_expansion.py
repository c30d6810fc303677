"""Chunks that the graph adds to a search, reached from the entities of its question and from those of its hits."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Final

from pinakes.catalog import Connection, graph_lookups, tied_documents
from pinakes.catalog.graph_lookups import Hop, Statement
from pinakes.core.graph_paths import Expansion, PathStep
from pinakes.graph.document_ties import FURTHER, GraphPath, by_entities, by_relations
from pinakes.graph.expansion_seeds import Seeds
from pinakes.graph.relation_memory import RelationMemory
from pinakes.graph.traversal import ReachedEntity, entities_within

_CHUNKS_OF_ENTITY: Final = 8
"""So many mentions of each entity are looked at."""

_MENTION_WEIGHT: Final = 0.8
"""Weight of a chunk that mentions an entity, beside 1 of one that states its relation."""

MOST_TIED: Final = 60
"""So many documents are looked at, those with the strongest ties first."""

MOST_CHUNKS_EACH: Final = 100
"""So many chunks of each are looked at, the first ones."""


@dataclass(frozen=True, slots=True)
class ReachedChunks:
    """The chunks that the graph adds, by id.

    ``of_hits``: chunk id → document, of the hits. ``names``: entity → name and type, of all paths. ``stated``: relation
    → its place, of chunks that are to be shown; see ``metadata_evidence.with_statements``. ``out_of_time``: the second
    hop was not followed.
    """

    by_id: Mapping[int, GraphPath] = field(default_factory=dict)
    of_hits: Mapping[int, int] = field(default_factory=dict)
    names: Mapping[int, tuple[str, str]] = field(default_factory=dict)
    stated: Mapping[int, Statement] = field(default_factory=dict)
    out_of_time: bool = False

    def path(self, chunk_id: int, offsets: Mapping[str, Mapping[int, int]]) -> tuple[PathStep, ...]:
        """Return how a chunk is reached. ``offsets``: group → document id → chunks before its first one."""
        one = self.by_id[chunk_id]
        steps = tuple(self._step(hop, offsets) for hop in one.end.path)
        return steps if one.origin is None else (one.origin, *steps)

    def weight_of(self, chunk_id: int) -> float:
        """Return the weight of a chunk, 0 if the graph does not reach it."""
        one = self.by_id.get(chunk_id)
        return 0.0 if one is None else one.weight

    def _step(self, hop: Hop, offsets: Mapping[str, Mapping[int, int]]) -> PathStep:
        source, target, place = self.names[hop.source_id], self.names[hop.target_id], self.stated.get(hop.statement)
        chunk_id = ""
        if place is not None and place.ordinal is not None:
            before = offsets.get(place.group_key, {}).get(place.document_id, 0)
            chunk_id = f"{place.group_key or place.uid}_{before + place.ordinal}"
        path, text = ("", "") if place is None else (place.path, place.text)
        return PathStep(*source, hop.type, *target, round(hop.confidence, 3), chunk_id, path, text)


def expand(
    connection: Connection,
    memory: RelationMemory,
    seeds: Seeds,
    expansion: Expansion,
    has_time: Callable[[], bool] = lambda: True,
    until: str = "",
) -> ReachedChunks:
    """Return the chunks within the hops of ``expansion`` around ``seeds``, of ``MOST_TIED`` documents at most.

    From the question: chunks that state a relation, or mention the entity at its other end. From hits: all chunks of
    the other documents that are tied to them. ``has_time`` is asked before the second hop. ``until``: only by what
    documents say that did not change since that time.
    """
    hops_of = partial(
        memory.hops,
        connection,
        types=expansion.relations,
        direction=expansion.direction or "both",
        min_confidence=expansion.min_confidence or 0.0,
        until=until,
    )
    hops, excluded, time_left = expansion.hops or 0, seeds.excluded, _TimeLeft(has_time)
    found = entities_within(hops_of, seeds.named, hops, excluded, time_left)
    tied = by_relations(connection, memory, seeds, hops_of, hops, time_left, until)
    shared = {one.entity_id: one for one in seeds.shared if one.entity_id not in seeds.named}
    from_hits = [(ReachedEntity(one.entity_id, (), one.weight), one.step) for one in shared.values()]
    if hops > 1 and shared and time_left():
        weights = {one.entity_id: one.weight * FURTHER for one in shared.values()}
        for far in entities_within(hops_of, weights, 1, {*excluded, *seeds.named}):
            first = far.path[0]
            from_hits.append((far, shared[first.source_id if first.source_id in shared else first.target_id].step))
    tied += by_entities(connection, memory, from_hits, until)
    paths = [one.path for one in found] + [one.end.path for one in tied]
    names = memory.names_of(connection, {end for path in paths for hop in path for end in _ends(hop)})
    found = [one for one in found if _is_named(one, names)]
    of_hits = {document for document, _ in seeds.places}
    tied = [one for one in tied if one.document_id not in of_hits and _is_named(one.end, names)]
    stated = graph_lookups.statements(connection, [one.path[-1].statement for one in found])
    of_question = _of_question(connection, found, stated, until)
    if not expansion.is_narrow:
        of_question = [(chunk, one) for chunk, one in of_question if one.document_id not in of_hits]
    strongest = _strongest_documents([*(one for _, one in of_question), *tied])
    reached: dict[int, GraphPath] = {}
    for chunk, one in of_question:
        if one.document_id in strongest:
            _keep_better(reached, chunk, one)
    tied = [tie for tie in sorted(tied, key=lambda tie: tie.weight) if tie.document_id in strongest]
    whole = {tie.document_id: tie for tie in tied}
    for chunk, document in tied_documents.chunks_of(connection, whole, MOST_CHUNKS_EACH):
        _keep_better(reached, chunk, whole[document])
    chunks_of_hits = tied_documents.chunks_at(connection, seeds.places)
    return ReachedChunks(reached, chunks_of_hits, names, out_of_time=time_left.was_refused)


def _ends(hop: Hop) -> set[int]:
    return {hop.source_id, hop.target_id}


def _is_named(end: ReachedEntity, names: Mapping[int, object]) -> bool:
    """Return whether all entities of a path have names; those that are gone have none."""
    return all(hop.source_id in names and hop.target_id in names for hop in end.path)


def _strongest_documents(paths: Iterable[GraphPath]) -> set[int]:
    """Return the documents with the largest weights."""
    best: dict[int, float] = {}
    for path in paths:
        best[path.document_id] = max(path.weight, best.get(path.document_id, 0.0))
    return set(sorted(best, key=lambda one: (-best[one], one))[:MOST_TIED])


def _of_question(
    connection: Connection, found: Sequence[ReachedEntity], stated: Mapping[int, Statement], until: str
) -> list[tuple[int, GraphPath]]:
    """Return (chunk id, how it is reached) of the chunks that state the last relation of a path, or mention its end."""
    chunks = list[tuple[int, GraphPath]]()
    by_entity = {one.entity_id: one for one in found}
    for end in found:
        place = stated.get(end.path[-1].statement)
        if place is not None and place.chunk_id is not None:
            chunks.append((place.chunk_id, GraphPath(place.document_id, end, end.confidence)))
    for each in graph_lookups.mentioning(connection, by_entity, _CHUNKS_OF_ENTITY, until) if found else ():
        end = by_entity[each.entity_id]
        weight = _MENTION_WEIGHT * end.confidence * each.confidence
        chunks.append((each.chunk_id, GraphPath(each.document_id, end, weight)))
    return chunks


def _keep_better(reached: dict[int, GraphPath], chunk: int, one: GraphPath) -> None:
    """Keep the better path to a chunk, one from the question before one from a hit, with the weight of the stronger."""
    known = reached.setdefault(chunk, one)
    if known is not one:
        better = max(known, one, key=lambda each: (not each.from_hit, each.weight, -len(each.end.path)))
        reached[chunk] = better._replace(weight=max(known.weight, one.weight))


class _TimeLeft:
    """Asks whether there is time, and remembers that there was none."""

    def __init__(self, ask: Callable[[], bool]) -> None:
        self._ask, self.was_refused = ask, False

    def __call__(self) -> bool:
        self.was_refused = self.was_refused or not self._ask()
        return not self.was_refused
