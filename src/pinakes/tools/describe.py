"""Tools that describe collections: their sources, and the metadata of their documents."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated, Any

from pydantic import BeforeValidator, Field
from pydantic.json_schema import SkipJsonSchema

from pinakes.core.errors import InvalidInput
from pinakes.core.records import JSON
from pinakes.library import Library
from pinakes.services.collections.completeness import Completeness
from pinakes.services.sync.syncing import SourceStatus
from pinakes.tools.declare import Reply, list_from, tool
from pinakes.tools.parameters import Collection, collection_from

_SHARE_DIGITS = 4
_MOST_MISSING = 1000
_MOST_FIELDS = 200
_MOST_FAILING = 20


class FieldShare(Reply):
    """How a field is filled; ``share`` is 0 to 1, of the documents that should have it. ``missing`` names some."""

    name: str
    required: bool
    share: float
    documents: int
    by_default: int
    lacking: int
    types: dict[str, int]
    missing: list[str]


class CollectionMetadata(Reply):
    """How complete the metadata of a collection is. ``share`` is not there where nothing is required."""

    collection: str
    documents: int
    share: float | SkipJsonSchema[None] = None
    share_with_defaults: float | SkipJsonSchema[None] = None
    target: float
    reached: bool
    fields: list[FieldShare]
    problems: list[dict[str, Any]]
    problem_count: int


class MetadataReport(Reply):
    """The metadata of each collection."""

    collections: list[CollectionMetadata]
    truncated: bool | SkipJsonSchema[None] = None
    next: str | SkipJsonSchema[None] = None
    notes: list[str] | SkipJsonSchema[None] = None


@tool(toolset="search")
def metadata_report(
    library: Library,
    collection: Collection = "",
    fields: Annotated[
        list[str], BeforeValidator(list_from), Field(description="Only these fields, of every document; empty = all.")
    ] = [],  # noqa: B006 - pydantic copies it
    missing: Annotated[
        int, Field(description="Name so many documents that lack a field.", ge=0, le=_MOST_MISSING)
    ] = 10,
) -> MetadataReport:
    """Tell which metadata fields documents have, how many have them, and which lack what they should have."""
    if len(fields) > _MOST_FIELDS:
        raise InvalidInput(f"There are {len(fields)} fields, more than {_MOST_FIELDS}.", hint="Ask for fewer of them.")
    name = collection_from(library, collection)
    reports = [_report(one, fields) for one in library.completeness(name, fields=fields, missing=missing)]
    notes = [note] if (note := library.naming.none_yet()) else None
    left_out = max((_most_left_out(one) for one in reports), default=0)
    if not left_out:
        return MetadataReport(collections=reports, notes=notes)
    most = min(left_out, _MOST_MISSING)
    how = (
        f"metadata_report(missing={most})" if most > missing else "Ask for one collection, with the fields that matter."
    )
    return MetadataReport(collections=reports, truncated=True, next=how, notes=notes)


def _most_left_out(report: CollectionMetadata) -> int:
    """Return how many documents would have to be named for all to be, 0 where all are."""
    wanted = [one.lacking for one in report.fields if one.required and one.lacking > len(one.missing)]
    return max(wanted + [report.problem_count] * (report.problem_count > len(report.problems)), default=0)


def _report(report: Completeness, fields: list[str]) -> CollectionMetadata:
    return CollectionMetadata(
        collection=report.collection,
        documents=report.documents,
        share=_rounded(report.share),
        share_with_defaults=_rounded(report.with_defaults),
        target=report.target,
        reached=report.reached,
        fields=[
            FieldShare(
                name=one.name,
                required=one.required,
                share=_rounded(one.share) or 0.0,
                documents=one.stated + one.by_default,
                by_default=one.by_default,
                lacking=one.lacking,
                types=dict(one.types),
                missing=list(one.missing),
            )
            for one in report.fields
            if one.required or not fields
        ],
        problems=[{"path": one.path, "reason": one.reason} for one in report.unlike],
        problem_count=report.unlike_count,
    )


def _rounded(share: float | None) -> float | None:
    return None if share is None else int(share * 10**_SHARE_DIGITS) / 10**_SHARE_DIGITS


class Sources(Reply):
    """The sources of one collection, or of all: see ``SourceStatus``. ``failing_left_out`` counts files not listed."""

    sources: list[dict[str, Any]]
    truncated: bool | SkipJsonSchema[None] = None
    next: str | SkipJsonSchema[None] = None
    notes: list[str] | SkipJsonSchema[None] = None


@tool(toolset="search")
def list_sources(library: Library, collection: Collection = "") -> Sources:
    """List what the collections are filled from: last sync, commit, documents, skipped and failed files, next run."""
    every = library.syncing.list_all(collection_from(library, collection))
    notes = [note] if not every and (note := library.naming.none_yet()) else None
    listed = [_source_data(one) for one in every]
    if not any(one["failing_left_out"] for one in listed):
        return Sources(sources=listed, notes=notes)
    how = "The command `pinakes status --problems` names every file."
    return Sources(sources=listed, truncated=True, next=how, notes=notes)


def _source_data(one: SourceStatus) -> dict[str, JSON]:
    """Return how a source stands as plain data, with the first of the files that failed."""
    data = {name: value for name, value in asdict(one).items() if value is not None}
    data["failing"] = data["failing"][:_MOST_FAILING]
    return data | {"failing_left_out": max(0, len(one.failing) - _MOST_FAILING)}
