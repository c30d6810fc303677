"""The default engine: Tantivy for BM25 and FAISS for vectors, in one folder."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

from pinakes.core.errors import storing
from pinakes.core.ports import KeywordQuery, Lexicon, VectorQuery, Vectors
from pinakes.core.records import Filter, IndexEntry, Int64, Ranking, VectorEntry
from pinakes.indexes.keyword.stored_terms import TermWriter
from pinakes.indexes.keyword.tantivy_engine import KeywordIndex
from pinakes.indexes.storage import versions
from pinakes.indexes.vector.faiss_engine import VectorIndex
from pinakes.platform.permissions import make_private
from pinakes.settings import IndexSettings, SearchSettings

_REMEMBERED_FILTERS = 32


class LocalIndex:
    """Implements ``ports.Index``. The keyword parts are shared by all processes that use the folder; the
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
        languages: Sequence[str] = (),
    ) -> None:
        with storing("The search index"):
            make_private(folder)
        self._version = versions.opened(folder, languages)
        self._select = select
        self._selected: dict[tuple[Filter, int], Int64] = {}
        analyzer = versions.analyzer_of(self._version)
        opened = partial(KeywordIndex, analyzer=analyzer, search=search, lock_timeout_s=index.lock_timeout_s)
        self._wording = TermWriter(analyzer, self._version.languages)
        self._keyword = opened(folder / "keyword", "chunks")
        self._whole = opened(folder / "documents", "documents")
        self._vectors = VectorIndex(
            folder / "vectors", dimension, label, index.exact_max_vectors, index.approximate_share
        )

    def position(self) -> int:
        return min(self._keyword.position(), self._whole.position(), self._vectors.position())

    def apply(
        self,
        removed: Iterable[int],
        added: Iterable[IndexEntry],
        position: int,
        vectors: Iterable[VectorEntry] = (),
    ) -> None:
        removed, added = list(removed), list(added)
        chunks = self._wording.chunks(added)
        with ThreadPoolExecutor(1) as beside:  # either waits for the disk, and for threads of its own
            whole = beside.submit(self._whole.apply, removed, self._wording.documents(chunks), position)
            self._keyword.apply(removed, chunks, position)
        whole.result()
        self._vectors.apply(removed, added, position, list(vectors))

    def keyword(self, *queries: KeywordQuery) -> list[Ranking]:
        return [self._by_words(query) for query in queries]

    def _by_words(self, query: KeywordQuery) -> Ranking:
        documents = self._documents(query.where)
        if query.evidence == "definitions":
            return self._keyword.definitions(query.text.split(), query.limit, documents, query.among)
        if query.evidence == "phrases":
            return self._keyword.phrase(query.text, query.limit, documents, query.among)
        part = self._whole if query.evidence == "documents" else self._keyword
        return part.search(query.text, query.limit, documents, query.among)

    def vector(self, *queries: VectorQuery) -> list[Ranking]:
        search = self._vectors.search
        return [search(one.vector, one.limit, self._documents(one.where), one.among) for one in queries]

    def contents(self) -> Mapping[str, Int64]:
        return {
            "keyword": self._keyword.ids(),
            "documents": self._whole.ids(),
            "vector": self._vectors.chunk_ids(),
            "exact": self._vectors.exact_ids(),
        }

    def vectors(self, chunks: Int64, documents: Int64 | None = None) -> Vectors:
        own, exact = self._vectors.get(chunks)
        return Vectors(own, exact, own[:0] if documents is None else self._vectors.sums(documents))

    def describe(self) -> Mapping[str, str | int]:
        version = self._version
        made_by: dict[str, str | int] = {"format": version.format, "analyser": version.analyser}
        made_by["languages"] = ", ".join(version.languages) or "by document"
        parts = {**self._keyword.describe(), **self._whole.describe(), **self._vectors.describe()}
        return {"engine": "local", **made_by, **parts}

    def damaged(self) -> Mapping[str, Sequence[tuple[str, str]]]:
        return {"keyword": self._keyword.damaged(), "documents": self._whole.damaged()}

    def lacking(self, entries: Iterable[IndexEntry]) -> list[int]:
        return self._keyword.lacking(self._wording.chunks(entries))

    def lexicon(self) -> Lexicon:
        return self._whole.lexicon()

    def with_settings(self, index: IndexSettings, search: SearchSettings) -> LocalIndex:
        other = copy.copy(self)
        vars(other).update(
            _keyword=self._keyword.with_settings(search),
            _whole=self._whole.with_settings(search),
            _vectors=self._vectors.with_settings(index.exact_max_vectors, index.approximate_share),
        )
        return other

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
