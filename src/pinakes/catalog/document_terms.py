"""Whole documents as far as their words go: title, path, headings, symbols and text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, bindparam, select

from pinakes.catalog.schema import chunks, documents


@dataclass(frozen=True, slots=True)
class DocumentTerms:
    """The words of a document. ``chunk_ids`` are in the order of the text; ``headings`` and ``symbols`` once each.

    ``numbers`` are those of the lines of ``text`` in the file, () where they are the file's own.
    """

    text: str
    chunk_ids: tuple[int, ...]
    headings: tuple[str, ...]
    symbols: tuple[str, ...]
    numbers: tuple[int, ...] = ()


def wordings(connection: Connection, document_ids: Sequence[int]) -> dict[int, DocumentTerms]:
    """Return document id → its words, less those that are not there."""
    ids = {"ids": list(document_ids)}
    of_document: dict[int, list[tuple[int, Sequence[str], Sequence[str]]]] = {}
    for chunk_id, document_id, headings, symbols in connection.execute(_CHUNKS, ids):
        of_document.setdefault(document_id, []).append((chunk_id, headings, symbols))
    return {row.id: _wording(row, of_document.get(row.id, [])) for row in connection.execute(_TEXTS, ids)}


def _wording(document: Any, rows: Sequence[tuple[int, Sequence[str], Sequence[str]]]) -> DocumentTerms:
    headings = dict.fromkeys(heading for _, path, _ in rows for heading in path)
    symbols = dict.fromkeys(symbol for _, _, some in rows for symbol in some)
    ids = tuple(row[0] for row in rows)
    return DocumentTerms(document.text, ids, tuple(headings), tuple(symbols), tuple(document.lines or ()))


_TEXTS = select(documents.c.id, documents.c.text, documents.c.lines).where(
    documents.c.id.in_(bindparam("ids", expanding=True))
)
_CHUNKS = (
    select(chunks.c.id, chunks.c.document_id, chunks.c.heading_path, chunks.c.symbols)
    .where(chunks.c.document_id.in_(bindparam("ids", expanding=True)))
    .order_by(chunks.c.document_id, chunks.c.ordinal)
)
