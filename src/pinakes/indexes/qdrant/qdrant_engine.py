"""Words and vectors in one Qdrant collection for each index: BM25 as sparse vectors, cosine as dense ones."""

from __future__ import annotations

import copy
import logging
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from hashlib import sha256
from typing import Any

import numpy as np
from filelock import FileLock
from qdrant_client import QdrantClient, models

from pinakes.core.ports import KeywordQuery, VectorQuery, Vectors
from pinakes.core.records import HELD, Filter, IndexEntry, Int64, Ranking, VectorEntry
from pinakes.indexes.keyword.clauses import MOST_PHRASE_TERMS, stream_of
from pinakes.indexes.keyword.stored_terms import TermWriter
from pinakes.indexes.opening import Opening, is_empty, kept_elsewhere, note_elsewhere
from pinakes.indexes.qdrant import points, sparse
from pinakes.indexes.qdrant.connection import Missing, Server, connect
from pinakes.indexes.qdrant.point_writer import Writer
from pinakes.indexes.qdrant.points import Head
from pinakes.platform.locks import locked
from pinakes.settings import IndexSettings, QdrantSettings, SearchSettings
from pinakes.text import analysis
from pinakes.text.analysis import english

_WHAT = "The index in Qdrant"
_TIES = 16
"""So many more are asked for than wanted: of those that score alike a server gives any, we the lowest numbers."""

_MARGIN = 10_000
_UNKNOWN = -1
"""The position that a thread was told before it applies changes, where the server did not answer: there may be others
before these."""

_MOST_NAMES, _MOST_DEFINED = 200, 4
"""Of more names than so many a chunk may define, those that define fewest are not told apart before they are cut."""

_MOST_ALIKE = 10_000

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class _Asked:
    """A question as requests, and what makes a ranking of their answers: lists of (point, score)."""

    requests: Sequence[models.QueryRequest]
    scores: Callable[[Sequence[Sequence[Any]]], dict[int, float]]
    limit: int


class QdrantEngine:
    """Implements ``ports.KeywordEngine`` and ``ports.VectorEngine``; all machines that follow a catalogue share it.

    Where it is one half beside another engine, it keeps only what that half needs.
    """

    def __init__(self, opening: Opening) -> None:
        """Nothing is sent yet, so that a server that is away keeps nobody from the other half."""
        self._opening, settings = opening, opening.settings
        self._search, self._qdrant = settings.search, settings.qdrant
        self._analyzer = english()
        self._parts = opening.parts
        self._dimension = opening.dimension
        self._server: Server = connect(settings.qdrant)
        self._name = collection_name(settings.qdrant, opening.key or opening.folder.name)
        self._writer = Writer(self._server, self._name, self._parts, TermWriter(self._analyzer, opening.languages))
        self._lock = FileLock(opening.folder / "qdrant.lock", timeout=settings.index.lock_timeout_s)
        self._writing = threading.RLock()
        self._head: Head | None = None
        self._asked_at = threading.local()
        self._is_open = True

    def position(self) -> int:
        self._asked_at.position = _UNKNOWN
        self._server.check()  # else a search would wait for it each time
        found = self._asked_at.position = self._opened().position
        return found

    def apply(
        self, removed: Iterable[int], added: Iterable[IndexEntry], position: int, vectors: Iterable[VectorEntry] = ()
    ) -> None:
        removed, added, vectors = list(removed), list(added), list(vectors)
        follows = self._check_asked()
        if position <= self._opened().position:
            return
        with self._writing, locked(self._lock, _WHAT):
            head = self._writer.head()  # another process or machine may have written
            if head is None:
                raise Missing(f"The collection {self._name!r} is none of an index any more.", hint="pinakes reindex")
            if follows <= head.position < position:
                head = self._writer.apply(head, removed, added, position, vectors)
            self._head = head

    def keyword(self, *queries: KeywordQuery) -> list[Ranking]:
        self._check_asked()
        self._opened()
        passing = lru_cache(self._opening.documents)  # mostly of one filter
        return self._answers([self._asked(query, passing) for query in queries])

    def vector(self, *queries: VectorQuery) -> list[Ranking]:
        self._check_asked()
        self._opened()
        return self._answers([self._nearest(query) for query in queries])

    def vectors(self, chunks: Int64, documents: Int64 | None = None) -> Vectors:
        self._check_asked()
        self._opened()
        owners = [] if documents is None else [points.number_of(one) for one in documents.tolist()]
        wanted = [*dict.fromkeys([*chunks.tolist(), *owners])]
        found: list[Any] = []
        if wanted:
            found = self._server.call(
                lambda client: client.retrieve(
                    self._name, wanted, with_payload=[points.VECTOR], with_vectors=[points.DENSE, points.SUM]
                )
            )
        own = points.dense_rows(found, chunks, points.DENSE, self._dimension)
        sums = points.dense_rows(found, np.array(owners, np.int64), points.SUM, self._dimension)
        unsure = [one.id for one in found if (one.payload or {}).get(points.VECTOR) == points.APPROXIMATE]
        return Vectors(own, np.isin(chunks, unsure, invert=True) if unsure else None, sums)

    def contents(self) -> Mapping[str, Int64]:
        self._opened()
        states: dict[int, int] = {}
        documents: list[int] = []
        but_head = models.Filter(must_not=[points.matches(points.KIND, points.HEAD)])
        for record in self._writer.scroll(but_head, [points.KIND, points.DOCUMENT, points.VECTOR]):
            if record.payload[points.KIND] == points.CHUNK:
                states[record.id] = record.payload[points.VECTOR]
            else:
                documents.append(record.payload[points.DOCUMENT])
        found: dict[str, Int64] = {}
        if "keyword" in self._parts:
            found |= {"keyword": _sorted(states), "documents": _sorted(documents)}
        if "vector" in self._parts:
            found["vector"] = _sorted(one for one, state in states.items() if state != points.NONE)
            found["exact"] = _sorted(one for one, state in states.items() if state == points.OWN)
        return found

    def describe(self) -> Mapping[str, str | int]:
        head, about = self._opened(), dict[str, str | int]()
        if len(self._parts) > 1:
            about["engine"] = "qdrant"
        about |= {"server": self._server.name, "qdrant_collection": self._name}
        if "keyword" in self._parts:
            about |= {"analyser": analysis.VERSION, "keyword_chunks": head.counts[0], "documents": head.counts[1]}
            about["spelling"] = "not looked at: the engine keeps no words as they are written"
        if "vector" in self._parts:
            own, approximate = self._count(points.OWN), self._count(points.APPROXIMATE)
            about["vectors"] = own + approximate
            if approximate:
                about["exact_vectors"] = own
            about["vector_search"] = "exact" if self._is_small() else "approximate (HNSW)"
        return about

    def with_settings(self, index: IndexSettings, search: SearchSettings) -> QdrantEngine:  # noqa: ARG002
        other = copy.copy(self)
        vars(other).update(_search=search)
        return other

    def close(self) -> None:
        """Nothing is unwritten."""
        if self._is_open:
            self._is_open = False
            self._server.release()

    def _check_asked(self) -> int:
        """Return which position this thread was told last, 0 where it never asked.

        Raises:
            IndexUnavailable: the server did not answer then. It may by now, and lack what was written meanwhile.
        """
        position: int = getattr(self._asked_at, "position", 0)
        if position == _UNKNOWN:
            raise self._server.last_failure()
        return position

    def _opened(self) -> Head:
        """Return how the index stands, as far as this process knows; the first time the server is asked.

        A collection that is not there is made; so is one that was made of other vectors or terms, and that is said.
        """
        if self._head is not None:
            return self._head
        with self._writing:
            if self._head is None:
                fresh = Head(made_by=self._made_by())
                try:
                    head, reason = self._writer.head(), "it is none of an index"
                except Missing as missing:
                    head, reason = None, missing.message if "qdrant" in kept_elsewhere(self._opening.folder) else ""
                else:
                    if head is not None and dict(head.made_by) != dict(fresh.made_by):
                        has_none = "dimension" in head.made_by and not head.made_by["dimension"]  # no model yet
                        reason, head = "" if has_none else f"it is made of {dict(head.made_by)}", None
                    if head is None:
                        self._server.call(lambda client: client.delete_collection(self._name))
                if head is None:
                    if reason:
                        _log.warning("the Qdrant collection %r is built anew: %s", self._name, reason)
                    self._writer.create(self._dimension, fresh)
                    head = self._writer.head()
                note_elsewhere(self._opening.folder, "qdrant", self._name)
                self._head = head
            assert self._head is not None
            return self._head

    def _made_by(self) -> dict[str, Any]:
        opening = self._opening
        made: dict[str, Any] = {"format": points.FORMAT, "parts": sorted(self._parts)}
        if "vector" in self._parts:
            made |= {"dimension": self._dimension, "label": opening.label}
        if "keyword" in self._parts:
            made |= {"analyser": analysis.VERSION, "languages": list(opening.languages)}
        return made

    def _asked(self, query: KeywordQuery, passing: Callable[[Filter | None], Int64 | None]) -> _Asked:
        whole = query.evidence == "documents"
        documents = None if query.among is not None else passing(query.where)
        if is_empty(documents) or is_empty(query.among):
            return _NOTHING
        only = points.only(documents, query.among, whole=whole)
        if query.evidence == "phrases":
            row = points.in_a_row(self._analyzer.readings(query.text))
            return _NOTHING if row is None else _Asked([self._having(row, only, query.limit)], _ones, query.limit)
        if query.evidence == "definitions":
            return self._defining(query, only)
        terms = self._analyzer.query(query.text)
        if not terms:
            return _NOTHING
        asked = sparse.of_query(terms, self._analyzer, self._search, self._opening.languages, written=not whole)
        using = points.DOCUMENT_WORDS if whole else points.WORDS
        requests = [self._by_words(asked, using, only, query.limit)]
        stream = stream_of(terms)
        if not whole and self._search.phrase_boost > 0 and 1 < len(stream) <= MOST_PHRASE_TERMS:
            row = points.in_a_row([stream])
            boosted = sparse.with_phrase(asked, stream, self._search.phrase_boost)
            requests.append(self._by_words(boosted, using, [*only, *([row] if row else [])], query.limit))
        return _Asked(requests, _best_of, query.limit)

    def _defining(self, query: KeywordQuery, only: list[models.Condition]) -> _Asked:
        names = list(dict.fromkeys(query.text.split()))[:_MOST_NAMES]
        if not names:
            return _NOTHING
        requests = [
            self._having(points.defining(names, least), only, query.limit)
            for least in range(1, min(len(names), _MOST_DEFINED) + 1)
        ]
        scores = partial(_defined, names, len(requests))
        for name in points.wholes_of(names):
            row = points.in_a_row(self._analyzer.readings(name))
            if row is not None:
                requests.append(self._having(row, only, query.limit))
                requests.append(self._having(row, [*only, points.defining(names, 1)], query.limit))
        return _Asked(requests, scores, query.limit)

    def _by_words(
        self, asked: Mapping[int, float], using: str, only: Sequence[models.Condition], limit: int
    ) -> models.QueryRequest:
        return models.QueryRequest(
            query=sparse.vector_of(asked),
            using=using,
            filter=models.Filter(must=list(only)) if only else None,
            limit=self._most(limit),
            with_payload=[points.DOCUMENT],
        )

    def _having(self, row: models.Filter, only: Sequence[models.Condition], limit: int) -> models.QueryRequest:
        """Return the request for chunks that pass, the lowest numbers first."""
        wanted = [points.DOCUMENT, points.SYMBOLS]
        return models.QueryRequest(
            filter=models.Filter(must=[row, *only]), limit=self._most(limit), with_payload=wanted
        )

    def _nearest(self, query: VectorQuery) -> _Asked:
        documents = None if query.among is not None else self._opening.documents(query.where)
        if is_empty(documents) or is_empty(query.among) or len(query.vector) != self._dimension:
            return _NOTHING
        only = points.only(documents, query.among)
        request = models.QueryRequest(
            query=query.vector.tolist(),
            using=points.DENSE,
            filter=models.Filter(must=list(only)) if only else None,
            params=self._params(),
            limit=self._most(query.limit),
            with_payload=[points.DOCUMENT, points.VECTOR],
        )
        return _Asked([request], _best_of, query.limit)

    def _params(self) -> models.SearchParams | None:
        settings = self._qdrant
        if self._server.in_memory:
            return None
        quantized = None
        if settings.quantization != "none":
            quantized = models.QuantizationSearchParams(rescore=True, oversampling=settings.oversampling)
        return models.SearchParams(hnsw_ef=settings.hnsw_ef, exact=self._is_small(), quantization=quantized)

    def _is_small(self) -> bool:
        return self._opened().counts[0] <= self._qdrant.exact_max_vectors

    def _most(self, limit: int) -> int:
        """Return how many are asked for: no more than there can be, however many are wanted."""
        return min(limit + _TIES, 2 * self._opened().counts[0] + _MARGIN)

    def _answers(self, asked: Sequence[_Asked]) -> list[Ranking]:
        """Ask all in one request; return a ranking for each."""
        requests = [request for one in asked for request in one.requests]
        found: list[Any] = []
        if requests:
            found = self._server.call(partial(_queried, self._name, requests))
        if alike := [place for place, one in enumerate(found) if _is_cut(one.points, requests[place])]:
            more = [_all_alike(requests[place], found[place].points[-1].score) for place in alike]
            for place, one in zip(alike, self._server.call(partial(_queried, self._name, more)), strict=True):
                better = [hit for hit in found[place].points if hit.score > found[place].points[-1].score]
                found[place].points = [*better, *one.points]
        every = iter(found)
        return [_ranked(one, [next(every).points for _ in one.requests]) for one in asked]

    def _count(self, state: int) -> int:
        where = models.Filter(must=[points.matches(points.VECTOR, state)])
        return int(self._server.call(lambda client: client.count(self._name, count_filter=where)).count)


def collection_name(settings: QdrantSettings, key: str) -> str:
    """Return what the Qdrant collection of an index is called."""
    plain = "".join(char if char.isalnum() or char in "-_" else "_" for char in key)
    return settings.prefix + (plain if plain == key else f"{plain}-{sha256(key.encode()).hexdigest()[:8]}")


def drop(settings: QdrantSettings, name: str) -> None:
    """Delete the Qdrant collection ``name``, if there is one.

    Raises:
        IndexUnavailable: the server does not answer.
    """
    server = connect(settings)
    try:
        server.call(lambda client: client.delete_collection(name))
    except Missing:
        pass
    finally:
        server.release()


def _queried(name: str, requests: Sequence[models.QueryRequest], client: QdrantClient) -> list[Any]:
    return list(client.query_batch_points(name, requests))


def _is_cut(hits: Sequence[Any], request: models.QueryRequest) -> bool:
    """Say whether more chunks may score as the last one that is wanted does, of which a server gives any."""
    wanted = (request.limit or 0) - _TIES
    return request.query is not None and len(hits) == request.limit and hits[-1].score == hits[wanted - 1].score


def _all_alike(request: models.QueryRequest, score: float) -> models.QueryRequest:
    """Return the question for all that score so."""
    below = float(np.nextafter(np.float32(score), np.float32(-np.inf)))
    return request.model_copy(update={"score_threshold": below, "limit": _MOST_ALIKE})


def _best_of(answers: Sequence[Sequence[Any]]) -> dict[int, float]:
    found: dict[int, float] = {}
    for hits in answers:
        for hit in hits:
            found[hit.id] = max(hit.score, found.get(hit.id, hit.score))
    return found


def _ones(answers: Sequence[Sequence[Any]]) -> dict[int, float]:
    return {hit.id: 1.0 for hits in answers for hit in hits}


def _defined(names: Sequence[str], defining: int, answers: Sequence[Sequence[Any]]) -> dict[int, float]:
    """Return how many names each chunk defines; the answers behind ``defining`` are of those that have one as a whole.

    Each of these comes twice: all, and those that define a name.
    """
    wanted = frozenset(names)
    found = {hit.id: float(len(wanted & {*hit.payload[points.SYMBOLS]})) for hits in answers for hit in hits}
    for place in range(defining, len(answers), 2):
        for number in {hit.id for hits in answers[place : place + 2] for hit in hits}:
            found[number] += HELD
    return found


_NOTHING = _Asked((), _best_of, 0)


def _ranked(asked: _Asked, answers: Sequence[Sequence[Any]]) -> Ranking:
    """Return the best, of those that score alike the lowest numbers first."""
    scores = asked.scores(answers) if answers else {}
    payloads = {hit.id: hit.payload or {} for hits in answers for hit in hits}
    best = sorted(scores, key=lambda one: (-scores[one], one))[: asked.limit]
    owners = [payloads[one][points.DOCUMENT] for one in best]
    ids = [points.plain(one) for one in best]
    approximate = [payloads[one].get(points.VECTOR) == points.APPROXIMATE for one in best]
    exact = ~np.array(approximate, np.bool_) if any(approximate) else None
    ranked = np.array([scores[one] for one in best], np.float32)
    return Ranking(np.array(ids, np.int64), np.array(owners, np.int64), ranked, exact)


def _sorted(ids: Iterable[int]) -> Int64:
    return np.array(sorted(ids), np.int64)
