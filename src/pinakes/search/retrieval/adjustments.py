"""What chunks are lifted or lowered by, besides their scores."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from pinakes.core.records import Float32, Int64
from pinakes.search.retrieval.scoring import Scoring

_CROWD = 10
"""A chunk loses no more for further better ones of its document."""


@dataclass(frozen=True, slots=True)
class ScoreAdjustments:
    """What changes the scores of n candidates, in their order.

    ``factors`` float32 (n,): what the scores are multiplied by; None = by 1. ``shares``: name of a signal → float32
    (n,), what it adds to 1 there. ``saturation``: what a chunk loses for each better one of its document.
    """

    factors: Float32 | None = None
    shares: Mapping[str, Float32] = field(default_factory=dict)
    saturation: float = 0.0

    def applied(self, scoring: Scoring, documents: Int64) -> Scoring:
        """Return ``scoring`` with what this adds; scores may exceed 1. ``documents`` (n,) are the candidates'."""
        if self.factors is not None:
            scoring = scoring.plus("boosts", scoring.total() * (self.factors - np.float32(1)))
        if self.saturation:
            scores = scoring.total()
            scoring = scoring.plus("saturation", saturated(scores, documents, self.saturation) - scores)
        return scoring

    def parts_of(self, row: int) -> dict[str, float]:
        """Return what each signal adds in one row of the candidates, less those that add nothing."""
        return {name: round(float(share[row]), 4) for name, share in self.shares.items() if share[row]}


def saturated(scores: Float32, documents: Int64, loss: float) -> Float32:
    """Return ``scores`` (n,), each times (1 - ``loss``) for every better one of the same of ``documents`` (n,).

    At most ten times. Equal scores count in their order. The best of each document keeps its score.
    """
    order = np.lexsort((np.arange(len(scores)), -scores, documents))
    owners = documents[order]
    every, first = np.arange(len(owners)), np.ones(len(owners), np.bool_)
    first[1:] = owners[1:] != owners[:-1]
    places = every - np.maximum.accumulate(np.where(first, every, 0))
    lost = np.empty(len(scores), np.float32)
    lost[order] = (1 - loss) ** np.minimum(places, _CROWD)
    return (scores * lost).astype(np.float32)
