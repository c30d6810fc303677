"""Relations by both of their names: REPLACES, and REPLACED_BY for the same edges from the other side."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Final

from pinakes.catalog import Connection, stated_edges
from pinakes.core.graph_paths import Direction
from pinakes.core.graph_records import CO_OCCURS, LINKS_TO, PART_OF
from pinakes.graph.asked_names import known_names
from pinakes.settings import GraphRules

_OTHER: dict[Direction, Direction] = {"out": "in", "in": "out", "both": "both"}
_FORM: Final = {LINKS_TO: "LINKED_FROM", PART_OF: "HAS_PART"}
CODE_RELATIONS: Final = {
    "CALLS": "CALLED_BY",
    "DEFINES": "DEFINED_IN",
    "DEPENDS_ON": "NEEDED_BY",
    "DOCUMENTS": "DOCUMENTED_BY",
    "IMPORTS": "IMPORTED_BY",
    "INCLUDES": "INCLUDED_BY",
    "INHERITS": "INHERITED_BY",
    "SELECTS": "SELECTED_BY",
    "USES": "USED_BY",
    PART_OF: "HAS_PART",
}
"""Types of the relations of code, and their names from the other side."""


class RelationNames:
    """The names of the relations of a collection."""

    def __init__(self, rules: GraphRules) -> None:
        made = [*rules.relations]
        inverse = {**(CODE_RELATIONS if rules.code else {}), **_FORM}
        inverse |= {rule.type: rule.inverse for rule in made if rule.inverse}
        self.symmetric = {rule.type for rule in made if rule.symmetric} | {CO_OCCURS}
        self.symmetric |= {rule.relation for rule in rules.metadata if rule.relation and rule.symmetric}
        self._from_other_side = {kind: name for kind, name in inverse.items() if kind not in self.symmetric}
        self._inverse = {name: kind for kind, name in self._from_other_side.items() if name != kind}
        self.types_known = frozenset({*rules.relation_types, *(CODE_RELATIONS if rules.code else ())})

    @property
    def known(self) -> frozenset[str]:
        """All names of relations, from either side."""
        types = self.types_known
        return types | {name for name, kind in self._inverse.items() if kind in types}

    def same(self, kind: str, source: int, target: int) -> tuple[str, int, int]:
        """Return what relations have in common that say the same: those of a symmetric type from either side."""
        one, other = sorted((source, target)) if kind in self.symmetric else (source, target)
        return kind, one, other

    def read(self, kind: str, *, forward: bool) -> str:
        """Return the name of a relation as it reads from its source, or from its target; "" where it has none there."""
        return kind if forward or kind in self.symmetric else self._from_other_side.get(kind, "")

    def meant(self, names: Collection[str], direction: Direction) -> list[tuple[set[str], Direction]]:
        """Return which types to follow in which directions, none = all types, for names and a direction asked for.

        A symmetric relation is followed both ways. A name that is both, a type and the other name of one, means both.
        The other name tells the direction: what has replaced an entity is at the source of REPLACES.
        """
        if not names:
            by_direction: dict[Direction, set[str]] = {direction: set()}
            if direction != "both" and self.symmetric:
                by_direction["both"] = set(self.symmetric)
            return [(types, direction) for direction, types in by_direction.items()]
        by_direction = {}
        for name in names:
            by_direction.setdefault("both" if name in self.symmetric else direction, set()).add(name)
            if name in self._inverse:
                by_direction.setdefault("in" if direction == "both" else _OTHER[direction], set()).add(
                    self._inverse[name]
                )
        return [(types, direction) for direction, types in by_direction.items()]

    def types(self, names: Collection[str]) -> set[str]:
        """Return the types of relations that names mean, whatever the direction."""
        return {*names, *(self._inverse[name] for name in names if name in self._inverse)}


def asked_relations(
    connection: Connection, collections: Mapping[int, RelationNames], given: Collection[str]
) -> list[str]:
    """Return the names of relations as the graphs of ``collections`` have them, whatever the case they are given in.

    ``collections``: id of a collection → its names. Relations that only plug-ins state are known, too.

    Raises:
        InvalidInput: none of the collections has such a relation.
    """
    given = [one for one in given if one.strip()]
    if not given:
        return []
    known = {name for names in collections.values() for name in names.known}
    if {one.strip().casefold() for one in given} - {one.casefold() for one in known}:
        known |= {kind for number in collections for kind in stated_edges.types_stated(connection, number)}
    return known_names(given, known, "relation")
