"""Chunks that the graph leads to, from the entities of a question and from those of the hits that a search found."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Final

from pinakes.catalog import Connection, graph_lookups
from pinakes.catalog.chunk_mentions import PlacedMention
from pinakes.catalog.graph_lookups import Hop, Statement
from pinakes.core.graph_paths import Expansion, PathStep
from pinakes.core.graph_records import DOCUMENT
from pinakes.graph.hops import Reached, reached

_CHUNKS_OF_ENTITY: Final = 8
"""So many mentions of each entity are looked at."""

_CHUNKS_OF_SHARED: Final = 50
_MOST_SHARED: Final = 12
_LEAST_SHARED: Final = 0.1
"""From so many entities of the hits it goes on, the strongest first, and from none that has less of that weight."""

_LEAST_RARITY: Final = 0.4
"""Entities that many documents name (of 900 more than 60) tie nothing together, and take the longest."""

_MENTIONS: Final = 0.8
"""Weight of a chunk that mentions an entity, beside 1 of one that states its relation."""

MENTIONS: Final = "MENTIONS"


@dataclass(frozen=True, slots=True)
class SharedEntity:
    """An entity that a hit names: ``weight`` 0 to 1; ``step``: which hit, where."""

    entity_id: int
    weight: float
    step: PathStep


@dataclass(frozen=True, slots=True)
class Lead:
    """A chunk that the graph leads to. ``weight``: 0 to 1; ``origin``: the hit it goes on from, None = the question."""

    chunk_id: int
    document_id: int
    way: Reached
    weight: float
    origin: PathStep | None = None


@dataclass(frozen=True, slots=True)
class Leads:
    """Chunk id → how the graph leads there; what paths are told by; whether time ran out before the second hop."""

    of_chunks: Mapping[int, Lead] = field(default_factory=dict)
    names: Mapping[int, tuple[str, str]] = field(default_factory=dict)
    stated: Mapping[int, Statement] = field(default_factory=dict)
    cut: bool = False

    def path(self, chunk_id: int, offsets: Mapping[str, Mapping[int, int]]) -> tuple[PathStep, ...]:
        """Return how a chunk is reached. ``offsets``: group → document id → chunks before its first one."""
        lead = self.of_chunks[chunk_id]
        steps = tuple(self._step(hop, offsets) for hop in lead.way.path)
        return steps if lead.origin is None else (lead.origin, *steps)

    def _step(self, hop: Hop, offsets: Mapping[str, Mapping[int, int]]) -> PathStep:
        source, target, place = self.names[hop.source_id], self.names[hop.target_id], self.stated.get(hop.statement)
        chunk_id = ""
        if place is not None and place.ordinal is not None:
            before = offsets.get(place.group_key, {}).get(place.document_id, 0)
            chunk_id = f"{place.group_key or place.uid}_{before + place.ordinal}"
        path, text = ("", "") if place is None else (place.path, place.text)
        return PathStep(*source, hop.type, *target, round(hop.confidence, 3), chunk_id, path, text)


def shared_entities(
    mentions: Sequence[PlacedMention],
    weights: Mapping[tuple[str, int], tuple[float, str]],
    rarity: Callable[[int], float],
    barred: Collection[int],
) -> list[SharedEntity]:
    """Return the entities that the documents of hits name, the strongest first, without those far weaker.

    ``weights``: (uid, ordinal) of the chunk of each hit → its weight, 0 to 1, and its chunk id. The weight of an entity
    is that of the best hit of its document, times the mean of two figures, the confidence of a mention in that chunk
    and the square root of its share of the chunks of the document that name any, times its ``rarity`` (documents → 0 to
    1), relative to the strongest.
    """
    named: dict[str, dict[int, list[PlacedMention]]] = {}
    for one in mentions:
        if one.mention.entity_id not in barred and rarity(one.mention.documents) >= _LEAST_RARITY:
            named.setdefault(one.uid, {}).setdefault(one.mention.entity_id, []).append(one)
    heads: dict[str, tuple[float, str]] = {}
    for (uid, _), head in weights.items():
        heads[uid] = max(head, heads.get(uid, head))
    best: dict[int, SharedEntity] = {}
    for uid, of_entity in named.items():
        most = max(len(some) for some in of_entity.values())
        for entity_id, some in of_entity.items():
            near = [(weights[uid, one.ordinal], one) for one in some if (uid, one.ordinal) in weights]
            inside = max((head[0] * one.mention.confidence for head, one in near), default=0.0)
            of_document = heads[uid][0] * math.sqrt(len(some) / most)
            weight = (inside + of_document) / 2 * rarity(some[0].mention.documents)
            if entity_id not in best or weight > best[entity_id].weight:
                head, one = max(near, key=lambda each: each[0][0]) if near else (heads[uid], some[0])
                best[entity_id] = SharedEntity(entity_id, weight, _step(one, head[1]))
    order = sorted(best.values(), key=lambda one: (-one.weight, one.entity_id))[:_MOST_SHARED]
    top = order[0].weight if order else 1.0
    return [replace(one, weight=one.weight / top) for one in order if one.weight > _LEAST_SHARED * top]


def _step(one: PlacedMention, chunk_id: str) -> PathStep:
    sure = round(one.mention.confidence, 3)
    return PathStep(one.path, DOCUMENT, MENTIONS, one.text, one.mention.type, sure, chunk_id, one.path, one.text)


def leads_of(
    connection: Connection,
    named: Collection[int],
    shared: Sequence[SharedEntity],
    way: Expansion,
    barred: Collection[int] = (),
    go_on: Callable[[], bool] = lambda: True,
    until: str = "",
) -> Leads:
    """Return the chunks that ``named`` and ``shared`` entities lead to within the hops of ``way``.

    By relations: chunks that state one, or mention the entity it leads to. By an entity of a hit: chunks that mention
    it, and with two hops what its relations lead to. ``go_on`` is asked before the second hop. ``until``: only by what
    documents say that did not change since that time.
    """
    hops_of = partial(
        graph_lookups.hops,
        connection,
        types=way.relations,
        direction=way.direction or "both",
        min_confidence=way.min_confidence or 0.0,
        until=until,
    )
    time_left = _Asked(go_on)
    found: list[tuple[Reached, PathStep | None]] = [
        (one, None) for one in reached(hops_of, named, way.hops or 0, barred, time_left)
    ]
    from_hits = {one.entity_id: one for one in shared if one.entity_id not in set(named)}
    found += [(Reached(one.entity_id, (), one.weight), one.step) for one in from_hits.values()]
    if (way.hops or 0) > 1 and from_hits and time_left():
        for one in reached(hops_of, from_hits.keys(), 1, {*barred, *named}):
            first = one.path[0]
            start = from_hits[first.source_id if first.source_id in from_hits else first.target_id]
            found.append((Reached(one.entity_id, one.path, one.confidence * start.weight), start.step))
    if not found:
        return Leads(cut=time_left.refused)
    stated = graph_lookups.statements(connection, [hop.statement for one, _ in found for hop in one.path])
    ends = {end for one, _ in found for hop in one.path for end in (hop.source_id, hop.target_id)}
    names = graph_lookups.names_of(connection, ends | {one.entity_id for one, _ in found})
    found = [
        (one, step)
        for one, step in found
        if {one.entity_id, *(end for hop in one.path for end in (hop.source_id, hop.target_id))} <= names.keys()
    ]
    leads = _of_chunks(connection, found, stated, until)
    return Leads(leads, names, stated, time_left.refused)


def _of_chunks(
    connection: Connection,
    found: Sequence[tuple[Reached, PathStep | None]],
    stated: Mapping[int, Statement],
    until: str,
) -> dict[int, Lead]:
    leads: dict[int, Lead] = {}
    by_entity: dict[int, list[tuple[Reached, PathStep | None]]] = {}
    for way, origin in found:
        by_entity.setdefault(way.entity_id, []).append((way, origin))
        place = stated.get(way.path[-1].statement) if way.path else None
        if place is not None and place.chunk_id is not None:
            _keep(leads, Lead(place.chunk_id, place.document_id, way, way.confidence, origin))
    for most, some in (
        (_CHUNKS_OF_ENTITY, {way.entity_id for way, _ in found if way.path}),
        (_CHUNKS_OF_SHARED, {way.entity_id for way, _ in found if not way.path}),
    ):
        for each in graph_lookups.mentioning(connection, some, most, until) if some else ():
            for way, origin in by_entity[each.entity_id]:
                share = _MENTIONS if way.path else 1.0
                weight = share * way.confidence * each.confidence
                _keep(leads, Lead(each.chunk_id, each.document_id, way, weight, origin))
    return leads


def _keep(leads: dict[int, Lead], one: Lead) -> None:
    """Keep the better way to a chunk, one from the question before one from a hit, with the weight of the stronger."""
    known = leads.get(one.chunk_id)
    if known is None:
        leads[one.chunk_id] = one
        return
    better = max(known, one, key=lambda each: (each.origin is None, each.weight, -len(each.way.path)))
    leads[one.chunk_id] = replace(better, weight=max(known.weight, one.weight))


class _Asked:
    """Asks whether there is time, and remembers that there was none."""

    def __init__(self, ask: Callable[[], bool]) -> None:
        self._ask, self.refused = ask, False

    def __call__(self) -> bool:
        self.refused = self.refused or not self._ask()
        return not self.refused
