"""Document features for ranking: words of the path, kind of code, metadata."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import TypeAlias

from pinakes.catalog import Connection, document_queries
from pinakes.catalog.collections import CollectionRecord
from pinakes.search.statistics.collection_cache import CollectionCache
from pinakes.text.analysis import STOP_WORDS, Analyzer

_REMEMBERED_DOCUMENTS = 50_000
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
                known |= _fetched(connection, missing, fields)
        return [known.get(one, NOTHING) for one in ids]


def _fetched(connection: Connection, ids: Sequence[int], fields: tuple[str, ...]) -> dict[int, DocumentFeatures]:
    paths = document_queries.paths_and_kinds(connection, ids)
    values = document_queries.values_of(connection, ids, fields) if fields else {}
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
