"""Hits of chunks that the knowledge graph leads to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from pinakes.core.records import Hit
from pinakes.search.query.request import Request
from pinakes.search.ranking.context import SearchContext
from pinakes.search.ranking.rank import Ranked
from pinakes.search.results.chunk_texts import ChunkTexts
from pinakes.search.results.hydration import hydrated


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
