"""Chunks that the graph leads to, from the entities of a question and from those of the hits that a search found.

Documents are tied to hits by links and relations, and by entities that both name.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Final, NamedTuple

from pinakes.catalog import Connection, graph_lookups, tied_documents
from pinakes.catalog.graph_lookups import Hop, Statement
from pinakes.catalog.tied_documents import PlacedMention
from pinakes.core.graph_paths import Expansion, PathStep
from pinakes.core.graph_records import DOCUMENT
from pinakes.graph.relation_memory import RelationMemory
from pinakes.graph.traversal import MOST_FOLLOWED, MOST_REACHED, Reached, reached

_CHUNKS_OF_ENTITY: Final = 8
"""So many mentions of each entity are looked at."""

_MOST_SHARED: Final = 12
_LEAST_SHARED: Final = 0.1
"""From so many entities of the hits it goes on, the strongest first, and from none that has less of that weight."""

_LEAST_RARITY: Final = 0.4
"""Entities that many documents name (of 900 more than 60) tie nothing together, and take the longest."""

_MENTION_WEIGHT: Final = 0.8
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
    """How the graph leads to a chunk from an entity of the question, or, where ``of_hit``, from a hit.

    ``weight``: 0 to 1; ``origin``: the mention of an entity in a hit that the path begins with, None = it has none.
    """

    document_id: int
    way: Reached
    weight: float
    origin: PathStep | None = None
    of_hit: bool = False


@dataclass(frozen=True, slots=True)
class Leads:
    """Chunk id → how the graph leads there; what paths are told by; whether time ran out before the second hop.

    ``of_hits``: chunk id → document, of the hits. ``stated``: relation → its place, of chunks that are to be shown; see
    ``metadata_evidence.of_leads``.
    """

    of_chunks: Mapping[int, Lead] = field(default_factory=dict)
    of_hits: Mapping[int, int] = field(default_factory=dict)
    names: Mapping[int, tuple[str, str]] = field(default_factory=dict)
    stated: Mapping[int, Statement] = field(default_factory=dict)
    cut: bool = False

    def path(self, chunk_id: int, offsets: Mapping[str, Mapping[int, int]]) -> tuple[PathStep, ...]:
        """Return how a chunk is reached. ``offsets``: group → document id → chunks before its first one."""
        lead = self.of_chunks[chunk_id]
        steps = tuple(self._step(hop, offsets) for hop in lead.way.path)
        return steps if lead.origin is None else (lead.origin, *steps)

    def weight_of(self, chunk_id: int) -> float:
        """Return the weight of the lead to a chunk, 0 where there is none."""
        lead = self.of_chunks.get(chunk_id)
        return 0.0 if lead is None else lead.weight

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
    1).
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
    return [one for one in order if one.weight > _LEAST_SHARED * top]


def _step(one: PlacedMention, chunk_id: str) -> PathStep:
    sure = round(one.mention.confidence, 3)
    return PathStep(one.path, DOCUMENT, MENTIONS, one.text, one.mention.type, sure, chunk_id, one.path, one.text)


@dataclass(frozen=True, slots=True)
class Seeds:
    """What a search goes on from: entities of its question, and of its hits.

    ``named``: entities of the question → rarity; ``shared``: those that hits name; ``own``: what the documents of hits
    are about → weight of the hit, 0 to 1; ``places``: document and place of the chunk of each hit. ``rarity``: number
    of documents that name an entity → 0 to 1.
    """

    named: Mapping[int, float]
    shared: Sequence[SharedEntity]
    own: Mapping[int, float]
    places: Collection[tuple[int, int]]
    rarity: Callable[[int], float]
    barred: Collection[int] = ()


def leads_of(
    connection: Connection,
    memory: RelationMemory,
    seeds: Seeds,
    way: Expansion,
    go_on: Callable[[], bool] = lambda: True,
    until: str = "",
) -> Leads:
    """Return the chunks that ``seeds`` lead to within the hops of ``way``, of ``MOST_TIED`` documents at most.

    From the question: chunks that state a relation, or mention the entity it leads to. From hits: all chunks of the
    other documents that are tied to them. ``go_on`` is asked before the second hop. ``until``: only by what documents
    say that did not change since that time.
    """
    hops_of = partial(
        memory.hops,
        connection,
        types=way.relations,
        direction=way.direction or "both",
        min_confidence=way.min_confidence or 0.0,
        until=until,
    )
    hops, barred, time_left = way.hops or 0, seeds.barred, _Asked(go_on)
    found = reached(hops_of, seeds.named, hops, barred, time_left)
    tied = by_relations(connection, memory, hops_of, seeds.own, hops, seeds.rarity, barred, time_left, until)
    shared = {one.entity_id: one for one in seeds.shared if one.entity_id not in seeds.named}
    ways = [(Reached(one.entity_id, (), one.weight), one.step) for one in shared.values()]
    if hops > 1 and shared and time_left():
        weights = {one.entity_id: one.weight * FURTHER for one in shared.values()}
        for far in reached(hops_of, weights, 1, {*barred, *seeds.named}):
            first = far.path[0]
            ways.append((far, shared[first.source_id if first.source_id in shared else first.target_id].step))
    tied += by_entities(connection, memory, ways, until)
    paths = [one.path for one in found] + [one.way.path for one in tied]
    names = memory.names_of(connection, {end for path in paths for hop in path for end in _ends(hop)})
    found = [one for one in found if _is_told(one, names)]
    of_hits = {document for document, _ in seeds.places}
    tied = [one for one in tied if one.document_id not in of_hits and _is_told(one.way, names)]
    stated = graph_lookups.statements(connection, [one.path[-1].statement for one in found])
    of_question = _of_question(connection, found, stated, until)
    if not way.is_narrow:
        of_question = [(chunk, lead) for chunk, lead in of_question if lead.document_id not in of_hits]
    likely = _likeliest([lead for _, lead in of_question], tied)
    leads: dict[int, Lead] = {}
    for chunk, lead in of_question:
        if lead.document_id in likely:
            _keep(leads, chunk, lead)
    tied = [one for one in sorted(tied, key=lambda one: one.weight) if one.document_id in likely]
    whole = {one.document_id: Lead(one.document_id, one.way, one.weight, one.origin, of_hit=True) for one in tied}
    for chunk, document in tied_documents.chunks_of(connection, whole, MOST_CHUNKS_EACH):
        _keep(leads, chunk, whole[document])
    return Leads(leads, tied_documents.chunks_at(connection, seeds.places), names, cut=time_left.refused)


def _ends(hop: Hop) -> set[int]:
    return {hop.source_id, hop.target_id}


def _is_told(way: Reached, names: Mapping[int, object]) -> bool:
    return all(hop.source_id in names and hop.target_id in names for hop in way.path)


def _likeliest(leads: Iterable[Lead], tied: Iterable[Tie]) -> set[int]:
    """Return the documents with the largest weights."""
    best: dict[int, float] = {}
    weights = [(one.document_id, one.weight) for one in leads] + [(one.document_id, one.weight) for one in tied]
    for document, weight in weights:
        best[document] = max(weight, best.get(document, 0.0))
    return set(sorted(best, key=lambda one: (-best[one], one))[:MOST_TIED])


def _of_question(
    connection: Connection, found: Sequence[Reached], stated: Mapping[int, Statement], until: str
) -> list[tuple[int, Lead]]:
    """Return (chunk id, lead) of the chunks that state the last relation of these ways, or mention where it leads."""
    leads = list[tuple[int, Lead]]()
    by_entity = {one.entity_id: one for one in found}
    for way in found:
        place = stated.get(way.path[-1].statement)
        if place is not None and place.chunk_id is not None:
            leads.append((place.chunk_id, Lead(place.document_id, way, way.confidence)))
    for each in graph_lookups.mentioning(connection, by_entity, _CHUNKS_OF_ENTITY, until) if found else ():
        way = by_entity[each.entity_id]
        leads.append((each.chunk_id, Lead(each.document_id, way, _MENTION_WEIGHT * way.confidence * each.confidence)))
    return leads


def _keep(leads: dict[int, Lead], chunk: int, one: Lead) -> None:
    """Keep the better way to a chunk, one from the question before one from a hit, with the weight of the stronger."""
    known = leads.setdefault(chunk, one)
    if known is not one:
        better = max(known, one, key=lambda each: (not each.of_hit, each.weight, -len(each.way.path)))
        leads[chunk] = replace(better, weight=max(known.weight, one.weight))


class _Asked:
    """Asks whether there is time, and remembers that there was none."""

    def __init__(self, ask: Callable[[], bool]) -> None:
        self._ask, self.refused = ask, False

    def __call__(self) -> bool:
        self.refused = self.refused or not self._ask()
        return not self.refused


MOST_TIED: Final = 60
"""So many documents are looked at, those with the strongest ties first."""

FURTHER: Final = 0.5
"""Weight of a second relation, beside 1 of the first."""

MOST_CHUNKS_EACH: Final = 100
"""So many chunks of each are looked at, the first ones."""


class Tie(NamedTuple):
    """What ties a document to a hit: relations of what the hit is about, or an entity that it names, in ``origin``.

    ``weight``: 0 to 1.
    """

    document_id: int
    way: Reached
    weight: float
    origin: PathStep | None = None


def by_relations(
    connection: Connection,
    memory: RelationMemory,
    hops_of: Callable[[Collection[int]], Sequence[Hop]],
    own: Mapping[int, float],
    hops: int,
    rarity: Callable[[int], float],
    barred: Collection[int],
    go_on: Callable[[], bool],
    until: str,
) -> list[Tie]:
    """Return the documents about what ``own`` entities are related to, links among the relations, in ``hops`` steps.

    ``own``: what the documents of hits are about → weight of the hit, 0 to 1. A tie has this weight, times the
    confidence of each relation and the ``rarity`` (documents that name it → 0 to 1) of the entity that it leads to.
    """
    known = {one: Reached(one, (), weight) for one, weight in own.items() if one not in barred}
    front, ties = known, list[Tie]()
    for hop_number in range(hops):
        if not front or (hop_number and not go_on()):
            break
        best: dict[int, Reached] = {}
        for hop in hops_of(front):
            for here, there in ((hop.source_id, hop.target_id), (hop.target_id, hop.source_id)):
                if here in front and there not in known and there not in barred:
                    weight = front[here].confidence * hop.confidence * (FURTHER if hop_number else 1)
                    if there not in best or weight > best[there].confidence:
                        best[there] = Reached(there, (*front[here].path, hop), weight)
        naming = memory.naming(connection, best)
        ways = [
            Reached(one.entity_id, one.path, one.confidence * rarity(naming.get(one.entity_id, 1)))
            for one in best.values()
        ]
        kept = {one.entity_id: one for one in sorted(ways, key=_by_weight)[:MOST_REACHED]}
        about = memory.about(connection, kept, until)
        ties += [Tie(document, kept[entity], kept[entity].confidence) for entity, document in about]
        known |= kept
        front = dict(list(kept.items())[:MOST_FOLLOWED])
    return ties


def by_entities(
    connection: Connection, memory: RelationMemory, ways: Sequence[tuple[Reached, PathStep]], until: str
) -> list[Tie]:
    """Return the documents that name entities to which ``ways`` lead from a hit, each with the step it begins with.

    A tie has the weight of the way, times n / (n + 1) where the document names the entity n times, each counted with
    its confidence: one that names it often is more likely about it.
    """
    by_entity: dict[int, list[tuple[Reached, PathStep]]] = {}
    for way, step in ways:
        by_entity.setdefault(way.entity_id, []).append((way, step))
    return [
        Tie(document, way, way.confidence * often / (often + 1), step)
        for entity, document, often in memory.mentioning(connection, by_entity, until)
        for way, step in by_entity[entity]
    ]


def _by_weight(way: Reached) -> tuple[float, int]:
    return -way.confidence, way.entity_id
