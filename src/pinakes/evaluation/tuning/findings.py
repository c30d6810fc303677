"""The result of tuning, and whether it is significant."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from pinakes.core.records import JSON
from pinakes.evaluation.resampling import intervals, paired_p
from pinakes.evaluation.tuning.ascent import AscentResult, Rows, Scores, Stopped
from pinakes.evaluation.tuning.knobs import Point

LEVEL = 0.05
"""Significance level: an improvement is reported if the p value is below this."""

SLOWER = 0.10
"""A relative increase of the latency above this is a regression."""


@dataclass(frozen=True, slots=True)
class ScoreMean:
    """A mean over questions with its 95 % interval, ``low`` to ``high``."""

    mean: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Try:
    """Settings that were tried: the metric over all questions, and its difference from the current settings.

    ``milliseconds``: the median time of finding and ranking the candidates of a question, once each.
    """

    settings: Mapping[str, JSON]
    score: ScoreMean
    change: ScoreMean
    milliseconds: float


@dataclass(frozen=True, slots=True)
class HeldOut:
    """The results on held-out questions: each fold with the settings that the other folds chose.

    ``change`` has the mean difference from the current settings, ``p`` how often chance gives one as large.
    ``chosen``: the settings of each fold, none where the current ones were best.
    """

    current: float
    tuned: float
    change: ScoreMean
    p: float
    chosen: tuple[Mapping[str, JSON], ...]


@dataclass(frozen=True, slots=True)
class Speed:
    """Median latencies in milliseconds, with the current settings and with the best ones.

    ``p``: how often chance gives a difference as large.
    """

    current_ms: float
    tuned_ms: float
    p: float = 0.0

    @property
    def slower(self) -> bool:
        """Whether the increase is a regression."""
        return self.tuned_ms > self.current_ms * (1 + SLOWER) and self.p < LEVEL


@dataclass(frozen=True, slots=True)
class TuningResult:
    """The result of a tuning. ``best``: what all questions together chose, none when that is as it is set now.

    ``better``: it may be claimed; else ``why`` says why not.
    """

    metric: str
    questions: int
    folds: int
    tries: tuple[Try, ...]
    best: Mapping[str, JSON]
    held_out: HeldOut
    speed: Speed | None
    better: bool
    why: str
    stopped: Stopped


def held_out(climbed: AscentResult, every_fold: Sequence[Rows]) -> HeldOut:
    """Combine the results of the questions of each fold with the settings that the other folds chose."""
    current = climbed.tried[()]
    tuned = current.copy()
    for rows, point in zip(every_fold, climbed.points, strict=False):
        tuned[rows] = climbed.tried[point][rows]
    differences = (tuned - current).tolist()
    return HeldOut(
        current=float(current.mean()),
        tuned=float(tuned.mean()),
        change=_mean(differences),
        p=paired_p(differences),
        chosen=tuple(dict(point) for point in climbed.points[: len(every_fold)]),
    )


def tries(tried: Mapping[Point, Scores], milliseconds: Mapping[Point, float]) -> tuple[Try, ...]:
    """Return everything that was tried with its metrics, in order."""
    scores = np.column_stack(list(tried.values()))
    changes = scores - scores[:, :1]
    ends = intervals(np.concatenate([scores, changes], axis=1).tolist())
    count = scores.shape[1]
    return tuple(
        Try(
            settings=dict(point),
            score=ScoreMean(float(scores[:, column].mean()), *ends[column]),
            change=ScoreMean(float(changes[:, column].mean()), *ends[count + column]),
            milliseconds=milliseconds.get(point, 0.0),
        )
        for column, point in enumerate(tried)
    )


def verdict(best: Point, seen: HeldOut, speed: Speed | None) -> tuple[bool, str]:
    """Return whether ``best`` is significantly better than the current settings, and the reason if not."""
    if not best:
        return False, "nothing found that is better than what is set now"
    if seen.change.mean <= 0 or seen.p >= LEVEL:
        return False, "nothing found that is better than chance"
    if speed is not None and speed.slower:
        share = speed.tuned_ms / speed.current_ms - 1
        return False, f"better, but slower by {share:.0%}, which is more than {SLOWER:.0%}"
    return True, ""


def fragment(best: Mapping[str, JSON], heading: Sequence[str]) -> str:
    """Return a settings file in TOML with these dotted settings; ``heading`` are its comments."""
    sections: dict[str, list[str]] = {}
    for name, value in sorted(best.items()):
        section, _, field = name.rpartition(".")
        sections.setdefault(section, []).append(f"{field} = {json.dumps(value)}")
    parts = [f"[{section}]\n" + "\n".join(lines) for section, lines in sections.items()]
    return "\n".join(f"# {line}" for line in heading) + "\n\n" + "\n\n".join(parts) + "\n"


def _mean(values: Sequence[float]) -> ScoreMean:
    [(low, high)] = intervals([[value] for value in values])
    return ScoreMean(float(np.mean(values)), low, high)
