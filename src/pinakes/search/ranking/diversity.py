"""Diversity: reorders the head of a ranking so that it does not repeat one value."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass

import numpy as np

from pinakes.catalog import Connection
from pinakes.core.filters import normal_name
from pinakes.core.records import Int64
from pinakes.search.ranking.context import SearchContext
from pinakes.search.ranking.rank import Ranked

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
        return cls(context, connection) if context.settings.search.diversity_field else None

    def diversified(self, ranked: Ranked) -> Ranked:
        """Return ``ranked`` with a diverse head; every chunk keeps its score.

        Each value of ``search.diversity_field`` takes at most one of the first ``_HEAD`` places while other values
        remain; documents without the field are not restricted.
        """
        head = ranked.rows[:POOL]
        order = chosen(self._values(ranked.candidates.documents[head]))
        rest = slice(len(head), None)
        phrases = ranked.candidates.phrases
        if phrases is not None:  # chunks with more phrases stay first
            order = order[np.argsort(-phrases.counts()[head[order]], kind="stable")]
        rows = np.concatenate([head[order], ranked.rows[rest]])
        return Ranked(ranked.candidates, rows, np.concatenate([ranked.scores[order], ranked.scores[rest]]))

    def _values(self, documents: Int64) -> Sequence[Collection[str]]:
        field, parts = normal_name(self.parts.settings.search.diversity_field), self.parts

        def here() -> AbstractContextManager[Connection]:
            return nullcontext(self.connection)  # a second one could deadlock when the pool is exhausted

        facts = parts.statistics.features.features_of(here, parts.collection, documents.tolist(), (field,))
        return [one.values.get(field, ()) for one in facts]


def chosen(values: Sequence[Collection[str]]) -> Int64:
    """Return the order of ``Diversity.diversified`` for n chunks with these values of the field, int64 (n,)."""
    order, rest, taken = list[int](), list(range(len(values))), set[str]()
    while rest and len(order) < _HEAD:
        best = next((one for one in rest if taken.isdisjoint(values[one])), rest[0])
        rest.remove(best)
        order.append(best)
        taken.update(values[best])
    return np.array([*order, *rest], np.int64)
