"""Combines a keyword and a vector engine into one index."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from pinakes.core.errors import InvalidInput
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

    def position(self) -> int:
        return min(self._words.position(), self._meaning.position())

    def apply(
        self, removed: Iterable[int], added: Iterable[IndexEntry], position: int, vectors: Iterable[VectorEntry] = ()
    ) -> None:
        removed, added, vectors = list(removed), list(added), list(vectors)
        self._words.apply(removed, added, position, vectors)
        if removed or added:
            self._on_change()  # keyword search has the changes even if the vectors fail
        self._meaning.apply(removed, added, position, vectors)

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
        return {"engine": self._name, **self._meaning.describe(), **self._words.describe()}

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
