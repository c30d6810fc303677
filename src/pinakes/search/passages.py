"""Passages as the catalogue has them, each fetched once for an answer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pinakes.analysis import Place
from pinakes.catalog import Connection, selection
from pinakes.search.duplicates import comparable
from pinakes.search.query_words import asked, places_in, terms_of


class Passages:
    """Rows of the catalogue, each fetched once, and where the words of a query stand in their texts.

    ``overtaken``: some passages were deleted, as they are when their document is replaced.
    """

    def __init__(self, connection: Connection, query: str) -> None:
        self.overtaken = False
        self._connection = connection
        self._rows: dict[int, Any] = {}
        self._places: dict[int, list[Place]] = {}
        self.query = asked(query)

    def of(self, ids: Sequence[int]) -> dict[int, Any]:
        """Return chunk id → row, less those that were deleted."""
        if missing := [one for one in ids if one not in self._rows]:
            found = selection.passages(self._connection, missing)
            self.overtaken = self.overtaken or len(found) < len(missing)
            self._rows |= found
        return {one: self._rows[one] for one in ids if one in self._rows}

    def places(self, ids: Sequence[int]) -> dict[int, list[Place]]:
        """Return chunk id → places of the query's words, less those that were deleted."""
        rows = self.of(ids)
        if missing := [one for one in rows if one not in self._places]:
            found = places_in([rows[one].text for one in missing], self.query)
            self._places |= dict(zip(missing, found, strict=True))
        return {one: self._places[one] for one in rows}

    def comparable(self, ids: Sequence[int], named: frozenset[str]) -> dict[int, str]:
        """Return chunk id → text as ``duplicates.comparable`` has it, less those that were deleted."""
        return {one: comparable(row.text, row, named) for one, row in self.of(ids).items()}


def terms_beside(passage: Any) -> dict[str, frozenset[str]]:
    """Return the terms of what is known of a passage besides its text."""
    parts = {
        "title": passage.title,
        "heading": " ".join(part for part in passage.heading_path if part != passage.title),
        "path": passage.path,
        "symbol": " ".join(passage.symbols),
    }
    return {name: terms_of(text) for name, text in parts.items() if text}
