"""Score adjustments of candidates."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from pinakes.core.records import Float32, Int64
from pinakes.search.retrieval.scoring import Scoring

_CROWD = 10
"""The number of better chunks of the same document that can lower a chunk's score."""


@dataclass(frozen=True, slots=True)
class ScoreAdjustments:
    """Adjustments to the scores of n candidates, in the order of the candidates.

    ``factors``: float32 (n,), multiplied with the scores; None means 1. ``shares``: signal → float32 (n,), added to 1
    to give a factor. ``saturation``: the share that a chunk loses for each better chunk of its document.
    """

    factors: Float32 | None = None
    shares: Mapping[str, Float32] = field(default_factory=dict)
    saturation: float = 0.0

    def applied(self, scoring: Scoring, documents: Int64) -> Scoring:
        """Return the adjusted ``scoring``; scores may exceed 1. ``documents`` (n,): the candidates' document ids."""
        if self.factors is not None:
            scoring = scoring.plus("boosts", scoring.total() * (self.factors - np.float32(1)))
        if self.saturation:
            scores = scoring.total()
            scoring = scoring.plus("saturation", saturated(scores, documents, self.saturation) - scores)
        return scoring

    def parts_of(self, row: int) -> dict[str, float]:
        """Return signal → share of one candidate, without zeros."""
        return {name: round(float(share[row]), 4) for name, share in self.shares.items() if share[row]}


def saturated(scores: Float32, documents: Int64, loss: float) -> Float32:
    """Return ``scores`` (n,), each multiplied by 1 - ``loss`` for every better one with the same document id.

    At most ten times. Ties are broken by order. The best chunk of each document keeps its score.
    """
    order = np.lexsort((np.arange(len(scores)), -scores, documents))
    owners = documents[order]
    every, first = np.arange(len(owners)), np.ones(len(owners), np.bool_)
    first[1:] = owners[1:] != owners[:-1]
    places = every - np.maximum.accumulate(np.where(first, every, 0))
    lost = np.empty(len(scores), np.float32)
    lost[order] = (1 - loss) ** np.minimum(places, _CROWD)
    return (scores * lost).astype(np.float32)
