"""Documents that are tied to the hits of a search: by links and relations, and by entities that both name."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Final, NamedTuple

from pinakes.catalog import Connection
from pinakes.catalog.graph_lookups import Hop
from pinakes.core.graph_paths import PathStep
from pinakes.graph.expansion_seeds import Seeds
from pinakes.graph.relation_memory import RelationMemory
from pinakes.graph.traversal import MOST_FOLLOWED, MOST_REACHED, ReachedEntity, reached_by

FURTHER: Final = 0.5
"""Weight of a second relation, beside 1 of the first."""


class GraphPath(NamedTuple):
    """How a document, or a chunk of it, is reached: from an entity of the question, or, with ``from_hit``, from a hit.

    ``end``: the relations and the entity at their end. ``weight``: 0 to 1. ``origin``: the mention of an entity in a
    hit that the path begins with, None if it has none.
    """

    document_id: int
    end: ReachedEntity
    weight: float
    origin: PathStep | None = None
    from_hit: bool = False


def by_relations(
    connection: Connection,
    memory: RelationMemory,
    seeds: Seeds,
    hops_of: Callable[[Collection[int]], Sequence[Hop]],
    hops: int,
    has_time: Callable[[], bool],
    until: str,
) -> list[GraphPath]:
    """Return the documents about what the ``own`` entities of ``seeds`` are related to, in ``hops`` steps; also links.

    A tie has the weight of the hit, times the confidence of each relation and the rarity of the entity at its end.
    """
    excluded = seeds.excluded
    known = {one: ReachedEntity(one, (), weight) for one, weight in seeds.own.items() if one not in excluded}
    front, ties = known, list[GraphPath]()
    for hop_number in range(hops):
        if not front or (hop_number and not has_time()):
            break
        best = reached_by(hops_of(front), front, (known, excluded), FURTHER if hop_number else 1.0)
        naming = memory.naming(connection, best)
        weighted = [
            one._replace(confidence=one.confidence * seeds.rarity(naming.get(one.entity_id, 1)))
            for one in best.values()
        ]
        kept = {one.entity_id: one for one in sorted(weighted, key=_by_weight)[:MOST_REACHED]}
        about = memory.about(connection, kept, until)
        ties += [GraphPath(document, kept[entity], kept[entity].confidence, None, True) for entity, document in about]
        known |= kept
        front = dict(list(kept.items())[:MOST_FOLLOWED])
    return ties


def by_entities(
    connection: Connection, memory: RelationMemory, ends: Sequence[tuple[ReachedEntity, PathStep]], until: str
) -> list[GraphPath]:
    """Return the documents that name the entities ``ends``, each with the mention in a hit that its path begins with.

    A tie has the weight of the path, times n / (n + 1) where the document names the entity n times, each counted with
    its confidence: one that names it often is more likely about it.
    """
    by_entity: dict[int, list[tuple[ReachedEntity, PathStep]]] = {}
    for end, step in ends:
        by_entity.setdefault(end.entity_id, []).append((end, step))
    return [
        GraphPath(document, end, end.confidence * often / (often + 1), step, True)
        for entity, document, often in memory.mentioning(connection, by_entity, until)
        for end, step in by_entity[entity]
    ]


def _by_weight(end: ReachedEntity) -> tuple[float, int]:
    return -end.confidence, end.entity_id
