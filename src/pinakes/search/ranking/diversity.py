"""An answer that does not say one thing five times: the head of a ranking, put together place by place."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass

import numpy as np

from pinakes.catalog import Connection
from pinakes.core.filters import normal_name
from pinakes.core.records import Float32, Int64
from pinakes.search.ranking.context import SearchContext
from pinakes.search.ranking.rank import Ranked
from pinakes.settings import SearchSettings

_HEAD = 5
"""The first places, of which no value fills more than one: the share promised is below 30 %."""

POOL = 50
"""So many of the best are looked at, however many are wanted: an order must not depend on the size of the page."""


@dataclass(frozen=True, slots=True)
class Diversity:
    """What makes the head of an answer diverse, as the settings of ``parts`` say; ``connection``: of the answer."""

    parts: SearchContext
    connection: Connection

    @classmethod
    def wanted(cls, context: SearchContext, connection: Connection) -> Diversity | None:
        """Return it, None where nothing of it is switched on."""
        settings = context.settings.search
        return cls(context, connection) if settings.diversity_field or settings.mmr_lambda < 1 else None

    def diversified(self, ranked: Ranked) -> Ranked:
        """Return ``ranked`` in an order in which its head is diverse; every chunk keeps its score.

        No value of ``search.diversity_field`` has more than one of the first ``_HEAD`` places, as far as there are
        others; documents without the field count for nothing. With ``mmr_lambda`` below 1 each place goes to the
        chunk with the largest λ · score - (1 - λ) · the largest cosine with one above it: maximal marginal relevance
        (Carbonell and Goldstein, SIGIR 1998).
        """
        head, parts = ranked.rows[:POOL], self.parts
        settings = parts.settings.search
        vectors = ranked.candidates.vectors_of(head, parts.index) if settings.mmr_lambda < 1 else None
        order = chosen(ranked.scores[: len(head)], self._values(ranked.candidates.documents[head]), vectors, settings)
        rest = slice(len(head), None)
        phrases = ranked.candidates.phrases
        if phrases is not None:  # what has more of them stays before what has fewer
            order = order[np.argsort(-phrases.counts()[head[order]], kind="stable")]
        rows = np.concatenate([head[order], ranked.rows[rest]])
        return Ranked(ranked.candidates, rows, np.concatenate([ranked.scores[order], ranked.scores[rest]]))

    def _values(self, documents: Int64) -> Sequence[Collection[str]]:
        field, parts = normal_name(self.parts.settings.search.diversity_field), self.parts
        if not field:
            return [()] * len(documents)

        def here() -> AbstractContextManager[Connection]:
            return nullcontext(self.connection)  # a second one would wait for those that wait for a second one

        facts = parts.statistics.facts.features_of(here, parts.collection, documents.tolist(), (field,))
        return [one.values.get(field, ()) for one in facts]


def chosen(
    scores: Float32, values: Sequence[Collection[str]], vectors: Float32 | None, settings: SearchSettings
) -> Int64:
    """Return the order of ``Diversity.of`` for n chunks, int64 (n,); equal ones keep theirs.

    ``values`` are those of each, ``vectors`` float32 (n, dim), NaN where there is none; None = by scores alone.
    """
    weight = settings.mmr_lambda
    left, order, taken = np.ones(len(scores), np.bool_), list[int](), set[str]()
    worth = np.arange(len(scores), 0, -1) if vectors is None else weight * scores
    likeness = np.full(len(scores), -1, np.float32)
    for place in range(len(scores) if vectors is not None else min(_HEAD, len(scores))):
        free = left & np.array([taken.isdisjoint(of) for of in values]) if taken and place < _HEAD else left
        choice = np.flatnonzero(free if free.any() else left)
        marginal = worth if vectors is None or not place else worth - (1 - weight) * likeness
        best = int(choice[np.argmax(marginal[choice])])
        order.append(best)
        left[best] = False
        taken.update(values[best])
        if vectors is not None:
            likeness = np.maximum(likeness, np.nan_to_num(vectors @ vectors[best], nan=0.0))
    return np.concatenate([np.array(order, np.int64), np.flatnonzero(left)])
