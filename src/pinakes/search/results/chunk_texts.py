"""Chunk rows of the catalogue, each fetched once per answer."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from pinakes.catalog import Connection, selection
from pinakes.search.query.words import places_in, terms_of
from pinakes.search.ranking.duplicates import comparable
from pinakes.text.analysis import Place


class ChunkTexts:
    """Fetches chunk rows, each once, and tells which words of a query they have.

    ``overtaken``: some chunks were deleted, which happens when their document is replaced.
    """

    def __init__(self, connection: Connection, query: str) -> None:
        self.overtaken = False
        self.connection = connection
        self._rows: dict[int, Any] = {}
        self.query = query

    def rows_of(self, ids: Sequence[int]) -> dict[int, Any]:
        """Return chunk id → row; deleted chunks are missing."""
        if missing := [one for one in ids if one not in self._rows]:
            found = selection.hit_rows(self.connection, missing)
            self.overtaken = self.overtaken or len(found) < len(missing)
            self._rows |= found
        return {one: self._rows[one] for one in ids if one in self._rows}

    def terms(self, ids: Sequence[int]) -> Iterator[dict[str, frozenset[str]]]:
        """Yield, for each chunk that was not deleted, field → terms.

        Of the field "text", only terms of the query.
        """
        return (terms_of_chunk(row, places_in(row.text, self.query)) for row in self.rows_of(ids).values())

    def comparable(self, ids: Sequence[int], named: frozenset[str]) -> dict[int, str]:
        """Return chunk id → text for ``duplicates``; deleted chunks are missing."""
        return {one: comparable(row.text, row, named) for one, row in self.rows_of(ids).items()}


def terms_of_chunk(chunk: Any, places: Sequence[Place]) -> dict[str, frozenset[str]]:
    """Return field → terms of a chunk; of its text, the terms at these ``places``."""
    parts = {
        "title": chunk.title,
        "heading": " ".join(part for part in chunk.heading_path if part != chunk.title),
        "path": chunk.path,
        "symbol": " ".join(chunk.symbols),
    }
    there = {name: terms_of(text) for name, text in parts.items() if text}
    return {**there, "text": frozenset[str]().union(*(terms for _, terms in places))}
