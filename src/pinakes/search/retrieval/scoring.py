"""The parts that scores add up from. ``docs/ranking.md`` has the formulas."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import reduce

import numpy as np

from pinakes.core.late import changed
from pinakes.core.records import Bool, Float32, Hit, Int64


@dataclass(frozen=True, slots=True)
class Scoring:
    """The parts of the scores of n candidates, all float32 (n,).

    ``parts``: name → summand of the score. ``raw``: name of a field of ``Scores`` → its values, for fields that only
    the ranking knows.
    """

    parts: Mapping[str, Float32]
    raw: Mapping[str, Float32] = field(default_factory=dict)

    def total(self) -> Float32:
        """Return the scores, float32 (n,): the sum of all parts."""
        return reduce(np.add, self.parts.values())

    def plus(self, name: str, added: Float32) -> Scoring:
        """Return this scoring with ``added`` as a new part, or added to an existing one."""
        before = self.parts.get(name)
        return replace(self, parts={**self.parts, name: added if before is None else before + added})

    def only(self, rows: Bool) -> Scoring:
        """Return this scoring with all parts 0 outside of ``rows`` bool (n,)."""
        return replace(self, parts={name: np.where(rows, part, np.float32(0)) for name, part in self.parts.items()})

    def parts_of(self, row: int) -> dict[str, float]:
        """Return name → part of one candidate, without zeros."""
        return {name: value for name, part in self.parts.items() if (value := part.item(row))}

    def raw_of(self, row: int) -> dict[str, float]:
        """Return name → raw value of one candidate."""
        return {name: values.item(row) for name, values in self.raw.items()}


def with_score(hit: Hit, score: float, name: str) -> Hit:
    """Return ``hit`` with a new score; the difference is added to the part ``name``."""
    return changed(hit, score=score, score_parts=plus(hit.score_parts, name, score - hit.score))


def plus(parts: Mapping[str, float], name: str, added: float) -> dict[str, float]:
    """Return ``parts`` with ``added`` as a new part, or added to an existing one."""
    return {**parts, name: parts.get(name, 0.0) + added} if added else dict(parts)


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
