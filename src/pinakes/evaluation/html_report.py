"""The report of an evaluation as one self-contained HTML page: tables, plots, and all misses with reasons."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from pinakes.core.errors import storing
from pinakes.evaluation.baseline import Verdict
from pinakes.evaluation.comparison import Comparison
from pinakes.evaluation.figures import ModeFigures, Row
from pinakes.evaluation.messages import cautions, miss_words
from pinakes.evaluation.runs import Run

WIDTH, LABELS, STRIP = 720, 150, 110
"""Sizes in pixels: width of a plot, width of the labels beside bars, height of a strip of questions."""

_BAR, _GAP = 12, 10
_CURVE = 180


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
class StripPoint:
    """A question in a strip, in pixels."""

    x: float
    y: float
    missed: bool
    words: str


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
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("pinakes.evaluation", "."),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    modes = list(run.modes.values())
    headline = run.metrics[0]
    return environment.get_template("page.html").render(
        run=run,
        modes=modes,
        headline=headline,
        kinds=sorted({kind for mode in modes for kind in mode.by_kind}),
        groups=groups(modes, headline),
        strips=[strip(mode.rows, headline) for mode in modes],
        curves=curves(modes),
        longest_ms=longest(modes),
        comparison=comparison,
        verdict=verdict,
        cautions=cautions(run),
        miss_words=miss_words,
        size={"width": WIDTH, "labels": LABELS, "strip": STRIP, "bar": _BAR, "curve": _CURVE},
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


def strip(rows: Sequence[Row], headline: str) -> list[StripPoint]:
    """Return a dot for each question that has an answer, the best first."""
    ordered = sorted((row for row in rows if row.answer_exists), key=lambda row: -row.scores[headline])
    step = WIDTH / max(1, len(ordered))
    return [
        StripPoint(
            x=round((place + 0.5) * step, 1),
            y=round((1 - row.scores[headline]) * (STRIP - 10) + 5, 1),
            missed=row.miss is not None,
            words=f"{row.id}: {row.scores[headline]:.3f}, {row.query}",
        )
        for place, row in enumerate(ordered)
    ]


def curves(modes: Sequence[ModeFigures]) -> list[Curve]:
    """Return, for each mode with latencies, the share of questions answered within a time in milliseconds."""
    timed = [mode for mode in modes if mode.latency.p99_ms > 0]
    most = longest(timed)
    found = []
    for number, mode in enumerate(modes):
        if mode not in timed:
            continue
        times = sorted(min(row.milliseconds, most) for row in mode.rows)
        points = " ".join(
            f"{time / most * WIDTH:.1f},{(1 - rank / len(times)) * _CURVE:.1f}"
            for rank, time in enumerate(times, start=1)
        )
        marks = (("p50", mode.latency.p50_ms), ("p95", mode.latency.p95_ms), ("p99", mode.latency.p99_ms))
        found.append(
            Curve(
                number,
                f"0,{_CURVE} {points}",
                tuple((min(time, most) / most * WIDTH, f"{mode.mode} {name} {time:.1f} ms") for name, time in marks),
            )
        )
    return found


def longest(modes: Sequence[ModeFigures]) -> float:
    """Return the maximum of the latency axis in ms: slightly above the largest 99th percentile."""
    return max((mode.latency.p99_ms for mode in modes), default=0.0) * 1.05 or 1.0


def _across(value: float) -> float:
    return round(LABELS + value * (WIDTH - LABELS - 60), 1)
