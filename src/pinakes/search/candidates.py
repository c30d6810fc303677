"""What the two arms found, and all that is known of each passage: its own scores and those of its document."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from pinakes.analysis import is_identifier
from pinakes.ports import Index
from pinakes.search.constraints import Constraints
from pinakes.search.excerpts import asked as words_of
from pinakes.search.lift import Lift
from pinakes.search.phrases import Phrases
from pinakes.search.rarity import Rarity
from pinakes.search.scoring import Scoring
from pinakes.search.understanding import Understood
from pinakes.search.watch import Watch
from pinakes.settings import Settings
from pinakes.text import identifiers
from pinakes.types import HELD, Bool, Filter, Float32, Int64, Ranking

_CANDIDATES_PER_RESULT = 4
_ADDED_WEIGHT = 0.2
"""Weight of an added word beside one that was asked for (1.0): a word of the query says more than its synonym."""

_DEFINITIONS = 20
"""Most passages taken for defining what the query names, whatever else they say."""

_MOST_NAMES_WORDS = 12
"""A query of more words is about something else than names of code alone."""


@dataclass(frozen=True, slots=True)
class Wider:
    """What a passage's document and surroundings say for it; arrays in the order of the candidates.

    ``document_cosine``: of the query and the sum of the document's vectors. ``document_bm25``: of the whole document.
    ``definitions``: how many of the names in the query the passage defines. ``vectors`` float32 (n, dim): the
    passages' own. ``sums`` float32 (documents, dim) are those of the documents, ``owner_of`` int64 (n,) says which is
    a passage's. NaN where there is no vector. ``rarity``: of the words of the query, where it is known.
    ``identifiers``: how many of those in the query the passage has as a whole, as a share, times the square of their
    share of the query; None: it has none.
    """

    document_cosine: Float32
    document_bm25: Float32
    definitions: Float32
    vectors: Float32
    sums: Float32
    owner_of: Int64
    rarity: Rarity | None = None
    identifiers: Float32 | None = None

    def with_vectors(self, rows: Int64, vectors: Float32, query: Float32) -> Wider:
        """Return this with other ``vectors`` of the passages in these ``rows``."""
        own, sums = self.vectors.copy(), self.sums.copy()
        np.add.at(sums, self.owner_of[rows], vectors - np.nan_to_num(own[rows], nan=0.0))
        own[rows] = vectors
        return replace(self, vectors=own, sums=sums, document_cosine=_cosines(sums, query)[self.owner_of])


@dataclass(frozen=True, slots=True)
class Candidates:
    """Every chunk either arm found, and their documents. Arrays share their order; NaN where a chunk has no vector.

    ``exact`` False: the cosine is that of an approximate vector; None: none is. ``wider`` is there where both arms
    answered and are fused by weights. ``document_bm25``: of the whole documents, where words alone answered.
    ``rerank``: what a reranker gave, NaN where it did not look. ``lift``: what lifts them besides their scores.
    ``phrases``: which have what stands in quotation marks. ``scoring``: what the scores of a ranking are made of, None
    before there is one. ``fused``: the scores before a reranker and preferred phrases changed them, None where nothing
    did. ``limited``: a retriever gave as many as it was asked for, so there may be more.
    """

    ids: Int64
    documents: Int64
    cosine: Float32 | None
    bm25: Float32 | None
    arms: dict[str, Ranking]
    exact: Bool | None = None
    wider: Wider | None = None
    document_bm25: Float32 | None = None
    rerank: Float32 | None = None
    fused: Float32 | None = None
    lift: Lift | None = None
    phrases: Phrases | None = None
    limited: bool = False
    scoring: Scoring | None = None

    @property
    def whole_bm25(self) -> Float32 | None:
        """The BM25 of the whole document of each candidate, None where it is not known."""
        return self.document_bm25 if self.wider is None else self.wider.document_bm25

    def vectors_of(self, rows: Int64, index: Index) -> Float32:
        """Return float32 (n, dim): the vectors of the passages in these rows, NaN where there is none."""
        return index.vectors(self.ids[rows]) if self.wider is None else self.wider.vectors[rows]


def gather(
    asked: Understood,
    only: Constraints,
    vector: Float32 | None,
    index: Index,
    settings: Settings,
    watch: Watch,
    also: Ranking | None = None,
) -> Candidates:
    """Ask both arms for what ``only`` allows, then give every candidate both scores, and those of its document.

    Passages of ``also`` are candidates in any case, though no arm found them.
    """
    request = asked.request
    limit = max(settings.search.candidates, _CANDIDATES_PER_RESULT * (request.pool or request.top_k))
    where = request.where
    arms: dict[str, Ranking] = {}
    others: list[Ranking] = [only.first]
    if request.mode != "vector":
        with watch.stage("keyword") as detail:
            ask_words = partial(index.keyword, asked.text)
            arms["keyword"], also_first = only.best_and_first(lambda most, among: ask_words(most, where, among), limit)
            others += also_first
            detail["found"] = len(arms["keyword"])
            if asked.added:
                others.append(only.best(lambda most, among: index.keyword(asked.added, most, where, among), limit))
    if vector is not None:
        with watch.stage("vector") as detail:
            ask_meaning = partial(index.vector, vector)
            arms["vector"], also_first = only.best_and_first(lambda most, among: ask_meaning(most, where, among), limit)
            others += also_first
            detail["found"] = len(arms["vector"])
    weighted = request.mode == "hybrid" and vector is not None and request.fusion == "weighted"
    defining = settings.search.definition_boost or settings.boosts.symbol_definition
    wholes = _wholes(asked.text) if weighted else []
    names = identifiers.names(asked.text) if weighted and defining else []
    held = _naming(wholes, limit, only, where, index)
    named = _naming([name for name in names if name not in wholes], _DEFINITIONS, only, where, index)
    others += [*held, *named]
    rankings = [*arms.values(), *others, *([] if also is None else [also])]
    ids, first = np.unique(np.concatenate([ranking.ids for ranking in rankings]), return_index=True)
    documents = np.concatenate([ranking.documents for ranking in rankings])[first]
    cosine = bm25 = document_bm25 = exact = wider = None
    with watch.stage("score"):
        if vector is not None:
            both = _asked(ids, arms["vector"], lambda rest: index.vector(vector, len(rest), None, rest))
            cosine, exact = _scores(ids, both, np.nan), _exact(ids, both)
        if "keyword" in arms:
            bm25 = _bm25(asked, ids, arms["keyword"], index)
        if weighted and vector is not None and len(ids):
            wider = _wider(asked.text, vector, ids, documents, held, named, wholes, index)
        if bm25 is not None and vector is None:
            document_bm25 = _document_bm25(asked.text, documents, index)
    limited = any(len(arm) >= limit for arm in arms.values())
    phrases = only.phrases(ids)
    return Candidates(ids, documents, cosine, bm25, arms, exact, wider, document_bm25, phrases=phrases, limited=limited)


def _naming(names: Sequence[str], limit: int, only: Constraints, where: Filter | None, index: Index) -> list[Ranking]:
    """Return the ranking of the passages that define ``names`` or have them as a whole, none without names.

    Apart for each kind of names: ``HELD`` does not say which of them a passage has.
    """
    ask = partial(index.keyword, " ".join(names), evidence="definitions")
    return [only.best(lambda most, among: ask(most, where, among), limit)] if names else []


def _document_bm25(query: str, documents: Int64, index: Index) -> Float32:
    """Return float32 (n,): the BM25 of the whole document of each candidate."""
    owners, owner_of = np.unique(documents, return_inverse=True)
    found = [index.keyword(query, len(owners), None, owners, "documents")] if len(owners) else []
    return _scores(owners, found, 0.0)[owner_of]


def _bm25(asked: Understood, ids: Int64, arm: Ranking, index: Index) -> Float32:
    both = _asked(ids, arm, lambda rest: index.keyword(asked.text, len(rest), None, rest))
    scores = _scores(ids, both, 0.0)
    if asked.added and len(ids):
        added = index.keyword(asked.added, len(ids), None, ids)
        scores += np.float32(_ADDED_WEIGHT) * _scores(ids, [added], 0.0)
    return scores


def nothing() -> Candidates:
    """Return no candidates, of no arm."""
    none = np.empty(0, np.int64)
    return Candidates(none, none, None, None, {})


def rescored(found: Candidates, vectors: Mapping[int, Float32], query: Float32) -> Candidates:
    """Return ``found`` with these ``vectors`` of some chunks, and the cosines they give."""
    assert found.cosine is not None
    assert found.exact is not None
    cosine, exact, arm, wider = found.cosine.copy(), found.exact.copy(), found.arms["vector"], found.wider
    rows = np.searchsorted(found.ids, np.fromiter(vectors, np.int64, len(vectors)))
    cosine[rows] = [float(vector @ query) for vector in vectors.values()]
    exact[rows] = True
    if wider is not None and len(rows):
        wider = wider.with_vectors(rows, np.stack(list(vectors.values())), query)
    scores = cosine[np.searchsorted(found.ids, arm.ids)]
    order = np.lexsort((arm.ids, -scores))
    arms = {**found.arms, "vector": Ranking(arm.ids[order], arm.documents[order], scores[order])}
    return replace(found, cosine=cosine, exact=exact, arms=arms, wider=wider)


def approximate(found: Candidates, rows: Int64) -> list[int]:
    """Return the chunks in these rows of the candidates that are scored by approximate vectors."""
    assert found.exact is not None
    ids: list[int] = found.ids[rows[~found.exact[rows]]].tolist()
    return ids


def _wider(
    query: str,
    vector: Float32,
    ids: Int64,
    documents: Int64,
    held: Sequence[Ranking],
    named: Sequence[Ranking],
    wholes: Sequence[str],
    index: Index,
) -> Wider:
    owners, owner_of = np.unique(documents, return_inverse=True)
    sums, own = index.vectors(owners, "documents"), index.vectors(ids)
    if not sums.shape[1]:  # nothing was ever embedded: the index does not know how long vectors are
        sums, own = (np.full((len(one), len(vector)), np.nan, np.float32) for one in (sums, own))
    rarity = Rarity.of(query, index)
    of_wholes = _scores(ids, held, 0.0)
    has = (of_wholes - np.floor(of_wholes)) / np.float32(HELD)
    return Wider(
        document_cosine=_cosines(sums, vector)[owner_of],
        document_bm25=_document_bm25(query, documents, index),
        definitions=np.floor(of_wholes) + np.floor(_scores(ids, named, 0.0)),
        vectors=own,
        sums=sums,
        owner_of=owner_of,
        identifiers=has * np.float32(_weight_of(wholes, query, rarity) ** 2 / max(1, len(wholes))),
        rarity=rarity,
    )


def _wholes(query: str) -> list[str]:
    """Return what passages are looked for as a whole: names with numbers; names of code where nothing else is asked."""
    every = words_of(query).words
    names = [*(word for word in every if is_identifier(word)), *identifiers.numbered(query)]
    written = identifiers.wholes(query) if len(every) <= _MOST_NAMES_WORDS else []
    if written and not every.keys() - {word for name in written for word in words_of(name).words}:
        names += written
    return list(dict.fromkeys(names))


def _weight_of(names: Sequence[str], query: str, rarity: Rarity | None) -> float:
    """Return which share of a query the words of ``names`` are, by their rarity where that is known."""
    every = words_of(query).words
    words = every.keys() & {word for name in names for word in words_of(name).words}
    if rarity is None or not (total := sum(rarity.idf.values())):
        return len(words) / max(1, len(every))
    return sum(rarity.idf[word] for word in words) / total


def _cosines(vectors: Float32, query: Float32) -> Float32:
    """Return the cosine of each vector with ``query``, which has unit length."""
    lengths = np.maximum(np.linalg.norm(vectors, axis=1), np.float32(1e-9))
    cosines: Float32 = np.vecdot(vectors, query) / lengths
    return cosines


def _asked(ids: Int64, arm: Ranking, ask: Callable[[Int64], Ranking]) -> list[Ranking]:
    """Return what the arm ranked, and what it says of those of ``ids`` that it did not."""
    rest = np.setdiff1d(ids, arm.ids, assume_unique=True)
    return [arm, ask(rest)] if len(rest) else [arm]


def _scores(ids: Int64, rankings: Sequence[Ranking], absent: float) -> Float32:
    """Return the score of each of ``ids``; ``absent`` where there is none."""
    scores = np.full(len(ids), absent, np.float32)
    for ranking in rankings:
        scores[np.searchsorted(ids, ranking.ids)] = ranking.scores
    return scores


def _exact(ids: Int64, rankings: Sequence[Ranking]) -> Bool | None:
    """Return which of ``ids`` are not scored by an approximate vector; None: all."""
    if all(ranking.exact is None for ranking in rankings):
        return None
    exact = np.ones(len(ids), np.bool_)
    for ranking in rankings:
        if ranking.exact is not None:
            exact[np.searchsorted(ids, ranking.ids)] = ranking.exact
    return exact
