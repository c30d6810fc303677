"""The report of a comparison as one self-contained HTML page."""

from __future__ import annotations

from pathlib import Path

from pinakes.core.errors import storing
from pinakes.evaluation.page_plots import STRIP, WIDTH, latency_curve, longest_ms, page, strip
from pinakes.evaluation.pairs import ComparisonReport

_CURVE = 160
MEASURES = {
    "overlap_5": "overlap@5",
    "overlap_20": "overlap@20",
    "tau": "Kendall's tau-b of the common documents of the first 20",
    "rbo": "rank-biased overlap (p = 0.9, extrapolated)",
}


def write(path: Path, report: ComparisonReport) -> None:
    """Write the page of a report.

    Raises:
        StorageFull: it cannot be written.
    """
    with storing(str(path)):
        path.write_text(render(report), "utf-8")


def render(report: ComparisonReport) -> str:
    """Return the page as text; text from questions and documents is escaped."""
    times = [[pair.milliseconds_a for pair in report.pairs], [pair.milliseconds_b for pair in report.pairs]]
    longest = longest_ms(side.latency.p99_ms for side in (report.a, report.b) if side.latency)
    return page(
        "compare.html",
        report=report,
        sides=(report.a, report.b),
        measures=MEASURES,
        dots=strip(
            (pair.overlap_5, pair.flagged, f"{pair.id}: {pair.overlap_5:.0%}, {pair.query}")
            for pair in report.pairs
            if pair.overlap_5 is not None
        ),
        curves=[latency_curve([time for time in one if time is not None], longest, _CURVE) for one in times],
        longest_ms=longest,
        pairs=sorted(report.pairs, key=lambda pair: 2.0 if pair.overlap_5 is None else pair.overlap_5),
        size={"width": WIDTH, "strip": STRIP, "curve": _CURVE},
    )
