"""The knowledge graph as callers see it: entities, their neighbours, paths between them, and decisions on names."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from pinakes.app import App
from pinakes.catalog import Connection, entities, stated_edges
from pinakes.catalog.collections import CollectionRecord
from pinakes.catalog.entities import Decision, EntityRecord
from pinakes.catalog.stated_edges import Edge, Evidence
from pinakes.core.errors import InvalidInput, NotFound
from pinakes.core.graph_paths import Direction
from pinakes.core.graph_records import CODE_TYPES, MAX_NAME_CHARS, STRUCTURE, folded
from pinakes.graph import following
from pinakes.graph.relation_names import RelationNames
from pinakes.graph.traversal import Path, shortest_paths
from pinakes.search.as_of import moment
from pinakes.services import graph_expertise, graph_export
from pinakes.services.graph_as_of import GraphAsOf
from pinakes.services.graph_expertise import Affected, Expert
from pinakes.services.graph_export import GraphFormat
from pinakes.services.graph_report import GraphReport, report_of, why_missing

MOST_EDGES = 500
_SUGGESTED, _LOOKED_AT = 5, 25
_MOST_TOLD = 10


@dataclass(frozen=True, slots=True)
class Entity:
    """An entity as callers see it. ``id`` is that of its row; ``aliases`` are other names that texts or lists have.

    ``note``: why it has no definition, for a name in code that no document defines, or several may.
    """

    id: int
    name: str
    type: str
    collection: str
    confidence: float
    documents: int
    mentions: int
    aliases: Sequence[str] = ()
    note: str = ""


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
class EntityReport:
    """What is known of an entity: its relations, the surest first, and where it is mentioned.

    ``merged``: the other names that were made its own, each with the reason. ``missing``: why no document is about it,
    where documents are about such entities; "" where one is. ``notes``: what an answer as of a time does not cover.
    """

    entity: Entity
    relations: Sequence[Relation]
    mentions: Sequence[Evidence]
    merged: Sequence[tuple[str, str]] = field(default=())
    missing: str = ""
    notes: Sequence[str] = field(default=())


class KnowledgeGraph:
    """Questions to the graphs of a home. Each first has the graph follow its documents. Thread-safe."""

    def __init__(self, app: App, named: Callable[[str | Sequence[str] | None], list[str]]) -> None:
        """``named``: gives the names of the collections that a caller means."""
        self._app, self._named = app, named
        self._past = GraphAsOf(app)

    def update(
        self, collection: str, *, again: bool = False, on_step: Callable[[int], object] = lambda _: None
    ) -> bool:
        """Have the graph of a collection follow its documents; say whether anything was to be done.

        ``again``: everything is extracted anew. ``on_step`` is told how many documents were extracted.

        Raises:
            NotFound: there is no such collection.
        """
        record = self._app.record(collection)
        extraction = self._app.graphs.of(record).extraction
        if extraction is None or self._app.catalog.unwritable:
            return False
        if again or self._app.graphs.are_to_keep(record):
            with self._app.catalog.write() as connection:
                record = self._app.graphs.keep(connection, record)
                if again:
                    entities.forget(connection, record.id)
        return following.follow(self._app.catalog, record, extraction, on_step)

    def is_behind(self, collection: str) -> bool:
        """Say whether the graph of a collection has to follow its documents."""
        record = self._app.record(collection)
        extraction = self._app.graphs.of(record).extraction
        if extraction is None:
            return False
        if self._app.graphs.are_to_keep(record):
            return True
        with self._app.catalog.read() as connection:
            return following.is_behind(connection, record, extraction)

    def find(
        self,
        name: str,
        collection: str | Sequence[str] | None = None,
        types: Collection[str] = (),
        *,
        unmentioned: bool = False,
    ) -> list[Entity]:
        """Return the entities that are called ``name``, or have such an alias, the most mentioned first.

        ``unmentioned``: also those that no document mentions any more.

        Raises:
            InvalidInput: ``name`` is no name.
        """
        key = _key(name)
        records = self._current(collection)
        with self._app.catalog.read() as connection:
            found = [
                self._entity(connection, record, one, aliases=True)
                for record in records
                for one in entities.named(connection, [record.id], key, _symbol(name), unmentioned=unmentioned)
                if one.type and (one.type in types if types else one.type not in STRUCTURE)
            ]
        return sorted(found, key=lambda one: (-one.documents, one.name, one.id))

    def one(
        self,
        name: str,
        collection: str | Sequence[str] | None = None,
        types: Collection[str] = (),
        *,
        unmentioned: bool = False,
    ) -> Entity:
        """Return the entity that is called ``name``; of those of several types the one that most documents mention.

        ``unmentioned``: it may be one that no document mentions any more.

        Raises:
            NotFound: there is none; similar names are told.
            InvalidInput: two are mentioned equally often.
        """
        found = self.find(name, collection, types, unmentioned=unmentioned)
        if not found:
            near = ", ".join(one.name for one in self.similar(name, collection, types))
            raise NotFound(f"There is no entity {name!r}.", hint=f"There is {near}." if near else _NO_GRAPH)
        found = [one for one in found if not one.note] or found
        namesakes = [one for one in found if one.type in CODE_TYPES and one.name.partition("@")[0] == name]
        if len(found) > 1 and (found[0].documents == found[1].documents or len(namesakes) == len(found)):
            several = ", ".join(f"{one.type}:{one.name} ({one.collection})" for one in found[:_MOST_TOLD])
            more = f" and {len(found) - _MOST_TOLD} more" if len(found) > _MOST_TOLD else ""
            hint = "Give the whole name, the type (TYPE:NAME), or the collection."
            raise InvalidInput(f"Several entities are called {name!r}: {several}{more}.", hint=hint)
        return found[0]

    def similar(
        self, name: str, collection: str | Sequence[str] | None = None, types: Collection[str] = ()
    ) -> list[Entity]:
        """Return entities whose names are like ``name``, the most similar first."""
        from rapidfuzz import fuzz, process

        key, records, found = _key(name), self._current(collection), list[tuple[float, Entity]]()
        with self._app.catalog.read() as connection:
            for record in records:
                known = entities.known(connection, record.id, types)
                near = process.extract(key, [one.folded for one in known], scorer=fuzz.WRatio, limit=_LOOKED_AT)
                close = sorted((-fuzz.ratio(key, one), at) for one, score, at in near if score > 70)[:_SUGGESTED]
                found += [(-score, self._entity(connection, record, known[at])) for score, at in close]
        return [one for _, one in sorted(found, key=lambda each: (-each[0], -each[1].documents))][:_SUGGESTED]

    def show(self, entity: Entity, *, evidence: int = 1, mentions: int = 5, limit: int = MOST_EDGES) -> EntityReport:
        """Return what is known of an entity, with so many places for each relation."""
        record = self._app.record(entity.collection)
        relations = self.neighbours(entity, limit=limit, evidence=evidence)
        with self._app.catalog.read() as connection:
            places = stated_edges.mentions(connection, entity.id, mentions)
            members = entities.members(connection, [entity.id])[entity.id]
            full = self._entity(connection, record, entities.of_ids(connection, [entity.id])[entity.id], aliases=True)
            why = why_missing(connection, full.id, full.type, full.name, self._app.rules(record).graph)
        merged = tuple((f"{one.type or 'candidate'}:{one.name}", one.why) for one in members)
        return EntityReport(full, relations, places, merged, why)

    def as_of(
        self,
        entity: Entity,
        as_of: str,
        *,
        types: Collection[str] = (),
        direction: Direction = "both",
        limit: int = MOST_EDGES,
        mentions: int = 5,
    ) -> EntityReport:
        """Return what documents said of an entity at a day or time: mentions and stated relations of that time.

        Names, merges and types are those of now; ``notes`` say so, and of which documents it is not known any more.

        Raises:
            InvalidInput: ``as_of`` is no day or time.
        """
        record = self._app.record(entity.collection)
        found = self._past.entity(record, entity.id, moment(as_of), self._names(record).meant(types, direction))
        edges = [edge for edge, _ in found.relations[:limit]]
        with self._app.catalog.read() as connection:
            relations = self._relations(connection, record, edges, 0)
        stated = [
            replace(one, evidence=places[:1]) for one, (_, places) in zip(relations, found.relations, strict=False)
        ]
        then = replace(entity, documents=found.documents, mentions=len(found.mentions))
        return EntityReport(then, stated, found.mentions[:mentions], notes=found.notes)

    def neighbours(
        self,
        entity: Entity,
        *,
        types: Collection[str] = (),
        direction: Direction = "both",
        min_confidence: float = 0.0,
        limit: int = MOST_EDGES,
        evidence: int = 0,
    ) -> list[Relation]:
        """Return the relations of an entity, the surest first, with so many places that state each.

        ``types``: names of relations, also those from the other side: REPLACED_BY.
        """
        record = self._app.record(entity.collection)
        with self._app.catalog.read() as connection:
            found = {
                one.key: one
                for kinds, way in self._names(record).meant(types, direction)
                for one in stated_edges.edges(connection, [entity.id], kinds, way, min_confidence)
            }
            surest = sorted(found.values(), key=stated_edges.sureness)[:limit]
            return self._relations(connection, record, surest, evidence)

    def paths(
        self, source: Entity, target: Entity, *, types: Collection[str] = (), most_hops: int = 4, limit: int = 3
    ) -> list[list[Relation]]:
        """Return the shortest paths between two entities of one collection, in either direction, with evidence.

        Raises:
            InvalidInput: they are of different collections.
        """
        if source.collection != target.collection:
            raise InvalidInput(f"{source.name!r} and {target.name!r} are of different collections.")
        record = self._app.record(source.collection)
        kinds = self._names(record).types(types)
        with self._app.catalog.read() as connection:

            def edges_of(ids: Collection[int]) -> list[Edge]:
                return stated_edges.edges(connection, ids, kinds)

            found: list[Path] = shortest_paths(edges_of, source.id, target.id, most_hops, limit)
            return [self._relations(connection, record, path, 1) for path in found]

    def top(
        self, collection: str | Sequence[str] | None = None, types: Collection[str] = (), limit: int = 20
    ) -> list[Entity]:
        """Return the entities that most documents mention."""
        records, found = self._current(collection), list[Entity]()
        with self._app.catalog.read() as connection:
            for record in records:
                some = entities.known(connection, record.id, types, limit)
                found += [self._entity(connection, record, one) for one in some]
        return sorted(found, key=lambda one: (-one.documents, -one.mentions, one.name))[:limit]

    def types(self, collection: str | Sequence[str] | None = None) -> set[str]:
        """Return the types of entities that the settings of these collections name."""
        records = [self._app.record(name) for name in self._named(collection)]
        return {kind for record in records for kind in self._app.rules(record).graph.types}

    def is_anywhere(self) -> bool:
        """Say whether the settings of any collection name types of entities."""
        return any(self._app.rules(record).graph.types for record in self._app.records())

    def counts(self, collection: str | Sequence[str] | None = None) -> dict[str, int]:
        """Return type → number of entities that documents mention, most first."""
        found: Counter[str] = Counter()
        records = self._current(collection)
        with self._app.catalog.read() as connection:
            for record in records:
                found.update(entities.counts(connection, record.id))
        return dict(found.most_common())

    def report(self, collection: str, most: int = 20) -> GraphReport:
        """Return how complete and clean the graph of a collection is; see ``graph_report``."""
        self._current(collection)
        return report_of(self._app, collection, most)

    def experts(self, entity: Entity, limit: int = 10) -> list[Expert]:
        """Return who wrote most of what mentions an entity: authors of repositories, people that metadata names."""
        record = self._app.record(entity.collection)
        with self._app.catalog.read() as connection:
            return graph_expertise.experts(connection, record.id, entity.id, limit)

    def impact(self, entity: Entity, limit: int = 20) -> list[Affected]:
        """Return the documents to look at when an entity changes, the most direct first, with the words that say so."""
        self._app.record(entity.collection)
        with self._app.catalog.read() as connection:
            return graph_expertise.affected(connection, entity.id, limit)

    def export(self, collection: str, form: GraphFormat = "graphml") -> Iterator[str]:
        """Return the pieces of a file with the graph of a collection; see ``graph_export.parts``."""
        self.update(collection)
        return graph_export.parts(self._app, collection, form)

    def updated_at(self, collection: str) -> str:
        """Return when the graph of a collection last followed its documents, ISO 8601; "" = never."""
        record = self._app.record(collection)
        with self._app.catalog.read() as connection:
            return entities.state(connection, record.id).computed_at

    def context(self, entity: Entity) -> str:
        """Return some words around the surest mention of an entity, "" where only metadata mentions it."""
        with self._app.catalog.read() as connection:
            places = stated_edges.mentions(connection, entity.id, 3)
        return next((one.context for one in places if one.end > one.start), "")

    def with_evidence(self, relations: Sequence[Relation], limit: int = 1) -> list[Relation]:
        """Return relations with so many places that state each."""
        with self._app.catalog.read() as connection:
            places = stated_edges.statements(connection, [_edge(one) for one in relations], limit)
        return [replace(one, evidence=places[_edge(one).key]) for one in relations]

    def decide(self, kind: Literal["merge", "split"], main: Entity, other: str, other_type: str = "") -> None:
        """Remember that ``other`` is another name of an entity ("merge"), or is not ("split"), and follow that.

        It holds also when documents are read again.

        Raises:
            InvalidInput: ``other`` is no name, or that of the entity itself; one of them is of code.
        """
        key = _key(other)
        if of_code := {main.type, other_type or main.type} & CODE_TYPES:
            raise InvalidInput(
                f"Names of type {min(of_code)} are never merged.",
                hint="In code each spelling is another name.",
            )
        if key == folded(main.name):
            raise InvalidInput(f"{other!r} is the name of the entity itself.")
        record = self._app.record(main.collection)
        with self._app.catalog.write() as connection:
            named = Decision(kind, main.type, folded(main.name), key, other_type or main.type)
            entities.decide(connection, record.id, named)
        self.update(main.collection)

    def _names(self, record: CollectionRecord) -> RelationNames:
        return RelationNames(self._app.rules(record).graph.relations)

    def _current(self, collection: str | Sequence[str] | None) -> list[CollectionRecord]:
        """Return the collections that are meant, with their graphs up to date."""
        records = [self._app.record(name) for name in self._named(collection)]
        kept = [one for one in records if self._app.graphs.of(one).extraction is not None]
        for one in kept:
            self.update(one.name)
        return [self._app.record(one.name) for one in kept]

    def _relations(
        self, connection: Connection, record: CollectionRecord, found: Sequence[Edge], evidence: int
    ) -> list[Relation]:
        ids = {end for one in found for end in (one.source_id, one.target_id)}
        rows = {
            number: self._entity(connection, record, row) for number, row in entities.of_ids(connection, ids).items()
        }
        places = stated_edges.statements(connection, found, evidence) if evidence else {}
        return [
            Relation(
                rows[one.source_id],
                one.type,
                rows[one.target_id],
                one.confidence,
                one.statements,
                places.get(one.key, ()),
            )
            for one in found
        ]

    def _entity(
        self, connection: Connection, record: CollectionRecord, one: EntityRecord, *, aliases: bool = False
    ) -> Entity:
        others = [] if one.type in CODE_TYPES or not aliases else entities.other_names(connection, one)
        return Entity(
            one.id,
            one.name,
            one.type,
            record.name,
            one.confidence,
            one.documents,
            one.mentions,
            tuple(others),
            one.why if one.canonical_id is None else "",
        )


_NO_GRAPH = "See what there is: pinakes graph top. A collection has a graph where its settings name types of entities."


def _key(name: str) -> str:
    key = folded(name[: MAX_NAME_CHARS + 1])
    if not key or len(name) > MAX_NAME_CHARS:
        raise InvalidInput(f"{name[:50]!r} is no name of 1 to {MAX_NAME_CHARS} characters.")
    return key


def _symbol(name: str) -> str:
    """Return a name in code as the graph has it: that of ``fs/inode.c:helper`` is ``helper@fs/inode.c``."""
    path, colon, simple = name.strip().rpartition(":")
    return f"{simple}@{path}" if colon and simple and "." in path and not path.endswith(":") else name.strip()


def _edge(one: Relation) -> Edge:
    return Edge(one.source.id, one.type, one.target.id, one.confidence, one.statements)
