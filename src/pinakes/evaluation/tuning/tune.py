"""The complete tuning, from the first try to the verdict."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Protocol

from pinakes.core.errors import InvalidInput
from pinakes.evaluation.questions import Question
from pinakes.evaluation.tuning import ascent, findings
from pinakes.evaluation.tuning.ascent import Budget, Scores
from pinakes.evaluation.tuning.findings import Speed, TuningResult
from pinakes.evaluation.tuning.knobs import Knob, Point, Values

FOLDS = 3
MOST_FOLDS = 5
"""More folds choose by nearly the same questions, so that what they judge is not independent: in pure noise (60
questions, 200 tries) 1 % of 2 folds, 2 % of 3, 5 % of 5 and 7 % of 10 folds were better by the test at 5 %."""

_LEAST_A_FOLD = 4


class Scorer(Protocol):
    """What gives settings their scores. ``trials.Trials`` is one."""

    milliseconds: dict[Point, float]

    def score(self, point: Point) -> Scores:
        """Return the metric of every question; store the time of each question in ``milliseconds``."""
        ...

    def speed(self, point: Point) -> Speed:
        """Compare the latency with the current settings and with ``point``."""
        ...


@dataclass(frozen=True, slots=True)
class TuningPlan:
    """The knobs, start, limits and judgement of a tuning. ``metric``: the name of the scored metric."""

    knobs: Sequence[Knob]
    current: Values
    metric: str
    folds: int = FOLDS
    seed: int = 0
    budget: Budget = field(default_factory=Budget)


def judged(questions: Sequence[Question], folds: int) -> list[Question]:
    """Return the questions that have an answer; only these can be scored.

    Raises:
        InvalidInput: they are too few for so many folds, or there are too few folds.
    """
    found = [question for question in questions if question.answerable]
    if not 2 <= folds <= MOST_FOLDS:
        raise InvalidInput(f"Tuning with {folds} folds cannot be judged.", hint=f"Use 2 to {MOST_FOLDS} folds.")
    if len(found) < _LEAST_A_FOLD * folds:
        raise InvalidInput(
            f"{len(found)} questions with an answer are too few for {folds} folds.",
            hint=f"Write {_LEAST_A_FOLD * folds} or more, better 50.",
        )
    return found


def tune(
    scorer: Scorer, questions: Sequence[Question], plan: TuningPlan, on_try: Callable[[int], object] | None = None
) -> TuningResult:
    """Climb from the current settings, and judge the result on held-out questions.

    ``questions`` are those of ``judged``. An interrupt from the keyboard ends the climb; what was found until then is
    returned. ``on_try`` gets the number of those tried.
    """
    every_fold = ascent.folds([question.kind for question in questions], plan.folds, plan.seed)
    climbed = ascent.climb(scorer.score, plan.knobs, plan.current, every_fold, plan.budget, on_try)
    best = climbed.points[-1]
    seen = findings.held_out(climbed, every_fold)
    speed = None
    if best and climbed.stopped != "interrupted":
        with suppress(KeyboardInterrupt):  # there is an answer: it is shown without its speed
            speed = scorer.speed(best)
    better, why = findings.verdict(best, seen, speed)
    return TuningResult(
        metric=plan.metric,
        questions=len(questions),
        folds=plan.folds,
        tries=findings.tries(climbed.tried, scorer.milliseconds),
        best=dict(best),
        held_out=seen,
        speed=speed,
        better=better,
        why=why,
        stopped=climbed.stopped,
    )
