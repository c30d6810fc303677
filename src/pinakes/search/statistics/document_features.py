"""Features of documents for ranking, of their paths and metadata, and a cache of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

from pinakes.catalog import Connection, document_queries
from pinakes.catalog.collections import CollectionRecord
from pinakes.search.statistics.collection_cache import CollectionCache
from pinakes.search.statistics.name_terms import words_in

_REMEMBERED_DOCUMENTS = 50_000
TEST_NAMES = frozenset(["test", "tests", "testing", "testdata", "selftest", "selftests", "fixtures", "e2e"])
_AT_FIRST = 2000
"""So many documents of a collection are read with the first: those of many questions."""


@dataclass(frozen=True)
class DocumentFeatures:
    """Features of one document. ``values``: metadata field → its values, normalised as in filters."""

    path: str
    is_code: bool
    values: Mapping[str, Sequence[str]]

    @cached_property
    def is_test(self) -> bool:
        """Whether it is code, and a folder or the first or last of several words of its file name is one of tests."""
        *folders, name = self.path.split("/")
        pieces = words_in(name)
        if "." in name[1:]:
            pieces = pieces[:-1]
        ends = {pieces[0], pieces[-1]} if len(pieces) > 1 else set()
        return self.is_code and not TEST_NAMES.isdisjoint(one.lower() for one in (*folders, *ends))


NOTHING = DocumentFeatures("", False, {})
"""The features of a deleted document."""

Connect: TypeAlias = Callable[[], AbstractContextManager[Connection]]


class FeatureCache:
    """Caches document features until a text in their collection changes. Thread-safe."""

    def __init__(self) -> None:
        self._known = CollectionCache[int, DocumentFeatures](_REMEMBERED_DOCUMENTS)

    def features_of(
        self, connect: Connect, collection: CollectionRecord, ids: Sequence[int], fields: tuple[str, ...] = ()
    ) -> list[DocumentFeatures]:
        """Return the features of the documents ``ids``, in their order, with the values of these ``fields``.

        ``connect`` is called only if some are not cached.
        """
        known = self._known.values_of(collection, fields)
        if missing := list({one for one in ids if one not in known}):
            with connect() as connection:
                known |= _fetched(connection, missing, fields, collection.id, 0 if known else _AT_FIRST)
        return [known.get(one, NOTHING) for one in ids]


def _fetched(
    connection: Connection, ids: Sequence[int], fields: tuple[str, ...], collection_id: int, most: int
) -> dict[int, DocumentFeatures]:
    paths = document_queries.paths_and_kinds(connection, ids, collection_id, most)
    values = document_queries.values_of(connection, list(paths), fields) if fields else {}
    return {one: DocumentFeatures(path, kind == "code", values.get(one, {})) for one, (path, kind) in paths.items()}
