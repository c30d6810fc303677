"""Hits with only ids and scores, for evaluation at any depth."""

from __future__ import annotations

from dataclasses import replace

from pinakes.catalog import Connection, document_queries
from pinakes.catalog.document_queries import ChunkLocation
from pinakes.core.records import Hit, Results, Scores
from pinakes.search.query.request import Request
from pinakes.search.ranking.context import SearchContext
from pinakes.search.ranking.rank import Ranked


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
