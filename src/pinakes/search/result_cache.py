"""Answers that were given before, for as long as nothing changes."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import replace
from datetime import UTC, datetime

from pinakes.core.records import Results
from pinakes.search.query.request import Request
from pinakes.search.ranking.context import SearchContext


class ResultCache:
    """Remembers answers until their index moves on, as it does with every change. Thread-safe.

    An answer that would be better the next time is not kept: one by keywords alone, one with approximate vectors, one
    whose reranking was cut short, one that lacks chunks which were just replaced. Nor is a bare one, whose hits
    do not say of that.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._lock = threading.Lock()
        self._kept: OrderedDict[Hashable, Results] = OrderedDict()

    def get(
        self, request: Request, context: SearchContext, ask: Callable[[Request, SearchContext], Results]
    ) -> Results:
        """Return the answer to ``request``, from memory or by ``ask``."""
        if not self._most or request.bare:
            return ask(request, context)
        record, today = context.collection, datetime.now(UTC).date()  # what is recent changes by the day
        # The catalogue may be ahead of an index that cannot be written now: both decide on the answer.
        stands = (record.head, context.index.position())
        mine = (record.id, record.name, record.line, record.generation, record.model_id, repr(record.kept))
        key = (request, mine, stands, today)
        with self._lock:
            known = self._kept.get(key)
            if known is not None:
                self._kept.move_to_end(key)
        if known is not None:
            with context.tracer.stage("remembered"):
                pass  # there is nothing to do
            return replace(known, trace=context.tracer.trace())
        answer = ask(request, context)
        if _is_final(answer) and not context.tracer.overtaken:
            with self._lock:
                self._kept[key] = answer
                while len(self._kept) > self._most:
                    self._kept.popitem(last=False)
        return answer


def _is_final(answer: Results) -> bool:
    cut_short = any(
        (stage.name == "rerank" and stage.detail.get("note")) or (stage.name == "refine" and "failed" in stage.detail)
        for stage in answer.trace.stages
    )
    return not (answer.degraded or cut_short or any(hit.approximate for hit in answer.hits))
