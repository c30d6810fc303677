"""The numbers that the lines of texts have in their files, where these are not the texts' own."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from sqlalchemy import Connection, bindparam, func, select

from pinakes.catalog.batched_rows import rows_for
from pinakes.catalog.schema import chunks, documents


def of_document(connection: Connection, document_id: int) -> list[int]:
    """Return the numbers in the file of the lines of a document's text, none where they are the file's own."""
    return list(connection.scalar(select(documents.c.lines).where(documents.c.id == document_id)) or ())


def of_chunks(connection: Connection, rows: Collection[Any]) -> dict[int, tuple[int, ...]]:
    """Return chunk id → the numbers in the file of the lines of its text, of rows as of ``selection.passages``.

    Those whose lines count up from the first one are left out.
    """
    texts = {row.id: row.text for row in rows}
    return {
        one: tuple(numbers[before : before + texts[one].count("\n") + 1])
        for one, numbers, before in rows_for(connection, _OF_CHUNKS, "ids", texts)
    }


_BEFORE = func.substr(documents.c.text, 1, chunks.c.start)
_OF_CHUNKS = (
    select(chunks.c.id, documents.c.lines, func.length(_BEFORE) - func.length(func.replace(_BEFORE, "\n", "")))
    .select_from(chunks.join(documents))
    .where(documents.c.lines.is_not(None), chunks.c.id.in_(bindparam("ids", expanding=True)))
)
