"""The records of an evaluation: one row per question, and the metrics aggregated over questions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Literal, TypeAlias

from pinakes.evaluation.resampling import Latency, intervals, latency

Reason: TypeAlias = Literal["not in the collection", "lost by filter", "not retrieved", "ranked low", "answered"]
"""The reason for a miss; "answered": the question has no answer, but one was given."""

HEAD = 10
"""A question without a relevant document up to this rank is a miss."""


@dataclass(frozen=True, slots=True)
class Miss:
    """The reason for a miss.

    ``document`` is the relevant document that came nearest, ``rank`` its place in the ranking, ``keyword`` and
    ``vector`` those in each retriever by itself, from 1; None where it is not there as deep as was looked.
    """

    reason: Reason
    document: str = ""
    rank: int | None = None
    keyword: int | None = None
    vector: int | None = None


@dataclass(frozen=True, slots=True)
class Row:
    """The result of a question. ``scores``: metric → value, empty if it has no answer; ``rank``: of the first relevant.

    ``ranking``: the first documents. ``refused``: the answer was that there is none. ``answerable``: how probable an
    answer is, 0 to 1, as the search said; None where it did not. ``degraded``: what did not contribute.
    """

    id: str
    kind: str
    query: str
    answer_exists: bool
    scores: Mapping[str, float]
    milliseconds: float
    ranking: tuple[str, ...]
    rank: int | None = None
    refused: bool = False
    answerable: float | None = None
    degraded: str | None = None
    miss: Miss | None = None


@dataclass(frozen=True, slots=True)
class Figures:
    """Mean metrics over ``questions`` that have an answer, each with its 95 % interval (low, high)."""

    questions: int
    metrics: Mapping[str, float]
    intervals: Mapping[str, tuple[float, float]]


@dataclass(frozen=True, slots=True)
class Refusals:
    """Counts for the detection of questions without an answer.

    ``recognised`` of the ``no_answer`` questions were refused, and ``false_alarms`` of those that have an answer.
    """

    no_answer: int
    recognised: int
    answerable: int
    false_alarms: int


@dataclass(frozen=True, slots=True)
class ModeFigures:
    """The result of one mode: metrics ``overall`` and by kind of question, latency, refusals, all questions."""

    mode: str
    overall: Figures
    by_kind: Mapping[str, Figures]
    latency: Latency
    refusals: Refusals
    rows: tuple[Row, ...]


def summarise(mode: str, rows: Sequence[Row]) -> ModeFigures:
    """Aggregate the rows of all questions."""
    answerable = [row for row in rows if row.answer_exists]
    others = [row for row in rows if not row.answer_exists]
    kinds = sorted({row.kind for row in answerable if row.kind})
    return ModeFigures(
        mode=mode,
        overall=figures([row.scores for row in answerable]),
        by_kind={kind: figures([row.scores for row in answerable if row.kind == kind]) for kind in kinds},
        latency=latency([row.milliseconds for row in rows]),
        refusals=Refusals(
            no_answer=len(others),
            recognised=sum(row.refused for row in others),
            answerable=len(answerable),
            false_alarms=sum(row.refused for row in answerable),
        ),
        rows=tuple(rows),
    )


def figures(scores: Sequence[Mapping[str, float]]) -> Figures:
    """Return the mean of every metric with its interval."""
    if not scores:
        return Figures(0, {}, {})
    names = list(scores[0])
    ends = intervals([[one[name] for name in names] for one in scores])
    means = {name: fmean(one[name] for one in scores) for name in names}
    return Figures(len(scores), means, dict(zip(names, ends, strict=True)))
