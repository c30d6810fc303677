"""Passages as the catalogue has them, each fetched once for an answer."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from typing import Any

from sqlalchemy import Connection

from pinakes.analysis import Place
from pinakes.catalog import selection
from pinakes.search.duplicates import comparable
from pinakes.search.excerpts import asked, places_in, terms_of


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

    def line_numbers(self, ids: Sequence[int]) -> dict[int, list[int]]:
        """Return chunk id → numbers in the file of the lines of its text, of those where the text has others."""
        rows = {one: row for one, row in self.of(ids).items() if row.has_lines}
        known = selection.line_numbers(self._connection, {row.document_id for row in rows.values()}) if rows else {}
        return {one: _numbers(row, known[row.document_id]) for one, row in rows.items() if row.document_id in known}

    def comparable(self, ids: Sequence[int], named: frozenset[str]) -> dict[int, str]:
        """Return chunk id → text as ``duplicates.comparable`` has it, less those that were deleted."""
        return {one: comparable(row.text, row, named) for one, row in self.of(ids).items()}


def _numbers(passage: Any, every: Sequence[int]) -> list[int]:
    """Return the numbers of the lines of a passage, of ``every`` line of its document, ascending.

    Where several lines of the text have one number, a passage may begin with any of them: with the first so that it
    ends where it does.
    """
    count = passage.text.count("\n") + 1
    at = bisect_left(every, passage.start_line)
    while at + count < len(every) and every[at + count - 1] < passage.end_line and every[at + 1] == passage.start_line:
        at += 1
    return list(every[at : at + count])


def terms_beside(passage: Any) -> dict[str, frozenset[str]]:
    """Return the terms of what is known of a passage besides its text."""
    parts = {
        "title": passage.title,
        "heading": " ".join(part for part in passage.heading_path if part != passage.title),
        "path": passage.path,
        "symbol": " ".join(passage.symbols),
    }
    return {name: terms_of(text) for name, text in parts.items() if text}
