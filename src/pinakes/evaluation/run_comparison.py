"""Comparison of two runs, by metric and by question."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from statistics import fmean

from pinakes.core.errors import InvalidInput
from pinakes.evaluation.figures import ModeFigures, Row
from pinakes.evaluation.resampling import Latency, paired_p
from pinakes.evaluation.runs import Run, changed_settings, shown

_MOST_CHANGED = 10


@dataclass(frozen=True, slots=True)
class MetricDifference:
    """A metric in both runs, over their common questions; ``p``: probability of such a difference by chance."""

    before: float
    after: float
    difference: float
    p: float


@dataclass(frozen=True, slots=True)
class Moved:
    """A question whose headline metric changed, and the rank of its first relevant document before and after."""

    id: str
    query: str
    before: float
    after: float
    rank_before: int | None
    rank_after: int | None


@dataclass(frozen=True, slots=True)
class ModeComparison:
    """One mode in both runs: ``questions`` they share, metric → change, the questions that changed most."""

    questions: int
    changes: Mapping[str, MetricDifference]
    moved: tuple[Moved, ...]
    latency_before: Latency
    latency_after: Latency


@dataclass(frozen=True, slots=True)
class Comparison:
    """A run compared with an earlier one. ``differences``: differences in what they measured, as text."""

    against: str
    differences: tuple[str, ...]
    modes: Mapping[str, ModeComparison]


def differences(before: Run, after: Run) -> list[str]:
    """Return the differences of two runs in questions, corpus and configuration, as text; empty if comparable."""
    found = []
    if before.golden.digest != after.golden.digest:
        found.append(
            f"questions: {before.golden.name} with {before.golden.questions} then, "
            f"{after.golden.name} with {after.golden.questions} now, not the same ones"
        )
    for name in ("collection", "documents", "chunks", "pending", "model"):
        old, new = getattr(before.corpus, name), getattr(after.corpus, name)
        if old != new:
            found.append(f"corpus: {name} {shown(old)} then, {shown(new)} now")
    if before.corpus.fingerprint != after.corpus.fingerprint and not any(one.startswith("corpus") for one in found):
        found.append(f"corpus: the text of some of the {after.corpus.documents} documents")
    changed = changed_settings(before.configuration, after.configuration)
    return [*found, *(f"{name}: {old} then, {new} now" for name, old, new in changed)]


def compare(before: Run, after: Run, *, anyway: bool = False) -> Comparison:
    """Return the changes from one run to ``after``, over the common questions, modes and metrics.

    Raises:
        InvalidInput: they measured different things, and not ``anyway``; or they share no mode or question.
    """
    different = differences(before, after)
    if different and not anyway:
        raise InvalidInput(
            f"The run {before.name} measured something else: {'; '.join(different)}.",
            hint="To compare them all the same: --anyway",
        )
    shared = [mode for mode in after.modes if mode in before.modes]
    if not shared:
        raise InvalidInput(
            f"The run {before.name} has none of the modes {', '.join(after.modes)}.",
            hint=f"It has {', '.join(before.modes)}; choose one with --mode.",
        )
    modes = {mode: _compared(before.modes[mode], after.modes[mode]) for mode in shared}
    return Comparison(before.name, tuple(different), modes)


def _compared(before: ModeFigures, after: ModeFigures) -> ModeComparison:
    known = {row.id: row for row in before.rows if row.answer_exists}
    pairs = [(known[row.id], row) for row in after.rows if row.answer_exists and row.id in known]
    if not pairs:
        raise InvalidInput("The two runs share no question.", hint="Compare runs of the same golden set.")
    metrics = [name for name in pairs[0][1].scores if name in pairs[0][0].scores]
    if not metrics:
        raise InvalidInput("The two runs share no metric.", hint="Name one that the earlier run has: --metric ndcg@10")
    changes = {name: _change([(old.scores[name], new.scores[name]) for old, new in pairs]) for name in metrics}
    moved = [_moved(old, new, metrics[0]) for old, new in pairs if old.scores[metrics[0]] != new.scores[metrics[0]]]
    moved.sort(key=lambda one: -abs(one.after - one.before))
    return ModeComparison(len(pairs), changes, tuple(moved[:_MOST_CHANGED]), before.latency, after.latency)


def _change(pairs: list[tuple[float, float]]) -> MetricDifference:
    before, after = fmean(old for old, _ in pairs), fmean(new for _, new in pairs)
    return MetricDifference(before, after, after - before, paired_p([new - old for old, new in pairs]))


def _moved(old: Row, new: Row, headline: str) -> Moved:
    return Moved(new.id, new.query, old.scores[headline], new.scores[headline], old.rank, new.rank)
