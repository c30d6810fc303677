"""The records of a comparison: one pair per question, the two sides, and the aggregates."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from pinakes.evaluation.querying import Origin
from pinakes.evaluation.resampling import Latency


@dataclass(frozen=True, slots=True)
class Mean:
    """The mean of a measure over ``questions``, with its 95 % interval."""

    mean: float
    low: float
    high: float
    questions: int


@dataclass(frozen=True, slots=True)
class PairedDifference:
    """A metric of both sides over the judged questions; ``p``: probability of such a difference by chance."""

    a: float
    b: float
    difference: float
    p: float


@dataclass(frozen=True, slots=True)
class SystemReport:
    """A side, and how it answered: counts of questions by where the answer comes from, and of ``degraded`` answers.

    ``latency`` is that of answers of ``passages`` chunks given now, None where nothing was timed. ``kept_since``,
    ``kept_until``: when the oldest and the newest of the kept answers were given. ``failure``: the first reason why it
    did not answer. ``unique``: documents that only this side has among its first 20, for all questions together.
    """

    label: str
    kind: str
    mode: str
    passages: int
    collection: str
    documents: int | None
    model: str
    asked: int
    kept: int
    unanswered: int
    degraded: int
    latency: Latency | None
    kept_since: str
    kept_until: str
    failure: str
    unique: int


@dataclass(frozen=True, slots=True)
class Pair:
    """One question on both sides; compared values are None if a side has no answer.

    ``a`` and ``b``: the first 20 documents; ``only_a``, ``only_b``: those that the other has not among its own.
    ``why``: why a side did not answer now.
    """

    id: str
    kind: str
    query: str
    a: tuple[str, ...]
    b: tuple[str, ...]
    only_a: tuple[str, ...]
    only_b: tuple[str, ...]
    overlap_5: float | None
    overlap_20: float | None
    tau: float | None
    rbo: float | None
    milliseconds_a: float | None
    milliseconds_b: float | None
    origin_a: Origin
    origin_b: Origin
    flagged: bool = False
    why: str = ""
    scores_a: Mapping[str, float] = field(default_factory=dict)
    scores_b: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ComparisonReport:
    """The result of a comparison.

    ``agreement``: measure → mean. ``metrics``: metric → both sides, over ``judged`` questions. ``compared``: questions
    that both sides answered. ``linked_by``: what documents of both sides have in common. ``differences``: settings
    that are not the same; ``cautions``: what a reader has to know. Both in words.
    """

    created_at: str
    golden: str
    questions: int
    compared: int
    flagged: int
    judged: int
    linked_by: str
    a: SystemReport
    b: SystemReport
    agreement: Mapping[str, Mean]
    metrics: Mapping[str, PairedDifference]
    differences: tuple[str, ...]
    cautions: tuple[str, ...]
    pairs: tuple[Pair, ...]
