"""The report of ``compare`` as people read it in a terminal, 80 columns wide."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from pinakes.cli.screen import Screen
from pinakes.core.wording import cut

if TYPE_CHECKING:
    from pinakes.evaluation.pairs import ComparisonReport, Pair, SystemReport

MEASURES = {
    "overlap_5": "overlap@5",
    "overlap_20": "overlap@20",
    "tau": "Kendall's tau",
    "rbo": "rank-biased overlap",
}
_WIDTH, _NAME, _COLUMN = 78, 22, 10
_FLAGGED, _DOCUMENTS, _SETTINGS = 10, 2, 12
_TAIL = 27


def show(screen: Screen, report: ComparisonReport) -> None:
    """Print both sides, agreement, latency, metrics, and the questions with little in common."""
    counted = (
        f"{report.compared} of {report.questions}" if report.compared < report.questions else f"{report.questions}"
    )
    screen.show(f"{report.golden}: {counted} questions compared")
    for letter, side in (("A", report.a), ("B", report.b)):
        screen.show(_cut(f"{letter}  {side.label}: {_words(side)}"))
        if side.model:
            screen.show(f"   {_end(side.model, _WIDTH - 3)}")
    if len(report.differences) <= _SETTINGS:
        for difference in report.differences:
            if not difference.startswith("model: "):
                screen.show(_cut(f"   {difference}"))
    else:
        screen.show(f"   {len(report.differences)} settings differ (--json names them)")
    screen.warn(*report.cautions)
    _show_agreement(screen, report)
    _show_latency(screen, report)
    _show_metrics(screen, report)
    _show_flagged(screen, report)


def _words(side: SystemReport) -> str:
    held = f"{side.documents:,} documents" if side.documents is not None else ""
    collection = side.collection if side.collection != side.label else ""
    return ", ".join(part for part in (side.kind, collection, side.mode, held) if part)


def _show_agreement(screen: Screen, report: ComparisonReport) -> None:
    screen.show()
    screen.show(f"{'agreement':<{_NAME}}{'mean':>7}   {'95 % interval':<16}{'questions':>9}")
    for name, mean in report.agreement.items():
        interval = f"{mean.low:.3f} to {mean.high:.3f}"
        screen.show(f"{MEASURES[name]:<{_NAME}}{mean.mean:>7.3f}   {interval:<16}{mean.questions:>9}")
    by = f"; documents compared by {report.linked_by}" if report.linked_by else ""
    screen.show(f"only among the first 20 of A: {report.a.unique} documents, of B: {report.b.unique}{by}")


def _show_latency(screen: Screen, report: ComparisonReport) -> None:
    if report.a.latency is None and report.b.latency is None:
        return
    screen.show()
    chunks = max(report.a.passages, report.b.passages)
    screen.show(_row(f"{chunks} chunks in ms", "A", "B"))
    for name in ("p50", "p95", "p99"):
        figures = [
            f"{getattr(side.latency, f'{name}_ms'):.1f}" if side.latency else "-" for side in (report.a, report.b)
        ]
        screen.show(_row(name, *figures))


def _show_metrics(screen: Screen, report: ComparisonReport) -> None:
    if not report.metrics:
        return
    screen.show()
    screen.show(_row(f"metric, {report.judged} judged", "A", "B", "B - A", "p"))
    screen.lines(
        _row(name, f"{change.a:.3f}", f"{change.b:.3f}", f"{change.difference:+.3f}", f"{change.p:.3f}")
        for name, change in report.metrics.items()
    )


def _show_flagged(screen: Screen, report: ComparisonReport) -> None:
    screen.show()
    flagged = sorted((pair for pair in report.pairs if pair.flagged), key=lambda pair: pair.overlap_5 or 0.0)
    screen.show(f"{len(flagged)} of {report.compared} questions have less than 80 % of the first 5 in common")
    for pair in flagged[:_FLAGGED]:
        screen.show(_cut(f"  {pair.id}: {pair.overlap_5:.0%}; {pair.query}"))
        for letter, names in _heads(pair):
            if names:
                screen.show(_cut(f"      only {letter}: {_listed(names)}"))
    if len(flagged) > _FLAGGED:
        screen.show(f"  … and {len(flagged) - _FLAGGED} more (--json and --html name them all)")


def _heads(pair: Pair) -> tuple[tuple[str, Sequence[str]], tuple[str, Sequence[str]]]:
    """Return what of the first five each side has alone."""
    head_a, head_b = pair.a[:5], pair.b[:5]
    only_a = [name for name in head_a if name not in head_b]
    only_b = [name for name in head_b if name not in head_a]
    return ("A", only_a), ("B", only_b)


def _listed(names: Sequence[str]) -> str:
    few = [_end(name, _TAIL) for name in names[:_DOCUMENTS]]
    return ", ".join([*few, f"… ({len(names)})"] if len(names) > _DOCUMENTS else few)


def _end(text: str, width: int) -> str:
    return text if len(text) <= width else f"…{text[1 - width :]}"


def _row(name: str, *cells: str) -> str:
    return f"{name:<{_NAME}}" + "".join(f"{cell:>{_COLUMN}}" for cell in cells)


def _cut(text: str) -> str:
    indent = " " * (len(text) - len(text.lstrip()))
    return cut(indent + " ".join(text.split()), _WIDTH)
