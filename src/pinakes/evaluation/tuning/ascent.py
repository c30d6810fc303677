"""Coordinate ascent under cross-validation: one climb on the training questions of each fold, and one on all.

All climb in step: a knob is turned for all of them before the next is. So whenever the time or the tries are used up,
every climb stands at the same knob, and what they found can be compared. No climb sees a question of its own fold.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

import numpy as np

from pinakes.evaluation.tuning.knobs import Knob, Point, Values, moved

Scores: TypeAlias = "np.ndarray[Any, np.dtype[np.float64]]"
"""The metric of every question, float64 (questions,), 0 to 1."""

Rows: TypeAlias = "np.ndarray[Any, np.dtype[np.int64]]"
"""Indexes of questions, int64."""

Score: TypeAlias = Callable[[Point], Scores]
Stopped: TypeAlias = Literal["", "tries", "time", "interrupted"]
"""The reason for the early end of a climb: "" = none."""

_MOST_ROUNDS = 5
LEAST_GAIN = 0.0005
"""Minimum improvement of the mean for a change: the fewer settings differ, the easier they are to understand."""


@dataclass(frozen=True, slots=True)
class Budget:
    """The limits: maximum ``tries`` (scored settings without the current ones) and ``seconds``."""

    tries: int = 200
    seconds: float = 600.0


@dataclass(slots=True)
class AscentResult:
    """``points`` holds the current point of each climb: one per fold, then that of all questions.

    ``tried``: every point with its scores, in the order in which they were tried, the current settings first.
    """

    points: list[Point]
    tried: dict[Point, Scores] = field(default_factory=dict)
    stopped: Stopped = ""


def folds(kinds: Sequence[str], count: int, seed: int) -> list[Rows]:
    """Deal questions, given by their kinds, into ``count`` folds at random, stratified by kind."""
    random = np.random.default_rng(seed)
    dealt: list[list[int]] = [[] for _ in range(count)]
    place = 0
    for kind in sorted(set(kinds)):
        members = [row for row, one in enumerate(kinds) if one == kind]
        for row in random.permutation(members).tolist():
            dealt[place % count].append(row)
            place += 1
    return [np.sort(np.array(rows, np.int64)) for rows in dealt]


def climb(
    score: Score,
    every: Sequence[Knob],
    current: Values,
    held_out: Sequence[Rows],
    budget: Budget,
    on_try: Callable[[int], object] | None = None,
    clock: Callable[[], float] = time.monotonic,
) -> AscentResult:
    """Change one knob after another as long as that raises the mean score of the training questions.

    ``current`` are the values that the settings have now, where all climbs start. An interrupt from the keyboard ends
    the climb as a used-up budget does, once the current settings were scored. ``on_try`` gets how many were tried.
    """
    climbed = AscentResult([()] * (len(held_out) + 1))
    climbed.tried[()] = score(())
    everyone = np.arange(len(climbed.tried[()]))
    training = [*(np.setdiff1d(everyone, rows) for rows in held_out), everyone]
    tries = Tries(score, climbed.tried, budget, clock, on_try)
    try:
        if on_try is not None:
            on_try(0)
        for _ in range(_MOST_ROUNDS):
            before = list(climbed.points)
            _round(climbed, every, current, training, tries)
            if climbed.stopped or climbed.points == before:
                break
    except KeyboardInterrupt:
        climbed.stopped = "interrupted"
    return climbed


def _round(
    climbed: AscentResult, every: Sequence[Knob], current: Values, training: Sequence[Rows], tries: Tries
) -> None:
    """Change each knob once, for all climbs."""
    for knob in every:
        lines = [[moved(point, choice, current) for choice in knob.choices] for point in climbed.points]
        climbed.stopped = tries.make(point for together in zip(*lines, strict=True) for point in together)
        climbed.points = [
            _best(point, line, rows, climbed.tried)
            for point, line, rows in zip(climbed.points, lines, training, strict=True)
        ]
        if climbed.stopped:
            return


class Tries:
    """Scores points, each once, within the budget."""

    def __init__(
        self,
        score: Score,
        tried: dict[Point, Scores],
        budget: Budget,
        clock: Callable[[], float],
        on_try: Callable[[int], object] | None,
    ) -> None:
        self._score = score
        self._tried = tried
        self._most = budget.tries
        self._until = clock() + budget.seconds
        self._clock = clock
        self._on_try = on_try

    def make(self, points: Iterable[Point]) -> Stopped:
        """Score the new ones of ``points``; return the reason for an early end."""
        for point in points:
            if point in self._tried:
                continue
            if len(self._tried) > self._most:
                return "tries"
            if self._clock() >= self._until:
                return "time"
            try:
                self._tried[point] = self._score(point)
            except KeyboardInterrupt:
                return "interrupted"
            if self._on_try is not None:
                self._on_try(len(self._tried) - 1)
        return ""


def _best(now: Point, line: Sequence[Point], rows: Rows, tried: dict[Point, Scores]) -> Point:
    """Return the point of ``line`` with the best mean over ``rows``, the first of equals; ``now`` if none is better.

    Better by a standard error of the difference, at least: the rule of Breiman, Friedman, Olshen and Stone
    (Classification and Regression Trees, 1984), which keeps what is simpler where the figures do not decide.
    """
    means = {point: float(tried[point][rows].mean()) for point in line if point in tried}
    best = max(means, key=lambda point: means[point], default=now)
    gains = tried[best][rows] - tried[now][rows]
    error = float(gains.std(ddof=1)) / len(rows) ** 0.5 if len(rows) > 1 else 0.0
    return best if float(gains.mean()) > max(LEAST_GAIN, error) else now
