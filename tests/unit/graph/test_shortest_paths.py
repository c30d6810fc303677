"""Paths between entities are the shortest, the surest of them first."""

from __future__ import annotations

import random
from collections.abc import Callable, Collection
from itertools import pairwise

from pinakes.catalog.stated_edges import Edge
from pinakes.graph.traversal import MOST_VISITED, Path, shortest_paths


def among(edges: Collection[Edge]) -> Callable[[Collection[int]], list[Edge]]:
    return lambda ids: [one for one in edges if one.source_id in ids or one.target_id in ids]


def every_path(edges: Collection[Edge], source: int, target: int, most_hops: int) -> list[Path]:
    """Return all shortest paths, by trying all walks."""
    walks: list[tuple[int, list[Edge]]] = [(source, [])]
    for _ in range(most_hops):
        walks = [
            (one.target_id if one.source_id == place else one.source_id, [*walk, one])
            for place, walk in walks
            for one in edges
            if place in (one.source_id, one.target_id)
        ]
        if found := [walk for place, walk in walks if place == target]:
            return found
    return []


def sure(path: Path) -> float:
    value = 1.0
    for one in path:
        value *= one.confidence
    return value


def test_the_paths_are_those_that_trying_all_walks_finds() -> None:
    chance = random.Random(5)
    for _ in range(60):
        nodes = chance.randint(4, 9)
        edges = {
            Edge(a, "R", b, chance.randint(1, 9) / 10, 1)
            for _ in range(nodes + 3)
            if (a := chance.randrange(nodes)) != (b := chance.randrange(nodes))
        }
        hops = chance.randint(1, 4)
        wanted = every_path(edges, 0, 1, hops)
        found = shortest_paths(among(edges), 0, 1, hops, 3)
        assert len(found) == min(3, len(wanted))
        assert [len(one) for one in found] == [len(one) for one in wanted[:3]]
        best = sorted((sure(one) for one in wanted), reverse=True)
        assert all(abs(sure(one) - other) < 1e-9 for one, other in zip(found, best, strict=False))
        for path in found:
            ends = [{one.source_id, one.target_id} for one in path]
            assert 0 in ends[0]
            assert 1 in ends[-1]
            assert all(a & b for a, b in pairwise(ends))


def test_an_entity_has_no_path_to_itself_or_to_one_apart() -> None:
    edges = [Edge(0, "R", 1, 1.0, 1), Edge(2, "R", 3, 1.0, 1)]
    assert shortest_paths(among(edges), 0, 0, 4, 3) == []
    assert shortest_paths(among(edges), 0, 3, 4, 3) == []


def test_a_search_that_ends_at_its_limit_says_so() -> None:
    star = [Edge(1, "CALLS", other, 1.0, 1) for other in range(2, MOST_VISITED + 10)]
    told: list[str] = []
    far = [*star, Edge(-2, "CALLS", -1, 1.0, 1), Edge(-3, "CALLS", -2, 1.0, 1)]
    assert shortest_paths(among(far), 1, -1, 6, 3, on_limit=lambda: told.append("limit")) == []
    assert told == ["limit"]
