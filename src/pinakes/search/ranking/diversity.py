"""An answer that does not say one thing five times: the head of a ranking, put together place by place."""

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
        return cls(context, connection) if context.settings.search.diversity_field else None

    def diversified(self, ranked: Ranked) -> Ranked:
        """Return ``ranked`` in an order in which its head is diverse; every chunk keeps its score.

        No value of ``search.diversity_field`` has more than one of the first ``_HEAD`` places, as far as there are
        others; documents without the field count for nothing.
        """
        head = ranked.rows[:POOL]
        order = chosen(self._values(ranked.candidates.documents[head]))
        rest = slice(len(head), None)
        phrases = ranked.candidates.phrases
        if phrases is not None:  # what has more of them stays before what has fewer
            order = order[np.argsort(-phrases.counts()[head[order]], kind="stable")]
        rows = np.concatenate([head[order], ranked.rows[rest]])
        return Ranked(ranked.candidates, rows, np.concatenate([ranked.scores[order], ranked.scores[rest]]))

    def _values(self, documents: Int64) -> Sequence[Collection[str]]:
        field, parts = normal_name(self.parts.settings.search.diversity_field), self.parts

        def here() -> AbstractContextManager[Connection]:
            return nullcontext(self.connection)  # a second one would wait for those that wait for a second one

        facts = parts.statistics.facts.features_of(here, parts.collection, documents.tolist(), (field,))
        return [one.values.get(field, ()) for one in facts]


def chosen(values: Sequence[Collection[str]]) -> Int64:
    """Return the order of ``Diversity.diversified`` for n chunks with these ``values``, int64 (n,)."""
    left, order, taken = list(range(len(values))), list[int](), set[str]()
    for _ in values[:_HEAD]:
        best = next((row for row in left if taken.isdisjoint(values[row])), left[0])
        left.remove(best)
        order.append(best)
        taken.update(values[best])
    return np.array([*order, *left], np.int64)
