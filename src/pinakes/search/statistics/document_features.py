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
from pinakes.search.statistics.name_terms import name_terms, words_in

_REMEMBERED_DOCUMENTS = 50_000
_AT_FIRST = 2000
"""So many documents of a collection are read with the first: those of many questions."""
_FOR_THEIR_FOLDER = frozenset(["readme", "index", "_index", "__init__", "__main__", "mod", "main"])
"""File names without meaning; the name of their folder is used instead."""


@dataclass(frozen=True)
class PathFeatures:
    """Features of a document's path, and whether the document is code."""

    path: str
    is_code: bool

    @cached_property
    def stem(self) -> frozenset[str]:
        """The terms of the file name without its extension."""
        *folders, name = self.path.split("/")
        stem = name.partition(".")[0] or name
        return name_terms(folders[-1] if stem.lower() in _FOR_THEIR_FOLDER and folders else stem)

    @cached_property
    def words(self) -> frozenset[str]:
        """The terms of the whole path."""
        return name_terms(self.path)

    @cached_property
    def names(self) -> frozenset[str]:
        """Folder names, and the first and last word of a file name of several words, lower-cased."""
        *folders, name = self.path.split("/")
        pieces = words_in(name)
        if "." in name[1:]:
            pieces = pieces[:-1]
        ends = {pieces[0], pieces[-1]} if len(pieces) > 1 else set()
        return frozenset(one.lower() for one in (*folders, *ends))


@dataclass(frozen=True, slots=True)
class DocumentFeatures:
    """Features of one document. ``values``: metadata field → its values, normalised as in filters."""

    path: PathFeatures
    values: Mapping[str, Sequence[str]]


NOTHING = DocumentFeatures(PathFeatures("", False), {})
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
    return {
        one: DocumentFeatures(PathFeatures(path, kind == "code"), values.get(one, {}))
        for one, (path, kind) in paths.items()
    }


def is_one_of(path: PathFeatures, names: frozenset[str]) -> bool:
    """Return whether a path is of code, and a folder or the first or last word of its file name is in ``names``."""
    return path.is_code and not names.isdisjoint(path.names)
