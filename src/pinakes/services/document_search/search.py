"""Staged retrieval: first the documents worth opening, a summary and a score each; then what of them is needed.

Level 1 is ``DocumentSearch.summaries`` (with ``several`` for questions in other words, ``similar`` for more of a
kind), level 2 ``expand``, level 2.5 ``chunk``; ``outline`` says what there is to read in a document.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias, TypeVar

import numpy as np

from pinakes import search
from pinakes.app import App
from pinakes.catalog import document_queries, selection
from pinakes.catalog.collections import CollectionRecord
from pinakes.catalog.document_queries import DocumentRecord
from pinakes.core.errors import InvalidInput
from pinakes.core.filters import normal_text, parse
from pinakes.core.lru_cache import LruCache
from pinakes.core.ports import VectorQuery
from pinakes.core.records import JSON, Condition, Filter, Heading, SearchMode, Summary
from pinakes.search import RankedCandidates, SearchContext
from pinakes.search.collection_choice import AskedCollections, CollectionChoice, not_asked
from pinakes.search.copies import without_copies
from pinakes.search.documents import FoundDocument, best_documents, in_order, similarities
from pinakes.search.federated import far_note, near_first, unanswered
from pinakes.search.query.named_documents import names_notes
from pinakes.search.query.request import check_least
from pinakes.search.query.syntax import PhraseUse
from pinakes.search.ranking.duplicates import named_versions
from pinakes.search.results.chunk_texts import ChunkTexts
from pinakes.search.retrieval.constraints import with_phrases
from pinakes.search.statistics.summary_vectors import OwnSummaries, SummaryVectors
from pinakes.services.collection_search import joined, with_context
from pinakes.services.document_search import expanding
from pinakes.services.document_search.expanding import Expanded, ExpandedChunk, ExpandRequest
from pinakes.services.document_search.federated import CollectionDocuments, merge_collections
from pinakes.services.document_search.found_documents import DocumentHit, FoundSummaries
from pinakes.services.nearness import far_from, terms_in
from pinakes.services.summaries import Summaries

MERGES = ("rrf", "max")
Merge: TypeAlias = Literal["rrf", "max"]
"""How the rankings of several questions become one: by ranks, or by each document's best score."""

MOST_QUERIES = 20
_RRF_K = 60
_MOST_WEIGHT = 1e9
_DEPTH = 50
_POOL_GROWTH = 8
_SIMILAR_CANDIDATES = 300
_REMEMBERED_TOTALS = 256
Result = TypeVar("Result")
Where: TypeAlias = Mapping[str, JSON] | Filter | None


@dataclass(frozen=True, slots=True)
class _Question:
    """What every collection is asked; ``limit``: how many documents of each are wanted."""

    query: str
    limit: int
    where: Filter
    weights: tuple[float, float]
    mode: SearchMode | None = None
    min_score: float = 0.0
    phrases: PhraseUse = "auto"


class DocumentSearch:
    """Search, then expand, over the collections of a library. Thread-safe."""

    def __init__(self, app: App, naming: CollectionChoice) -> None:
        self._app = app
        self._naming = naming
        self._own = OwnSummaries()
        self._totals = LruCache[tuple[int, int, Filter], int](_REMEMBERED_TOTALS)
        self.texts = Summaries(app)

    def summaries(
        self,
        query: str,
        collection: str | None = None,
        *,
        top_k: int = 5,
        mode: SearchMode | None = None,
        filters: Where = None,
        weights: tuple[float, float] | None = None,
        min_score: float = 0.0,
        phrases: PhraseUse = "auto",
    ) -> FoundSummaries:
        """Rank documents by their best chunks, and by their summaries where these say more than the text.

        ``weights``: of meaning and words, scaled to sum to 1; both 0 or less is meaning alone. None = the settings'.
        ``phrases``: what quotation marks in ``query`` mean.

        Raises:
            NotFound: there is no such collection.
            ModelMismatch: the collection was embedded by another model.
            InvalidInput, InvalidFilter: the query or a filter cannot be used.
        """
        start = time.perf_counter()
        check_least(min_score=min_score)
        question = _Question(query, top_k, _parsed(filters), self._weights(weights), mode, min_score, phrases)
        answers, notes = self._ask(self._naming.choose(collection), question)
        named = named_versions(query, question.where) if len(answers) > 1 else None
        return self._answered(query, answers, notes, top_k, start, named)

    def several(
        self,
        queries: Sequence[str],
        collection: str | None = None,
        *,
        top_k: int = 5,
        merge: Merge = "rrf",
        filters: Where = None,
        min_score: float = 0.0,
    ) -> FoundSummaries:
        """Ask the same in several ways and merge the rankings; ``min_score`` applies to each of them.

        Raises:
            as ``summaries``.
        """
        start = time.perf_counter()
        check_least(min_score=min_score)
        depth = max(_DEPTH, top_k)
        question = _Question("", depth, _parsed(filters), self._weights(None), None, min_score)
        asked = self._naming.choose(collection)
        merged: dict[int, CollectionDocuments] = {}
        notes: list[str] = []
        for query in dict.fromkeys(queries):
            answers, their_notes = self._ask(asked, replace(question, query=query))
            notes += their_notes
            for answer in answers:
                before = merged.get(answer.record.id)
                merged[answer.record.id] = _scored(answer, merge) if before is None else _merged(before, answer, merge)
        every, named = "; ".join(queries), named_versions(" ".join(queries), question.where)
        return self._answered(every, list(merged.values()), notes, top_k, start, named)

    def similar(
        self,
        uid: str,
        collection: str | None = None,
        *,
        top_k: int = 5,
        other_source: bool = False,
        filters: Where = None,
        min_score: float = 0.0,
    ) -> FoundSummaries:
        """Return the documents of its collection most like one: by their vectors as a whole, else by words.

        ``other_source`` leaves out those that come from the same source.

        Raises:
            NotFound: there is no such document in the collection.
        """
        start = time.perf_counter()
        check_least(min_score=min_score)
        records = self.records(collection)
        with self._app.catalog.read() as connection:
            reference = expanding.only(document_queries.of_uids(connection, [one.id for one in records], [uid]), uid)
        own = next(one for one in records if one.id == reference.collection_id)
        where = _parsed(filters)
        if where or other_source:
            where += (Condition(selection.BY_ID, none_of=self._not_to_be_found(reference, other_source)),)
        answer, degraded = self._with_context(own.name, lambda parts: self._like(parts, reference, where, top_k))
        if answer is not None:
            answer = replace(answer, degraded=degraded)
        else:
            query = f"{reference.title}\n{self.summary(reference).text}"
            others = Condition(selection.BY_ID, none_of=(reference.uid,))  # its copies are not to be folded into it
            question = _Question(query, top_k + _DEPTH, (*where, others), self._weights(None), "keyword")
            answer = replace(self._of_one(own.name, question), degraded="it has no vectors: compared by words only")
        least = max(min_score, self._app.settings.search.min_score)
        kept = [one for one in answer.found if one.document_id != reference.id and one.score >= least]
        answer = replace(answer, found=kept, total=answer.total if where else max(0, answer.total - 1))
        unasked = [one.name for one in records if one is not own]
        notes = [f"only documents of {own.name!r} were compared; {not_asked(unasked)}"] if unasked else []
        return self._answered(uid, [answer], notes, top_k, start)

    def expand(
        self,
        uids: Sequence[str],
        collection: str | None = None,
        *,
        max_tokens: int = 0,
        wanted: ExpandRequest | None = None,
    ) -> Expanded:
        """Open documents; see ``expanding.expand``."""
        records = self.records(collection)
        return expanding.expand(self._app, records, uids, wanted or ExpandRequest(), max_tokens)

    def chunk(
        self,
        uid: str,
        collection: str | None = None,
        *,
        number: int | None = None,
        query: str = "",
        neighbours: int = 0,
    ) -> ExpandedChunk:
        """Return one chunk of a document; see ``expanding.chunk``."""
        records = self.records(collection)
        return expanding.chunk(self._app, records, uid, number=number, query=query, neighbours=neighbours)

    def outline(self, uid: str, collection: str | None = None) -> tuple[Heading, ...]:
        """Return the headings of a document, or what its code defines.

        Raises:
            NotFound: there is no such document in the collection.
        """
        return expanding.outline(self._app, self.records(collection), uid)[1]

    def summary(self, document: DocumentRecord) -> Summary:
        """Return the summary of a document: given, written, or sentences of its text."""
        with self._app.catalog.read() as connection:
            return self.texts.summaries_of(connection, [document])[document.id]

    def own_summaries(self, context: SearchContext) -> SummaryVectors:
        """Return the vectors of the summaries that say what the texts do not."""
        return self._own.vectors_for(context.catalog.read, context.collection)

    def records(self, collection: str | None) -> list[CollectionRecord]:
        """Return the records of the collections that ``collection`` names.

        Raises:
            NotFound: there is none of a name.
        """
        return [self._app.record(name) for name in self._naming.named(collection)]

    def _ask(self, asked: AskedCollections, question: _Question) -> tuple[list[CollectionDocuments], list[str]]:
        """Ask the collections; of several that fail the others answer, and what failed is noted."""
        far = far_from(self._app, lambda record: self._request(record, question), asked.names)
        answers, failed, unasked = near_first(
            asked.names, far, lambda name: self._of_one(name, question), lambda found: _enough(found, question.limit)
        )
        return _required(answers), [*far_note(unasked), *unanswered(failed), *asked.notes]

    def _weights(self, given: tuple[float, float] | None) -> tuple[float, float]:
        settings = self._app.settings.search
        both = given or (settings.semantic_weight, settings.keyword_weight)
        semantic, keyword = (min(max(0.0, one), _MOST_WEIGHT) for one in both)
        return (semantic, keyword) if semantic + keyword > 0 else (1.0, 0.0)

    def _of_one(self, name: str, question: _Question) -> CollectionDocuments:
        def ask(context: SearchContext) -> CollectionDocuments:
            order, found = self._best(context, question)
            where = order.known.asked.request.where
            total = self._total(context, where)
            with context.catalog.read() as connection:
                doubts = selection.doubts(connection, context.collection.id, where, total)
                doubts += search.filters_meant(connection, order.known.asked, context)
            notes = (*order.notes, *doubts, *order.ranked.doubts(order.known.asked.request.min_score))
            required = order.known.asked.phrases if found else ()
            return CollectionDocuments(
                context.collection, found, total, order.known.degraded or _no_vectors(order), notes, required
            )

        answer, degraded = self._with_context(name, ask)
        return replace(answer, degraded=joined(answer.degraded, degraded)) if degraded else answer

    def _best(self, context: SearchContext, question: _Question) -> tuple[RankedCandidates, list[FoundDocument]]:
        """Rank documents; long ones, and copies, may fill a pool of candidates, which is then made larger."""
        own, pool = self.own_summaries(context), 2 * question.limit
        while True:
            order = search.ranked_candidates(replace(self._request(context.collection, question), pool=pool), context)
            found = self._different(best_documents(order, context, own), context, question)
            if len(found) >= question.limit or not order.known.found.limited:
                return order, [one.with_parts(order.ranked) for one in found]
            pool *= _POOL_GROWTH

    def _different(
        self, found: list[FoundDocument], context: SearchContext, question: _Question
    ) -> list[FoundDocument]:
        """Return the first documents that are wanted, copies taking one place unless they are asked for."""
        if not context.settings.search.fold_duplicates:
            return found[: question.limit]
        named = named_versions(question.query, question.where)
        with context.catalog.read() as connection:
            return without_copies(connection, found, question.limit, named)

    def _request(self, record: CollectionRecord, question: _Question) -> search.Request:
        return search.Request(
            query=question.query,
            mode=question.mode or self._app.rules(record).retrieval,
            top_k=question.limit,
            where=question.where,
            semantic_weight=question.weights[0],
            keyword_weight=question.weights[1],
            min_score=max(question.min_score, self._app.settings.search.min_score),
            phrases=question.phrases,
        )

    def _with_context(self, name: str, ask: Callable[[SearchContext], Result]) -> tuple[Result, str | None]:
        """Return what ``ask`` says of a collection, and why documents may be missing; see ``with_context``."""
        app = self._app

        def checked(context: SearchContext) -> Result:
            app.check_model(context.collection)
            return ask(context)

        with app.traffic.search():
            return with_context(app, name, checked)

    def _like(
        self, context: SearchContext, reference: DocumentRecord, where: Filter, top_k: int
    ) -> CollectionDocuments | None:
        """Return the documents whose vectors as a whole are nearest, None where ``reference`` has none."""
        vectors = context.index.vectors(np.empty(0, np.int64), np.array([reference.id], np.int64)).sums
        if not vectors.size or np.isnan(vectors).any() or not vectors.any():
            return None
        unit = (vectors[0] / np.linalg.norm(vectors[0])).astype(np.float32)
        most = _SIMILAR_CANDIDATES + 4 * top_k + reference.chunk_count
        while True:
            [ranked] = context.index.vector(VectorQuery(unit, most, where))
            documents, first = np.unique(ranked.documents, return_index=True)
            scores = similarities(context.index, unit, documents.tolist())
            best, cosines = ranked.ids[first], np.clip(ranked.scores[first], 0, 1)
            every = in_order(
                [
                    FoundDocument(int(document), float(score), int(chunk), float(cosine))
                    for document, score, chunk, cosine in zip(documents, scores, best, cosines, strict=True)
                    if document != reference.id
                ]
            )
            found = self._different(every, context, _Question("", top_k, where, (1.0, 0.0)))
            if len(found) >= top_k or len(ranked) < most:
                return CollectionDocuments(context.collection, found, self._total(context, where))
            most *= _POOL_GROWTH

    def _not_to_be_found(self, reference: DocumentRecord, other_source: bool) -> tuple[str, ...]:
        """Return the uids of ``reference`` and, for ``other_source``, of all that come from where it does."""
        source = reference.source
        if not (other_source and source):
            return (reference.uid,)
        likely = (Condition("source", any_of=(normal_text(source),)),)
        with self._app.catalog.read() as connection:
            ids = selection.matching(connection, reference.collection_id, likely)
            known = document_queries.of_ids(connection, ids.tolist())
        return (reference.uid, *(one.uid for one in known.values() if one.source == source))

    def _total(self, context: SearchContext, where: Filter) -> int:
        """Return how many documents of a collection pass ``where``; remembered until a text changes."""

        def counted() -> int:
            with context.catalog.read() as connection:
                if where:
                    return len(selection.matching(connection, context.collection.id, where))
                return document_queries.count(connection, context.collection.id)

        return self._totals.get_or_make((context.collection.id, context.collection.written, where), counted)

    def _changed(self, records: Sequence[CollectionRecord], found: Sequence[DocumentRecord]) -> dict[str, bool | None]:
        """Return document uid → whether its file has changed since it was indexed."""
        verdicts: dict[str, bool | None] = {}
        for record in records:
            uids = [one.uid for one in found if one.collection_id == record.id]
            verdicts |= self._app.freshness.changed(uids, record)
        return verdicts

    def _answered(
        self,
        query: str,
        answers: Sequence[CollectionDocuments],
        notes: Sequence[str],
        top_k: int,
        start: float,
        named: frozenset[str] | None = None,
    ) -> FoundSummaries:
        """Look up the best documents of all ``answers``.

        Those that say the same take one place in each answer, and over several, where versions and dates that are
        ``named`` are told apart; None: there is one answer.
        """
        names = {answer.record.id: answer.record.name for answer in answers}
        several = len(answers) > 1
        terms = terms_in(self._app, list(names.values()), query) if several else [None]
        with self._app.catalog.read() as connection:
            ranked = merge_collections(answers, ChunkTexts(connection, query), terms)
            if named is not None and self._app.settings.search.fold_duplicates:
                ranked = without_copies(connection, ranked, top_k, named)
            ranked = ranked[:top_k]
            chunks = [one.chunk_id for one in ranked if one.chunk_id is not None]
            known = document_queries.of_ids(connection, [one.document_id for one in ranked])
            copies = document_queries.of_ids(connection, [copy for one in ranked for copy in one.copies])
            marks = document_queries.ordinals(connection, chunks)
            texts = self.texts.summaries_of(connection, list(known.values()))
        changed = self._changed([answer.record for answer in answers], list(known.values()))
        found = tuple(
            DocumentHit(
                document=brief,
                collection=names[brief.collection_id],
                summary=texts[brief.id],
                score=one.score,
                semantic=one.cosine,
                keyword=one.bm25,
                chunk=marks.get(one.chunk_id) if one.chunk_id is not None else None,
                approximate=one.approximate,
                changed=changed.get(brief.uid),
                copies=tuple(copies[copy] for copy in one.copies if copy in copies),
                score_parts=one.parts,
            )
            for one in ranked
            if (brief := known.get(one.document_id)) is not None
        )
        own = [f"{answer.record.name}: {note}" if several else note for answer in answers for note in answer.notes]
        own += names_notes((one.named for one in ranked), "the document")
        degraded = {answer.record.name: answer.degraded for answer in answers if answer.degraded}
        words = [f"{name}: {what}" if several else what for name, what in degraded.items()]
        return FoundSummaries(
            query=query,
            documents=found,
            total=sum(answer.total for answer in answers),
            milliseconds=(time.perf_counter() - start) * 1000,
            degraded="; ".join(words) or None,
            notes=tuple(dict.fromkeys([*notes, *own])),
        )


def check_merge(queries: Sequence[str]) -> list[str]:
    """Return the questions that are there to be merged, without blank ones.

    Raises:
        InvalidInput: there are fewer than two, or more than ``MOST_QUERIES``.
    """
    asked = [query for query in queries if query.strip()]
    if len(asked) < 2:
        raise InvalidInput("Provide at least 2 queries", hint="Ask the same in other words.")
    if len(asked) > MOST_QUERIES:
        raise InvalidInput(f"{len(asked)} queries are too many to be merged.", hint=f"At most {MOST_QUERIES}.")
    return asked


def _parsed(filters: Where) -> Filter:
    return filters if isinstance(filters, tuple) else parse(filters)


def _enough(answers: Sequence[CollectionDocuments], limit: int) -> bool:
    """Say whether some answer has enough documents; several may have the same."""
    return any(len(one.found) >= limit for one in answers)


def _required(answers: list[CollectionDocuments]) -> list[CollectionDocuments]:
    """Return ``answers``; where one has all required phrases, the others without what they found."""
    if not any(answer.required for answer in answers):
        return answers
    return [one if one.required else replace(one, found=(), notes=with_phrases(one.notes)) for one in answers]


def _no_vectors(order: RankedCandidates) -> str | None:
    """Say that no chunk found has a vector, if so."""
    cosine = order.ranked.candidates.cosine
    if cosine is None or not len(cosine) or not np.isnan(cosine).all():
        return None
    return "none of these chunks has a vector yet: keyword search only"


def _scored(answer: CollectionDocuments, merge: Merge) -> CollectionDocuments:
    """Return the ranking of one question, scored as it counts among several."""
    if merge == "max":
        return replace(answer, found=[replace(one, parts={}) for one in answer.found])
    ranks = enumerate(answer.found, start=1)
    return replace(answer, found=[replace(one, score=1 / (_RRF_K + rank), phrases=0, parts={}) for rank, one in ranks])


def _merged(before: CollectionDocuments, answer: CollectionDocuments, merge: Merge) -> CollectionDocuments:
    """Return both rankings as one; of a document's chunks the better one is shown."""
    found = {one.document_id: one for one in before.found}
    for one in _scored(answer, merge).found:
        other = found.get(one.document_id)
        if other is None:
            found[one.document_id] = one
            continue
        better = one if (one.cosine or 0.0) > (other.cosine or 0.0) else other
        score = one.score + other.score if merge == "rrf" else max(one.score, other.score)
        copies = tuple(dict.fromkeys([*other.copies, *one.copies]))
        phrases = max(one.phrases, other.phrases)
        named = one.named or other.named
        found[one.document_id] = replace(better, score=score, phrases=phrases, copies=copies, named=named, parts={})
    return replace(
        before,
        found=list(found.values()),
        degraded=before.degraded or answer.degraded,
        notes=(*before.notes, *answer.notes),
    )
