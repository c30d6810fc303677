"""The report of ``tune`` as people read it in a terminal, 80 columns wide."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from pinakes.cli.screen import Screen
from pinakes.core.records import JSON
from pinakes.evaluation.tuning.approximate import Sweep
from pinakes.evaluation.tuning.knobs import setting_words

if TYPE_CHECKING:
    from pinakes.evaluation.tuning.findings import ScoreMean, TuningResult

_MOST_SHOWN = 25
_WIDTH = 80
_STOPPED = {
    "": "",
    "tries": "stopped: the tries were used up (--budget)",
    "time": "stopped: the time was used up (--minutes)",
    "interrupted": "stopped by you; this was found until then",
}


def show(screen: Screen, found: TuningResult | Sweep, *, show_all: bool) -> None:
    """Print what was tried, what came of it, and the verdict."""
    if isinstance(found, Sweep):
        _show_sweep(screen, found)
    else:
        _show_finding(screen, found, show_all=show_all)
    if found.stopped:
        screen.warn(_STOPPED[found.stopped])
    screen.show(f"verdict: {'better' if found.better else found.why}")


def heading(found: TuningResult | Sweep, golden: str, collection: str) -> list[str]:
    """Return what a settings file says of where its settings come from."""
    if isinstance(found, Sweep):
        tried = f"{len(found.ways)} ways to search {found.vectors:,} vectors tried"
        lines = [f"Found by `pinakes tune {golden} --what ann` on collection {collection}: {tried}."]
    else:
        seen = found.held_out
        lines = [
            f"Found by `pinakes tune {golden}` on collection {collection}: {found.questions} questions, "
            f"{len(found.tries)} settings tried.",
            f"{found.metric} of held-out questions: {seen.current:.3f} by the settings before, {seen.tuned:.3f} by "
            f"these (p = {seen.p:.3f}).",
        ]
    return lines if found.better else [*lines, f"Not to be relied on: {found.why}."]


def _show_finding(screen: Screen, found: TuningResult, *, show_all: bool) -> None:
    now, *others = found.tries
    ordered = sorted(others, key=lambda one: -one.score.mean)
    shown = ordered if show_all else ordered[:_MOST_SHOWN]
    screen.show()
    screen.show(f"{found.metric} (95 % interval), change, median ms; {len(others)} other settings were tried")
    for one in [now, *shown]:
        _show_row(
            screen,
            f"{_interval(one.score)}  {_interval(one.change, signed=True)}{one.milliseconds:>7.1f}",
            one.settings,
        )
    if len(shown) < len(ordered):
        screen.show(f"  … and {len(ordered) - len(shown)} more (--all and --json name them all)")
    screen.show()
    screen.show(
        f"best on all questions: {setting_words(tuple(found.best.items()))}"
        if found.best
        else "none is better on all questions"
    )
    seen = found.held_out
    screen.show(f"on questions that had no part in the choice ({found.folds} folds):")
    change = _interval(seen.change, signed=True)
    screen.show(f"  {found.metric} {seen.current:.3f} now, {seen.tuned:.3f} tuned; {change}, p = {seen.p:.3f}")
    if found.speed is not None:
        screen.show(f"  median answer {found.speed.current_ms:.1f} ms now, {found.speed.tuned_ms:.1f} ms tuned")


def _show_sweep(screen: Screen, found: Sweep) -> None:
    screen.show()
    screen.show(f"{found.vectors:,} vectors; recall: share of what an exact scan finds")
    screen.show(f"{'recall':>7}{'p50 ms':>8}{'p95 ms':>8}  {found.metric} (95 % interval), change")
    for way in found.ways:
        times = f"{way.recall:>7.3f}{way.latency.p50_ms:>8.2f}{way.latency.p95_ms:>8.2f}"
        score = f"{_interval(way.tried.score)}  {way.tried.change.mean:+.3f}"
        _show_row(screen, f"{times}  {score}", way.tried.settings)
    screen.show()
    if found.best:
        screen.show(f"fastest that finds enough: {setting_words(tuple(found.best.items()))} (p = {found.p:.3f})")


def _show_row(screen: Screen, figures: str, settings: Mapping[str, JSON]) -> None:
    """Print figures and settings, on one line where they fit."""
    words: Sequence[str] = setting_words(tuple(settings.items())).split(" ")
    line = f"{figures}  {' '.join(words)}"
    if len(line) <= _WIDTH:
        screen.show(line)
        return
    screen.show(figures)
    line = " " * 3
    for word in words:
        if len(line) + 1 + len(word) > _WIDTH:
            screen.show(line)
            line = " " * 3
        line += f" {word}"
    screen.show(line)


def _interval(mean: ScoreMean, *, signed: bool = False) -> str:
    sign = "+" if signed else ""
    return f"{mean.mean:{sign}.3f} ({mean.low:{sign}.3f} to {mean.high:{sign}.3f})"
