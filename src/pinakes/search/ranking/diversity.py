"""Diversity: reorders the head of a ranking so that it does not repeat one value or one content."""

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
"""The first places, in which each value occurs at most once: this keeps the promised share below 30 %."""

POOL = 50
"""Candidates considered, independent of ``top_k``, so that the order does not depend on the page size."""


@dataclass(frozen=True, slots=True)
class Diversity:
    """Diversifies the head of an answer as the settings in ``parts`` say; ``connection`` is that of the answer."""

    parts: SearchContext
    connection: Connection

    @classmethod
    def wanted(cls, context: SearchContext, connection: Connection) -> Diversity | None:
        """Return the diversifier; None if the settings enable no diversity."""
        settings = context.settings.search
        return cls(context, connection) if settings.diversity_field or settings.mmr_lambda < 1 else None

    def diversified(self, ranked: Ranked) -> Ranked:
        """Return ``ranked`` with a diverse head; every chunk keeps its score.

        Each value of ``search.diversity_field`` takes at most one of the first ``_HEAD`` places while other values
        remain; documents without the field are not restricted. With ``mmr_lambda`` below 1, each place goes to the
        chunk with the largest λ · score - (1 - λ) · the largest cosine with one above it: maximal marginal relevance
        (Carbonell and Goldstein, SIGIR 1998).
        """
        head, parts = ranked.rows[:POOL], self.parts
        settings = parts.settings.search
        vectors = ranked.candidates.vectors_of(head, parts.index) if settings.mmr_lambda < 1 else None
        order = chosen(ranked.scores[: len(head)], self._values(ranked.candidates.documents[head]), vectors, settings)
        rest = slice(len(head), None)
        phrases = ranked.candidates.phrases
        if phrases is not None:  # chunks with more phrases stay first
            order = order[np.argsort(-phrases.counts()[head[order]], kind="stable")]
        rows = np.concatenate([head[order], ranked.rows[rest]])
        return Ranked(ranked.candidates, rows, np.concatenate([ranked.scores[order], ranked.scores[rest]]))

    def _values(self, documents: Int64) -> Sequence[Collection[str]]:
        field, parts = normal_name(self.parts.settings.search.diversity_field), self.parts
        if not field:
            return [()] * len(documents)

        def here() -> AbstractContextManager[Connection]:
            return nullcontext(self.connection)  # a second one could deadlock when the pool is exhausted

        facts = parts.statistics.features.features_of(here, parts.collection, documents.tolist(), (field,))
        return [one.values.get(field, ()) for one in facts]


def chosen(
    scores: Float32, values: Sequence[Collection[str]], vectors: Float32 | None, settings: SearchSettings
) -> Int64:
    """Return the order of ``Diversity.diversified`` for n chunks, int64 (n,); ties keep their order.

    ``values``: the field values of each chunk. ``vectors``: float32 (n, dim), NaN if missing; None: use scores alone.
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
