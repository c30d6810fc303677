"""The parts that scores add up from. ``docs/ranking.md`` has the formulas."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import reduce

import numpy as np

from pinakes.core.late import changed
from pinakes.core.records import Bool, Float32, Hit


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
