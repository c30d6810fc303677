"""Entities and the relations between them, as tools: who is related to whom, and which words say so."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field
from pydantic.json_schema import SkipJsonSchema

from pinakes.core.records import JSON
from pinakes.library import Library
from pinakes.services.knowledge_graph import Entity, Relation
from pinakes.tools.declare import Reply, tool
from pinakes.tools.failures import as_word
from pinakes.tools.parameters import Collection, meant

MAX_SNIPPET_CHARS = 200

EntityNameGiven = Annotated[
    str, Field(min_length=1, max_length=200, description="Its name or an alias, in any case; TYPE:NAME names the type.")
]
EntityTypeGiven = Annotated[str, Field(description="Only entities of this type, such as VENDOR; empty = of any.")]
RelationTypes = Annotated[
    list[str], Field(description="Only relations of these types, such as INTEGRATES_WITH; none = all.")
]


class Entities(Reply):
    """Entities: id, name, type, collection, confidence, documents, mentions, aliases."""

    entities: list[dict[str, Any]]
    notes: list[str] | SkipJsonSchema[None] = None


class Related(Reply):
    """The relations of an entity, each with the words that state it."""

    entity: dict[str, Any]
    relations: list[dict[str, Any]]
    notes: list[str] | SkipJsonSchema[None] = None


class Experts(Reply):
    """People: name, documents they wrote and answer for, mentions in these, and the documents of most mentions."""

    entity: dict[str, Any]
    experts: list[dict[str, Any]]


class Impact(Reply):
    """Documents, the most direct first: link is about, states, mentions or related."""

    entity: dict[str, Any]
    documents: list[dict[str, Any]]


class Paths(Reply):
    """Shortest paths between two entities: lists of relations, each with the words that state it."""

    paths: list[list[dict[str, Any]]]


class Overview(Reply):
    """What the graphs hold: the number of entities of each type, and the most mentioned ones."""

    types: dict[str, int]
    entities: list[dict[str, Any]]


@tool(toolset="graph", error_data=as_word, tags=("graph", "entity"))
def find_entity(
    library: Library,
    name: EntityNameGiven,
    collection: Collection = "",
    entity_type: EntityTypeGiven = "",
) -> Entities:
    """Find entities by a name, an alias or a misspelling: vendors, products, people, teams, regions and the like."""
    types, wanted = _typed(name, entity_type)
    found = library.graph.find(wanted, meant(library, collection), types)
    if found:
        return Entities(entities=[entity_data(one) for one in found])
    near = library.graph.similar(wanted, meant(library, collection), types)
    return Entities(entities=[entity_data(one) for one in near], notes=[f"No entity is called {wanted!r}; these are."])


@tool(toolset="graph", error_data=as_word, tags=("graph", "relations"))
def related_entities(
    library: Library,
    name: EntityNameGiven,
    collection: Collection = "",
    relation_types: RelationTypes = [],  # noqa: B006
    direction: Annotated[Literal["out", "in", "both"], Field(description="From the entity, to it, or both.")] = "both",
    min_confidence: Annotated[float, Field(ge=0, le=1, description="Only relations as sure as this.")] = 0.0,
    limit: Annotated[int, Field(ge=1, le=500, description="How many relations.")] = 20,
    as_of: Annotated[
        str, Field(max_length=50, description="As stated on this day (2026-01-31) or at this time (UTC); empty = now.")
    ] = "",
) -> Related:
    """List what an entity is related to, the surest first, each with the document and the words that say so."""
    types, wanted = _typed(name, "")
    entity = library.graph.one(wanted, meant(library, collection), types, unmentioned=bool(as_of))
    if as_of:
        then = library.graph.as_of(entity, as_of, types=relation_types, direction=direction)
        stated = [relation_data(one) for one in then.relations if one.confidence >= min_confidence]
        return Related(entity=entity_data(then.entity), relations=stated[:limit], notes=list(then.notes))
    found = library.graph.neighbours(
        entity, types=relation_types, direction=direction, min_confidence=min_confidence, limit=limit, evidence=1
    )
    return Related(entity=entity_data(entity), relations=[relation_data(one) for one in found])


@tool(toolset="graph", error_data=as_word, tags=("graph", "path"))
def entity_path(
    library: Library,
    source: EntityNameGiven,
    target: EntityNameGiven,
    collection: Collection = "",
    relation_types: RelationTypes = [],  # noqa: B006
    max_hops: Annotated[int, Field(ge=1, le=6, description="At most so many relations.")] = 4,
) -> Paths:
    """Show how two entities are connected: the shortest paths, with the words that state each step."""
    ends = []
    for name in (source, target):
        types, wanted = _typed(name, "")
        ends.append(library.graph.one(wanted, meant(library, collection), types))
    found = library.graph.paths(ends[0], ends[1], types=relation_types, most_hops=max_hops)
    return Paths(paths=[[relation_data(one) for one in path] for path in found])


@tool(toolset="graph", error_data=as_word, tags=("graph", "overview"))
def graph_overview(
    library: Library,
    collection: Collection = "",
    entity_type: EntityTypeGiven = "",
    limit: Annotated[int, Field(ge=1, le=500, description="How many entities.")] = 20,
) -> Overview:
    """Tell which types of entities there are, how many of each, and which most documents mention."""
    found = library.graph.top(meant(library, collection), (entity_type,) if entity_type else (), limit)
    counts = library.graph.counts(meant(library, collection))
    return Overview(types=counts, entities=[entity_data(one) for one in found])


@tool(toolset="graph", error_data=as_word, tags=("graph", "people"))
def find_experts(
    library: Library,
    name: EntityNameGiven,
    collection: Collection = "",
    limit: Annotated[int, Field(ge=1, le=100, description="How many people.")] = 5,
) -> Experts:
    """Tell who wrote most about an entity, by authors in git and metadata, with documents that show it."""
    types, wanted = _typed(name, "")
    entity = library.graph.one(wanted, meant(library, collection), types)
    experts: list[dict[str, Any]] = []
    for one in library.graph.experts(entity, limit):
        documents = [
            {"doc_id": each.uid, "path": each.path, "mentions": each.mentions, "fields": list(each.fields)}
            for each in one.documents
        ]
        told = {"name": one.name, "wrote": one.wrote, "answers_for": one.answers, "mentions": one.mentions}
        experts.append({**told, "documents": documents})
    return Experts(entity=entity_data(entity), experts=experts)


@tool(toolset="graph", error_data=as_word, tags=("graph", "impact"))
def impact_of(
    library: Library,
    name: EntityNameGiven,
    collection: Collection = "",
    limit: Annotated[int, Field(ge=1, le=200, description="How many documents.")] = 20,
) -> Impact:
    """List the documents to look at when an entity changes, the most direct first, with the words that say so."""
    types, wanted = _typed(name, "")
    entity = library.graph.one(wanted, meant(library, collection), types)
    documents = [
        {
            "doc_id": one.uid,
            "path": one.path,
            "link": one.link,
            "mentions": one.mentions,
            "relations": list(one.relations),
            "text": snippet(one.text),
        }
        for one in library.graph.impact(entity, limit)
    ]
    return Impact(entity=entity_data(entity), documents=documents)


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
            }
            for place in one.evidence
        ],
    }


def snippet(text: str) -> str:
    """Return words of a document on one line, at most ``MAX_SNIPPET_CHARS``."""
    plain = " ".join(text.split())
    return plain if len(plain) <= MAX_SNIPPET_CHARS else f"{plain[: MAX_SNIPPET_CHARS - 3]}..."


def _typed(name: str, entity_type: str) -> tuple[tuple[str, ...], str]:
    kind, colon, rest = name.partition(":")
    if not entity_type and colon and rest.strip() and kind.isupper():
        return (kind,), rest.strip()
    return ((entity_type,) if entity_type else ()), name.strip()
