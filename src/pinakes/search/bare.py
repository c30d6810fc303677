"""From ranked candidates to hits that only say what they are and how they rank: for measuring, as deep as is asked."""

from __future__ import annotations

from sqlalchemy import Connection

from pinakes.catalog import listing
from pinakes.catalog.collections import CollectionRecord
from pinakes.search.ranking import Ranked
from pinakes.search.request import Request
from pinakes.types import Hit, Scores


def bare(connection: Connection, collection: CollectionRecord, ranked: Ranked, request: Request) -> list[Hit]:
    """Return the best ``request.top_k`` hits of ``ranked``, in its order, without text, lines and metadata.

    Nothing is folded; a passage that was deleted meanwhile is left out.
    """
    best = ranked.best(request.top_k, request.min_score)
    ids = best.candidates.ids[best.rows].tolist()
    places = listing.places(connection, ids)
    return [
        Hit(
            chunk_id=f"{place.uid}_{place.ordinal}",
            document_id=place.uid,
            collection=collection.name,
            uri=place.uri,
            path=place.path,
            title=place.title,
            text="",
            chunk_index=place.ordinal,
            start_line=0,
            end_line=0,
            heading_path=(),
            symbols=(),
            score=score,
            scores=Scores(fused=score),
            matched_by=(),
            metadata={},
        )
        for one, score in zip(ids, best.scores.tolist(), strict=True)
        if (place := places.get(one)) is not None
    ]
