"""The report of an evaluation as one self-contained HTML page: tables, plots, and all misses with reasons."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from pinakes.core.errors import storing
from pinakes.evaluation.baseline import Verdict
from pinakes.evaluation.comparison import Comparison
from pinakes.evaluation.figures import ModeFigures
from pinakes.evaluation.messages import cautions, miss_words
from pinakes.evaluation.page_plots import STRIP, WIDTH, latency_curve, longest_ms, page, strip
from pinakes.evaluation.runs import Run

_LABELS, _BAR, _GAP, _CURVE = 150, 12, 10, 180
"""Sizes in pixels: width of the labels beside bars, height of a bar and below a group of them, height of the curve."""


@dataclass(frozen=True, slots=True)
class Bar:
    """A horizontal bar with its interval, in pixels."""

    mode: int
    y: float
    end: float
    low: float
    high: float
    label: str
    words: str


@dataclass(frozen=True, slots=True)
class Group:
    """The bars of one kind of question, one per mode."""

    label: str
    y: float
    bars: tuple[Bar, ...]


@dataclass(frozen=True, slots=True)
class Curve:
    """A line through points (``x,y x,y …``) in pixels, with marks (x, words)."""

    mode: int
    points: str
    marks: tuple[tuple[float, str], ...]


def write(path: Path, run: Run, comparison: Comparison | None = None, verdict: Verdict | None = None) -> None:
    """Write the page of a run, with its comparison and the result of the gate.

    Raises:
        StorageFull: it cannot be written.
    """
    with storing(str(path)):
        path.write_text(render(run, comparison, verdict), "utf-8")


def render(run: Run, comparison: Comparison | None = None, verdict: Verdict | None = None) -> str:
    """Return the page as text; text from questions and documents is escaped."""
    modes = list(run.modes.values())
    headline = run.metrics[0]
    return page(
        "page.html",
        run=run,
        modes=modes,
        headline=headline,
        kinds=sorted({kind for mode in modes for kind in mode.by_kind}),
        groups=groups(modes, headline),
        strips=[
            strip(
                (row.scores[headline], row.miss is not None, f"{row.id}: {row.scores[headline]:.3f}, {row.query}")
                for row in mode.rows
                if row.answer_exists
            )
            for mode in modes
        ],
        curves=curves(modes),
        longest_ms=longest_ms(mode.latency.p99_ms for mode in modes),
        comparison=comparison,
        verdict=verdict,
        cautions=cautions(run),
        miss_words=miss_words,
        size={"width": WIDTH, "labels": _LABELS, "strip": STRIP, "bar": _BAR, "curve": _CURVE},
    )


def groups(modes: Sequence[ModeFigures], headline: str) -> list[Group]:
    """Return the bars of all questions and of each kind."""
    kinds = sorted({kind for mode in modes for kind in mode.by_kind})
    found, y = [], 0.0
    for kind in ["all", *kinds]:
        bars = []
        for number, mode in enumerate(modes):
            figures = mode.overall if kind == "all" else mode.by_kind.get(kind)
            if figures is None:
                continue
            value, (low, high) = figures.metrics[headline], figures.intervals[headline]
            words = f"{mode.mode}, {kind}: {value:.3f} ({low:.3f} to {high:.3f}), {figures.questions} questions"
            ends = _across(value), _across(low), _across(high)
            bars.append(Bar(number, y + number * _BAR, *ends, f"{value:.3f}", words))
        found.append(Group(kind, y, tuple(bars)))
        y += len(modes) * _BAR + _GAP
    return found


def curves(modes: Sequence[ModeFigures]) -> list[Curve]:
    """Return, for each mode with latencies, the share of questions answered within a time in milliseconds."""
    longest = longest_ms(mode.latency.p99_ms for mode in modes)
    found = []
    for number, mode in enumerate(modes):
        if mode.latency.p99_ms > 0:
            points = latency_curve([row.milliseconds for row in mode.rows], longest, _CURVE)
            marks = (("p50", mode.latency.p50_ms), ("p95", mode.latency.p95_ms), ("p99", mode.latency.p99_ms))
            places = (
                (min(time, longest) / longest * WIDTH, f"{mode.mode} {name} {time:.1f} ms") for name, time in marks
            )
            found.append(Curve(number, points, tuple(places)))
    return found


def _across(value: float) -> float:
    return round(_LABELS + value * (WIDTH - _LABELS - 60), 1)
