"""The report of a comparison as one self-contained HTML page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from pinakes.core.errors import storing
from pinakes.evaluation.pairs import ComparisonReport, Pair

WIDTH, STRIP, CURVE = 720, 110, 160
MEASURES = {
    "overlap_5": "overlap@5",
    "overlap_20": "overlap@20",
    "tau": "Kendall's tau-b of the common documents of the first 20",
    "rbo": "rank-biased overlap (p = 0.9, extrapolated)",
}


@dataclass(frozen=True, slots=True)
class PlotPoint:
    """A question in the plot, in pixels."""

    x: float
    y: float
    flagged: bool
    words: str


def write(path: Path, report: ComparisonReport) -> None:
    """Write the page of a report.

    Raises:
        StorageFull: it cannot be written.
    """
    with storing(str(path)):
        path.write_text(render(report), "utf-8")


def render(report: ComparisonReport) -> str:
    """Return the page as text; text from questions and documents is escaped."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("pinakes.evaluation", "."),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    times = [[pair.milliseconds_a for pair in report.pairs], [pair.milliseconds_b for pair in report.pairs]]
    longest_ms = max((side.latency.p99_ms for side in (report.a, report.b) if side.latency), default=0.0) * 1.05 or 1.0
    return environment.get_template("compare.html").render(
        report=report,
        sides=(report.a, report.b),
        measures=MEASURES,
        dots=dots(report.pairs),
        curves=[curve([time for time in one if time is not None], longest_ms) for one in times],
        longest_ms=longest_ms,
        pairs=sorted(report.pairs, key=lambda pair: 2.0 if pair.overlap_5 is None else pair.overlap_5),
        size={"width": WIDTH, "strip": STRIP, "curve": CURVE},
    )


def dots(pairs: Sequence[Pair]) -> list[PlotPoint]:
    """Return a dot for each question that both sides answered; y is overlap@5, the best first."""
    ordered = sorted(((pair.overlap_5, pair) for pair in pairs if pair.overlap_5 is not None), key=lambda one: -one[0])
    step = WIDTH / max(1, len(ordered))
    return [
        PlotPoint(
            x=round((place + 0.5) * step, 1),
            y=round((1 - share) * (STRIP - 10) + 5, 1),
            flagged=pair.flagged,
            words=f"{pair.id}: {share:.0%}, {pair.query}",
        )
        for place, (share, pair) in enumerate(ordered)
    ]


def curve(times: Sequence[float], longest_ms: float) -> str:
    """Return points (``x,y x,y …``, in pixels) of the share of questions answered within a time in milliseconds."""
    if not times:
        return ""
    ordered = sorted(min(time, longest_ms) for time in times)
    points = (
        f"{time / longest_ms * WIDTH:.1f},{(1 - rank / len(ordered)) * CURVE:.1f}"
        for rank, time in enumerate(ordered, start=1)
    )
    return f"0,{CURVE} {' '.join(points)}"
