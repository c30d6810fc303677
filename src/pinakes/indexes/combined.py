"""Combines a keyword and a vector engine into one index."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from pinakes.core.errors import IndexUnavailable, InvalidInput
from pinakes.core.ports import (
    Checkable,
    KeywordEngine,
    KeywordQuery,
    Lexicon,
    VectorEngine,
    VectorQuery,
    Vectors,
    lexicon_of,
)
from pinakes.core.records import IndexEntry, Int64, Ranking, VectorEntry
from pinakes.indexes.opening import Tunable
from pinakes.settings import IndexSettings, SearchSettings


class CombinedIndex:
    """Implements ``ports.Index``: each engine applies the changes and has a position of its own."""

    def __init__(
        self, name: str, words: KeywordEngine, meaning: VectorEngine, on_change: Callable[[], object] = lambda: None
    ) -> None:
        """``on_change`` is called when documents were added, changed or removed."""
        self._name, self._words, self._meaning, self._on_change = name, words, meaning, on_change
        self.lags = False
        """Whether an engine was away and has not caught up since."""

    def position(self) -> int:
        """Return where the engine stands that is farthest behind, of those that answer."""
        return min(self._positions())

    def furthest(self) -> int:
        """Return where the one stands that is farthest ahead: no engine may be ahead of the catalogue."""
        return max(self._positions())

    def check(self) -> None:
        """Make sure that both engines answer.

        Raises:
            IndexUnavailable: one is away.
        """
        for engine in (self._words, self._meaning):
            engine.position()

    def _positions(self) -> list[int]:
        found, failed = list[int](), list[IndexUnavailable]()
        for engine in (self._words, self._meaning):
            try:
                found.append(engine.position())
            except IndexUnavailable as error:
                failed.append(error)
        self.lags = bool(failed) or (self.lags and len(set(found)) > 1)
        if not found:
            raise failed[0]
        return found

    def apply(
        self, removed: Iterable[int], added: Iterable[IndexEntry], position: int, vectors: Iterable[VectorEntry] = ()
    ) -> None:
        removed, added, vectors = list(removed), list(added), list(vectors)
        failed: list[IndexUnavailable] = []
        for engine in (self._words, self._meaning):
            try:
                engine.apply(removed, added, position, vectors)
            except IndexUnavailable as error:  # it stays where it is, and follows when it answers
                failed.append(error)
            if removed or added:
                self._on_change()  # words are found by now, whatever becomes of the vectors
        self.lags = self.lags or bool(failed)
        if len(failed) > 1:
            raise failed[0]

    def keyword(self, *queries: KeywordQuery) -> list[Ranking]:
        return self._words.keyword(*queries)

    def vector(self, *queries: VectorQuery) -> list[Ranking]:
        return self._meaning.vector(*queries)

    def vectors(self, chunks: Int64, documents: Int64 | None = None) -> Vectors:
        return self._meaning.vectors(chunks, documents)

    def contents(self) -> Mapping[str, Int64]:
        words, meaning = self._words.contents(), self._meaning.contents()
        return {part: (words if part in {"keyword", "documents"} else meaning)[part] for part in {**words, **meaning}}

    def describe(self) -> Mapping[str, str | int]:
        about: dict[str, str | int] = {"engine": self._name}
        for engine in (self._meaning, self._words):
            try:
                about |= engine.describe()
            except IndexUnavailable as error:
                about["problem"] = error.message
        return about

    def damaged(self) -> Mapping[str, Sequence[tuple[str, str]]]:
        checkable = [one for one in (self._words, self._meaning) if isinstance(one, Checkable)]
        return {part: files for one in checkable for part, files in one.damaged().items()}

    def lacking(self, entries: Iterable[IndexEntry]) -> list[int]:
        return self._words.lacking(entries) if isinstance(self._words, Checkable) else []

    def lexicon(self) -> Lexicon | None:
        return lexicon_of(self._words)

    def with_settings(self, index: IndexSettings, search: SearchSettings) -> CombinedIndex:
        def tuned(engine: Any) -> Any:
            if isinstance(engine, Tunable):
                return engine.with_settings(index, search)
            raise InvalidInput(f"The engine {self._name!r} cannot try other settings.")

        return CombinedIndex(self._name, tuned(self._words), tuned(self._meaning), self._on_change)

    def close(self) -> None:
        self._words.close()
        self._meaning.close()
