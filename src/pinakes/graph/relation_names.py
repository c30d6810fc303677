"""Relations by both of their names: REPLACES, and REPLACED_BY for the same edges from the other side."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from pinakes.core.graph_paths import Direction
from pinakes.settings import RelationRule

_OTHER: dict[Direction, Direction] = {"out": "in", "in": "out", "both": "both"}


class RelationNames:
    """The names of the relations of a collection."""

    def __init__(self, rules: Iterable[RelationRule]) -> None:
        rules = list(rules)
        self._symmetric = {rule.type for rule in rules if rule.symmetric}
        self._inverse = {rule.inverse: rule.type for rule in rules if rule.inverse and rule.inverse != rule.type}

    def meant(self, names: Collection[str], direction: Direction) -> list[tuple[set[str], Direction]]:
        """Return which types to follow in which directions, none = all types, for names and a direction asked for.

        A symmetric relation is followed both ways. A name that is both, a type and the other name of one, means both.
        The other name tells the direction: what has replaced an entity is at the source of REPLACES.
        """
        if not names:
            ways: dict[Direction, set[str]] = {direction: set()}
            if direction != "both" and self._symmetric:
                ways["both"] = set(self._symmetric)
            return [(types, way) for way, types in ways.items()]
        ways = {}
        for name in names:
            ways.setdefault("both" if name in self._symmetric else direction, set()).add(name)
            if name in self._inverse:
                ways.setdefault("in" if direction == "both" else _OTHER[direction], set()).add(self._inverse[name])
        return [(types, way) for way, types in ways.items()]

    def types(self, names: Collection[str]) -> set[str]:
        """Return the types of relations that names mean, whatever the direction."""
        return {*names, *(self._inverse[name] for name in names if name in self._inverse)}
