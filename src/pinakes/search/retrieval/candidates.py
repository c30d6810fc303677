"""What the two retrievers found, and all that is known of each chunk: its own scores and those of its document."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np

from pinakes.core.errors import IndexUnavailable
from pinakes.core.ports import Index, KeywordQuery, VectorQuery
from pinakes.core.records import HELD, Bool, Float32, Int64, Ranking
from pinakes.search.query.understanding import ParsedRequest
from pinakes.search.query.words import query_words as words_of
from pinakes.search.retrieval.adjustments import ScoreAdjustments
from pinakes.search.retrieval.constraints import Constraints
from pinakes.search.retrieval.phrases import Phrases
from pinakes.search.retrieval.scoring import Scoring
from pinakes.search.retrieval.term_statistics import TermStatistics
from pinakes.search.retrieval.tracer import Tracer
from pinakes.settings import Settings
from pinakes.text import identifiers
from pinakes.text.analysis import is_identifier

_CANDIDATES_PER_RESULT = 4
_ADDED_WEIGHT = 0.2
"""Weight of an added word beside one that was asked for (1.0): a word of the query says more than its synonym."""

_DEFINITIONS = 20
"""Most chunks taken for defining what the query names, whatever else they say."""

_MOST_NAMES_WORDS = 12
"""A query of more words is about something else than names of code alone."""


@dataclass(frozen=True, slots=True)
class DocumentEvidence:
    """What a chunk's document and surroundings say for it; arrays in the order of the candidates.

    ``document_cosine``: of the query and the sum of the document's vectors. ``definitions``: how many of the names in
    the query the chunk defines. ``sums`` float32 (documents, dim) are those of the vectors of each document, NaN
    where it has none; ``owner_of`` int64 (n,) says which is a chunk's. ``terms``: of the words of the query, where
    it is known. ``identifiers``: how many of those in the query the chunk has as a whole, as a share, times the
    square of their share of the query; None: it has none.
    """

    document_cosine: Float32
    definitions: Float32
    sums: Float32
    owner_of: Int64
    terms: TermStatistics | None = None
    identifiers: Float32 | None = None

    def changed(self, rows: Int64, by: Float32, query: Float32) -> DocumentEvidence:
        """Return this after the vectors of the chunks in these ``rows`` changed by these float32 (rows, dim)."""
        sums = self.sums.copy()
        np.add.at(sums, self.owner_of[rows], by)
        return replace(self, sums=sums, document_cosine=_cosines(sums, query)[self.owner_of])


@dataclass(frozen=True, slots=True)
class Candidates:
    """Every chunk a retriever found, and their documents. Arrays share their order; NaN where a chunk has no vector.

    ``vectors`` float32 (n, dim): their own, None where they were not looked up. ``exact`` False: the cosine is that of
    an approximate vector; None: none is. ``evidence`` is there where both retrievers answered and are fused by weights.
    ``document_bm25``: of the whole documents, where it was looked for. ``rerank``: what a reranker gave, NaN where it
    did not look. ``adjustments``: what changes their scores besides. ``phrases``: which have what stands in quotation
    marks. ``scoring``: what the scores of a ranking are made of, None before there is one. ``fused``: the scores before
    a reranker and preferred phrases changed them, None where nothing did. ``limited``: a retriever gave as many as it
    was asked for, so there may be more.
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

    def vectors_of(self, rows: Int64, index: Index) -> Float32:
        """Return float32 (n, dim): the vectors of the chunks in these rows, NaN where there is none."""
        if self.vectors is not None:
            return self.vectors[rows]
        try:
            return index.vectors(self.ids[rows]).own
        except IndexUnavailable:  # what is ranked already is not lost for that
            return np.full((len(rows), 1), np.nan, np.float32)


_Owners: TypeAlias = tuple[Int64, Int64]
"""The documents of candidates, each once, and for each candidate which of these is its own."""


@dataclass(frozen=True, slots=True)
class _Names:
    """The names in a query: chunks are looked for that have ``wholes`` or define them, and that define ``others``."""

    wholes: Sequence[str] = ()
    others: Sequence[str] = ()

    @classmethod
    def from_query(cls, query: str, settings: Settings) -> _Names:
        """Return them; the others only where a definition counts."""
        wholes = _wholes(query)
        defining = settings.search.definition_boost or settings.boosts.symbol_definition
        return cls(wholes, [name for name in identifiers.names(query) if name not in wholes] if defining else ())


def gather(
    asked: ParsedRequest,
    only: Constraints,
    vector: Float32 | None,
    index: Index,
    settings: Settings,
    tracer: Tracer,
    also: Ranking | None = None,
) -> Candidates:
    """Ask both engines for what ``only`` allows, then for both scores of every candidate, and those of its document.

    Each is asked twice, more often only where phrases or excluded words leave too little. Chunks of ``also`` are
    candidates in any case, though no engine found them.
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
            nearest = VectorQuery(vector, only.asked_for(limit), request.where)
            [ranking] = only.best(lambda some: index.vector(*some), [nearest])
            retrieved["vector"], others["near with phrases"] = only.split(ranking, limit)
            detail["found"] = len(retrieved["vector"])
    rankings = [*retrieved.values(), *others.values(), *([] if also is None else [also])]
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


def _keyword_queries(asked: ParsedRequest, names: _Names, most: int, limit: int) -> dict[str, KeywordQuery]:
    """Return what the keyword engine is asked for candidates.

    Names apart for each kind: ``HELD`` does not say which of them a chunk has.
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
    """Return ``found`` with the BM25 of each chunk; and of its whole document, where ``owners`` are given."""
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
    told = dict(zip(queries, index.keyword(*queries.values()), strict=True)) if queries else {}
    bm25 = _scores(ids, [ranking, *([told["rest"]] if "rest" in told else [])], 0.0)
    if "added" in told:
        bm25 += np.float32(_ADDED_WEIGHT) * _scores(ids, [told["added"]], 0.0)
    if owners is None:
        return replace(found, bm25=bm25)
    of_documents = _scores(owners[0], [told["documents"]] if "documents" in told else [], 0.0)
    return replace(found, bm25=bm25, document_bm25=of_documents[owners[1]])


def _with_cosines(found: Candidates, vector: Float32, index: Index, owners: _Owners | None) -> Candidates:
    """Return ``found`` with the cosine of each chunk with ``vector``, and with what its document says for it where
    ``owners`` are given.
    """
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
    if not own.shape[1]:  # nothing was ever embedded: the index does not know how long vectors are
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
    """Return ``found`` with which chunks have or define the names of the query, and how rare its words are."""
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
    """Return no candidates, of no retriever."""
    none = np.empty(0, np.int64)
    return Candidates(none, none, None, None, {})


def rescored(found: Candidates, vectors: Mapping[int, Float32], query: Float32) -> Candidates:
    """Return ``found`` with these ``vectors`` of some chunks, and the cosines they give."""
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
    """Return the chunks in these rows of the candidates that are scored by approximate vectors."""
    assert found.exact is not None
    ids: list[int] = found.ids[rows[~found.exact[rows]]].tolist()
    return ids


def _wholes(query: str) -> list[str]:
    """Return what chunks are looked for as a whole: names with numbers; names of code where nothing else is asked."""
    every = words_of(query).words
    names = [*(word for word in every if is_identifier(word)), *identifiers.numbered(query)]
    written = identifiers.wholes(query) if len(every) <= _MOST_NAMES_WORDS else []
    if written and not every.keys() - {word for name in written for word in words_of(name).words}:
        names += written
    return list(dict.fromkeys(names))


def _weight_of(names: Sequence[str], query: str, terms: TermStatistics | None) -> float:
    """Return which share of a query the words of ``names`` are, by their idf where that is known."""
    every = words_of(query).words
    words = every.keys() & {word for name in names for word in words_of(name).words}
    if terms is None or not (total := sum(terms.idf.values())):
        return len(words) / max(1, len(every))
    return sum(terms.idf[word] for word in words) / total


def _cosines(vectors: Float32, query: Float32) -> Float32:
    """Return the cosine of each vector with ``query``, which has unit length."""
    lengths = np.maximum(np.linalg.norm(vectors, axis=1), np.float32(1e-9))
    cosines: Float32 = np.vecdot(vectors, query) / lengths
    return cosines


def _scores(ids: Int64, rankings: Sequence[Ranking], absent: float) -> Float32:
    """Return the score of each of ``ids``; ``absent`` where there is none."""
    scores = np.full(len(ids), absent, np.float32)
    for ranking in rankings:
        scores[np.searchsorted(ids, ranking.ids)] = ranking.scores
    return scores
