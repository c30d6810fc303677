"""Reranking of a ranking's head, with the configured reranker."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from pinakes.catalog import Connection, selection
from pinakes.core.lru_cache import LruCache
from pinakes.core.ports import Index, Reranker
from pinakes.core.records import Float32, with_header
from pinakes.search.ranking.rank import Ranked
from pinakes.settings import RerankSettings

if TYPE_CHECKING:
    from pinakes.search.ranking.rerank import RerankReport, ScoreCache

_REMEMBERED_QUERIES = 256


@dataclass(frozen=True, slots=True)
class Reranking:
    """A reranker with its settings and its score cache."""

    reranker: Reranker
    settings: RerankSettings
    memory: ScoreCache

    @classmethod
    def opened(cls, settings: RerankSettings, opener: Callable[[], Reranker]) -> Reranking | None:
        """Return the configured reranking; None if it is disabled."""
        if not settings.enabled:
            return None
        return cls(opener(), settings, LruCache(_REMEMBERED_QUERIES))

    def rerank(self, connection: Connection, query: str, ranked: Ranked, index: Index) -> tuple[Ranked, RerankReport]:
        """Return ``ranked`` with its head in the reranker's order, and the report.

        ``index`` provides the vectors that determine the size of the head.
        A reranked chunk's score is the reranker's, 0 to 1 (logits go through the logistic function). The scores of the
        other chunks are scaled to lie below.
        """
        from pinakes.search.ranking.rerank import Candidate, reach, rerank

        found, most = ranked.candidates, reach(self.settings)
        ids, vectors = found.ids[ranked.rows[:most]].tolist(), found.vectors_of(ranked.rows[:most], index)
        chunks = selection.hit_rows(connection, ids)
        head = [
            Candidate(
                text=with_header(row.header, row.text),
                document=row.document_id,
                vector=vector,
            )
            for one, vector in zip(ids, vectors, strict=True)
            if (row := chunks.get(one)) is not None
        ]
        if len(head) < len(ids):  # some chunks were deleted since they were retrieved
            present = np.array([one in chunks for one in ids] + [True] * (len(ranked.rows) - len(ids)))
            ranked = Ranked(found, ranked.rows[present], ranked.scores[present])
        outcome = rerank(query, head, self.reranker, self.settings, memory=self.memory)
        order = np.concatenate([outcome.order, np.arange(len(head), len(ranked.rows))])
        scores = _scores(outcome.scores[outcome.order], ranked.scores[order], logits=self.reranker.logits)
        given = np.full(len(found.ids), np.nan, np.float32)
        given[ranked.rows[: len(head)]] = outcome.scores
        fused = ranked.in_rows(ranked.scores)
        reranked = Ranked(found, ranked.rows[order], scores)
        scoring, seen, final = found.scoring, ~np.isnan(given), reranked.in_rows(scores)
        if scoring is not None:
            scoring = scoring.only(~seen).plus("reranked", np.where(seen, final, np.float32(0)))
            scoring = scoring.plus("behind_reranked", np.where(seen, np.float32(0), final - fused))
        fused = fused if found.fused is None else found.fused
        return replace(reranked, candidates=replace(found, rerank=given, fused=fused, scoring=scoring)), outcome.report


def _scores(given: Float32, fused: Float32, *, logits: bool) -> Float32:
    """Return scores that decrease in the new order; ``given`` are the reranker's, NaN for chunks not scored."""
    known = int(np.count_nonzero(~np.isnan(given)))
    if not known:
        return fused
    head = given[:known].astype(np.float64)
    if logits:
        head = 1 / (1 + np.exp(-head))
    tail = fused[known:] * min(1.0, float(head[-1]))
    return np.concatenate([head, np.maximum.accumulate(tail[::-1])[::-1]]).astype(np.float32)
