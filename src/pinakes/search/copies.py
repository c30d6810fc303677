"""Documents that say the same take one place in an answer: equal ones, and those that differ only in a version."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property

from sqlalchemy import Connection

from pinakes.catalog import briefs, documents
from pinakes.catalog.records import DocumentRecord
from pinakes.search.documents import FoundDocument
from pinakes.search.duplicates import comparable, signature
from pinakes.text.versions import versions_in, without_versions

_LONGEST = 200_000
"""Longer texts are the same only where they were made from the same bytes."""


def without_copies(
    connection: Connection, found: Sequence[FoundDocument], limit: int, named: frozenset[str]
) -> list[FoundDocument]:
    """Return the first ``limit`` documents of ``found`` that differ, each with the ids of its ``copies`` behind it.

    Versions and dates that are ``named`` are told apart. Copies are looked for among ``found`` alone, which may be of
    several collections; those that are known already stay.
    """
    kept: list[tuple[FoundDocument, _Text | None]] = []
    copies: dict[int, list[int]] = {}
    for start in range(0, len(found), 2 * limit):
        some = found[start : start + 2 * limit]
        records = briefs.of_ids(connection, [one.document_id for one in some])
        for one in some:
            record = records.get(one.document_id)
            text = None if record is None else _Text(connection, record, named)
            first = next((other.document_id for other, its in kept if text and its and text.repeats(its)), None)
            if first is not None:
                copies.setdefault(first, []).extend((one.document_id, *one.copies))
            elif len(kept) < limit:
                kept.append((one, text))
        if len(kept) >= limit:
            break
    shown = {one.document_id for one, _ in kept}
    return [
        replace(one, copies=tuple(dict.fromkeys(other for other in every if other not in shown)))
        for one, _ in kept
        for every in [(*one.copies, *copies.get(one.document_id, ()))]
    ]


class _Text:
    """A document as it is compared, read only when another may be the same."""

    def __init__(self, connection: Connection, record: DocumentRecord, named: frozenset[str]) -> None:
        self._connection, self._record, self._named = connection, record, named

    def repeats(self, other: _Text) -> bool:
        """Say whether it says what ``other`` says."""
        mine, its = self._record, other._record
        if mine.content_hash == its.content_hash and mine.title == its.title:
            return self._versions.isdisjoint(self._named) and other._versions.isdisjoint(self._named)
        if self._title != other._title or abs(mine.chunk_count - its.chunk_count) > 1:
            return False
        return self._signature is not None and self._signature == other._signature

    @cached_property
    def _versions(self) -> frozenset[str]:
        return versions_in(f"{self._record.path}\n{self._record.title}")

    @cached_property
    def _title(self) -> str:
        return without_versions(self._record.title, self._versions - self._named).casefold()

    @cached_property
    def _signature(self) -> int | None:
        text = documents.text_of(self._connection, self._record.uid)
        return hash(signature(comparable(text, self._record, self._named))) if len(text) <= _LONGEST else None
