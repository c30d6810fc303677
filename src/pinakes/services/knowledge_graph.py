"""The knowledge graph for callers: entities, neighbours, paths, and decisions on names."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from pinakes.app import App
from pinakes.catalog import entities, graph_state, stated_edges
from pinakes.catalog.collections import CollectionRecord
from pinakes.catalog.entities import Decision
from pinakes.catalog.stated_edges import CONTEXT_BEFORE, CONTEXT_CHARS, Evidence
from pinakes.core.errors import InvalidInput
from pinakes.core.graph_paths import Direction
from pinakes.core.graph_records import CODE_TYPES, folded
from pinakes.graph import following
from pinakes.graph.asked_names import apart, types_of
from pinakes.search.as_of import moment
from pinakes.services import graph_expertise, graph_export
from pinakes.services.entity_lookup import Entity, EntityLookup, entity_of, name_key
from pinakes.services.entity_relations import (
    MOST_EDGES,
    EntityPaths,
    EntityRelations,
    PathRelation,
    Relation,
    RelationPage,
)
from pinakes.services.graph_as_of import GraphAsOf
from pinakes.services.graph_expertise import AffectedPage, ExpertPage
from pinakes.services.graph_export import GraphFormat
from pinakes.services.graph_report import GraphReport, report_of, why_missing

__all__ = (
    "Entity",
    "EntityPaths",
    "EntityReport",
    "KnowledgeGraph",
    "PathRelation",
    "Relation",
    "RelationPage",
)


@dataclass(frozen=True, slots=True)
class EntityReport:
    """What is known of an entity: its relations, the surest first, and where it is mentioned.

    ``merged``: the other names that were made its own, each with the reason. ``missing``: why no document is about it,
    where documents are about such entities; "" where one is. ``total``: how many relations there are. ``notes``: what
    an answer as of a time does not cover, or why there are no relations.
    """

    entity: Entity
    relations: Sequence[Relation]
    mentions: Sequence[Evidence]
    merged: Sequence[tuple[str, str]] = field(default=())
    missing: str = ""
    notes: Sequence[str] = field(default=())
    total: int = 0


class KnowledgeGraph:
    """Questions to the graphs of a home. Each first has the graph follow its documents. Thread-safe."""

    def __init__(self, app: App, named: Callable[[str | Sequence[str] | None], list[str]]) -> None:
        """``named``: gives the names of the collections that a caller means."""
        self._app, self._named, self._past = app, named, GraphAsOf(app)
        self._lookup = EntityLookup(app, self._current, self.absent)
        self.find, self.called, self.similar = self._lookup.find, self._lookup.called, self._lookup.similar
        self.choose, self.one = self._lookup.choose, self._lookup.one
        self._relations = EntityRelations(app)
        self.relations, self.paths = self._relations.page, self._relations.paths
        self.with_evidence = self._relations.with_evidence

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
        if again or self._app.profile_rules.are_to_keep(record):
            with self._app.catalog.write() as connection:
                record = self._app.profile_rules.keep(connection, record)
                if again:
                    entities.forget(connection, record.id)
        return following.follow(self._app.catalog, record, extraction, on_step)

    def remove(self, collection: str) -> int:
        """Remove what is left of the graph of a collection that has none any more; return how many entities went.

        Decisions on names stay.

        Raises:
            NotFound: there is no such collection.
            InvalidInput: its settings name types: it has a graph.
        """
        record = self._app.record(collection)
        if self._app.graphs.of(record).extraction is not None:
            raise InvalidInput(f"The settings of collection {collection!r} name types: it has a graph.")
        with self._app.catalog.write() as connection:
            return graph_state.remove(connection, record.id)

    def only(self, collection: str | None = None) -> str:
        """Return the collection whose graph is meant where a question can be of one only.

        Raises:
            NotFound: there is no such collection.
            InvalidInput: none of those that are meant has a graph, or several have.
        """
        names = [one for one in self._named(collection) if self._app.graphs.of(self._app.record(one)).extraction]
        if len(names) > 1:
            raise InvalidInput(f"Several collections have a graph: {', '.join(names)}.", hint="Name one collection.")
        if not names:
            why = [f"{one[0].upper()}{one[1:]}." for one in self.absent(collection)]
            raise InvalidInput(why[0] if why else "There is no collection with a graph.", hint=" ".join(why[1:]))
        return names[0]

    def is_behind(self, collection: str) -> bool:
        """Say whether the graph of a collection has to follow its documents."""
        record = self._app.record(collection)
        extraction = self._app.graphs.of(record).extraction
        if extraction is None:
            return False
        if self._app.profile_rules.are_to_keep(record):
            return True
        with self._app.catalog.read() as connection:
            return following.is_behind(connection, record, extraction)

    def absent(self, collection: str | Sequence[str] | None = None) -> list[str]:
        """Return what keeps the graphs of these collections from answering: there is none, or it is not up to date."""
        found = list[str]()
        for name in self._named(collection):
            record = self._app.record(name)
            if self._app.graphs.of(record).extraction is None:
                found.append(
                    f"collection {name!r} has no graph: it gets one where it is added with --profile handbook, kep or "
                    f"kernel (and --collection {name}), or where its settings name types "
                    f"(collections.{name}.graph.types)"
                )
            elif self.is_behind(name):
                found.append(f"the graph of collection {name!r} has not followed its documents yet")
            else:
                with self._app.catalog.read() as connection:
                    if not entities.counts(connection, record.id):
                        found.append(f"no document of collection {name!r} mentions an entity")
        return found

    def show(
        self, entity: Entity, *, evidence: int = 1, mentions: int = 5, limit: int | None = MOST_EDGES
    ) -> EntityReport:
        """Return what is known of an entity, with so many places for each relation."""
        record = self._app.record(entity.collection)
        page = self._relations.page(entity, limit=limit, evidence=evidence)
        with self._app.catalog.read() as connection:
            places = stated_edges.mentions(connection, entity.id, mentions)
            members = entities.members(connection, [entity.id])[entity.id]
            row = entities.of_ids(connection, [entity.id])[entity.id]
            full = entity_of(connection, record.name, row, aliases=True)
            why = why_missing(connection, full.id, full.type, full.name, self._app.rules(record).graph)
        merged = tuple((f"{one.type or 'candidate'}:{one.name}", one.why) for one in members)
        return EntityReport(full, page.relations, places, merged, why, page.notes, page.total)

    def as_of(
        self,
        entity: Entity,
        as_of: str,
        *,
        types: Collection[str] = (),
        direction: Direction = "both",
        limit: int | None = MOST_EDGES,
        mentions: int = 5,
    ) -> EntityReport:
        """Return what documents said of an entity at a day or time: mentions and stated relations of that time.

        Names, merges and types are those of now; ``notes`` say so, and of which documents it is not known any more.

        Raises:
            InvalidInput: ``as_of`` is no day or time.
        """
        record = self._app.record(entity.collection)
        with self._app.catalog.read() as connection:
            meant = self._relations.meant(connection, record, types, direction)
        found = self._past.entity(record, entity.id, moment(as_of), meant)
        edges = [edge for edge, _ in found.relations[:limit]]
        with self._app.catalog.read() as connection:
            relations = self._relations.read(connection, record, edges, 0)
        stated = [
            replace(one, evidence=places[:1]) for one, (_, places) in zip(relations, found.relations, strict=False)
        ]
        sure = entity.confidence or max((one.confidence for one in found.mentions), default=0.0)  # of one that is gone
        then = replace(entity, documents=found.documents, mentions=len(found.mentions), confidence=sure)
        worded = self._relations.with_metadata_words(stated, record)
        return EntityReport(then, worded, found.mentions[:mentions], notes=found.notes, total=len(found.relations))

    def top(
        self,
        collection: str | Sequence[str] | None = None,
        types: Collection[str] = (),
        limit: int = 20,
        start: int = 0,
    ) -> list[Entity]:
        """Return the entities that most documents mention, from number ``start`` on; ``types`` in any case.

        Raises:
            InvalidInput: there is no such type.
        """
        records, found = self._current(collection), list[Entity]()
        wanted = self._lookup.typed(types, records)
        before = start if len(records) > 1 else 0  # those of several collections are merged from the first on
        with self._app.catalog.read() as connection:
            for record in records:
                some = entities.known(connection, record.id, wanted, before + limit, start - before)
                found += [entity_of(connection, record.name, one) for one in some]
        return sorted(found, key=lambda one: (-one.documents, -one.mentions, one.name))[before : before + limit]

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

    def experts(self, entity: Entity, limit: int = 10, start: int = 0) -> ExpertPage:
        """Return who wrote most of what mentions an entity: authors of repositories, people that metadata names."""
        record = self._app.record(entity.collection)
        with self._app.catalog.read() as connection:
            return graph_expertise.experts(connection, record.id, entity.id, start, limit)

    def impact(self, entity: Entity, limit: int = 20, start: int = 0) -> AffectedPage:
        """Return the documents to look at when an entity changes, the most direct first, with the words that say so."""
        rules = self._app.rules(self._app.record(entity.collection)).graph
        with self._app.catalog.read() as connection:
            return graph_expertise.affected(connection, rules, entity.id, start, limit)

    def export(self, collection: str, form: GraphFormat = "graphml") -> Iterator[str]:
        """Return the pieces of a file with the graph of a collection; see ``graph_export.parts``."""
        self.update(collection)
        return graph_export.parts(self._app, collection, form)

    def updated_at(self, collection: str) -> str:
        """Return when the graph of a collection last followed its documents, ISO 8601; "" = never."""
        record = self._app.record(collection)
        with self._app.catalog.read() as connection:
            return graph_state.state(connection, record.id).computed_at

    def stamp(self, collection: str | Sequence[str] | None = None) -> str:
        """Return what changes whenever one of these graphs does; they follow their documents first."""
        return " ".join(self.updated_at(one.name) for one in self._current(collection))

    def context(self, entity: Entity) -> str:
        """Return some words around the surest mention of an entity, "" where only metadata mentions it."""
        with self._app.catalog.read() as connection:
            places = stated_edges.mentions(connection, entity.id, 3)
        return next((_whole_words(one) for one in places if one.end > one.start), "")

    def typed(self, name: str, collection: str | Sequence[str] | None = None) -> tuple[str, str]:
        """Return type and name of ``TYPE:NAME``, the type in any case; "" and the name where no type is named."""
        records = [self._app.record(one) for one in self._named(collection)]
        return apart(name, {kind for one in records for kind in types_of(self._app.rules(one).graph)})

    def decide(self, kind: Literal["merge", "split"], main: Entity, other: str, other_type: str = "") -> None:
        """Remember that ``other`` is another name of an entity ("merge"), or is not ("split"), and follow that.

        It holds also when documents are read again.

        Raises:
            InvalidInput: ``other`` is no name, or that of the entity itself; one of them is of code; an alias of a list
                is to be split.
        """
        key = name_key(other)
        if of_code := {main.type, other_type or main.type} & CODE_TYPES:
            raise InvalidInput(
                f"Names of type {min(of_code)} are never merged.",
                hint="In code each spelling is another name.",
            )
        if key == folded(main.name):
            raise InvalidInput(f"{other!r} is the name of the entity itself.")
        record = self._app.record(main.collection)
        if kind == "split" and self._is_listed(record, main, key):
            raise InvalidInput(
                f"{other!r} is an alias of {main.name} in a list: texts that have it mention {main.name}.",
                hint=f"Remove it from the list: {main.type} in graph.types, [[entities]], or a file of graph.lists.",
            )
        with self._app.catalog.write() as connection:
            named = Decision(kind, main.type, folded(main.name), key, other_type or main.type)
            entities.decide(connection, record.id, named)
        self.update(main.collection)

    def _is_listed(self, record: CollectionRecord, main: Entity, alias: str) -> bool:
        extraction = self._app.graphs.of(record).extraction
        of_main = (one for one in (extraction.listings if extraction else ()) if one.entity.type == main.type)
        return any(alias in map(folded, one.aliases) for one in of_main if folded(one.entity.name) == folded(main.name))

    def _current(self, collection: str | Sequence[str] | None) -> list[CollectionRecord]:
        """Return the collections that are meant, with their graphs up to date."""
        records = [self._app.record(name) for name in self._named(collection)]
        kept = [one for one in records if self._app.graphs.of(one).extraction is not None]
        for one in kept:
            self.update(one.name)
        return [self._app.record(one.name) for one in kept]


def _whole_words(one: Evidence) -> str:
    """Return the words around a place without the parts of words at their ends."""
    text = one.context
    if one.start > CONTEXT_BEFORE:
        text = text.partition(" ")[2] or text
    return (text.rpartition(" ")[0] or text) if len(one.context) == CONTEXT_CHARS else text
