"""How strongly other documents are tied to the hits of a search: by links and relations, by entities that both name."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Final, NamedTuple

from pinakes.catalog import Connection
from pinakes.catalog.graph_lookups import Hop
from pinakes.core.graph_paths import PathStep
from pinakes.graph.hops import MOST_FOLLOWED, MOST_REACHED, Reached
from pinakes.graph.relation_memory import RelationMemory

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
