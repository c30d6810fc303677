"""Caches that searches share: query vectors, statistics of collections, and features of documents for ranking."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Final, Generic, TypeAlias, TypeVar

import numpy as np

from pinakes.catalog import Connection, contents, document_queries, selection
from pinakes.catalog.collections import CollectionRecord
from pinakes.catalog.dialects.expressions import is_shared
from pinakes.core.latest_values import LatestValues
from pinakes.core.ports import Embedder, Index, Vocabulary
from pinakes.core.records import Filter, Float32
from pinakes.text.analysis import STOP_WORDS, Analyzer

_REMEMBERED_TOTALS = 256
_REMEMBERED_COLLECTIONS = 64
_REMEMBERED_GROUPS = 10_000
_MOSTLY = 0.99
"""A few chunks may wait for their vectors, as those of a document that was just added."""

_OF_NO_VOCABULARY: Final = "\U00013000"
"""An Egyptian hieroglyph: the token of a model for what it does not know, if it has one."""


class CollectionStatistics:
    """Caches what collections contain until a text in them changes. Thread-safe. ``facts``: document features."""

    def __init__(self) -> None:
        self.facts = FeatureCache()
        self._counts = CollectionCache[Filter, int](_REMEMBERED_TOTALS)
        self._fields = CollectionCache[tuple[()], frozenset[str]](_REMEMBERED_TOTALS)
        self._common = CollectionCache[int, tuple[str, ...]](_REMEMBERED_TOTALS)
        self._totals = LatestValues[tuple[int, int, int | None, int], contents.Totals](_REMEMBERED_COLLECTIONS)
        self._embedded = LatestValues[tuple[int, int | None, int], bool](_REMEMBERED_COLLECTIONS)
        self._preceding = CollectionCache[str, Mapping[int, int]](_REMEMBERED_GROUPS)

    def fields(self, connection: Connection, collection: CollectionRecord) -> frozenset[str]:
        """Return the names of the metadata fields in use in ``collection``."""
        return self._fields.get(collection, (), lambda: frozenset(selection.field_names(connection, collection.id)))

    def common_fields(self, connection: Connection, collection: CollectionRecord, most: int) -> Collection[str]:
        """Return the metadata fields; if there are more than ``most``, only the most common, which is slower."""
        every = self.fields(connection, collection)
        if len(every) <= most:
            return every
        return self._common.get(
            collection, most, lambda: tuple(selection.common_field_names(connection, collection.id)[:most])
        )

    def count(self, connection: Connection, collection: CollectionRecord, where: Filter) -> int:
        """Return how many chunks of ``collection`` pass ``where``."""

        def counted() -> int:
            chosen = selection.matching(connection, collection.id, where) if where else None
            return selection.count_chunks(connection, collection.id, chosen)

        return self._counts.get(collection, where, counted)

    def preceding_chunks(
        self, connection: Connection, collection: CollectionRecord, groups: Collection[str]
    ) -> Mapping[str, Mapping[int, int]]:
        """Return group → document id → number of chunks of the group before that document."""
        known = self._preceding.of(collection)
        known.setdefault("", {})  # for documents without a group
        if missing := [one for one in groups if one not in known]:
            known |= document_queries.preceding_chunks(connection, collection.id, missing)
        return known

    def totals(self, connection: Connection, collection: CollectionRecord, vectors: int) -> contents.Totals:
        """Count the contents of ``collection``, of which the index has ``vectors``; a change invalidates the cache."""
        key = (collection.id, collection.line, collection.model_id, collection.head)
        return self._totals.get_or_make(key, lambda: contents.totals(connection, collection, vectors))

    def is_embedded(self, collection: CollectionRecord, index: Index) -> bool:
        """Return whether ``index`` has a model vector for (nearly) every chunk of ``collection``."""

        def looked_up() -> bool:
            held = index.describe()
            vectors, chunks = held.get("exact_vectors", held.get("vectors")), held.get("keyword_chunks")
            return isinstance(vectors, int) and isinstance(chunks, int) and vectors >= _MOSTLY * chunks

        return self._embedded.get_or_make((collection.id, collection.model_id, index.position()), looked_up)


class QueryVectors:
    """Embeds queries, and caches the vectors of the latest ones. Thread-safe."""

    def __init__(self, embedder: Embedder, remembered: int) -> None:
        self._embedder = embedder
        self._known = lru_cache(maxsize=remembered)(self._embed)
        self._shares = lru_cache(maxsize=remembered)(self._share)

    @property
    def fingerprint(self) -> str:
        """The embedder's fingerprint."""
        return self._embedder.fingerprint

    def vector_of(self, query: str) -> Float32:
        """Return float32 (dim,), unit length, read-only.

        Raises:
            ModelUnavailable: the model cannot be loaded.
        """
        return self._known(query)

    def known_share(self, query: str) -> float:
        """Return the share of the query's tokens that the model knows, 0 to 1; 1 if its vocabulary is not known here.

        Words in letters that it does not know all have the same vector, so that their cosines say nothing.

        Raises:
            ModelUnavailable: the model cannot be loaded.
        """
        return 1.0 if query.isascii() else self._shares(query)

    def _share(self, query: str) -> float:
        if not isinstance(self._embedder, Vocabulary):
            return 1.0
        words = "".join(char if char.isalnum() else " " for char in query)
        ids, offsets = self._embedder.token_ids([_OF_NO_VOCABULARY, words])
        unknown, wanted = ids[: offsets[1]], ids[offsets[1] :]
        return 1.0 if len(unknown) != 1 or not len(wanted) else float(np.mean(wanted != unknown[0]))

    def _embed(self, query: str) -> Float32:
        vector = self._embedder.embed_query(query)
        vector.flags.writeable = False
        return vector


Key = TypeVar("Key")
Value = TypeVar("Value")

_MOST_COLLECTIONS = 64


class CollectionCache(Generic[Key, Value]):
    """Caches up to about ``most`` values for each of the latest collections. Thread-safe."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._lock = threading.Lock()
        self._known: dict[Hashable, tuple[int, dict[Key, Value]]] = {}

    def of(self, collection: CollectionRecord, about: Hashable = ()) -> dict[Key, Value]:
        """Return the cached values of a collection for the topic ``about``, to read and to add to."""
        key = (collection.id, about)
        with self._lock:
            written, known = self._known.get(key, (-1, {}))
            if written != collection.written or len(known) >= self._most:
                known = {}
                if len(self._known) >= _MOST_COLLECTIONS:
                    self._known.clear()
                self._known[key] = (collection.written, known)
            return known

    def get(self, collection: CollectionRecord, key: Key, find: Callable[[], Value]) -> Value:
        """Return the cached value of ``key``, or that of ``find``, which is then cached."""
        known = self.of(collection)
        if key not in known:
            known[key] = find()
        return known[key]


_REMEMBERED_DOCUMENTS = 50_000
_AT_FIRST = 2000
"""So many documents of a collection are read with the first, where the catalogue is far: those of many questions."""
_ANALYZER = Analyzer()
_PIECE = re.compile(r"[^\W_]+")
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
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
        return words_of(folders[-1] if stem.lower() in _FOR_THEIR_FOLDER and folders else stem)

    @cached_property
    def words(self) -> frozenset[str]:
        """The terms of the whole path."""
        return words_of(self.path)

    @cached_property
    def names(self) -> frozenset[str]:
        """Folder names, and the first and last word of a file name of several words, lower-cased."""
        *folders, name = self.path.split("/")
        pieces = [part for piece in _PIECE.findall(name) for part in _HUMP.split(piece)]
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
        known = self._known.of(collection, fields)
        if missing := list({one for one in ids if one not in known}):
            with connect() as connection:
                most = 0 if known or not is_shared(connection) else _AT_FIRST
                known |= _fetched(connection, missing, fields, collection.id, most)
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


def words_of(text: str) -> frozenset[str]:
    """Return the terms of a name: compounds split into parts, without stop words and single letters."""
    pieces = (part for piece in _PIECE.findall(text) for part in _HUMP.split(piece))
    return frozenset(_ANALYZER.terms(" ".join(one for one in pieces if one.lower() not in STOP_WORDS)))


def is_one_of(path: PathFeatures, names: frozenset[str]) -> bool:
    """Return whether a path is of code, and a folder or the first or last word of its file name is in ``names``."""
    return path.is_code and not names.isdisjoint(path.names)


@lru_cache(maxsize=50_000)
def in_a_row(text: str) -> str:
    """Return the terms of ``text`` in order, each with a space before and after.

    Compounds are split; ``OpenAI`` stays whole, as metadata is case-folded.
    """
    return _row(text, whole=True)


def in_rows(text: str) -> str:
    """Return the text to search for names ``in_a_row``: the terms of a query, then again with ``OpenAI`` split."""
    return f"{_row(text, whole=True)}|{_row(text, whole=False)}"


def _row(text: str, *, whole: bool) -> str:
    """Return terms in order. Scripts without spaces yield all pairs of characters, so names inside a run are found."""
    words: list[str] = []
    for piece in _PIECE.findall(text):
        terms = _ANALYZER.terms(piece) or [piece.lower()]
        words += terms[:1] if whole and piece.isascii() else terms
    return f" {' '.join(words)} "
