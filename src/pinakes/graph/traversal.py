"""Walks over the graph: shortest paths between two entities, by breadth-first search from both ends; what is near."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Final, NamedTuple, TypeAlias

from pinakes.catalog.graph_lookups import Hop
from pinakes.catalog.stated_edges import Edge
from pinakes.core.graph_paths import Direction

Path: TypeAlias = Sequence[Edge]
"""Edges from one entity to another, each followed in its direction or against it."""

EdgesOf: TypeAlias = Callable[[Collection[int]], Sequence[Edge]]
"""Gives all edges of some entities, the surest first."""

MOST_VISITED: Final = 5_000
"""A search visits so many entities at most; what lies farther is not found."""

_Step: TypeAlias = tuple[int, Edge]
_Kinds: TypeAlias = Collection[str]


class _Half:
    """The entities around one end, by their distance from it, with the edges that lead to each from nearer ones."""

    def __init__(self, end: int, excluded: Collection[int], along: bool, against: bool, symmetric: _Kinds) -> None:
        """``along``, ``against``: whether edges are followed in their direction, and against it."""
        self.levels: list[dict[int, list[_Step]]] = [{end: []}]
        self.seen = {end, *excluded}
        self._along, self._against, self._both_ways = along, against, symmetric

    @property
    def front(self) -> dict[int, list[_Step]]:
        return self.levels[-1]

    def widen(self, edges_of: EdgesOf) -> None:
        """Go one hop farther."""
        reached: dict[int, list[_Step]] = {}
        for edge in edges_of(self.front):
            any_way = edge.type in self._both_ways
            ways = [(edge.source_id, edge.target_id)] if self._along or any_way else []
            ways += [(edge.target_id, edge.source_id)] if self._against or any_way else []
            for here, there in ways:
                if here in self.front and there not in self.seen:
                    reached.setdefault(there, []).append((here, edge))
        self.levels.append(reached)
        self.seen |= reached.keys()

    def surest(self, place: int, level: int, limit: int) -> list[tuple[float, list[Edge]]]:
        """Return the ``limit`` surest paths from the end to an entity of a level, each with its confidence."""
        if level == 0:
            return [(1.0, [])]
        paths = [
            (sure * edge.confidence, [*path, edge])
            for before, edge in self.levels[level][place]
            for sure, path in self.surest(before, level - 1, limit)
        ]
        return sorted(paths, key=lambda each: -each[0])[:limit]


def shortest_paths(
    edges_of: EdgesOf,
    source: int,
    target: int,
    most_hops: int,
    limit: int,
    excluded: Collection[int] = (),
    direction: Direction = "both",
    symmetric: _Kinds = frozenset(),
    on_limit: Callable[[], object] = lambda: None,
) -> list[Path]:
    """Return up to ``limit`` paths of the smallest number of hops, the surest first; none over ``most_hops``.

    No path goes through ``excluded`` entities; it may begin or end at one. ``direction``: "out" = all edges lead from
    ``source`` to ``target``, "in" = all against that; those of ``symmetric`` types lead either way. ``on_limit`` is
    called where the search ends since it has visited ``MOST_VISITED`` entities.
    """
    if source == target:
        return []
    closed = set(excluded) - {source, target}
    along, against = direction != "in", direction != "out"
    ahead = _Half(source, closed, along, against, symmetric)
    back = _Half(target, closed, against, along, symmetric)
    for _ in range(most_hops):
        half = min((ahead, back), key=lambda one: len(one.front))
        half.widen(edges_of)
        if met := ahead.front.keys() & back.front.keys():
            break
        if not half.front:
            return []
        if len(ahead.seen) + len(back.seen) > MOST_VISITED:
            on_limit()
            return []
    else:
        return []
    paths = [
        (sure * other, [*path, *reversed(rest)])
        for place in sorted(met)
        for sure, path in ahead.surest(place, len(ahead.levels) - 1, limit)
        for other, rest in back.surest(place, len(back.levels) - 1, limit)
    ]
    return [path for _, path in sorted(paths, key=lambda each: -each[0])[:limit]]


MOST_FOLLOWED: Final = 50
"""From so many entities the second hop goes on, those of the surest relations first."""

MOST_REACHED: Final = 200
"""So many entities are reached at most."""


class ReachedEntity(NamedTuple):
    """An entity, and the relations that lead to it from a seed; ``confidence``: theirs and the weight of the seed."""

    entity_id: int
    path: tuple[Hop, ...]
    confidence: float


def entities_within(
    hops_of: Callable[[Collection[int]], Sequence[Hop]],
    seeds: Mapping[int, float],
    hops: int,
    excluded: Collection[int] = (),
    has_time: Callable[[], bool] = lambda: True,
) -> list[ReachedEntity]:
    """Return the entities within ``hops`` relations of ``seeds`` (entity → weight), nearer ones first, then the surest.

    ``hops_of`` gives the relations of some entities, the surest first; it is called once for each hop. Relations of
    the entities ``excluded`` are not followed. ``has_time`` is asked before the second hop.
    """
    known = {seed: ReachedEntity(seed, (), weight) for seed, weight in seeds.items() if seed not in excluded}
    front, found = list(known.values()), list[ReachedEntity]()
    for hop_number in range(hops):
        if hop_number and not (front and has_time()):
            break
        before = {one.entity_id: one for one in front}
        best = reached_by(hops_of(before) if before else (), before, (known, excluded))
        ranked = sorted(best.values(), key=lambda one: (-one.confidence, -one.path[-1].statements, one.entity_id))
        kept = ranked[: MOST_REACHED - len(found)]
        known |= {one.entity_id: one for one in kept}
        found += kept
        front = kept[:MOST_FOLLOWED]
    return found


def reached_by(
    hops: Iterable[Hop],
    front: Mapping[int, ReachedEntity],
    avoided: Sequence[Collection[int]],
    share: float = 1.0,
) -> dict[int, ReachedEntity]:
    """Return the entities that ``hops`` join to those in ``front``, each by its surest relation, but for ``avoided``.

    Each has ``share`` of the confidence of its path.
    """
    best: dict[int, ReachedEntity] = {}
    for hop in hops:
        for here, there in ((hop.source_id, hop.target_id), (hop.target_id, hop.source_id)):
            if here in front and not any(there in one for one in avoided):
                sure = front[here].confidence * hop.confidence * share
                if there not in best or sure > best[there].confidence:
                    best[there] = ReachedEntity(there, (*front[here].path, hop), sure)
    return best
