"""``watch``: read folders and follow them as they change, until stopped."""

from __future__ import annotations

import json
import signal
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING

from pinakes.cli.adding import add_request, prepare_or_warn, read_one, show_report
from pinakes.cli.options import AddOptions
from pinakes.cli.progress import following
from pinakes.cli.screen import Screen
from pinakes.cli.session import Session
from pinakes.cli.standard_streams import survive_stderr
from pinakes.core.errors import Busy, InvalidInput

if TYPE_CHECKING:
    from pinakes.ingestion.report import Report
    from pinakes.library import Library
    from pinakes.services.sync.watched import WatchedFolder
    from pinakes.settings import SourceSettings

_LOOK_EVERY_S = 0.5
_MOST_NAMED = 5


def watch(session: Session, wanted: AddOptions) -> None:
    """Follow folders until Ctrl+C, telling on stdout what was read; with ``--json`` one document a line.

    Raises:
        InvalidInput: something is no folder and no file, or nothing is to be followed.
        Busy: another process follows it.
    """
    from pinakes.api.folder_watching import Watching
    from pinakes.jobs.worker import Worker

    survive_stderr()
    screen = session.screen
    with session.library(create=True) as library:
        prepare_or_warn(session)
        chosen = _added(session, library, wanted) if wanted.locations else _configured(library, wanted.collection)
        for one in chosen:
            if one.key in library.watched.statuses():
                raise Busy(f"Another process follows {one.root}.", hint="A running server does so by itself.")
        watching = Watching(
            library, chosen, say=screen.warn, on_read=lambda one, report, names: _show(screen, one, report, names)
        )
        worker = Worker(library.jobs, [watching])
        with _until_stopped() as stopped:
            worker.start()
            names = ", ".join(str(one.root) for one in chosen)
            screen.say(f"Following {names} (Ctrl+C stops it).")
            while not stopped.wait(_LOOK_EVERY_S):
                pass
        worker.stop()


def _added(session: Session, library: Library, wanted: AddOptions) -> list[WatchedFolder]:
    """Add what was named, as ``add`` does, and return it as it is remembered."""
    from pinakes.services.sync.watched import WatchedFolder
    from pinakes.sources.locations import recognise

    screen, name = session.screen, wanted.collection or library.settings.collection
    for typed in map(recognise, wanted.locations):
        if typed.kind != "folder":
            raise InvalidInput(f"{typed.location} cannot be followed: it is no folder.", hint="Read it: pinakes add")
    chosen: dict[str, SourceSettings] = {}
    for location in wanted.locations:
        found = library.addition(name, add_request(location, wanted))
        if found.paths:
            screen.say(f"{location} lies in {found.source.location}: all of that is followed")
        place, of = found.source.location, replace(wanted, collection=name)
        report = read_one(session, library, partial(following, screen), place, of)
        if not screen.as_json:
            show_report(screen, report)
        chosen[place] = found.source
    return [WatchedFolder(name, source) for source in chosen.values()]


def _configured(library: Library, collection: str | None) -> list[WatchedFolder]:
    from pinakes.services.sync.watched import watched_in

    chosen = [one for one in watched_in(library.settings) if collection in (None, one.collection)]
    if not chosen:
        raise InvalidInput(
            "Nothing is to be followed: no folder was named, and the settings name none.",
            hint="Name one: pinakes watch PATH; or set watch = true in a source, or knowledge_base.enabled.",
        )
    return chosen


def _show(screen: Screen, watched: WatchedFolder, report: Report, names: Sequence[str]) -> None:
    """Tell of a run that changed something."""
    from pinakes.services.sync.watched import summary

    words = summary(report)
    if not words:
        return
    at = datetime.now().astimezone()
    if screen.as_json:
        counts = {name: getattr(report, name) for name in ("added", "changed", "moved", "removed")}
        failed = [{"path": entry.path, "reason": entry.reason} for entry in report.failed]
        line = {
            "at": at.isoformat(timespec="milliseconds"),
            "collection": watched.collection,
            "folder": str(watched.root),
            **counts,
            "read": list(names),
            "failed": failed,
        }
        sys.stdout.write(json.dumps(line, ensure_ascii=False) + "\n")
        sys.stdout.flush()
        return
    more = f" and {len(names) - _MOST_NAMED:,} more" if len(names) > _MOST_NAMED else ""
    shown = f": {', '.join(names[:_MOST_NAMED])}{more}" if names else ""
    screen.show(f"{at:%H:%M:%S}  {watched.collection}  {words}{shown}")


@contextmanager
def _until_stopped() -> Iterator[threading.Event]:
    """Give an event that SIGTERM sets; Ctrl+C ends the block, and neither is an error."""
    stopped = threading.Event()
    main = threading.current_thread() is threading.main_thread()
    before = signal.signal(signal.SIGTERM, lambda _number, _frame: stopped.set()) if main else None
    try:
        yield stopped
    except KeyboardInterrupt:
        return
    finally:
        if main:
            signal.signal(signal.SIGTERM, before)
