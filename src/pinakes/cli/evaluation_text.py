"""The report of ``evaluate`` as people read it in a terminal, 80 columns wide."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pinakes.cli.screen import Screen
from pinakes.core.wording import cut
from pinakes.evaluation.messages import cautions, miss_words, misses_counted, refusals_words

if TYPE_CHECKING:
    from pinakes.evaluation.baseline import Verdict
    from pinakes.evaluation.figures import Figures, ModeFigures
    from pinakes.evaluation.run_comparison import Comparison
    from pinakes.evaluation.runs import Run

_NAME, _COLUMN = 16, 22
_MISSES = 10
_QUERY = 60


def show(screen: Screen, run: Run, comparison: Comparison | None, verdict: Verdict | None) -> None:
    """Print figures, kinds, misses, the comparison and the verdict."""
    golden, corpus = run.golden, run.corpus
    held = f"; {corpus.documents:,} documents, {corpus.chunks:,} chunks" if corpus.documents else ""
    screen.show(
        f"{golden.name} on {corpus.collection}: {golden.questions} questions, {golden.answerable} with an answer{held}"
    )
    if corpus.model:
        screen.show(f"model {corpus.model}")
    screen.warn(*cautions(run))
    screen.show()
    _show_figures(screen, run)
    _show_kinds(screen, run)
    for mode in run.modes.values():
        _show_misses(screen, mode)
    if comparison is not None:
        _show_comparison(screen, comparison)
    if verdict is not None:
        _show_verdict(screen, verdict)


def _show_figures(screen: Screen, run: Run) -> None:
    modes = run.modes.values()
    screen.show(f"{'metric':<{_NAME}}" + _cells([mode.mode for mode in modes]))
    screen.lines(f"{name:<{_NAME}}" + _cells([_figure(mode.overall, name) for mode in modes]) for name in run.metrics)
    if any(mode.latency.p99_ms for mode in modes):
        screen.lines(
            f"{label:<{_NAME}}" + _cells([f"{getattr(mode.latency, name):.1f}" for mode in modes])
            for name, label in (("p50_ms", "p50 ms"), ("p95_ms", "p95 ms"), ("p99_ms", "p99 ms"))
        )


def _show_kinds(screen: Screen, run: Run) -> None:
    modes, headline = list(run.modes.values()), run.metrics[0]
    kinds = sorted({kind for mode in modes for kind in mode.by_kind})
    if not kinds:
        return
    screen.show()
    screen.show(f"{headline} by kind, with the number of questions")
    for kind in kinds:
        found = [mode.by_kind[kind] for mode in modes]
        count = f" ({found[0].questions})"
        label = f"{kind[: _NAME - 1 - len(count)]}{count}"
        screen.show(f"{label:<{_NAME}}" + _cells([_figure(figures, headline) for figures in found]))


def _show_misses(screen: Screen, mode: ModeFigures) -> None:
    screen.show()
    screen.show(f"{mode.mode}: {misses_counted(mode)}")
    missed = [row for row in mode.rows if row.miss and row.answer_exists]
    for row in missed[:_MISSES]:
        assert row.miss is not None
        screen.show(f"  {row.id}: {miss_words(row.miss)}; {row.miss.document}")
        screen.show(f"      {_cut(row.query)}")
    if len(missed) > _MISSES:
        screen.show(f"  … and {len(missed) - _MISSES} more (--json and --html name them all)")
    if refusals := refusals_words(mode):
        screen.show(f"{mode.mode}: {refusals}")


def _show_comparison(screen: Screen, comparison: Comparison) -> None:
    screen.show()
    screen.show(f"against {comparison.against}")
    screen.warn(*(f"not the same: {difference}" for difference in comparison.differences))
    for mode, one in comparison.modes.items():
        screen.show(f"{mode}, {one.questions} questions")
        screen.show(f"  {'metric':<{_NAME}}{'then':>8}{'now':>8}{'change':>9}{'p':>8}")
        for name, change in one.changes.items():
            figures = f"{change.before:>8.3f}{change.after:>8.3f}{change.difference:>+9.3f}{change.p:>8.3f}"
            screen.show(f"  {name:<{_NAME}}{figures}")
        then, now = one.latency_before.p95_ms, one.latency_after.p95_ms
        screen.show(f"  {'p95 ms':<{_NAME}}{then:>8.1f}{now:>8.1f}{now - then:>+9.1f}")
        for moved in one.moved:
            place = f"{moved.before:.3f} to {moved.after:.3f}"
            screen.show(f"  {moved.id}: {place}; {_cut(moved.query)}")


def _show_verdict(screen: Screen, verdict: Verdict) -> None:
    screen.show()
    screen.warn(*verdict.warnings)
    word = "passed" if verdict.passed else "FAILED"
    screen.show(f"gate {word}: {verdict.checked} metrics, of which none may fall by more than {verdict.tolerance:.1%}")
    screen.lines(f"  {fallen}" for fallen in verdict.fallen)


def _figure(figures: Figures, name: str) -> str:
    low, high = figures.intervals[name]
    return f"{figures.metrics[name]:.3f} {low:.3f} to {high:.3f}"


def _cells(values: list[str]) -> str:
    return "".join(f"{value:<{_COLUMN}}" for value in values).rstrip()


def _cut(text: str) -> str:
    return cut(" ".join(text.split()), _QUERY)
