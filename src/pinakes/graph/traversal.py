"""Walks over the graph: shortest paths between two entities, by breadth-first search from both ends."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Final, TypeAlias

from pinakes.catalog.stated_edges import Edge

Path: TypeAlias = Sequence[Edge]
"""Edges from one entity to another, each followed in its direction or against it."""

EdgesOf: TypeAlias = Callable[[Collection[int]], Sequence[Edge]]
"""Gives all edges of some entities, the surest first."""

MOST_VISITED: Final = 5_000
"""A search visits so many entities at most; what lies farther is not found."""


def shortest_paths(edges_of: EdgesOf, source: int, target: int, most_hops: int, limit: int) -> list[Path]:
    """Return up to ``limit`` paths of the smallest number of hops, the surest first; none over ``most_hops``."""
    if source == target:
        return []
    levels: list[dict[int, list[Edge]]] = []
    seen, front = {source}, {source}
    while front and target not in seen and len(levels) < most_hops and len(seen) < MOST_VISITED:
        reached: dict[int, list[Edge]] = {}
        for edge in edges_of(front):
            for here, there in ((edge.source_id, edge.target_id), (edge.target_id, edge.source_id)):
                if here in front and there not in seen:
                    reached.setdefault(there, []).append(edge)
        levels.append(reached)
        front = set(reached)
        seen |= front
    if target not in seen:
        return []
    paths: list[tuple[float, list[Edge]]] = []
    _walk_back(levels, target, [], 1.0, paths, limit)
    return [path for _, path in sorted(paths, key=lambda each: -each[0])]


def _walk_back(
    levels: Sequence[dict[int, list[Edge]]],
    place: int,
    rest: list[Edge],
    sure: float,
    paths: list[tuple[float, list[Edge]]],
    limit: int,
) -> None:
    """Collect the paths that end at ``place`` after as many hops as there are ``levels``."""
    if not levels:
        paths.append((sure, rest))
        return
    for edge in levels[-1].get(place, ()):
        if len(paths) >= limit:
            return
        before = edge.source_id if edge.target_id == place else edge.target_id
        if len(levels) == 1 or before in levels[-2]:
            _walk_back(levels[:-1], before, [edge, *rest], sure * edge.confidence, paths, limit)
