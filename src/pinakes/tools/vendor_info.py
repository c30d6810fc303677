"""``find_vendor_info``: a vendor, or an entity of another type, in the contracted form."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from collections.abc import Collection as Some
from typing import Annotated, Any, Literal

from pydantic import Field, PrivateAttr
from pydantic.json_schema import SkipJsonSchema

from pinakes.core.errors import InvalidInput, NotFound, PinakesError
from pinakes.core.records import JSON
from pinakes.library import Library
from pinakes.services.knowledge_graph import Entity, EntityReport, Relation
from pinakes.tools.declare import Reply, Tool, tool
from pinakes.tools.graph_pages import LEAST_S, cursor_of, longest, read_cursor
from pinakes.tools.graph_tools import snippet
from pinakes.tools.parameters import Collection, collection_from

VENDOR = "VENDOR"
_LIMITS: Mapping[str, tuple[int, int]] = {
    "ids_only": (100, 500),
    "metadata": (100, 500),
    "preview": (5, 5),
    "full": (100, 500),
}
"""Response mode → at most so many entities and relationships in one answer."""

_TOP = 5
_ENTITY_FIELDS = ("entity_id", "name", "entity_type", "confidence", "snippet")
_RELATIONSHIP_FIELDS = ("source_id", "target_id", "relationship_type", "metadata")

ResponseMode = Literal["ids_only", "metadata", "preview", "full"]


class VendorInfo(Reply):
    """What is known of a vendor: ``results`` by response mode, and how to get the next page."""

    vendor_name: str
    results: dict[str, Any]
    pagination: dict[str, Any]
    execution_time_ms: float
    text: str | SkipJsonSchema[None] = None
    _again: Callable[[int], VendorInfo] | None = PrivateAttr(None)

    def made_by(self, again: Callable[[int], VendorInfo]) -> VendorInfo:
        """Note what makes the answer with another number of entities."""
        self._again = again
        return self

    def within(self, fits: Callable[[str], bool]) -> VendorInfo:
        """Return the answer with as many entities as fit, at least one; the cursor is that of the next one."""
        if self._again is None or fits(self.as_text()):
            return self
        return longest(self, self.pagination["page_size"] - 1, self._again, fits)


def as_contracted(_tool: Tool, arguments: Mapping[str, JSON], error: PinakesError) -> dict[str, JSON]:
    """Tell of an error in the contracted words."""
    if isinstance(error, NotFound | Ambiguity):
        message = error.message
    elif isinstance(error, InvalidInput):
        words = error.message.removeprefix("Invalid arguments for find_vendor_info: ")
        message = f"Invalid request parameters: {words}"
    else:
        message = f"Search failed: {error.message}"
    named = arguments.get("vendor_name")
    return {
        "error": message,
        **({"hint": error.hint} if error.hint else {}),
        **({"vendor_name": named} if isinstance(named, str) else {}),
    }


class Ambiguity(InvalidInput):
    """Several entities have the name."""


@tool(toolset="graph", least_s=LEAST_S, error_data=as_contracted, tags=("vendor", "entity", "graph"))
def find_vendor_info(
    library: Library,
    vendor_name: Annotated[str, Field(max_length=400, description="Name or alias of a vendor, in any case.")],
    response_mode: Annotated[
        ResponseMode,
        Field(
            description="ids_only; metadata = counts and the most important entities; preview = 5 entities and 5 "
            "relationships; full = up to 100 and 500."
        ),
    ] = "metadata",
    include_relationships: Annotated[bool, Field(description="Whether relationships are listed, too.")] = True,
    page_size: Annotated[int, Field(ge=1, le=100, description="At most so many entities in one answer.")] = 20,
    cursor: Annotated[str, Field(max_length=500, description="`next_cursor` of the answer before.")] = "",
    fields: Annotated[
        list[str], Field(description="Only these fields of each entity and relationship; none = all.")
    ] = [],  # noqa: B006
    response_format: Annotated[
        Literal["json", "markdown"], Field(description="markdown adds the answer as text for people.")
    ] = "json",
    entity_type: Annotated[str, Field(description="Its type; empty = VENDOR, where there is that type.")] = "",
    collection: Collection = "",
) -> VendorInfo:
    """Tell what is known of a vendor: what it offers, who uses it, who looks after it, what it works with.

    Vendors are those of the lists and texts of the collections. Each relationship names the chunk that states it.
    """
    started = time.perf_counter()
    entity = _named(library, vendor_name.strip(), entity_type.strip().upper(), collection)
    report = library.graph.show(entity, mentions=1, limit=None, evidence=0)
    related, most = _related(report), _LIMITS[response_mode]
    start = _start(cursor, entity, response_mode)

    def answer(size: int) -> VendorInfo:
        page = related[start : start + size]
        shown = {one.id for one in page} | {entity.id}
        every = [one for one in report.relations if {one.source.id, one.target.id} <= shown]
        relations = every[: most[1]] if include_relationships else []
        results = _results(library, response_mode, report, related, page, relations)
        has_more, left_out = start + size < len(related), len(every) - len(relations)
        pagination = {
            "page_size": size,
            "total": len(related),
            "has_more": has_more,
            "next_cursor": cursor_of(start + size, entity.id, response_mode) if has_more else None,
            **({"relationships_left_out": left_out} if left_out and include_relationships else {}),
        }
        return VendorInfo(
            vendor_name=report.entity.name,
            results=_with_fields(results, fields) if fields else results,
            pagination=pagination,
            execution_time_ms=round((time.perf_counter() - started) * 1000, 3),
            text=_markdown(report, page, relations) if response_format == "markdown" else None,
        )

    return answer(min(page_size, most[0])).made_by(answer)


def _named(library: Library, name: str, entity_type: str, collection: str) -> Entity:
    """Return the entity that is meant.

    Raises:
        NotFound: there is none.
        Ambiguity: there are several.
        InvalidInput: that is no name.
    """
    if not 1 <= len(name) <= 200:
        raise InvalidInput(f"vendor_name has to have 1 to 200 characters, not {len(name)}.")
    where = collection_from(library, collection)
    known = library.graph.types(where)
    if entity_type and known and entity_type not in known:
        raise InvalidInput(f"entity_type: there is no {entity_type!r}; there are {', '.join(sorted(known))}.")
    types = (entity_type,) if entity_type else (VENDOR,) if VENDOR in known else ()
    found = library.graph.called(name, where, types)
    if not found and not entity_type:
        found = library.graph.called(name, where)
    if not found:
        near = ", ".join(one.name for one in library.graph.similar(name, where, types))
        why = [f"{one[0].upper()}{one[1:]}." for one in library.graph.absent(where)]
        like = f" Similar names: {near}." if near else ""
        raise NotFound(
            f"Vendor '{name}' not found. Try using semantic_search first to find documents that mention it.{like}",
            hint=" ".join([*why, *_other_search(library)]),
        )
    if len(found) > 1:
        matches = [f"{one.name} ({one.type}, {one.collection})" for one in found]
        raise Ambiguity(
            f"Ambiguous vendor name. Multiple matches found: {matches}", hint="Give entity_type or collection."
        )
    return found[0]


def _other_search(library: Library) -> list[str]:
    """Say what searches here where ``semantic_search``, which the contracted words name, is not offered."""
    offered = library.settings.toolsets
    other = next((name for of, name in (("search", "search"), ("retrieve", "search_summaries")) if of in offered), "")
    of_set = "semantic_search is a tool of the toolset 'code', which is off here"
    return [] if "code" in offered else [f"{of_set}; use {other}." if other else f"{of_set}."]


def _related(report: EntityReport) -> list[Entity]:
    """Return the vendor, then the entities that it is related to, the surest first."""
    found = {report.entity.id: report.entity}
    for one in report.relations:
        for end in (one.source, one.target):
            found.setdefault(end.id, end)
    return list(found.values())


def _results(
    library: Library,
    mode: ResponseMode,
    report: EntityReport,
    related: Sequence[Entity],
    page: Sequence[Entity],
    relations: Sequence[Relation],
) -> dict[str, Any]:
    if mode == "ids_only":
        return {
            "vendor_name": report.entity.name,
            "entity_ids": [one.id for one in page],
            "relationship_ids": [_relation_id(one) for one in relations],
        }
    if mode == "metadata":
        kinds, types = Counter(one.type for one in report.relations), Counter(one.type for one in related)
        statistics = {
            "entity_count": len(related),
            "relationship_count": len(report.relations),
            "entity_type_distribution": dict(types.most_common()),
            "relationship_type_distribution": dict(kinds.most_common()),
        }
        top = sorted(related, key=lambda one: (-one.documents, one.name))[:_TOP]
        return {
            "vendor_name": report.entity.name,
            "statistics": statistics,
            "top_entities": [_entity_data(library, one) for one in top],
            "last_updated": library.graph.updated_at(report.entity.collection),
        }
    return {
        "vendor_name": report.entity.name,
        "entities": [_entity_data(library, one) for one in page],
        "relationships": [_relationship_data(one) for one in library.graph.with_evidence(relations)],
    }


def _entity_data(library: Library, one: Entity) -> dict[str, Any]:
    return {
        "entity_id": one.id,
        "name": one.name,
        "entity_type": one.type,
        "confidence": min(one.confidence, 1.0),
        "snippet": snippet(library.graph.context(one)),
    }


def _relationship_data(one: Relation) -> dict[str, Any]:
    place = one.evidence[0] if one.evidence else None
    metadata = {"relationship_id": _relation_id(one), "confidence": one.confidence, "statements": one.statements}
    metadata |= {"source": one.source.name, "target": one.target.name}
    metadata |= {"source_chunk_id": place.chunk_id if place else None, "source_file": place.path if place else ""}
    metadata |= {"text": snippet(place.text) if place else ""}
    metadata |= {"field": place.field} if place and place.field else {}
    return {
        "source_id": one.source.id,
        "target_id": one.target.id,
        "relationship_type": one.type,
        "metadata": metadata,
    }


def _relation_id(one: Relation) -> str:
    return f"{one.source.id}-{one.type}-{one.target.id}"


def _with_fields(results: Mapping[str, Any], fields: Sequence[str]) -> dict[str, Any]:
    """Return the results with only these fields: of each item, or parts of the results themselves.

    Raises:
        InvalidInput: there is no such field.
    """
    of_items = {*_ENTITY_FIELDS, *_RELATIONSHIP_FIELDS}
    parts = [name for name in results if name in fields]
    if unknown := sorted(set(fields) - of_items - set(results)):
        there = ", ".join(sorted(of_items | set(results)))
        raise InvalidInput(f"fields: there is no {unknown[0]!r}; there are {there}.")
    kept = {name: value for name, value in results.items() if name == "vendor_name" or not parts or name in parts}
    wanted = of_items & set(fields)
    cut = {name: _items_with(value, wanted) if wanted else value for name, value in kept.items()}
    return {name: value for name, value in cut.items() if not (isinstance(value, list) and {} in value)}


def _items_with(value: Any, wanted: Some[str]) -> Any:
    if not isinstance(value, list):
        return value
    return [{key: one[key] for key in one if key in wanted} if isinstance(one, dict) else one for one in value]


def _start(cursor: str, entity: Entity, mode: str) -> int:
    """Return where the page begins that a cursor means.

    Raises:
        InvalidInput: it is none of this entity and mode.
    """
    if not cursor:
        return 0
    match read_cursor(cursor):
        case [int() as start, entity.id, of_mode] if of_mode == mode:
            return start
    raise InvalidInput("cursor is none that an answer for this vendor and response_mode gave.")


def _markdown(report: EntityReport, page: Sequence[Entity], relations: Sequence[Relation]) -> str:
    entity = report.entity
    lines = [f"# {entity.name} ({entity.type})", ""]
    if entity.aliases:
        lines += [f"Also called {', '.join(entity.aliases)}.", ""]
    lines += [f"- {one.source.name} {one.type} {one.target.name} ({one.confidence:.2f})" for one in relations]
    if not relations:
        lines += [f"- {one.name} ({one.type})" for one in page[1:]]
    return "\n".join(lines)
