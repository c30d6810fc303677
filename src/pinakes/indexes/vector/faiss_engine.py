"""The built-in vector engine: FAISS."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping, Sequence

from pinakes.core.ports import VectorQuery, Vectors
from pinakes.core.records import IndexEntry, Int64, Ranking, VectorEntry
from pinakes.indexes.opening import Opening
from pinakes.indexes.vector.faiss_index import VectorIndex
from pinakes.settings import IndexSettings, SearchSettings


class FaissEngine:
    """Implements ``ports.VectorEngine``; each process has the vectors in memory and saves snapshots now and then."""

    def __init__(self, opening: Opening) -> None:
        settings, self._documents = opening.settings.index, opening.documents
        self._vectors = VectorIndex(
            opening.folder / "vectors",
            opening.dimension,
            opening.label,
            settings.exact_max_vectors,
            settings.approximate_share,
        )

    def position(self) -> int:
        return self._vectors.position()

    def apply(
        self, removed: Iterable[int], added: Iterable[IndexEntry], position: int, vectors: Iterable[VectorEntry] = ()
    ) -> None:
        self._vectors.apply(list(removed), list(added), position, list(vectors))

    def vector(self, *queries: VectorQuery) -> list[Ranking]:
        search, documents = self._vectors.search, self._documents
        return [search(one.vector, one.limit, documents(one.where), one.among) for one in queries]

    def vectors(self, chunks: Int64, documents: Int64 | None = None) -> Vectors:
        own, exact = self._vectors.get(chunks)
        return Vectors(own, exact, own[:0] if documents is None else self._vectors.sums(documents))

    def contents(self) -> Mapping[str, Int64]:
        return {"vector": self._vectors.chunk_ids(), "exact": self._vectors.exact_ids()}

    def describe(self) -> Mapping[str, str | int]:
        return self._vectors.describe()

    def damaged(self) -> Mapping[str, Sequence[tuple[str, str]]]:
        return {"vector": self._vectors.damaged()}

    def lacking(self, entries: Iterable[IndexEntry]) -> list[int]:  # noqa: ARG002 - words are not its own
        return []

    def with_settings(self, index: IndexSettings, search: SearchSettings) -> FaissEngine:  # noqa: ARG002 - by words
        other = copy.copy(self)
        vars(other).update(_vectors=self._vectors.with_settings(index.exact_max_vectors, index.approximate_share))
        return other

    def close(self) -> None:
        self._vectors.close()
