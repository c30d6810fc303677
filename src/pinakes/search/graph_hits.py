"""Hits that a search adds to those it found: chunks that the knowledge graph leads to, scored like any other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from pinakes.catalog import selection
from pinakes.core.records import Hit, Ranking
from pinakes.search import Request, SearchContext, rank, retrieve
from pinakes.search.ranking.rank import Ranked
from pinakes.search.results.chunk_texts import ChunkTexts
from pinakes.search.results.hydration import hydrated
from pinakes.search.retrieval.constraints import constrained


def scored(request: Request, context: SearchContext, chunks: Mapping[int, int]) -> Ranked:
    """Return those of ``chunks`` (chunk id → document id) that pass the filters of ``request``, the best first.

    They have the scores that a search gives them, without the reranker.

    Raises:
        the same errors as ``search``.
    """
    ids = np.array(sorted(chunks), np.int64)
    documents = np.array([chunks[one] for one in ids.tolist()], np.int64)
    known = retrieve(request, context, Ranking(ids, documents, np.zeros(len(ids), np.float32)))
    ranked = rank(known.asked.request, known.found, context.settings.search)
    if where := known.asked.request.where:
        with context.catalog.read_each() as connection:
            ids = ids[np.isin(documents, selection.matching(connection, context.collection.id, where))]
    _, only = constrained(known.asked, context.index)
    if only.required is not None:
        ids = np.intersect1d(ids, only.required)
    if only.barred is not None:
        ids = np.setdiff1d(ids, only.barred)
    kept = np.flatnonzero(np.isin(ranked.candidates.ids[ranked.rows], ids))
    return Ranked(ranked.candidates, ranked.rows[kept], ranked.scores[kept])


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
