"""Tools for entities and their relations, with the words that state them."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal, TypeVar

from pydantic import Field
from pydantic.json_schema import SkipJsonSchema

from pinakes.core.graph_records import MAX_NAME_CHARS, STRUCTURE
from pinakes.core.next_steps import step
from pinakes.core.records import JSON
from pinakes.library import Library
from pinakes.services.entity_lookup import Chosen
from pinakes.services.graph_expertise import AffectedPage, ExpertPage
from pinakes.services.knowledge_graph import Entity, PathRelation, Relation
from pinakes.tools.declare import Reply, tool
from pinakes.tools.failures import as_word
from pinakes.tools.graph_pages import LEAST_S, Listing, Page, begin
from pinakes.tools.parameters import Collection, collection_from

MAX_SNIPPET_CHARS = 200
MAX_GIVEN_CHARS = 64 + 1 + MAX_NAME_CHARS
"""So many characters TYPE:NAME has at most."""

MOST_ENTITIES, MOST_RELATIONS, MOST_PEOPLE, MOST_DOCUMENTS = 500, 500, 100, 200
"""So many entries one answer has at most."""


EntityNameGiven = Annotated[
    str,
    Field(
        min_length=1,
        max_length=MAX_GIVEN_CHARS,
        description="Its name, alias or title, in any case; TYPE:NAME names the type.",
    ),
]
EntityTypeGiven = Annotated[
    str, Field(max_length=100, description="Only entities of this type, such as VENDOR, in any case; empty = of any.")
]
RelationTypes = Annotated[
    list[str],
    Field(description="Only relations of these types, such as INTEGRATES_WITH or USED_BY, in any case; none = all."),
]
Cursor = Annotated[str, Field(max_length=500, description="`next_cursor` of the page before.")]
ROUTE = "/api/v1/graph"


class Entities(Listing):
    """Entities: id, name, type, collection, confidence, documents, mentions, aliases."""

    listed: ClassVar[str] = "entities"
    entities: list[dict[str, Any]]


class OfEntity(Listing):
    """Something of an entity."""

    entity: dict[str, Any]


class Related(OfEntity):
    """The relations of an entity, each with the words, or the metadata field and value, that state it."""

    listed: ClassVar[str] = "relations"
    relations: list[dict[str, Any]]


class Experts(OfEntity):
    """People: name, documents they wrote and answer for, mentions in these, and the documents of most mentions."""

    listed: ClassVar[str] = "experts"
    experts: list[dict[str, Any]]


class Impact(OfEntity):
    """Documents, the most direct first: link is about, states, mentions or related."""

    listed: ClassVar[str] = "documents"
    documents: list[dict[str, Any]]


PageOf = TypeVar("PageOf", bound=OfEntity)


class Paths(Reply):
    """Shortest paths between two entities: lists of relations, each with the words that state it.

    Each step goes `from` one entity `to` the next; direction "in" = against the relation, which then `reads` otherwise.
    """

    paths: list[list[dict[str, Any]]]
    notes: list[str] | SkipJsonSchema[None] = None


class Overview(Listing):
    """What the graphs hold: the number of entities of each type, and the most mentioned ones."""

    listed: ClassVar[str] = "entities"
    types: dict[str, int]
    entities: list[dict[str, Any]]


@tool(toolset="graph", least_s=LEAST_S, error_data=as_word, tags=("graph", "entity"))
def find_entity(
    library: Library,
    name: EntityNameGiven,
    collection: Collection = "",
    entity_type: EntityTypeGiven = "",
    limit: Annotated[int, Field(ge=1, le=MOST_ENTITIES, description="How many entities.")] = 50,
    cursor: Cursor = "",
) -> Entities:
    """Find entities by a name, an alias, a title or a misspelling: vendors, products, people, proposals, code."""
    where, types = collection_from(library, collection), _types(entity_type)
    asked: dict[str, JSON] = {"name": name, "collection": collection, "entity_type": entity_type, "limit": limit}
    page = begin("find_entity", asked, library.graph.stamp(where), cursor)
    found, notes = library.graph.find(name, where, types), list[str]()
    if not found:
        found = library.graph.similar(name, where, types)
        called = f"no {entity_type.strip().upper() or 'entity'} is called {name!r}"
        why = [f"{called}; these are called alike"] if found else [f"{called}, nor alike", *library.graph.absent(where)]
        notes += why if found else [*why, f"see what there is: {step('entities')}"]
    shown = [entity_data(one) for one in found[page.start : page.start + limit]]
    made = Entities(entities=shown, total=len(found), notes=notes or None)
    return made.paged(page)


@tool(toolset="graph", least_s=LEAST_S, error_data=as_word, tags=("graph", "relations"))
def related_entities(
    library: Library,
    name: EntityNameGiven,
    collection: Collection = "",
    relation_types: RelationTypes = [],  # noqa: B006
    direction: Annotated[Literal["out", "in", "both"], Field(description="From the entity, to it, or both.")] = "both",
    min_confidence: Annotated[float, Field(ge=0, le=1, description="Only relations as sure as this.")] = 0.0,
    limit: Annotated[int, Field(ge=1, le=MOST_RELATIONS, description="How many relations.")] = 20,
    as_of: Annotated[
        str, Field(max_length=50, description="As stated on this day (2026-01-31) or at this time (UTC); empty = now.")
    ] = "",
    cursor: Cursor = "",
) -> Related:
    """List what an entity is related to, the surest first, each with the document and the words that say so."""
    graph = library.graph
    chosen = graph.choose(name, collection_from(library, collection), unmentioned=bool(as_of))
    entity = chosen.entity
    page = related_page(
        library,
        entity,
        name,
        collection,
        cursor,
        limit=limit,
        **_without_defaults(
            {"relation_types": relation_types, "direction": direction, "min_confidence": min_confidence, "as_of": as_of}
        ),
    )
    if as_of:
        then = graph.as_of(entity, as_of, types=relation_types, direction=direction, limit=None)
        entity, stated = then.entity, [one for one in then.relations if one.confidence >= min_confidence]
        shown, total, notes = stated[page.start : page.start + limit], len(stated), then.notes
    else:
        found = graph.relations(
            entity,
            types=relation_types,
            direction=direction,
            min_confidence=min_confidence,
            start=page.start,
            limit=limit,
            evidence=1,
        )
        shown, total, notes = list(found.relations), found.total, found.notes
    made = Related(
        entity=entity_data(entity),
        relations=[relation_data(one) for one in shown],
        total=total,
        notes=[*chosen.notes, *notes] or None,
    )
    return made.paged(page)


def related_page(library: Library, entity: Entity, name: str, collection: str, cursor: str = "", **asked: JSON) -> Page:
    """Return the page of the relations of an entity that a cursor means."""
    given: dict[str, JSON] = {"name": name, "collection": collection, **asked}
    return begin("related_entities", given, library.graph.stamp(entity.collection), cursor, f"{ROUTE}/entity")


@tool(toolset="graph", least_s=LEAST_S, error_data=as_word, tags=("graph", "path"))
def entity_path(
    library: Library,
    source: EntityNameGiven,
    target: EntityNameGiven,
    collection: Collection = "",
    relation_types: RelationTypes = [],  # noqa: B006
    max_hops: Annotated[int, Field(ge=1, le=6, description="At most so many relations.")] = 4,
    direction: Annotated[
        Literal["out", "in", "both"],
        Field(
            description="out = all relations lead from source to target (who is called in the end), in = against that."
        ),
    ] = "both",
    through_owner: Annotated[
        Literal["auto", "yes", "no"],
        Field(
            description="Whether paths go through the owner (`we`), to whom nearly all are related; auto = if need be."
        ),
    ] = "auto",
) -> Paths:
    """Show how two entities are connected: the shortest paths, with the direction and the words of each step."""
    where = collection_from(library, collection)
    ends = [library.graph.choose(name, where) for name in (source, target)]
    found = library.graph.paths(
        *(one.entity for one in ends),
        types=relation_types,
        most_hops=max_hops,
        direction=direction,
        through_owner={"auto": None, "yes": True, "no": False}[through_owner],
    )
    notes = [note for one in ends for note in one.notes] + list(found.notes)
    return Paths(paths=[[step_data(one) for one in path] for path in found.paths], notes=notes or None)


@tool(toolset="graph", least_s=LEAST_S, error_data=as_word, tags=("graph", "overview"))
def graph_overview(
    library: Library,
    collection: Collection = "",
    entity_type: EntityTypeGiven = "",
    limit: Annotated[int, Field(ge=1, le=MOST_ENTITIES, description="How many entities.")] = 20,
    cursor: Cursor = "",
) -> Overview:
    """Tell which types of entities there are, how many of each, and which most documents mention."""
    where, types = collection_from(library, collection), _types(entity_type)
    asked: dict[str, JSON] = {"collection": collection, "entity_type": entity_type, "limit": limit}
    page = begin("graph_overview", asked, library.graph.stamp(where), cursor, ROUTE)
    found = library.graph.top(where, types, limit, page.start)
    counts = library.graph.counts(where)
    wanted = {one.casefold() for one in types}
    total = sum(
        number for kind, number in counts.items() if (kind.casefold() in wanted if wanted else kind not in STRUCTURE)
    )
    notes = [] if found or page.start else library.graph.absent(where)
    if not found and counts and not page.start:
        notes.append(f"no document mentions an entity of type {entity_type.strip().upper()}")
    made = Overview(types=counts, entities=[entity_data(one) for one in found], total=total, notes=notes or None)
    return made.paged(page)


@tool(toolset="graph", least_s=LEAST_S, error_data=as_word, tags=("graph", "people"))
def find_experts(
    library: Library,
    name: EntityNameGiven,
    collection: Collection = "",
    limit: Annotated[int, Field(ge=1, le=MOST_PEOPLE, description="How many people.")] = 5,
    cursor: Cursor = "",
) -> Experts:
    """Tell who wrote most about an entity, by authors in git and metadata, with documents that show it."""
    chosen, page = _begun(library, name, collection, limit, cursor, "find_experts", "experts")
    found = library.graph.experts(chosen.entity, limit, page.start)
    experts: list[dict[str, Any]] = []
    for one in found.experts:
        documents = [
            {"doc_id": each.uid, "path": each.path, "mentions": each.mentions, "fields": list(each.fields)}
            for each in one.documents
        ]
        person = {"name": one.name, "wrote": one.wrote, "answers_for": one.answers, "mentions": one.mentions}
        experts.append({**person, "documents": documents})
    why = f"no document that mentions {chosen.entity.name} names people in its metadata"
    return _page_of(Experts, chosen, page, experts, found, why)


@tool(toolset="graph", least_s=LEAST_S, error_data=as_word, tags=("graph", "impact"))
def impact_of(
    library: Library,
    name: EntityNameGiven,
    collection: Collection = "",
    limit: Annotated[int, Field(ge=1, le=MOST_DOCUMENTS, description="How many documents.")] = 20,
    cursor: Cursor = "",
) -> Impact:
    """List the documents to look at when an entity changes, the most direct first, with the words that say so."""
    chosen, page = _begun(library, name, collection, limit, cursor, "impact_of", "impact")
    found = library.graph.impact(chosen.entity, limit, page.start)
    documents = [
        {
            "doc_id": one.uid,
            "path": one.path,
            "link": one.link,
            "mentions": one.mentions,
            "relations": list(one.relations),
            "text": snippet(one.text),
        }
        for one in found.documents
    ]
    return _page_of(Impact, chosen, page, documents, found, f"no document speaks of {chosen.entity.name}")


def _begun(
    library: Library, name: str, collection: str, limit: int, cursor: str, tool: str, route: str
) -> tuple[Chosen, Page]:
    """Return the entity that a caller means, and the page of what a tool lists of it."""
    chosen = library.graph.choose(name, collection_from(library, collection))
    asked: dict[str, JSON] = {"name": name, "collection": collection, "limit": limit}
    return chosen, begin(tool, asked, library.graph.stamp(chosen.entity.collection), cursor, f"{ROUTE}/{route}")


def _page_of(
    reply: type[PageOf],
    chosen: Chosen,
    page: Page,
    entries: list[dict[str, Any]],
    found: ExpertPage | AffectedPage,
    why: str,
) -> PageOf:
    """Return one page of what there is of an entity; ``why``: why there is nothing."""
    notes = [*chosen.notes, *found.notes, *([] if found.total else [why])]
    listed = {reply.listed: entries}
    return reply(entity=entity_data(chosen.entity), total=found.total, notes=notes or None, **listed).paged(page)


def entity_data(one: Entity) -> dict[str, JSON]:
    """Return an entity as plain data."""
    return {
        "entity_id": one.id,
        "name": one.name,
        "entity_type": one.type,
        "collection": one.collection,
        "confidence": one.confidence,
        "documents": one.documents,
        "mentions": one.mentions,
        **({"aliases": list(one.aliases)} if one.aliases else {}),
    }


def relation_data(one: Relation) -> dict[str, JSON]:
    """Return a relation as plain data, with the places that state it."""
    return {
        "source": one.source.name,
        "source_type": one.source.type,
        "relation_type": one.type,
        "target": one.target.name,
        "target_type": one.target.type,
        "confidence": one.confidence,
        "statements": one.statements,
        "evidence": [
            {
                "doc_id": place.uid,
                "path": place.path,
                "chunk_id": place.chunk_id,
                "text": snippet(place.text),
                "found_by": place.extractor,
                **({"field": place.field} if place.field else {}),
            }
            for place in one.evidence
        ],
    }


def step_data(one: PathRelation) -> dict[str, JSON]:
    """Return a step of a path as plain data: which way it goes, and how the relation reads that way."""
    way: dict[str, JSON] = {"from": one.start.name, "to": one.end.name, "direction": one.direction}
    return {**way, **({"reads": one.reads} if one.reads else {}), **relation_data(one)}


def snippet(text: str) -> str:
    """Return words of a document on one line, at most ``MAX_SNIPPET_CHARS``."""
    plain = " ".join(text.split())
    return plain if len(plain) <= MAX_SNIPPET_CHARS else f"{plain[: MAX_SNIPPET_CHARS - 3]}..."


def _types(entity_type: str) -> tuple[str, ...]:
    return (entity_type.strip(),) if entity_type.strip() else ()


def _without_defaults(asked: dict[str, JSON]) -> dict[str, JSON]:
    usual: dict[str, JSON] = {"relation_types": [], "direction": "both", "min_confidence": 0.0, "as_of": ""}
    return {name: value for name, value in asked.items() if value != usual[name]}
