"""The reports of an evaluation and of a comparison, each one self-contained HTML page.

That of an evaluation has tables, plots, and all misses with reasons.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pinakes.core.errors import storing
from pinakes.evaluation.baseline import Verdict
from pinakes.evaluation.figures import ModeFigures
from pinakes.evaluation.messages import cautions, miss_words
from pinakes.evaluation.pairs import ComparisonReport
from pinakes.evaluation.run_comparison import Comparison
from pinakes.evaluation.runs import Run

_WIDTH, _STRIP = 720, 110
"""Sizes in pixels: width of a plot, height of a strip of questions."""

_LABELS, _BAR, _GAP, _CURVE, _COMPARED_CURVE = 150, 12, 10, 180, 160
"""Sizes in pixels: width of the labels beside bars, height of a bar and below a group of them, heights of curves."""

_MEASURES = {
    "overlap_5": "overlap@5",
    "overlap_20": "overlap@20",
    "tau": "Kendall's tau-b of the common documents of the first 20",
    "rbo": "rank-biased overlap (p = 0.9, extrapolated)",
}


@dataclass(frozen=True, slots=True)
class Dot:
    """A question in a strip, in pixels; ``marked``: shown in red."""

    x: float
    y: float
    marked: bool
    words: str


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


def write(path: Path, page: str) -> None:
    """Write a page.

    Raises:
        StorageFull: it cannot be written.
    """
    with storing(str(path)):
        path.write_text(page, "utf-8")


def evaluation_page(run: Run, comparison: Comparison | None = None, verdict: Verdict | None = None) -> str:
    """Return the page of a run, with its comparison and the result of the gate; all foreign text is escaped."""
    modes = list(run.modes.values())
    headline = run.metrics[0]
    return _page(
        "page.html",
        run=run,
        modes=modes,
        headline=headline,
        kinds=sorted({kind for mode in modes for kind in mode.by_kind}),
        groups=groups(modes, headline),
        strips=[
            _strip(
                (row.scores[headline], row.miss is not None, f"{row.id}: {row.scores[headline]:.3f}, {row.query}")
                for row in mode.rows
                if row.answer_exists
            )
            for mode in modes
        ],
        curves=curves(modes),
        longest_ms=_longest_ms(mode.latency.p99_ms for mode in modes),
        comparison=comparison,
        verdict=verdict,
        cautions=cautions(run),
        miss_words=miss_words,
        size={"width": _WIDTH, "labels": _LABELS, "strip": _STRIP, "bar": _BAR, "curve": _CURVE},
    )


def comparison_page(report: ComparisonReport) -> str:
    """Return the page of a comparison; all foreign text is escaped."""
    times = [[pair.milliseconds_a for pair in report.pairs], [pair.milliseconds_b for pair in report.pairs]]
    longest = _longest_ms(side.latency.p99_ms for side in (report.a, report.b) if side.latency)
    return _page(
        "compare.html",
        report=report,
        sides=(report.a, report.b),
        measures=_MEASURES,
        dots=_strip(
            (pair.overlap_5, pair.flagged, f"{pair.id}: {pair.overlap_5:.0%}, {pair.query}")
            for pair in report.pairs
            if pair.overlap_5 is not None
        ),
        curves=[_latency_curve([time for time in one if time is not None], longest, _COMPARED_CURVE) for one in times],
        longest_ms=longest,
        pairs=sorted(report.pairs, key=lambda pair: 2.0 if pair.overlap_5 is None else pair.overlap_5),
        size={"width": _WIDTH, "strip": _STRIP, "curve": _COMPARED_CURVE},
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
    longest = _longest_ms(mode.latency.p99_ms for mode in modes)
    found = []
    for number, mode in enumerate(modes):
        if mode.latency.p99_ms > 0:
            points = _latency_curve([row.milliseconds for row in mode.rows], longest, _CURVE)
            marks = (("p50", mode.latency.p50_ms), ("p95", mode.latency.p95_ms), ("p99", mode.latency.p99_ms))
            places = (
                (min(time, longest) / longest * _WIDTH, f"{mode.mode} {name} {time:.1f} ms") for name, time in marks
            )
            found.append(Curve(number, points, tuple(places)))
    return found


def _across(value: float) -> float:
    return round(_LABELS + value * (_WIDTH - _LABELS - 60), 1)


def _page(template: str, **values: Any) -> str:
    """Return a page as text; text from questions and documents is escaped."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("pinakes.evaluation", "."),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template(template).render(**values)


def _strip(questions: Iterable[tuple[float, bool, str]]) -> list[Dot]:
    """Return a dot for each question (value from 0 to 1, marked, words), the best first."""
    ordered = sorted(questions, key=lambda one: -one[0])
    step = _WIDTH / max(1, len(ordered))
    return [
        Dot(round((place + 0.5) * step, 1), round((1 - value) * (_STRIP - 10) + 5, 1), marked, words)
        for place, (value, marked, words) in enumerate(ordered)
    ]


def _latency_curve(times: Sequence[float], longest_ms: float, height: int) -> str:
    """Return points (``x,y x,y …``, in pixels) of the share of questions answered within a time; "" without times."""
    ordered = sorted(min(time, longest_ms) for time in times)
    points = (
        f"{time / longest_ms * _WIDTH:.1f},{(1 - rank / len(ordered)) * height:.1f}"
        for rank, time in enumerate(ordered, start=1)
    )
    return f"0,{height} {' '.join(points)}" if ordered else ""


def _longest_ms(p99_ms: Iterable[float]) -> float:
    """Return the maximum of the latency axis in ms: slightly above the largest 99th percentile."""
    return max(p99_ms, default=0.0) * 1.05 or 1.0
