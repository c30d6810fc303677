"""The default engine: Tantivy for BM25 and FAISS for vectors, in one folder."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from pinakes.errors import storing
from pinakes.indexes.keyword import KeywordIndex
from pinakes.indexes.vectors import VectorIndex
from pinakes.settings import IndexSettings, SearchSettings
from pinakes.types import Filter, Float32, IndexEntry, Int64, Ranking, VectorEntry

_REMEMBERED_FILTERS = 32


class LocalIndex:
    """Implements ``ports.Index``. The keyword part is shared by all processes that use the folder; the
    vector part lives in the memory of each and is saved now and then, so each stands at its own position."""

    def __init__(
        self,
        folder: Path,
        dimension: int,
        select: Callable[[Filter], Int64],
        label: str = "",
        *,
        index: IndexSettings,
        search: SearchSettings,
    ) -> None:
        with storing("The search index"):
            folder.mkdir(parents=True, exist_ok=True)
        self._select = select
        self._selected: dict[tuple[Filter, int], Int64] = {}
        self._keyword = KeywordIndex(folder / "keyword", search, index.lock_timeout_s)
        self._vectors = VectorIndex(folder / "vectors", dimension, label, index.exact_max_vectors)

    def position(self) -> int:
        return min(self._keyword.position(), self._vectors.position())

    def apply(
        self,
        removed: Iterable[int],
        added: Iterable[IndexEntry],
        position: int,
        vectors: Iterable[VectorEntry] = (),
    ) -> None:
        removed, added = list(removed), list(added)
        self._keyword.apply(removed, added, position)
        self._vectors.apply(removed, added, position, list(vectors))

    def keyword(self, query: str, limit: int, where: Filter | None, among: Int64 | None = None) -> Ranking:
        return self._keyword.search(query, limit, self._documents(where), among)

    def vector(self, query: Float32, limit: int, where: Filter | None, among: Int64 | None = None) -> Ranking:
        return self._vectors.search(query, limit, self._documents(where), among)

    def contents(self) -> Mapping[str, Int64]:
        vectors = self._vectors
        return {"keyword": self._keyword.chunk_ids(), "vector": vectors.chunk_ids(), "exact": vectors.exact_ids()}

    def vectors(self, chunk_ids: Int64) -> Float32:
        return self._vectors.get(chunk_ids)

    def describe(self) -> Mapping[str, str | int]:
        return {"engine": "local", **self._keyword.describe(), **self._vectors.describe()}

    def close(self) -> None:
        self._vectors.close()

    def _documents(self, where: Filter | None) -> Int64 | None:
        """Return the ids of the documents that pass ``where``; remembered until documents change."""
        if not where:
            return None
        key = (where, self._keyword.committed())
        found = self._selected.get(key)
        if found is None:
            found = self._select(where)
            if len(self._selected) >= _REMEMBERED_FILTERS:
                self._selected.clear()
            self._selected[key] = found
        return found
