"""The systems that can be compared: a collection, a TREC run, or a server (see ``servers``). All share an interface."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from pinakes.catalog import Catalog, document_queries
from pinakes.catalog.collections import CollectionRecord
from pinakes.core.errors import NotFound, PinakesError
from pinakes.core.filters import listed, normal_text
from pinakes.core.records import JSON, SearchMode
from pinakes.evaluation.names import field_values
from pinakes.evaluation.questions import Question
from pinakes.evaluation.run import Rank, SearchFunction, missing_retriever
from pinakes.evaluation.runs import CorpusInfo, corpus_of
from pinakes.evaluation.trec import read_run


@dataclass(frozen=True, slots=True)
class Named:
    """A document with the names that a side has for it; "" for a missing kind of name.

    ``key``: that of its group, or the value of the field that documents are compared by.
    """

    id: str = ""
    uri: str = ""
    path: str = ""
    key: str = ""

    @property
    def label(self) -> str:
        """The name shown to people."""
        return self.path or self.uri or self.key or self.id


@dataclass(frozen=True, slots=True)
class SystemReply:
    """Distinct documents, best first. ``scores``: of the best chunk of each, () if unknown.

    ``milliseconds``: what the answer took, None where nothing was asked. ``degraded``: what did not contribute.
    """

    documents: tuple[Named, ...]
    scores: tuple[float, ...] = ()
    milliseconds: float | None = None
    degraded: str | None = None


@dataclass(frozen=True, slots=True)
class SystemInfo:
    """A side as it was named, and what is known of it without asking questions.

    ``chunks``: how many an answer holds that is timed, 0 where nothing is. ``documents``: all that it has, None where
    that is not known. ``configuration``: dotted setting → value.
    """

    label: str
    kind: str
    mode: str = ""
    chunks: int = 0
    corpus: CorpusInfo | None = None
    documents: Sequence[Named] | None = None
    configuration: Mapping[str, JSON] = field(default_factory=dict)


class System(Protocol):
    """One of the two compared systems."""

    @property
    def about(self) -> SystemInfo:
        """The known facts about it."""
        ...

    def ask(self, question: Question) -> SystemReply:
        """Answer a question.

        Raises:
            PinakesError: it does not.
        """
        ...

    def close(self) -> None:
        """Release its resources."""
        ...


@dataclass(frozen=True, slots=True)
class QueryMode:
    """How a collection is asked: for ``top_k`` chunks, as a user does, which is timed.

    ``depth``: how many are ranked; None: that answer is the ranking, as with a server. ``by``: the field that documents
    are compared by.
    """

    mode: SearchMode
    top_k: int
    depth: int | None
    by: str | None = None


class CollectionSystem:
    """A collection, or the generation beside it, which ``search`` and ``rank`` then use."""

    def __init__(
        self,
        catalog: Catalog,
        label: str,
        search: SearchFunction,
        rank: Rank,
        record: CollectionRecord,
        query_mode: QueryMode,
        configuration: Mapping[str, JSON],
    ) -> None:
        """Record the state of the collection, and run a search, so that everything is loaded before the first question.

        Raises:
            InvalidInput: no document has the field ``query_mode.by``.
            PinakesError: it cannot be searched.
        """
        self._search, self._rank, self._query_mode, self._collection = search, rank, query_mode, record.name
        known = _documents(catalog, record, query_mode.by)
        self._known = {one.id: one for one in known}
        self.about = SystemInfo(
            label, "collection", query_mode.mode, query_mode.top_k, corpus_of(catalog, record), known, configuration
        )
        search("warm up", record.name, mode=query_mode.mode, top_k=1, filters=())

    def ask(self, question: Question) -> SystemReply:
        """Return the documents of the best chunks."""
        query_mode = self._query_mode
        start = time.perf_counter()
        found = self._search(
            question.text, self._collection, mode=query_mode.mode, top_k=query_mode.top_k, filters=question.where
        )
        passed = (time.perf_counter() - start) * 1000
        degraded = missing_retriever(found)
        if query_mode.depth is not None:
            found = self._rank(
                question.text, self._collection, mode=query_mode.mode, depth=query_mode.depth, filters=question.where
            )
        best: dict[Named, float] = {}
        for hit in found.hits:
            named = self._known.get(hit.document_id) or Named(hit.document_id, hit.uri, hit.path)
            best.setdefault(named, hit.score)
        return SystemReply(tuple(best), tuple(best.values()), passed, degraded)

    def close(self) -> None:
        """Do nothing: the caller owns the library."""


class RunSystem:
    """A TREC run: existing rankings, by question id."""

    def __init__(self, label: str, path: Path, by: str | None = None) -> None:
        """Read the file.

        Raises:
            NotFound, InvalidInput: it is not there, or no run.
        """
        self._rankings = read_run(path)
        self._by = by
        self.about = SystemInfo(label, "TREC run")

    def ask(self, question: Question) -> SystemReply:
        """Return the documents that the run has for the id of the question.

        Raises:
            NotFound: it has none.
        """
        ranking = self._rankings.get(question.id)
        if ranking is None:
            raise NotFound(
                f"{self.about.label} has no ranking for the question {question.id!r}.",
                hint="Ask the questions that it was made with; a plain file of questions numbers its lines.",
            )
        return SystemReply(tuple(Named(path=name, key=normal_text(name) if self._by else name) for name in ranking))

    def close(self) -> None:
        """Do nothing."""


class UnreachableSystem:
    """A side that could not be opened: it can only have stored answers."""

    def __init__(self, label: str, kind: str, error: PinakesError) -> None:
        self.about = SystemInfo(label, kind)
        self._error = error

    def ask(self, question: Question) -> SystemReply:  # noqa: ARG002
        """Raise the error of the failed opening.

        Raises:
            PinakesError: the one that opening it gave.
        """
        raise self._error

    def close(self) -> None:
        """Do nothing."""


def differences(a: SystemInfo, b: SystemInfo) -> list[str]:
    """Return the differences of the corpora of two collections, as text; empty if equal or unknown."""
    if a.corpus is None or b.corpus is None or a.corpus.fingerprint == b.corpus.fingerprint:
        return []
    found = []
    if a.corpus.documents != b.corpus.documents:
        found.append(f"{a.corpus.documents:,} documents in A, {b.corpus.documents:,} in B")
    paths_a, paths_b = ({one.path for one in about.documents or ()} for about in (a, b))
    for name, only in (("A", paths_a - paths_b), ("B", paths_b - paths_a)):
        if only:
            found.append(f"{len(only):,} paths are only in {name}: {listed(sorted(only), 3)}")
    return found or ["the text of some documents"]


def _documents(catalog: Catalog, record: CollectionRecord, by: str | None) -> list[Named]:
    with catalog.read() as connection:
        every = document_queries.list_all(connection, record.id)
        if by is None:
            return [Named(one.uid, one.uri, one.path, one.group_key) for one in every]
        values = field_values(connection, record.id, by)
    return [Named(one.uid, one.uri, one.path, next(iter(values.get(one.id, ())), "")) for one in every]
