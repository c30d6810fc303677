"""The built-in keyword engine: Tantivy, with one index of chunks and one of whole documents."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial

from pinakes.core.ports import KeywordQuery, Lexicon
from pinakes.core.records import IndexEntry, Int64, Ranking, VectorEntry
from pinakes.indexes.keyword.stored_terms import TermWriter
from pinakes.indexes.keyword.tantivy_index import KeywordIndex
from pinakes.indexes.opening import Opening
from pinakes.indexes.storage import versions
from pinakes.settings import IndexSettings, SearchSettings


class TantivyEngine:
    """Implements ``ports.KeywordEngine``; all processes that use the folder share its files."""

    def __init__(self, opening: Opening) -> None:
        self._version = versions.opened(opening.folder, opening.languages)
        analyzer = versions.analyzer_of(self._version)
        settings, self._documents = opening.settings, opening.documents
        timeout_s = settings.index.lock_timeout_s
        opened = partial(KeywordIndex, analyzer=analyzer, search=settings.search, lock_timeout_s=timeout_s)
        self._terms = TermWriter(analyzer, self._version.languages)
        self._chunks = opened(opening.folder / "keyword", "chunks")
        self._whole = opened(opening.folder / "documents", "documents")

    def position(self) -> int:
        return min(self._chunks.position(), self._whole.position())

    def apply(
        self,
        removed: Iterable[int],
        added: Iterable[IndexEntry],
        position: int,
        vectors: Iterable[VectorEntry] = (),  # noqa: ARG002 - vectors do not affect keywords
    ) -> None:
        removed, chunks = list(removed), self._terms.chunks(added)
        with ThreadPoolExecutor(1) as beside:  # both are bound by the disk and by Tantivy's threads
            whole = beside.submit(self._whole.apply, removed, self._terms.documents(chunks), position)
            self._chunks.apply(removed, chunks, position)
        whole.result()

    def keyword(self, *queries: KeywordQuery) -> list[Ranking]:
        return [self._answer(query) for query in queries]

    def _answer(self, query: KeywordQuery) -> Ranking:
        documents = self._documents(query.where)
        if query.evidence == "definitions":
            return self._chunks.definitions(query.text.split(), query.limit, documents, query.among)
        if query.evidence == "phrases":
            return self._chunks.phrase(query.text, query.limit, documents, query.among)
        part = self._whole if query.evidence == "documents" else self._chunks
        return part.search(query.text, query.limit, documents, query.among)

    def contents(self) -> Mapping[str, Int64]:
        return {"keyword": self._chunks.ids(), "documents": self._whole.ids()}

    def describe(self) -> Mapping[str, str | int]:
        version = self._version
        made_by: dict[str, str | int] = {"format": version.format, "analyser": version.analyser}
        made_by["languages"] = ", ".join(version.languages) or "by document"
        return {**made_by, **self._chunks.describe(), **self._whole.describe()}

    def damaged(self) -> Mapping[str, Sequence[tuple[str, str]]]:
        return {"keyword": self._chunks.damaged(), "documents": self._whole.damaged()}

    def lacking(self, entries: Iterable[IndexEntry]) -> list[int]:
        return self._chunks.lacking(self._terms.chunks(entries))

    def lexicon(self) -> Lexicon:
        return self._whole.lexicon()

    def with_settings(self, index: IndexSettings, search: SearchSettings) -> TantivyEngine:  # noqa: ARG002 - by vectors
        other = copy.copy(self)
        vars(other).update(_chunks=self._chunks.with_settings(search), _whole=self._whole.with_settings(search))
        return other

    def close(self) -> None:
        """Do nothing: all changes are written already."""
