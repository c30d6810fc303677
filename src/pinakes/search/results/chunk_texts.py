"""Chunks as the catalogue has them, each fetched once for an answer."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from pinakes.catalog import Connection, selection
from pinakes.search.query.words import places_in, terms_of
from pinakes.search.ranking.duplicates import comparable
from pinakes.text.analysis import Place


class ChunkTexts:
    """Rows of the catalogue, each fetched once, and which words of a query they have.

    ``overtaken``: some chunks were deleted, as they are when their document is replaced.
    """

    def __init__(self, connection: Connection, query: str) -> None:
        self.overtaken = False
        self.connection = connection
        self._rows: dict[int, Any] = {}
        self.query = query

    def rows_of(self, ids: Sequence[int]) -> dict[int, Any]:
        """Return chunk id → row, less those that were deleted."""
        if missing := [one for one in ids if one not in self._rows]:
            found = selection.hit_rows(self.connection, missing)
            self.overtaken = self.overtaken or len(found) < len(missing)
            self._rows |= found
        return {one: self._rows[one] for one in ids if one in self._rows}

    def terms(self, ids: Sequence[int]) -> Iterator[dict[str, frozenset[str]]]:
        """Yield for each chunk, less those that were deleted, the terms of what is known of it by name.

        Of its "text" those of the query.
        """
        return (terms_of_chunk(row, places_in(row.text, self.query)) for row in self.rows_of(ids).values())

    def comparable(self, ids: Sequence[int], named: frozenset[str]) -> dict[int, str]:
        """Return chunk id → text as ``duplicates.comparable`` has it, less those that were deleted."""
        return {one: comparable(row.text, row, named) for one, row in self.rows_of(ids).items()}


def terms_of_chunk(chunk: Any, places: Sequence[Place]) -> dict[str, frozenset[str]]:
    """Return the terms of what is known of a chunk, of its text those of these ``places``."""
    parts = {
        "title": chunk.title,
        "heading": " ".join(part for part in chunk.heading_path if part != chunk.title),
        "path": chunk.path,
        "symbol": " ".join(chunk.symbols),
    }
    there = {name: terms_of(text) for name, text in parts.items() if text}
    return {**there, "text": frozenset[str]().union(*(terms for _, terms in places))}
