"""Documents with the same content share one place in an answer: equal ones, and those that differ only in a version."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

from pinakes.catalog import Connection, document_queries, documents
from pinakes.catalog.document_queries import DocumentRecord
from pinakes.core.batching import batches
from pinakes.search.documents import FoundDocument
from pinakes.search.ranking.duplicates import comparable, signature
from pinakes.text.version_numbers import versions_in, without_versions

_LONGEST = 200_000
"""Longer texts, in characters, count as copies only if they were made from the same bytes."""


def without_copies(
    connection: Connection, found: Sequence[FoundDocument], limit: int, named: frozenset[str]
) -> list[FoundDocument]:
    """Return the first ``limit`` distinct documents of ``found``, each with the ids of its copies in ``copies``.

    Documents of different versions or dates in ``named`` are distinct. Only documents in ``found`` are compared; they
    may come from several collections. Copies that are already recorded are kept.
    """
    kept: list[FoundDocument] = []
    by_title = defaultdict[str, list[_Text]](list)
    copies: dict[int, list[int]] = {}
    for batch in batches(found, 2 * limit):
        names = document_queries.names(connection, [one.document_id for one in batch])
        for one in batch:
            texts = [_Text(connection, names[one.document_id], named)] if one.document_id in names else []
            candidates = ((text, other) for text in texts for title in text.titles for other in by_title[title])
            first = next((other for text, other in candidates if text.repeats(other)), None)
            if first is not None:
                copies.setdefault(first.id, []).extend((one.document_id, *one.copies))
            elif len(kept) < limit:
                kept.append(one)
                for text in texts:
                    for title in text.titles:
                        by_title[title].append(text)
        if len(kept) >= limit:
            break
    shown = {one.document_id for one in kept}
    return [
        replace(one, copies=tuple(dict.fromkeys(other for other in every if other not in shown))) if every else one
        for one in kept
        for every in [(*one.copies, *copies.get(one.document_id, ()))]
    ]


class _Text:
    """A document under comparison: titles are compared first, since most documents differ there; the text only then."""

    def __init__(self, connection: Connection, name: Any, named: frozenset[str]) -> None:
        self.id: int = name.id
        self._connection, self._name, self._named = connection, name, named
        self._plain = without_versions(name.title, self._versions - named).casefold()

    @property
    def titles(self) -> set[str]:
        """Its title, and the title without versions: documents that share neither are not copies."""
        return {self._name.title, self._plain}

    def repeats(self, other: _Text) -> bool:
        """Return whether this document is a copy of ``other``."""
        mine, its = self._record, other._record
        if mine is None or its is None:
            return False
        if mine.content_hash == its.content_hash and mine.title == its.title:
            return self._versions.isdisjoint(self._named) and other._versions.isdisjoint(self._named)
        if self._plain != other._plain or abs(mine.chunk_count - its.chunk_count) > 1:
            return False
        return self._signature is not None and self._signature == other._signature

    @cached_property
    def _record(self) -> DocumentRecord | None:
        return document_queries.of_ids(self._connection, [self._name.id]).get(self._name.id)

    @cached_property
    def _versions(self) -> frozenset[str]:
        return versions_in(f"{self._name.path}\n{self._name.title}")

    @cached_property
    def _signature(self) -> int | None:
        text = documents.text_of(self._connection, self._name.uid)
        return hash(signature(comparable(text, self._name, self._named))) if len(text) <= _LONGEST else None
