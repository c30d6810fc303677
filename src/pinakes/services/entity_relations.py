"""Relations of entities for callers: pages, paths, and the words that state each."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Literal

from pinakes.app import App
from pinakes.catalog import Connection, entities, stated_edges
from pinakes.catalog.collections import CollectionRecord
from pinakes.catalog.stated_edges import Edge, Evidence
from pinakes.core.errors import InvalidInput
from pinakes.core.graph_paths import Direction
from pinakes.core.wording import counted
from pinakes.graph.entity_retriever import owner_ids
from pinakes.graph.metadata_evidence import with_metadata
from pinakes.graph.relation_names import RelationNames, asked_relations
from pinakes.graph.traversal import MOST_VISITED, Path, shortest_paths
from pinakes.services.entity_lookup import Entity, entity_of

MOST_EDGES = 500
_MOST_TOLD = 12
_SAID_TWICE = 4
"""So many times the paths that are wanted are looked for, since symmetric relations may be stated from both sides."""


@dataclass(frozen=True, slots=True)
class Relation:
    """A directed relation of two entities, as stated in ``statements`` places; ``evidence``: some of them."""

    source: Entity
    type: str
    target: Entity
    confidence: float
    statements: int
    evidence: Sequence[Evidence] = ()


@dataclass(frozen=True, slots=True)
class PathRelation(Relation):
    """One step of a path. ``direction``: "out" where the path goes from source to target, "in" where against that.

    ``reads``: the name of the relation in the direction of the path, USED_BY for USES against its direction; "" where
    it has no such name.
    """

    direction: Literal["out", "in"] = "out"
    reads: str = ""

    @property
    def start(self) -> Entity:
        """Where the step begins."""
        return self.source if self.direction == "out" else self.target

    @property
    def end(self) -> Entity:
        """Where the step ends."""
        return self.target if self.direction == "out" else self.source


@dataclass(frozen=True, slots=True)
class EntityPaths:
    """Shortest paths between two entities. ``notes``: that they go through the owner, or why there are none."""

    paths: Sequence[Sequence[PathRelation]]
    notes: Sequence[str] = field(default=())


@dataclass(frozen=True, slots=True)
class RelationPage:
    """Some relations of an entity, of ``total``. ``notes``: why there are none."""

    relations: Sequence[Relation]
    total: int
    notes: Sequence[str] = field(default=())


class EntityRelations:
    """Reads relations of the graphs of a home. Thread-safe."""

    def __init__(self, app: App) -> None:
        self._app = app

    def page(
        self,
        entity: Entity,
        *,
        types: Collection[str] = (),
        direction: Direction = "both",
        min_confidence: float = 0.0,
        start: int = 0,
        limit: int | None = MOST_EDGES,
        evidence: int = 0,
    ) -> RelationPage:
        """Return relations of an entity, the surest first, from number ``start`` on, with so many places of each.

        ``types``: names of relations in any case, also those from the other side: REPLACED_BY.

        Raises:
            InvalidInput: there is no such relation.
        """
        record = self._app.record(entity.collection)
        with self._app.catalog.read() as connection:
            found = {
                one.key: one
                for kinds, side in self.meant(connection, record, types, direction)
                for one in stated_edges.edges(connection, [entity.id], kinds, side, min_confidence)
            }
            surest = sorted(found.values(), key=stated_edges.sureness)
            shown = surest[start : None if limit is None else start + limit]
            relations = self.read(connection, record, shown, evidence)
            notes = () if found else (self._why_none(connection, entity, types, direction, min_confidence),)
        return RelationPage(relations, len(found), notes)

    def meant(
        self, connection: Connection, record: CollectionRecord, types: Collection[str], direction: Direction
    ) -> list[tuple[set[str], Direction]]:
        """Return which types of relations to follow in which directions; see ``RelationNames.meant``.

        Raises:
            InvalidInput: there is no such relation.
        """
        names = RelationNames(self._app.rules(record).graph)
        return names.meant(asked_relations(connection, {record.id: names}, types), direction)

    def paths(
        self,
        source: Entity,
        target: Entity,
        *,
        types: Collection[str] = (),
        most_hops: int = 4,
        limit: int = 3,
        direction: Direction = "both",
        through_owner: bool | None = None,
    ) -> EntityPaths:
        """Return the shortest paths between two entities of one collection, with evidence.

        ``direction``: "out" = along the relations only, "in" = against them, as a caller is reached from what it calls.
        ``through_owner``: whether they may go through the entity that "we" means, to which nearly all are related; None
        = only where there is no other path.

        Raises:
            InvalidInput: they are of different collections, or there is no such relation.
        """
        if source.collection != target.collection:
            raise InvalidInput(f"{source.name!r} and {target.name!r} are of different collections.")
        record = self._app.record(source.collection)
        rules = self._app.rules(record).graph
        names = RelationNames(rules)
        with self._app.catalog.read() as connection:
            kinds = names.types(asked_relations(connection, {record.id: names}, types))

            def edges_of(ids: Collection[int]) -> list[Edge]:
                return stated_edges.edges(connection, ids, kinds)

            owners = owner_ids(connection, record.id, rules.owner) if rules.owner else frozenset[int]()
            most = limit * _SAID_TWICE
            limits = list[int]()

            def paths_around(excluded: Collection[int]) -> list[Path]:
                options = direction, names.symmetric, partial(limits.append, MOST_VISITED)
                return shortest_paths(edges_of, source.id, target.id, most_hops, most, excluded, *options)

            found = paths_around(() if through_owner else owners)
            if not found and owners and through_owner is None:
                found = paths_around(())
            different = dict[Hashable, Path]()
            for path in found:
                different.setdefault(tuple(names.same(one.type, *one.key[::2]) for one in path), path)
            kept = list(different.values())[:limit]
            paths = [self._steps(connection, record, path, source.id, names) for path in kept]
        asked = _path_conditions(types, most_hops, direction, through_owner is False and bool(owners))
        notes = _notes(paths, source, target, asked, owners)
        if not paths and limits:
            notes.append(f"the search ended after {limits[0]:,} entities: there may be one; name types of relations")
        return EntityPaths(paths, tuple(notes))

    def with_evidence(self, relations: Sequence[Relation], limit: int = 1) -> list[Relation]:
        """Return relations with so many places that state each."""
        if not relations:
            return []
        record = self._app.record(relations[0].source.collection)
        with self._app.catalog.read() as connection:
            return self._with_places(connection, record, relations, limit)

    def read(
        self, connection: Connection, record: CollectionRecord, found: Sequence[Edge], evidence: int
    ) -> list[Relation]:
        """Return edges as relations, with so many places that state each."""
        ids = {end for one in found for end in (one.source_id, one.target_id)}
        rows = {
            number: entity_of(connection, record.name, row) for number, row in entities.of_ids(connection, ids).items()
        }
        relations = [
            Relation(rows[one.source_id], one.type, rows[one.target_id], one.confidence, one.statements)
            for one in found
        ]
        return self._with_places(connection, record, relations, evidence) if evidence else relations

    def with_metadata_words(self, relations: Sequence[Relation], record: CollectionRecord) -> list[Relation]:
        """Return relations with the words of metadata in the places that they have."""
        with self._app.catalog.read() as connection:
            places = {_edge(one).key: one.evidence for one in relations}
            evidence = with_metadata(
                connection, self._app.rules(record).graph, places, _names(connection, relations, places)
            )
        return [replace(one, evidence=evidence[_edge(one).key]) for one in relations]

    def _with_places(
        self, connection: Connection, record: CollectionRecord, relations: Sequence[Relation], limit: int
    ) -> list[Relation]:
        places = stated_edges.statements(connection, [_edge(one) for one in relations], limit)
        rules = self._app.rules(record).graph
        evidence = with_metadata(connection, rules, places, _names(connection, relations, places))
        return [replace(one, evidence=evidence[_edge(one).key]) for one in relations]

    def _steps(
        self, connection: Connection, record: CollectionRecord, path: Path, start: int, names: RelationNames
    ) -> list[PathRelation]:
        steps = list[PathRelation]()
        for one in self.read(connection, record, path, 1):
            forward = one.source.id == start
            start = one.target.id if forward else one.source.id
            side: Literal["out", "in"] = "out" if forward else "in"
            reads = names.read(one.type, forward=forward)
            steps.append(
                PathRelation(
                    *(one.source, one.type, one.target, one.confidence, one.statements, one.evidence, side, reads)
                )
            )
        return steps

    def _why_none(
        self, connection: Connection, entity: Entity, types: Collection[str], direction: Direction, least: float
    ) -> str:
        every = stated_edges.edges(connection, [entity.id])
        kinds = stated_edges.types_of_entity(connection, entity.id)
        if not kinds:
            return f"{entity.type}:{entity.name} has no relations: no document states one"
        listed = ", ".join(f"{kind} {number:,}" for kind, number in list(kinds.items())[:_MOST_TOLD])
        asked = [f"of type {', '.join(types)}"] if types else []
        asked += [f"in the direction {direction!r}"] if direction != "both" else []
        asked += [f"with confidence {least:g} or more"] if least else []
        name = f"{entity.type}:{entity.name}"
        if not every and not asked:
            return f"{name} has weak relations only, which are listed where their type is asked for: {listed}"
        return f"{name} has no relations {' '.join(asked)}; it has {listed}"


def _names(
    connection: Connection, relations: Sequence[Relation], places: Mapping[tuple[int, str, int], Sequence[Evidence]]
) -> dict[int, set[str]]:
    """Return id → all names of the ends of the relations that metadata states."""
    stated = [one for one in relations if any(not each.text for each in places.get(_edge(one).key, ()))]
    ends = {end.id: {end.name} for one in stated for end in (one.source, one.target)}
    for number, members in entities.members(connection, list(ends)).items():
        ends[number] |= {one.name for one in members}
    return ends


def _notes(
    paths: Sequence[Sequence[PathRelation]],
    source: Entity,
    target: Entity,
    asked: str,
    owners: Collection[int],
) -> list[str]:
    through = {step.end.name for path in paths for step in path[:-1] if step.end.id in owners}
    if through:
        name = ", ".join(sorted(through))
        return [f'goes through {name}, which texts mean by "we" and nearly all is related to: it says little']
    if source.id == target.id:
        return [f"both names mean {source.type}:{source.name}"]
    if not paths:
        return [f"no path {asked} joins {source.type}:{source.name} and {target.type}:{target.name}"]
    return []


def _path_conditions(types: Collection[str], most_hops: int, direction: Direction, but_owner: bool) -> str:
    words = [f"of at most {counted(most_hops, 'relation')}"]
    words += [f"of type {', '.join(types)}"] if types else []
    words += [f"in the direction {direction!r}"] if direction != "both" else []
    words += ["that does not go through the owner of the collection"] if but_owner else []
    return " ".join(words)


def _edge(one: Relation) -> Edge:
    return Edge(one.source.id, one.type, one.target.id, one.confidence, one.statements)
