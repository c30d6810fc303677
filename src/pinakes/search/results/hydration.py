"""Hydration: from ranked candidates to hits, whole ones with their neighbours, or only ids and scores."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from pinakes.catalog import Connection, document_queries, selection
from pinakes.catalog.document_queries import ChunkLocation
from pinakes.catalog.selection import ChunkRow
from pinakes.core import interrupt
from pinakes.core.late import changed, with_lazy_fields
from pinakes.core.ports import Index
from pinakes.core.records import ConfidenceWord, Duplicate, Float32, Hit, MatchKind, Neighbour, Results, Scores
from pinakes.search.query.request import Request
from pinakes.search.query.words import places_in, query_words
from pinakes.search.ranking.context import SearchContext
from pinakes.search.ranking.diversity import POOL, Diversity
from pinakes.search.ranking.duplicates import named_versions, repetitions
from pinakes.search.ranking.fusion import confidence, confidence_word
from pinakes.search.ranking.rank import Ranked
from pinakes.search.results.chunk_texts import ChunkTexts, terms_of_chunk
from pinakes.search.results.excerpts import excerpt
from pinakes.search.results.explanation import Evidence, explained, terms_by_field
from pinakes.search.retrieval.candidates import Candidates
from pinakes.text.injection import is_injection
from pinakes.text.page_numbers import pages_of

_LAZY = ("context", "highlights", "explanation", "words")
_KINDS: dict[tuple[str, ...], MatchKind] = {("vector",): "semantic", ("keyword",): "keyword"}


def hydrated(
    context: SearchContext,
    ranked: Ranked,
    request: Request,
    chunks: ChunkTexts,
    diversity: Diversity | None = None,
    *,
    fold: bool = True,
) -> list[Hit]:
    """Return the best ``request.top_k`` hits of ``ranked``, in its order.

    ``chunks`` fetches the chunk rows. With ``fold`` and ``search.fold_duplicates``, duplicates are listed in the better
    hit and free their places; deleted chunks are skipped. ``diversity``, if given, reorders the hits.
    """
    connection, collection = chunks.connection, context.collection
    if request.bare:
        return ids_only(connection, context, diversity.diversified(ranked) if diversity else ranked, request)
    fold = fold and context.settings.search.fold_duplicates
    best, repeated = _best(ranked, request, context, diversity, chunks, fold=fold)
    ids = best.candidates.ids[best.rows].tolist()
    rows = chunks.rows_of([*ids, *(other for others in repeated.values() for other, _ in others)])
    context.stamped(collection, {row.uid: row.stamp for row in rows.values()})
    view = _View(
        collection=collection.name,
        query=chunks.query,
        found=best.candidates,
        ranks={name: _ranks(ranking.ids.tolist()) for name, ranking in best.candidates.retrieved.items()},
        offsets=context.statistics.preceding_chunks(
            connection, collection, {row.group_key for row in rows.values() if row.before is None}
        ),
    )
    present = [one for one in zip(ids, best.rows.tolist(), best.scores.tolist(), strict=True) if one[0] in rows]
    numbers = selection.lines_of_chunks(connection, [rows[one] for one, _, _ in present])
    hits = []
    for one, row, score in present:
        others = [(rows[other], its) for other, its in repeated.get(one, ()) if other in rows]
        hits.append(view.hit(rows[one], row, score, numbers.get(one, ()), others))
    if request.neighbours:
        return surrounded(connection, hits, [rows[one] for one, _, _ in present], request.neighbours)
    return hits


def _best(
    ranked: Ranked,
    request: Request,
    context: SearchContext,
    diversity: Diversity | None,
    chunks: ChunkTexts,
    *,
    fold: bool,
) -> tuple[Ranked, Mapping[int, Sequence[tuple[int, float]]]]:
    """Return the best candidates, and row → (id, score) of the duplicates that each of them stands for."""
    most, repeated = max(2 * request.top_k, POOL if diversity else 0), dict[int, list[tuple[int, float]]]()
    head, named = ranked.best(most, request.min_score), named_versions(request.query, request.where)
    always_compared = most if diversity else request.top_k
    while fold:
        interrupt.check()  # many duplicates take long
        whole = head
        head, repeated = _folded(whole, context.index, chunks, named, always_compared)
        if len(
            {*whole.rows[:always_compared].tolist()} & {*head.rows.tolist()}
        ) >= request.top_k or always_compared >= len(ranked.rows):
            break
        most = most if always_compared < most else 2 * most
        always_compared, head = most, ranked.best(most, request.min_score)
    head = diversity.diversified(head) if diversity else head
    return Ranked(head.candidates, head.rows[: request.top_k], head.scores[: request.top_k]), repeated


def _folded(
    head: Ranked, index: Index, chunks: ChunkTexts, named: frozenset[str], always_compared: int
) -> tuple[Ranked, dict[int, list[tuple[int, float]]]]:
    """Return ``head`` without duplicates, and chunk id → (id, score) of its duplicates.

    Texts of different versions in ``named`` are distinct. ``always_compared``: see ``repetitions``.
    """
    ids = head.candidates.ids[head.rows].tolist()
    scores = dict(zip(ids, head.scores.tolist(), strict=True))
    vectors = head.candidates.vectors_of(head.rows, index)
    same = repetitions(ids, vectors, partial(chunks.comparable, named=named), always_compared)
    repeated = defaultdict[int, list[tuple[int, float]]](list)
    for other, one in same.items():
        repeated[one].append((other, scores[other]))
    kept = np.flatnonzero([one not in same for one in ids])
    return Ranked(head.candidates, head.rows[kept], head.scores[kept]), repeated


def _ranks(ids: Sequence[int]) -> dict[int, int]:
    return {one: place for place, one in enumerate(ids, start=1)}


@dataclass(frozen=True, slots=True)
class _View:
    """What the hits of one answer share. ``ranks``: retriever → chunk id → its rank there, from 1."""

    collection: str
    query: str
    found: Candidates
    ranks: Mapping[str, Mapping[int, int]]
    offsets: Mapping[str, Mapping[int, int]]

    def hit(
        self, chunk: Any, row: int, score: float, numbers: Sequence[int], others: Sequence[tuple[Any, float]]
    ) -> Hit:
        """Return the hit of a ``chunk`` row at ``row`` of the candidates; ``numbers``: the numbers of its lines;
        ``others``: the rows and scores of its duplicates.
        """
        scores = _raw(self.found, row, score)
        confidence_value = confidence(scores.cosine, scores.bm25)
        word = confidence_word(confidence_value)
        retrievers = tuple(name for name in ("vector", "keyword") if chunk.id in self.ranks.get(name, ()))
        is_approximate = self.found.exact is not None and not self.found.exact[row]
        phrases = () if self.found.phrases is None else self.found.phrases.phrases_in(row)
        boosts = {} if self.found.adjustments is None else self.found.adjustments.parts_of(row)
        page, page_end = pages_of(chunk.pages, chunk.start, chunk.end)
        evidence = partial(
            Evidence,
            scores=scores,
            ranks={name: ranks[chunk.id] for name, ranks in self.ranks.items() if chunk.id in ranks},
            asked={name: len(ranks) for name, ranks in self.ranks.items()},
            approximate=is_approximate,
            boosts=boosts,
            phrases=phrases,
        )
        hit = Hit(
            chunk_id=self._chunk_id(chunk),
            document_id=chunk.uid,
            collection=self.collection,
            uri=chunk.uri,
            path=chunk.path,
            title=chunk.title,
            text=chunk.text,
            chunk_index=self._chunk_index(chunk),
            start_line=chunk.start_line,
            end_line=chunk.end_line,
            heading_path=tuple(chunk.heading_path),
            symbols=tuple(chunk.symbols),
            score=score,
            scores=scores,
            matched_by=retrievers,  # type: ignore[arg-type]
            metadata={**chunk.inherited, **chunk.metadata},
            approximate=is_approximate,
            match=_KINDS.get(retrievers, "hybrid"),
            confidence=round(confidence_value, 4),
            confidence_word=word,
            boosts=boosts,
            duplicates=tuple(self._duplicate(other, own) for other, own in others),
            suspicious=is_injection("\n".join((chunk.title, *chunk.heading_path, chunk.text))),
            page=page,
            page_end=page_end,
            phrases=phrases,
            score_parts={} if self.found.scoring is None else self.found.scoring.parts_of(row),
            named=self.found.named.get(int(self.found.documents[row]), ""),
        )
        return with_lazy_fields(hit, _LAZY, partial(_shown, chunk, self.query, numbers, evidence, word))

    def _chunk_index(self, chunk: Any) -> int:
        before = chunk.before
        if before is None:
            before = self.offsets[chunk.group_key].get(chunk.document_id, 0)
        return int(before + chunk.ordinal)

    def _chunk_id(self, chunk: Any) -> str:
        return f"{chunk.group_key or chunk.uid}_{self._chunk_index(chunk)}"

    def _duplicate(self, chunk: Any, score: float) -> Duplicate:
        return Duplicate(
            chunk_id=self._chunk_id(chunk),
            document_id=chunk.uid,
            uri=chunk.uri,
            path=chunk.path,
            start_line=chunk.start_line,
            end_line=chunk.end_line,
            score=score,
        )


def _shown(
    chunk: Any,
    query: str,
    numbers: Sequence[int],
    evidence: Callable[..., Evidence],
    word: ConfidenceWord,
    field: str,
) -> dict[str, object]:
    """Return the lazy ``field`` of a hit, and those that come with it: only some views show them.

    They must not depend on the search as a whole, since results are cached. Merging several answers needs the words.
    """
    places = places_in(chunk.text, query)
    words = terms_by_field(query_words(query), terms_of_chunk(chunk, places))
    present = frozenset(one for one, where in words.items() if where)
    if field == "words":
        return {"words": present}
    headings, first = {chunk.title, *chunk.heading_path}, chunk.start_line
    lines = excerpt(chunk.text, places, first_line=first, numbers=numbers, headings=headings)
    return dict(
        zip(_LAZY, (lines.lines, lines.highlights, explained(evidence(words=words), word), present), strict=True)
    )


def _raw(found: Candidates, row: int, score: float) -> Scores:
    known = {} if found.scoring is None else found.scoring.raw_of(row)
    return Scores(
        cosine=_value_at(found.cosine, row),
        bm25=_value_at(found.bm25, row),
        fused=score if found.fused is None else found.fused.item(row),
        rerank=_value_at(found.rerank, row),
        document_bm25=_value_at(found.document_bm25, row),
        document_cosine=_value_at(None if found.evidence is None else found.evidence.document_cosine, row),
        **known,
    )


def _value_at(values: Float32 | None, row: int) -> float | None:
    """Return a candidate's value, None if it is unknown."""
    value = math.nan if values is None else values.item(row)
    return None if math.isnan(value) else value


def ids_only(connection: Connection, context: SearchContext, ranked: Ranked, request: Request) -> list[Hit]:
    """Return the best ``request.top_k`` hits of ``ranked``, in its order, without text, lines and metadata.

    Duplicates are not folded; deleted chunks are skipped.
    """
    best = ranked.best(request.top_k, request.min_score)
    ids = best.candidates.ids[best.rows].tolist()
    places = document_queries.places(connection, ids)
    groups = {place.group_key for place in places.values()}
    before = context.statistics.preceding_chunks(connection, context.collection, groups)
    return [
        _hit(
            context.collection.name,
            place,
            before[place.group_key].get(place.document_id, 0) + place.ordinal,
            score,
        )
        for one, score in zip(ids, best.scores.tolist(), strict=True)
        if (place := places.get(one)) is not None
    ]


def _hit(collection: str, place: ChunkLocation, number: int, score: float) -> Hit:
    return Hit(
        chunk_id=f"{place.group_key or place.uid}_{number}",
        document_id=place.uid,
        collection=collection,
        uri=place.uri,
        path=place.path,
        title=place.title,
        text="",
        chunk_index=number,
        start_line=0,
        end_line=0,
        heading_path=(),
        symbols=(),
        score=score,
        scores=Scores(fused=score),
        matched_by=(),
        metadata={},
    )


def deepened(near: Results, deep: Results) -> Results:
    """Return ``near`` followed by the hits of ``deep`` that it lacks, whose scores are scaled to lie below its own."""
    known = {hit.chunk_id for hit in near.hits}
    rest = [hit for hit in deep.hits if hit.chunk_id not in known]
    last = min((hit.score for hit in near.hits), default=1.0)
    share = last / max((hit.score for hit in rest if hit.score > last), default=last) if last > 0 else 0.0
    behind = (replace(hit, score=hit.score * share, scores=Scores(fused=hit.score * share)) for hit in rest)
    return replace(near, hits=(*near.hits, *behind)[: max(len(near.hits), len(deep.hits))])


def surrounded(connection: Connection, hits: Sequence[Hit], rows: Sequence[ChunkRow], count: int) -> list[Hit]:
    """Return ``hits`` with up to ``count`` chunks before and after each; ``rows`` are their chunk rows.

    A chunk that is itself a hit, or already a neighbour of a better hit, is not repeated.
    """
    taken = {(row.document_id, row.ordinal) for row in rows}
    wanted: list[list[tuple[int, int]]] = []
    for row in rows:
        around = range(max(0, row.ordinal - count), row.ordinal + count + 1)
        wanted.append([place for at in around if (place := (row.document_id, at)) not in taken])
        taken.update(wanted[-1])
    found = selection.hit_rows_at(connection, [place for places in wanted for place in places])
    numbers = selection.lines_of_chunks(connection, found.values())
    return [
        _beside(hit, tuple(_neighbour(found[at], hit, row, numbers) for at in places if at in found))
        for hit, row, places in zip(hits, rows, wanted, strict=True)
    ]


def _beside(hit: Hit, neighbours: tuple[Neighbour, ...]) -> Hit:
    suspicious = hit.suspicious or any(is_injection(one.text) for one in neighbours)
    return changed(hit, neighbours=neighbours, suspicious=suspicious)


def _neighbour(row: Any, hit: Hit, own: Any, numbers: Mapping[int, tuple[int, ...]]) -> Neighbour:
    return Neighbour(
        chunk_index=hit.chunk_index - own.ordinal + row.ordinal,
        start_line=row.start_line,
        end_line=row.end_line,
        heading_path=tuple(row.heading_path),
        text=row.text,
        numbers=numbers.get(row.id, ()),
    )


def hits_of(request: Request, context: SearchContext, ranked: Ranked, rows: Sequence[int]) -> list[tuple[int, Hit]]:
    """Return (chunk id, hit) of the entries of ``ranked`` at these places; deleted chunks are missing."""
    places = np.array(rows, np.int64)
    some = Ranked(ranked.candidates, ranked.rows[places], ranked.scores[places])
    wanted = replace(request, top_k=max(1, len(rows)), min_score=-1.0)
    reading = context.catalog.read if request.neighbours else context.catalog.read_each
    with reading() as connection:
        chunks = ChunkTexts(connection, request.query)
        there = chunks.rows_of(some.candidates.ids[some.rows].tolist())
        hits = hydrated(context, some, wanted, chunks, fold=False)
    return list(zip(there, hits, strict=True))
