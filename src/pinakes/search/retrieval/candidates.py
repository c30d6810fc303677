"""Candidates of both retrievers, with the scores of each chunk and of its document."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias

import numpy as np

from pinakes.core.errors import IndexUnavailable
from pinakes.core.ports import Index, KeywordQuery, VectorQuery
from pinakes.core.records import HELD, Bool, Float32, Int64, Ranking
from pinakes.search.query.understanding import ParsedRequest
from pinakes.search.query.words import query_words as words_of
from pinakes.search.retrieval.constraints import Constraints, Phrases
from pinakes.search.retrieval.scoring import ScoreAdjustments, Scoring
from pinakes.search.retrieval.term_statistics import TermStatistics
from pinakes.search.retrieval.tracer import Tracer
from pinakes.settings import Settings
from pinakes.text import identifiers
from pinakes.text.analysis import is_identifier

_CANDIDATES_PER_RESULT = 4
_ADDED_WEIGHT = 0.2
"""Weight of an expansion term; a term of the query has weight 1."""

_DEFINITIONS = 20
"""The maximum number of chunks retrieved because they define a name in the query."""

_MOST_NAMES_WORDS = 12
"""A query with more words is not only about names of code."""


@dataclass(frozen=True, slots=True)
class DocumentEvidence:
    """Evidence from a chunk's document; arrays are in the order of the candidates.

    ``document_cosine``: of the query and the sum of the document's vectors. ``definitions``: how many names of the
    query the chunk defines. ``sums``: float32 (documents, dim), the summed vectors of each document, NaN if it has
    none; ``owner_of``: int64 (n,), the row of ``sums`` for each chunk. ``terms``: statistics of the query's words, if
    known. ``identifiers``: the share of the query's identifiers that the chunk has as a whole, times the square of
    their share of the query; None if the query has none.
    """

    document_cosine: Float32
    definitions: Float32
    sums: Float32
    owner_of: Int64
    terms: TermStatistics | None = None
    identifiers: Float32 | None = None

    def changed(self, rows: Int64, by: Float32, query: Float32) -> DocumentEvidence:
        """Return this evidence after the vectors in these ``rows`` changed by ``by`` float32 (rows, dim)."""
        sums = self.sums.copy()
        np.add.at(sums, self.owner_of[rows], by)
        return replace(self, sums=sums, document_cosine=_cosines(sums, query)[self.owner_of])


@dataclass(frozen=True, slots=True)
class Candidates:
    """The chunks found by the retrievers. Arrays share their order; NaN marks a chunk without a vector.

    ``vectors``: float32 (n, dim), None if not looked up. ``exact``: False if the cosine is of an approximate vector;
    None if no vector is approximate. ``evidence``: set if both retrievers answered and weighted fusion is used.
    ``document_bm25``: of whole documents, None if not looked up. ``rerank``: the reranker's scores, NaN if not scored.
    ``adjustments``: score adjustments. ``phrases``: which candidates have which quoted phrases. ``scoring``: the parts
    of the scores; None before ranking. ``fused``: the scores before reranking and preferred phrases, None if neither
    changed them. ``limited``: a retriever returned as many as requested, so there may be more.
    ``graph``: how strongly entities tie each to the question, times the weight of that; None without. ``named``: id
    of each document that the query names → its name; ``openings``: ids of their first chunks if it says nothing else.
    """

    ids: Int64
    documents: Int64
    cosine: Float32 | None
    bm25: Float32 | None
    retrieved: dict[str, Ranking]
    exact: Bool | None = None
    evidence: DocumentEvidence | None = None
    document_bm25: Float32 | None = None
    rerank: Float32 | None = None
    fused: Float32 | None = None
    adjustments: ScoreAdjustments | None = None
    phrases: Phrases | None = None
    limited: bool = False
    scoring: Scoring | None = None
    vectors: Float32 | None = None
    graph: Float32 | None = None
    named: Mapping[int, str] = field(default_factory=dict)
    openings: tuple[int, ...] = ()

    def vectors_of(self, rows: Int64, index: Index) -> Float32:
        """Return float32 (n, dim): the vectors of the chunks in these rows, NaN where there is none."""
        if self.vectors is not None:
            return self.vectors[rows]
        try:
            return index.vectors(self.ids[rows]).own
        except IndexUnavailable:  # what is ranked already is not lost for that
            return np.full((len(rows), 1), np.nan, np.float32)


_Owners: TypeAlias = tuple[Int64, Int64]
"""The distinct document ids, and for each candidate the index of its own among them."""


@dataclass(frozen=True, slots=True)
class _Names:
    """The names in a query: ``wholes`` are searched for as terms and definitions, ``others`` only as definitions."""

    wholes: Sequence[str] = ()
    others: Sequence[str] = ()

    @classmethod
    def from_query(cls, query: str, settings: Settings) -> _Names:
        """Return the names in a query; ``others`` only if definitions are boosted."""
        wholes = _wholes(query)
        defining = settings.search.definition_boost
        return cls(wholes, [name for name in identifiers.names(query) if name not in wholes] if defining else ())


def gather(
    asked: ParsedRequest,
    only: Constraints,
    vector: Float32 | None,
    index: Index,
    settings: Settings,
    tracer: Tracer,
    also: Sequence[Ranking] = (),
) -> Candidates:
    """Retrieve candidates that ``only`` allows from both engines, then all scores of each candidate and its document.

    Each engine is queried twice, more often only if phrases or exclusions leave too few candidates. The chunks of
    ``also`` are always candidates.
    """
    request = asked.request
    limit = max(settings.search.candidates, _CANDIDATES_PER_RESULT * (request.pool or request.top_k))
    weighted = request.mode == "hybrid" and vector is not None and request.fusion == "weighted"
    names = _Names.from_query(asked.text, settings) if weighted else _Names()
    retrieved: dict[str, Ranking] = {}
    others = {"first": only.first}
    if request.mode != "vector":
        with tracer.stage("keyword") as detail:
            queries = _keyword_queries(asked, names, only.asked_for(limit), limit)
            others |= zip(queries, only.best(lambda some: index.keyword(*some), [*queries.values()]), strict=True)
            retrieved["keyword"], others["with phrases"] = only.split(others.pop("text"), limit)
            detail["found"] = len(retrieved["keyword"])
    if vector is not None:
        with tracer.stage("vector") as detail:
            known = np.concatenate([ranking.ids for ranking in (*retrieved.values(), *others.values(), *also)])
            # Without the index NumPy imports numpy.ma, which takes 15 ms.
            known, _ = np.unique(known, return_index=True)
            nearest = VectorQuery(vector, only.asked_for(limit), request.where, prefetch=known)
            [ranking] = only.best(lambda some: index.vector(*some), [nearest])
            retrieved["vector"], others["near with phrases"] = only.split(ranking, limit)
            detail["found"] = len(retrieved["vector"])
    rankings = [*retrieved.values(), *others.values(), *also]
    ids, first = np.unique(np.concatenate([ranking.ids for ranking in rankings]), return_index=True)
    documents = np.concatenate([ranking.documents for ranking in rankings])[first]
    limited = any(len(ranking) >= limit for ranking in retrieved.values())
    found = Candidates(ids, documents, None, None, retrieved, phrases=only.phrases(ids), limited=limited)
    with tracer.stage("score"):
        of_all = np.unique(documents, return_inverse=True)
        if "keyword" in retrieved:
            found = _with_bm25(found, asked, index, of_all if weighted or vector is None else None)
        if vector is not None:
            found = _with_cosines(found, vector, index, of_all if weighted else None)
        return _with_names(found, asked.text, names, others, index) if found.evidence is not None else found


def among(asked: ParsedRequest, vector: Float32 | None, ids: Int64, documents: Int64, index: Index) -> Candidates:
    """Return these chunks with all scores of each and of its document, whether the retrievers find them or not.

    ``ids`` int64 (n,), sorted; ``documents`` their documents. Each engine is asked once.
    """
    none = np.empty(0, np.int64)
    nothing_found = Ranking(none, none, np.empty(0, np.float32))
    retrieved = {} if asked.request.mode == "vector" else {"keyword": nothing_found}
    retrieved |= {} if vector is None else {"vector": nothing_found}
    found = Candidates(ids, documents, None, None, retrieved)
    of_all = np.unique(documents, return_inverse=True)
    if "keyword" in retrieved:
        found = _with_bm25(found, asked, index, of_all)
    if vector is not None:
        found = _with_cosines(found, vector, index, of_all if "keyword" in retrieved else None)
    return found


def _keyword_queries(asked: ParsedRequest, names: _Names, most: int, limit: int) -> dict[str, KeywordQuery]:
    """Return name → keyword query for the candidates.

    Names have a query of their own per kind, because ``HELD`` does not tell which of several names a chunk has.
    """
    where = asked.request.where
    queries = {"text": KeywordQuery(asked.text, most, where)}
    if asked.added:
        queries["added"] = KeywordQuery(asked.added, limit, where)
    if names.wholes:
        queries["wholes"] = KeywordQuery(" ".join(names.wholes), limit, where, evidence="definitions")
    if names.others:
        queries["names"] = KeywordQuery(" ".join(names.others), _DEFINITIONS, where, evidence="definitions")
    return queries


def _with_bm25(found: Candidates, asked: ParsedRequest, index: Index, owners: _Owners | None) -> Candidates:
    """Return ``found`` with the BM25 of each chunk and, if ``owners`` are given, of its whole document."""
    ids, ranking = found.ids, found.retrieved["keyword"]
    others = np.ones(len(ids), np.bool_)
    others[np.searchsorted(ids, ranking.ids)] = False
    rest = ids[others]
    queries: dict[str, KeywordQuery] = {}
    if len(rest):
        queries["rest"] = KeywordQuery(asked.text, len(rest), among=rest)
    if asked.added and len(ids):
        queries["added"] = KeywordQuery(asked.added, len(ids), among=ids)
    if owners is not None and len(ids):
        queries["documents"] = KeywordQuery(asked.text, len(owners[0]), among=owners[0], evidence="documents")
    answers = dict(zip(queries, index.keyword(*queries.values()), strict=True)) if queries else {}
    bm25 = _scores(ids, [ranking, *([answers["rest"]] if "rest" in answers else [])], 0.0)
    if "added" in answers:
        bm25 += np.float32(_ADDED_WEIGHT) * _scores(ids, [answers["added"]], 0.0)
    if owners is None:
        return replace(found, bm25=bm25)
    of_documents = _scores(owners[0], [answers["documents"]] if "documents" in answers else [], 0.0)
    return replace(found, bm25=bm25, document_bm25=of_documents[owners[1]])


def _with_cosines(found: Candidates, vector: Float32, index: Index, owners: _Owners | None) -> Candidates:
    """Return ``found`` with the cosine of each chunk and, if ``owners`` are given, with document evidence."""
    ids, ranking = found.ids, found.retrieved["vector"]
    cosine, place = np.full(len(ids), np.nan, np.float32), np.searchsorted(ids, ranking.ids)
    cosine[place] = ranking.scores
    exact = None if ranking.exact is None else np.ones(len(ids), np.bool_)
    if exact is not None:
        exact[place] = ranking.exact
    rest = np.ones(len(ids), np.bool_)
    rest[place] = False
    if not (len(ids) and (owners is not None or rest.any())):
        return replace(found, cosine=cosine, exact=exact)
    known = index.vectors(ids, None if owners is None else owners[0])
    own, sums = known.own, known.sums
    if not own.shape[1]:  # an index without vectors does not know their dimension
        own, sums = (np.full((len(one), len(vector)), np.nan, np.float32) for one in (own, sums))
    cosine[rest] = np.vecdot(own[rest], vector)
    if known.exact is not None:
        exact = np.ones(len(ids), np.bool_) if exact is None else exact
        exact[rest] = known.exact[rest]
    found = replace(found, cosine=cosine, exact=exact, vectors=own)
    if owners is None:
        return found
    nothing = np.zeros(len(ids), np.float32)
    return replace(found, evidence=DocumentEvidence(_cosines(sums, vector)[owners[1]], nothing, sums, owners[1]))


def _with_names(
    found: Candidates, query: str, names: _Names, rankings: Mapping[str, Ranking], index: Index
) -> Candidates:
    """Return ``found`` with the chunks that have or define names of the query, and the IDF of its words."""
    assert found.evidence is not None
    terms = TermStatistics.from_query(query, index)
    wholes, others = (
        _scores(found.ids, [rankings[one]] if one in rankings else [], 0.0) for one in ("wholes", "names")
    )
    has = (wholes - np.floor(wholes)) / np.float32(HELD)
    share = has * np.float32(_weight_of(names.wholes, query, terms) ** 2 / max(1, len(names.wholes)))
    defines = np.floor(wholes) + np.floor(others)
    return replace(found, evidence=replace(found.evidence, definitions=defines, identifiers=share, terms=terms))


def nothing() -> Candidates:
    """Return an empty set of candidates."""
    none = np.empty(0, np.int64)
    return Candidates(none, none, None, None, {})


def rescored(found: Candidates, vectors: Mapping[int, Float32], query: Float32) -> Candidates:
    """Return ``found`` with ``vectors`` (chunk id → float32 (dim,)) for some chunks, and the cosines recomputed."""
    assert found.cosine is not None
    assert found.exact is not None
    cosine, exact, ranking, evidence = (
        found.cosine.copy(),
        found.exact.copy(),
        found.retrieved["vector"],
        found.evidence,
    )
    rows = np.searchsorted(found.ids, np.fromiter(vectors, np.int64, len(vectors)))
    cosine[rows] = [float(vector @ query) for vector in vectors.values()]
    exact[rows] = True
    own = found.vectors
    if own is not None and len(rows):
        fresh, own = np.stack(list(vectors.values())), own.copy()
        evidence = (
            None if evidence is None else evidence.changed(rows, fresh - np.nan_to_num(own[rows], nan=0.0), query)
        )
        own[rows] = fresh
    scores = cosine[np.searchsorted(found.ids, ranking.ids)]
    order = np.lexsort((ranking.ids, -scores))
    retrieved = {**found.retrieved, "vector": Ranking(ranking.ids[order], ranking.documents[order], scores[order])}
    return replace(found, cosine=cosine, exact=exact, retrieved=retrieved, vectors=own, evidence=evidence)


def approximate(found: Candidates, rows: Int64) -> list[int]:
    """Return the ids of the chunks in these rows whose cosine is of an approximate vector."""
    assert found.exact is not None
    ids: list[int] = found.ids[rows[~found.exact[rows]]].tolist()
    return ids


def _wholes(query: str) -> list[str]:
    """Return the names to search for as a whole: those with digits, and names of code if the query has nothing else."""
    every = words_of(query).words
    names = [*(word for word in every if is_identifier(word)), *identifiers.numbered(query)]
    written = identifiers.wholes(query) if len(every) <= _MOST_NAMES_WORDS else []
    if written and not every.keys() - {word for name in written for word in words_of(name).words}:
        names += written
    return list(dict.fromkeys(names))


def _weight_of(names: Sequence[str], query: str, terms: TermStatistics | None) -> float:
    """Return the share of the query's words that the words of ``names`` are, weighted by IDF if known."""
    every = words_of(query).words
    words = every.keys() & {word for name in names for word in words_of(name).words}
    if terms is None or not (total := sum(terms.idf.values())):
        return len(words) / max(1, len(every))
    return sum(terms.idf[word] for word in words) / total


def _cosines(vectors: Float32, query: Float32) -> Float32:
    """Return float32 (n,): the cosine of each vector with ``query``, which has unit length."""
    lengths = np.maximum(np.linalg.norm(vectors, axis=1), np.float32(1e-9))
    cosines: Float32 = np.vecdot(vectors, query) / lengths
    return cosines


def _scores(ids: Int64, rankings: Sequence[Ranking], absent: float) -> Float32:
    """Return the score of each of ``ids``, ``absent`` if no ranking has it."""
    scores = np.full(len(ids), absent, np.float32)
    for ranking in rankings:
        scores[np.searchsorted(ids, ranking.ids)] = ranking.scores
    return scores
