"""Rows of ``documents`` without their texts, as all flows see them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sqlalchemy import select

from pinakes.catalog.schema import documents
from pinakes.core.records import JSON, Metadata

UNNAMED = "urn:uuid:"
"""How the uris of documents begin that were given none; their own ids follow."""


@dataclass(frozen=True, slots=True)
class DocumentRecord:
    """A row of ``documents`` without its text. ``metadata`` includes what the document's group gives it.

    ``summary`` is "" where none is kept; ``summary_by`` is then "", too.
    """

    id: int
    uid: str
    collection_id: int
    uri: str
    path: str
    title: str
    kind: str
    language: str | None
    metadata: Metadata
    group_key: str
    content_hash: str
    token_count: int
    chunk_count: int
    version: int
    created_at: str
    updated_at: str
    summary: str
    summary_by: str

    @property
    def source(self) -> str:
        """Where it comes from: as its metadata say, else its uri; "" where it was given neither."""
        return str(self.metadata.get("source") or ("" if self.uri.startswith(UNNAMED) else self.uri))

    @property
    def tags(self) -> tuple[str, ...]:
        """The tags among its metadata: a list of texts, or one text."""
        value: JSON = self.metadata.get("tags")
        if isinstance(value, str):
            return (value,) if value else ()
        return tuple(str(one) for one in value if one not in (None, "")) if isinstance(value, list | tuple) else ()


RECORD = select(*(documents.c[name] for name in DocumentRecord.__annotations__), documents.c.inherited)
"""What ``of_row`` makes a record of."""


def of_row(row: Any) -> DocumentRecord:
    """Return the record of a row of ``RECORD``."""
    values = row._asdict()
    values["metadata"] = {**values.pop("inherited"), **values["metadata"]}
    return DocumentRecord(**values)
