"""What scores are made of: numbers that add up to them. ``docs/ranking.md`` has the formula of each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import reduce

import numpy as np

from pinakes.core.late import changed
from pinakes.core.records import Bool, Float32, Hit


@dataclass(frozen=True, slots=True)
class Scoring:
    """What the scores of n candidates are made of, all float32 (n,).

    ``parts``: name → what it adds to the score; their sum is the score. ``raw``: name of a field of ``types.Scores`` →
    the value there, for those that only the ranking knows.
    """

    parts: Mapping[str, Float32]
    raw: Mapping[str, Float32] = field(default_factory=dict)

    def total(self) -> Float32:
        """Return the scores, float32 (n,)."""
        return reduce(np.add, self.parts.values())

    def plus(self, name: str, added: Float32) -> Scoring:
        """Return this with another part, or more of one that is there."""
        before = self.parts.get(name)
        return replace(self, parts={**self.parts, name: added if before is None else before + added})

    def only(self, rows: Bool) -> Scoring:
        """Return this without any part outside of ``rows`` bool (n,)."""
        return replace(self, parts={name: np.where(rows, part, np.float32(0)) for name, part in self.parts.items()})

    def parts_of(self, row: int) -> dict[str, float]:
        """Return the parts of one candidate, less those that add nothing."""
        return {name: value for name, part in self.parts.items() if (value := part.item(row))}

    def raw_of(self, row: int) -> dict[str, float]:
        """Return the values of ``raw`` of one candidate."""
        return {name: values.item(row) for name, values in self.raw.items()}


def with_score(hit: Hit, score: float, name: str) -> Hit:
    """Return ``hit`` with another score; the difference is the part ``name``, or more of it."""
    return changed(hit, score=score, score_parts=plus(hit.score_parts, name, score - hit.score))


def plus(parts: Mapping[str, float], name: str, added: float) -> dict[str, float]:
    """Return ``parts`` with another part, or more of one that is there."""
    return {**parts, name: parts.get(name, 0.0) + added} if added else dict(parts)
