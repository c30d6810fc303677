"""The sources of the collections: how each stands, and when it is read next."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from pydantic.json_schema import SkipJsonSchema

from pinakes.core.records import JSON
from pinakes.library import Library
from pinakes.services.sync.syncing import SourceStatus
from pinakes.tools.declare import Reply, tool
from pinakes.tools.parameters import Collection, meant

_MOST_FAILING = 20


class Sources(Reply):
    """The sources of one collection, or of all: see ``SourceStatus``. ``failing_left_out`` counts files not listed."""

    sources: list[dict[str, Any]]
    truncated: bool | SkipJsonSchema[None] = None
    next: str | SkipJsonSchema[None] = None
    notes: list[str] | SkipJsonSchema[None] = None


@tool(toolset="search")
def list_sources(library: Library, collection: Collection = "") -> Sources:
    """List what the collections are filled from: last sync, commit, documents, skipped and failed files, next run."""
    every = library.syncing.list_all(meant(library, collection))
    notes = [note] if not every and (note := library.naming.none_yet()) else None
    listed = [as_data(one) for one in every]
    if not any(one["failing_left_out"] for one in listed):
        return Sources(sources=listed, notes=notes)
    how = "The command `pinakes status --problems` names every file."
    return Sources(sources=listed, truncated=True, next=how, notes=notes)


def as_data(one: SourceStatus) -> dict[str, JSON]:
    """Return how a source stands as plain data, with the first of the files that failed."""
    data = {name: value for name, value in asdict(one).items() if value is not None}
    data["failing"] = data["failing"][:_MOST_FAILING]
    return data | {"failing_left_out": max(0, len(one.failing) - _MOST_FAILING)}
