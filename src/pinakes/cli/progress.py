"""Progress on stderr: a bar on a terminal, elsewhere a line every five seconds, nothing when quiet."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeAlias

from pinakes.cli.screen import Screen, printable
from pinakes.core.wording import MEGABYTE
from pinakes.services.run_progress import LINE_EVERY_S, RunProgress

if TYPE_CHECKING:
    from pinakes.ingestion.report import Event
    from pinakes.library import OnEvent


Show: TypeAlias = Callable[[str, float, float], None]
"""Called with what to say, how much is done and how much there is (0 = not known)."""


@contextmanager
def progress(screen: Screen) -> Iterator[Show]:
    """Give a function that shows where a long run stands; what it showed is gone at the end."""
    if screen.quiet:
        yield lambda _words, _done, _total: None
    elif screen.err.is_terminal:
        with _bar(screen) as show:
            yield show
    else:
        yield _lines(screen)


@contextmanager
def following(screen: Screen, *, lazy: bool = False) -> Iterator[OnEvent]:
    """Give a function that shows the events of an ingest; ``lazy``: what is not embedded at first stays so."""
    run = RunProgress()
    rest = "" if lazy else " These are being embedded; that can be stopped, the next run goes on."
    reported = False
    with progress(screen) as show:

        def on_event(event: Event) -> None:
            nonlocal reported
            run.see(event)
            reported &= event.stage != "scan"  # another source
            if event.stage == "searchable" and not reported:
                reported = True
                exact = f"{event.done:,} of {event.total:,} chunks have exact vectors, the others approximate ones"
                screen.say(f"Searchable now: {exact}.{rest}")
            show(run.words(), run.done, run.total)

        try:
            yield on_event
        except KeyboardInterrupt as stop:
            if reached := run.reached():
                stop.add_note(reached)
            raise


@contextmanager
def counting(
    screen: Screen, words_of: Callable[[str], str], *, in_bytes: bool = False
) -> Iterator[Callable[[str, int, int], None]]:
    """Give a function that shows how far something is, in pieces or in bytes; ``words_of`` what has no total."""
    with progress(screen) as show:

        def on_step(what: str, done: int, total: int) -> None:
            if not total:
                show(words_of(what), 0, 0)
            elif in_bytes:
                show(f"{what}: {done / MEGABYTE:.0f} of {total / MEGABYTE:.0f} MB", done, total)
            else:
                show(f"{done:,} of {total:,} {what}", done, total)

        yield on_step


def _lines(screen: Screen) -> Show:
    last = time.monotonic()

    def show(words: str, _done: float, _total: float) -> None:
        nonlocal last
        if time.monotonic() - last >= LINE_EVERY_S:
            last = time.monotonic()
            screen.say(words)

    return show


@contextmanager
def _bar(screen: Screen) -> Iterator[Show]:
    from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn

    columns = (SpinnerColumn(), BarColumn(bar_width=30), TextColumn("{task.description}", markup=False))
    with Progress(*columns, console=screen.err, transient=True, redirect_stdout=False) as bar:
        task = bar.add_task("starting", total=None)

        def show(words: str, done: float, total: float) -> None:
            bar.update(task, description=printable(words), completed=done, total=total or None)

        yield show
