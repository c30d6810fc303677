"""Explains why documents rank where they do for a query, or are not found, with the scores of the search itself.

A document that was not retrieved is added to the candidates and ranked with them, to show what it would score.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from pinakes.catalog import Connection, selection
from pinakes.catalog import references as naming
from pinakes.catalog.document_queries import DocumentRecord
from pinakes.catalog.full_documents import wordings
from pinakes.catalog.summaries import summary_vectors
from pinakes.core.errors import InvalidInput
from pinakes.core.filters import in_words
from pinakes.core.ports import Index, KeywordQuery, VectorQuery
from pinakes.core.records import Float32, Hit, Int64, Ranking, Scores
from pinakes.core.wording import rounded
from pinakes.search import RankedCandidates, Request, SearchContext, Tracer, rank, ranked_candidates, retrieve
from pinakes.search.documents import best_documents
from pinakes.search.query.words import query_words
from pinakes.search.ranking.diversity import Diversity
from pinakes.search.ranking.fusion import confidence, confidence_word
from pinakes.search.ranking.rank import Ranked
from pinakes.search.results.chunk_texts import ChunkTexts
from pinakes.search.results.explanation import Evidence, explained, ordinal, terms_by_field
from pinakes.search.results.hydration import hydrated
from pinakes.search.results.matches import Match, matched
from pinakes.search.retrieval.term_statistics import TermStatistics
from pinakes.search.statistics.summary_vectors import SummaryVectors

MOST_DOCUMENTS = 50
_TRIED = 3
"""Chunks per retriever that are added to the candidates for a document that was not retrieved."""

_EVERY = 2**31 - 1


@dataclass(frozen=True, slots=True)
class RetrieverRank:
    """How one retriever ranks a document, by the document's best chunk there.

    ``rank`` counts from 1 among the ``of`` chunks retrieved; None if the document has none of them. ``score`` is a
    cosine or a BM25, None if unknown; ``best`` is the score of the retriever's first chunk.
    """

    rank: int | None
    of: int
    score: float | None
    best: float


@dataclass(frozen=True, slots=True)
class Explanation:
    """Why a document ranks where it does.

    ``candidate``: the search retrieved it; otherwise ``score`` is what it would have. ``rank`` counts documents, from
    1. ``shown``: place of its first chunk among the hits; ``same_as``: the hit that it was folded into.
    ``passage``: the chunk that it ranks by; None if it has no chunks. ``parts`` add up to ``score``, ``staged_parts``
    to ``staged_score``. ``document_cosine`` and ``document_bm25`` are of the whole document. ``summary_cosine``: of the
    summary written for it, None without one; it counts only in staged retrieval, where the document has the rank
    ``staged_rank`` and the score ``staged_score``, both None if it is not found there.
    ``left_out``: what excludes it: filters, phrases, excluded words.
    """

    document_id: str
    title: str
    path: str
    uri: str
    candidate: bool
    rank: int | None
    shown: int | None
    same_as: str
    score: float | None
    passage: Hit | None
    parts: Mapping[str, float]
    keyword: RetrieverRank | None
    vector: RetrieverRank | None
    document_cosine: float | None
    document_bm25: float | None
    summary_cosine: float | None
    staged_rank: int | None
    staged_score: float | None
    staged_parts: Mapping[str, float]
    matches: tuple[Match, ...]
    partly: tuple[Match, ...]
    missing: tuple[str, ...]
    overlap: float
    left_out: tuple[str, ...]
    text: str


@dataclass(frozen=True, slots=True)
class Explanations:
    """Explanations in the order of the references; ``unknown`` lists references to no document.

    ``searched_for``: the query text without operators. ``candidates``: number of chunks ranked; ``ranked``: number of
    their documents.
    """

    query: str
    collection: str
    mode: str
    fusion: str
    searched_for: str
    candidates: int
    ranked: int
    documents: tuple[Explanation, ...]
    unknown: tuple[str, ...] = ()
    degraded: str | None = None
    notes: tuple[str, ...] = ()


def explain(request: Request, context: SearchContext, references: Sequence[str], own: SummaryVectors) -> Explanations:
    """Explain how ``request`` ranks the documents that ``references`` name: ids, uris, paths or ends of paths.

    ``own``: vectors of the written summaries, as staged retrieval uses them. A query without words yields no
    explanations, and a note that names the documents.

    Raises:
        InvalidInput: more than ``MOST_DOCUMENTS`` references, or an invalid request.
        ModelUnavailable: the mode is "vector" and there is no model.
    """
    check_count(references)
    found, unknown = _named(context, references)
    check_count(found)
    order = ranked_candidates(request, context)
    known, notes = order.known, order.notes
    if found and not known.asked.text:
        notes = (*notes, f"not explained, since the query has no words: {', '.join(one.uid for one in found)}")
    if known.asked.text and found:
        with context.catalog.read() as connection:
            parts = _Explaining(request, context, order, connection, found, own).all()
    else:
        parts = ()
    candidates = order.ranked.candidates
    return Explanations(
        query=request.query,
        collection=context.collection.name,
        mode=known.asked.request.mode,
        fusion=request.fusion,
        searched_for=known.asked.text,
        candidates=len(candidates.ids),
        ranked=len(np.unique(candidates.documents)),
        documents=parts,
        unknown=unknown,
        degraded=known.degraded,
        notes=notes,
    )


def check_count(wanted: Sequence[object]) -> None:
    """Raise InvalidInput if there are more than ``MOST_DOCUMENTS``."""
    if len(wanted) > MOST_DOCUMENTS:
        raise InvalidInput(
            f"{len(wanted)} documents are too many to be explained at once.", hint=f"At most {MOST_DOCUMENTS}."
        )


def merged(answers: Sequence[Explanations], references: Sequence[str], asked: int) -> Explanations:
    """Return the explanations of several collections as one, sorted by ``references``.

    ``asked``: number of collections that were searched; if more than one, a note says that ranks are per collection.
    """
    first = answers[0]
    if asked == 1:
        return first
    order = {reference: place for place, reference in reversed(list(enumerate(references)))}
    unknown = set(first.unknown).intersection(*(one.unknown for one in answers))
    names = ", ".join(one.collection for one in answers)
    notes = list(dict.fromkeys(note for one in answers for note in one.notes))
    documents = [each for one in answers for each in one.documents]
    if documents:
        notes.append(f"scores and ranks are those of a search of each collection by itself: {names}")
    degraded = "; ".join(f"{one.collection}: {one.degraded}" for one in answers if one.degraded)
    return replace(
        first,
        collection=names,
        candidates=sum(one.candidates for one in answers),
        ranked=sum(one.ranked for one in answers),
        documents=tuple(sorted(documents, key=lambda each: _place(each, order))),
        unknown=tuple(name for name in first.unknown if name in unknown),
        degraded=degraded or None,
        notes=tuple(notes),
    )


def _place(one: Explanation, order: Mapping[str, int]) -> int:
    """Return the position of the first reference that names a document; the end of a path sorts last."""
    return min((order[name] for name in (one.document_id, one.uri, one.path) if name in order), default=len(order))


def _named(context: SearchContext, references: Sequence[str]) -> tuple[list[DocumentRecord], tuple[str, ...]]:
    """Return the documents that the references name, each once, and the references that name none."""
    found: dict[int, DocumentRecord] = {}
    unknown = []
    with context.catalog.read() as connection:
        for reference in dict.fromkeys(references):
            records = naming.find(connection, context.collection.id, reference)
            found |= {record.id: record for record in records}
            if not records:
                unknown.append(reference)
    return list(found.values()), tuple(unknown)


class _Explaining:
    """Explains documents for one query. ``connection`` must see one consistent state of the catalogue."""

    def __init__(
        self,
        request: Request,
        context: SearchContext,
        order: RankedCandidates,
        connection: Connection,
        wanted: Sequence[DocumentRecord],
        own: SummaryVectors,
    ) -> None:
        self._given = request
        self._parts = context
        self._order = order
        self._connection = connection
        self._wanted = wanted
        self._asked = order.known.asked
        self._request = order.known.asked.request
        self._words = query_words(self._asked.text)
        self._terms = TermStatistics.from_query(self._asked.text, context.index)
        self._wordings = wordings(connection, [record.id for record in wanted])
        self._chunks = ChunkTexts(connection, self._asked.text)
        self._summaries = self._near_summaries()
        staged = best_documents(order, context, own)
        ids = {record.id for record in wanted}
        self._staged = {
            one.document_id: (rank, one.with_parts(order.ranked))
            for rank, one in enumerate(staged, start=1)
            if one.document_id in ids
        }

    def all(self) -> tuple[Explanation, ...]:
        """Return the explanation of every document."""
        pure, wide = self._order.ranked, self._widened()
        shown = self._hits(pure, self._request, Diversity.wanted(self._parts, self._connection))
        left_out = self._left_out()
        met = np.isin([record.id for record in self._wanted], pure.candidates.documents).tolist()
        found: dict[int, Explanation] = {}
        for ranked, candidates in ((pure, True), (wide, False)):
            records = [record for record, is_met in zip(self._wanted, met, strict=True) if is_met == candidates]
            firsts = {record.id: first for record in records if (first := _first(ranked, record.id)) is not None}
            hits = self._best_chunks(ranked, list(firsts.values()))
            for record in records:
                view = _View(record, ranked, firsts.get(record.id), hits.get(record.uid), candidates)
                found[record.id] = self._explanation(view, wide, shown, left_out[record.id])
        return tuple(found[record.id] for record in self._wanted)

    def _explanation(self, view: _View, wide: Ranked, shown: Sequence[Hit], left_out: tuple[str, ...]) -> Explanation:
        record, hit = view.record, view.hit
        keyword = self._of_retriever("keyword", record.id, wide.candidates.bm25, wide)
        vector = self._of_retriever("vector", record.id, wide.candidates.cosine, wide)
        wording = self._wordings.get(record.id)
        words = matched(self._words, self._terms, record.title, record.path, wording, record.summary)
        evidence = Evidence(
            words=terms_by_field(self._words, words.terms),
            scores=Scores(
                cosine=vector.score if vector else None,
                bm25=keyword.score if keyword else None,
                rerank=hit.scores.rerank if hit else None,
            ),
            ranks={name: at.rank for name, at in (("keyword", keyword), ("vector", vector)) if at and at.rank},
            asked={name: len(ranking) for name, ranking in self._order.ranked.candidates.retrieved.items()},
            approximate=bool(hit and hit.approximate),
            boosts=hit.boosts if hit else {},
            phrases=hit.phrases if hit else (),
        )
        sure = confidence_word(confidence(evidence.scores.cosine, evidence.scores.bm25))
        same_as = _same_as(shown, record)
        place = next((place for place, one in enumerate(shown, start=1) if one.document_id == record.uid), None)
        position, about = _position_sentence(view, place, same_as, left_out), self._summaries.get(record.id)
        staged_rank, staged = self._staged.get(record.id, (None, None))
        lifted = "" if staged is None else f", by which it is {ordinal(staged_rank or 1)}, score {staged.score:.3f}"
        summary = "" if about is None else f" Its summary: cosine {about:.2f}{lifted}."
        return Explanation(
            document_id=record.uid,
            title=record.title,
            path=record.path,
            uri=record.uri,
            candidate=view.candidate,
            rank=view.rank,
            shown=place,
            same_as=same_as,
            score=view.score,
            passage=hit,
            parts=view.parts(),
            keyword=keyword,
            vector=vector,
            document_cosine=hit.scores.document_cosine if hit else None,
            document_bm25=hit.scores.document_bm25 if hit else None,
            summary_cosine=about,
            staged_rank=staged_rank,
            staged_score=staged.score if staged else None,
            staged_parts=rounded(staged.parts) if staged else {},
            matches=words.there,
            partly=words.partly,
            missing=words.missing,
            overlap=len(words.there) / len(self._words.words) if self._words.words else 0.0,
            left_out=left_out,
            text=f"{position} {explained(evidence, sure)}{summary}",
        )

    def _widened(self) -> Ranked:
        """Rank the candidates again, with the best chunks of the documents that have none among them."""
        also = [self._best_candidates_of(record.id) for record in self._wanted]
        known = retrieve(self._given, replace(self._parts, tracer=Tracer()), also)
        return rank(known.asked.request, known.found, self._parts.settings.search)

    def _best_candidates_of(self, document_id: int) -> Ranking:
        """Return the chunks of a document that either retriever ranks highest; its first chunk if neither has any."""
        wording = self._wordings.get(document_id)
        chunk_ids = np.array(sorted(wording.chunk_ids) if wording else (), np.int64)
        index, vector = self._parts.index, self._order.known.vector
        found = index.keyword(KeywordQuery(self._asked.text, _TRIED, among=chunk_ids))
        if vector is not None:
            found += index.vector(VectorQuery(vector, _TRIED, among=chunk_ids))
        ids = np.unique(np.concatenate([one.ids for one in found]))
        ids = ids if len(ids) else chunk_ids[:1]
        return Ranking(ids, np.full(len(ids), document_id, np.int64), np.zeros(len(ids), np.float32))

    def _hits(self, ranked: Ranked, request: Request, diversity: Diversity | None, *, fold: bool = True) -> list[Hit]:
        wanted = replace(request, bare=False, neighbours=0)
        return hydrated(self._parts, ranked, wanted, self._chunks, diversity, fold=fold)

    def _best_chunks(self, ranked: Ranked, places: Sequence[int]) -> dict[str, Hit]:
        """Return document id → hit for the chunks at these positions of a ranking."""
        if not places:
            return {}
        order = sorted(places)
        best = Ranked(ranked.candidates, ranked.rows[order], ranked.scores[order])
        request = replace(self._request, top_k=len(order), min_score=0.0)
        return {hit.document_id: hit for hit in self._hits(best, request, None, fold=False)}

    def _of_retriever(self, name: str, document_id: int, scores: Float32 | None, wide: Ranked) -> RetrieverRank | None:
        ranking = self._order.ranked.candidates.retrieved.get(name)
        if ranking is None:
            return None
        best = float(ranking.scores[0]) if len(ranking) else 0.0
        places = np.flatnonzero(ranking.documents == document_id)
        if len(places):
            return RetrieverRank(int(places[0]) + 1, len(ranking), float(ranking.scores[places[0]]), best)
        own = np.empty(0) if scores is None else scores[wide.candidates.documents == document_id]
        known = own[~np.isnan(own)]
        return RetrieverRank(None, len(ranking), float(known.max()) if len(known) else None, best)

    def _near_summaries(self) -> dict[int, float]:
        """Return document id → cosine of the query with the summary written for it, for documents that have one."""
        vector, collection = self._order.known.vector, self._parts.collection
        if vector is None:
            return {}
        ids, vectors = summary_vectors(
            self._connection, collection.id, collection.model_id, [record.id for record in self._wanted]
        )
        return dict(zip(ids.tolist(), (vectors @ vector).tolist(), strict=True)) if len(ids) else {}

    def _left_out(self) -> dict[int, tuple[str, ...]]:
        """Return document id → the reasons that exclude all of its chunks."""
        index, asked_ = self._parts.index, self._asked
        passing = {
            condition: selection.matching(self._connection, self._parts.collection.id, (condition,))
            for condition in self._request.where
        }
        found = {}
        for record in self._wanted:
            wording = self._wordings.get(record.id)
            ids = np.array(sorted(wording.chunk_ids) if wording else (), np.int64)
            failed = [one for one, those in passing.items() if not np.isin(record.id, those)]
            words = [f"it does not pass {in_words(one)}" for one in failed]
            words += [f'no chunk has "{one}"' for one in asked_.phrases if not self._count_with_phrase(one, index, ids)]
            if barred := [
                one for one in asked_.excluded if len(ids) and self._count_with_phrase(one, index, ids) == len(ids)
            ]:
                words.append("every chunk has " + ", ".join(f'"{one}"' for one in barred))
            found[record.id] = tuple(words)
        return found

    @staticmethod
    def _count_with_phrase(phrase: str, index: Index, among: Int64) -> int:
        [found] = index.keyword(KeywordQuery(phrase, _EVERY, None, among, "phrases"))
        return len(found)


@dataclass(frozen=True, slots=True)
class _View:
    """A document in a ranking: ``first`` is the position of its best chunk, from 0; ``hit`` is that chunk."""

    record: DocumentRecord
    ranked: Ranked
    first: int | None
    hit: Hit | None
    candidate: bool

    @property
    def score(self) -> float | None:
        return None if self.first is None else float(self.ranked.scores[self.first])

    @property
    def rank(self) -> int | None:
        """Its rank among the retrieved documents, from 1."""
        if self.first is None or not self.candidate:
            return None
        before = self.ranked.candidates.documents[self.ranked.rows[: self.first]]
        return len(np.unique(before)) + 1

    def parts(self) -> dict[str, float]:
        scoring = self.ranked.candidates.scoring
        return (
            {}
            if self.first is None or scoring is None
            else rounded(scoring.parts_of(int(self.ranked.rows[self.first])))
        )


def _first(ranked: Ranked, document_id: int) -> int | None:
    """Return the position of a document's best chunk in a ranking, from 0; None if it has none there."""
    places = np.flatnonzero(ranked.candidates.documents[ranked.rows] == document_id)
    return int(places[0]) if len(places) else None


def _same_as(shown: Sequence[Hit], record: DocumentRecord) -> str:
    """Return the location of the hit that the document was folded into; "" if it has a hit itself or none has it."""
    if any(hit.document_id == record.uid for hit in shown):
        return ""
    position = (hit for hit in shown if any(one.document_id == record.uid for one in hit.duplicates))
    return next((f"{hit.path}:{hit.start_line}-{hit.end_line}" for hit in position), "")


def _position_sentence(view: _View, place: int | None, same_as: str, left_out: Sequence[str]) -> str:
    """Return a sentence on where a document stands in the answer."""
    if view.score is None:
        return "Not found: it has no chunks."
    if left_out:
        return f"Left out: {'; '.join(left_out)}. It would score {view.score:.3f}."
    if not view.candidate:
        return f"Not found: no chunk is among the best by words or by meaning. It would score {view.score:.3f}."
    count = len(np.unique(view.ranked.candidates.documents))
    ranked = f"{ordinal(view.rank or 1)} of {count} documents" if count > 1 else "The only document"
    position = f"{ranked}, score {view.score:.3f}"
    if place is not None:
        return f"{position}, hit {place}."
    return f"{position}; not shown, it says the same as {same_as}." if same_as else f"{position}; below the last hit."
