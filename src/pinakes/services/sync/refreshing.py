"""Reads changed files of hits again before an answer is given, within a time budget."""

from __future__ import annotations

import contextvars
import logging
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, TypeAlias

from pinakes.app import App
from pinakes.app.source_settings import is_removed, keeps_gone, settings_of
from pinakes.catalog import sources
from pinakes.catalog.manifest import Stamp
from pinakes.core import caller
from pinakes.core.errors import PinakesError, worded
from pinakes.core.records import Hit, Results, Stage
from pinakes.core.wording import first_of
from pinakes.ingestion.report import Event, Report
from pinakes.services.sync.watched import WatchedFolder, WatchedFolders, knowledge_base

Refresh: TypeAlias = Literal["never", "auto"]
"""Whether files of hits that changed are read again first."""

_log = logging.getLogger(__name__)

_NAMED = 3
_PASSED_OVER = "its source leaves it out by now; a sync removes it"
_KEPT = "its file is gone or left out, and its document stays (on_delete)"
_TAKEN_OUT = "its source was taken out meanwhile"
_UNNAMED = "the settings do not name its source any more"
_END_S = 5.0


class _Ended(Exception):
    """The library is closing; what is not committed is done by the next run."""


@dataclass(slots=True)
class _Run:
    """Reading some paths of a source again, in a thread of its own."""

    paths: frozenset[str]
    passed_over: str = _PASSED_OVER
    done: threading.Event = field(default_factory=threading.Event)
    report: Report | None = None
    error: PinakesError | None = None
    thread: threading.Thread | None = None


@dataclass(frozen=True, slots=True)
class _Place:
    """A folder, by the collection it is read into."""

    collection: str
    location: str


class Refreshing:
    """Reads files again that hits found changed. One run at a time for each folder. Thread-safe.

    A run that takes longer than a question waits goes on behind it, so that the next one finds what it made.
    """

    def __init__(self, app: App) -> None:
        self._app = app
        self._lock = threading.Lock()
        self._runs: dict[_Place, _Run] = {}
        self._ending = threading.Event()

    def answer(self, ask: Callable[[], Results], refresh: Refresh) -> Results:
        """Return the answer that ``ask`` gives; with "auto" once more after reading what changed, in time.

        ``notes`` say what was read again and what was left; the stage "refresh" what that took.
        """
        answer = ask()
        stale = [hit for hit in answer.hits if hit.changed] if refresh == "auto" else []
        budget_ms = self._app.settings.search.refresh_ms
        if not stale or not budget_ms:
            return answer
        if self._app.settings.server.read_only or not caller.current().may("write"):
            return _noted(answer, [f"not read again, since nothing may be changed here: {_named(stale)}"])
        start = time.perf_counter()
        left, gone = self._read(stale, start + budget_ms / 1000)
        spent_ms = (time.perf_counter() - start) * 1000
        fresh = [hit for hit in stale if hit.document_id not in left]
        notes = _notes_of(stale, left, gone, budget_ms)
        answer = ask() if fresh else answer
        stage = Stage("refresh", spent_ms, {"read_again": len({hit.document_id for hit in fresh}), "left": len(left)})
        trace = replace(answer.trace, stages=(stage, *answer.trace.stages))
        return _noted(replace(answer, trace=replace(trace, milliseconds=trace.milliseconds + spent_ms)), notes)

    def close(self) -> None:
        """Let what runs end at its next step, and wait for that a little."""
        self._ending.set()
        with self._lock:
            threads = [run.thread for run in self._runs.values() if run.thread is not None]
        deadline = time.monotonic() + _END_S
        for thread in threads:
            thread.join(max(0.0, deadline - time.monotonic()))

    def _read(self, hits: Sequence[Hit], deadline: float) -> tuple[dict[str, str], dict[str, str]]:
        """Read the files of these hits again until ``deadline``.

        Return document uid → why it was left as it is, and those of the documents that are gone now → why they cannot
        be read any more, "" where their files are gone.
        """
        stamps = self._app.freshness.stamps({hit.document_id for hit in hits})
        places: dict[_Place, dict[str, str]] = {}
        for hit in hits:
            stamp = stamps.get(hit.document_id)
            if stamp is not None:
                places.setdefault(_Place(hit.collection, stamp.location), {})[hit.document_id] = stamp.path
        started = {place: self._start(place, frozenset(paths.values()), deadline) for place, paths in places.items()}
        left: dict[str, str] = {}
        gone: dict[str, str] = {}
        for place, run in started.items():
            if run is None or not run.done.wait(max(0.0, deadline - time.perf_counter())):
                left |= dict.fromkeys(places[place], "time")
            elif run.error is not None:
                left |= dict.fromkeys(places[place], run.error.message)
            else:
                failed, lost = self._unread(places[place], stamps, run)
                left |= failed
                gone |= lost
        return left, gone

    def _unread(
        self, paths: Mapping[str, str], before: Mapping[str, Stamp | None], run: _Run
    ) -> tuple[dict[str, str], dict[str, str]]:
        """Return what a run that ended left of ``paths`` (document uid → path), and what is gone, as ``_read``."""
        entries = (*run.report.skipped, *run.report.failed) if run.report else ()
        reasons = {one.path: one.reason for one in entries}
        now = self._app.freshness.stamps(paths)
        gone = {uid: reasons.get(path, "") for uid, path in paths.items() if uid not in now}
        left = {uid: reasons[path] for uid, path in paths.items() if uid in now and path in reasons}
        same = [uid for uid in now if uid not in left and now[uid] == before[uid]]
        return {**dict.fromkeys(same, run.passed_over), **left}, gone

    def _start(self, place: _Place, paths: frozenset[str], deadline: float) -> _Run | None:
        """Return a run that reads these paths; None where another one of the folder does not end in time."""
        while True:
            with self._lock:
                running = self._runs.get(place)
                if running is None or running.done.is_set():
                    run = self._runs[place] = _Run(paths)
                    context = contextvars.copy_context()
                    run.thread = threading.Thread(
                        target=context.run, args=(self._run, place, run), name="pinakes-refresh", daemon=True
                    )
                    run.thread.start()
                    return run
            if running.paths >= paths:
                return running
            if not running.done.wait(max(0.0, deadline - time.perf_counter())):
                return None

    def _run(self, place: _Place, run: _Run) -> None:
        def on_event(_: Event) -> None:
            if self._ending.is_set():
                raise _Ended

        try:
            watched = self._source(place)
            if keeps_gone(self._app.settings, watched.collection, watched.source):
                run.passed_over = _KEPT
            run.report = WatchedFolders(self._app).read_again(watched, run.paths, on_event)
        except _Ended:
            run.error = PinakesError("it was stopped")
        except PinakesError as error:
            run.error = error
        except Exception as error:  # noqa: BLE001 - the thread's last door: whoever waits has to be told
            _log.exception("reading %s again failed", place.location)
            run.error = PinakesError(worded(error))
        finally:
            run.done.set()

    def _source(self, place: _Place) -> WatchedFolder:
        """Return the source that is kept for a folder.

        Raises:
            PinakesError: it was taken out, or the settings do not name it any more.
        """
        settings = self._app.settings
        record = self._app.record(place.collection)
        with self._app.catalog.read() as connection:
            known = sources.list_all(connection, record.id)
        kept = next((one for one in known if (one.kind, one.location) == ("folder", place.location)), None)
        if kept is None:
            raise PinakesError(_TAKEN_OUT)
        base = knowledge_base(settings)
        is_base = base is not None and place == _Place(base.collection, base.source.location)
        if is_removed(settings, place.collection, kept) and not is_base:
            raise PinakesError(_UNNAMED)
        return WatchedFolder(place.collection, settings_of(kept))


def _notes_of(stale: Sequence[Hit], left: Mapping[str, str], gone: Mapping[str, str], budget_ms: float) -> list[str]:
    notes = []
    if again := [hit for hit in stale if hit.document_id not in {*left, *gone}]:
        notes.append(f"read again, since it changed: {_named(again)}")
    for reason in dict.fromkeys(gone.values()):
        lost = _named([hit for hit in stale if gone.get(hit.document_id) == reason])
        notes.append(
            f"left out, since it cannot be read: {lost}: {reason}" if reason else f"left out, since it is gone: {lost}"
        )
    late = [hit for hit in stale if left.get(hit.document_id) == "time"]
    if late:
        notes.append(f"changed, but not read again within {budget_ms:g} ms (search.refresh_ms): {_named(late)}")
    for reason in dict.fromkeys(reason for reason in left.values() if reason != "time"):
        those = [hit for hit in stale if left.get(hit.document_id) == reason]
        notes.append(f"could not be read again: {_named(those)}: {reason}")
    return notes


def _named(hits: Sequence[Hit]) -> str:
    return first_of(list(dict.fromkeys(hit.path for hit in hits)), _NAMED)


def _noted(answer: Results, notes: Sequence[str]) -> Results:
    return replace(answer, notes=(*answer.notes, *notes))
