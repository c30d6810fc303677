"""A cache of results, valid until the index or the catalogue changes."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import replace
from datetime import UTC, datetime

from pinakes.core.lru_cache import LruCache
from pinakes.core.records import Results
from pinakes.search.query.request import Request
from pinakes.search.ranking.context import SearchContext, graph_state


class ResultCache:
    """Caches results until their index changes. Thread-safe.

    Results that may improve are not cached: keyword-only answers of degraded searches, results with approximate
    vectors, an incomplete reranking, or chunks replaced during the search; nor are bare results, whose hits do not show
    these.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._kept = LruCache[Hashable, Results](most)

    def get(
        self, request: Request, context: SearchContext, ask: Callable[[Request, SearchContext], Results]
    ) -> Results:
        """Return the cached answer to ``request``, or the one of ``ask``, which is then cached."""
        if not self._most or request.bare:
            return ask(request, context)
        key = state_of(request, context)
        known = self._kept.get(key)
        if known is not None:
            with context.tracer.stage("remembered"):
                pass  # there is nothing to do
            return replace(known, trace=context.tracer.trace())
        answer = ask(request, context)
        if _is_final(answer) and not context.tracer.overtaken:
            self._kept.put(key, answer)
        return answer


def state_of(request: Request, context: SearchContext) -> Hashable:
    """Return what the answer to ``request`` depends on: of equal states it is the same."""
    record, today = context.collection, datetime.now(UTC).date()  # recency boosts change daily
    # The catalogue may be ahead of an index that is not writable: the answer depends on both.
    position = (record.head, context.index.position())
    identity = (record.id, record.name, record.line, record.generation, record.model_id, repr(record.kept))
    return request, identity, position, today, graph_state(context)


def _is_final(answer: Results) -> bool:
    cut_short = any(
        (stage.name == "rerank" and stage.detail.get("note")) or (stage.name == "refine" and "failed" in stage.detail)
        for stage in answer.trace.stages
    )
    return not (answer.degraded or cut_short or any(hit.approximate for hit in answer.hits))
