"""Watches folders: reads each in full at first, then the files that are added, changed or removed."""

from __future__ import annotations

import logging
import os
import sys
import threading
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import closing, nullcontext
from dataclasses import asdict, dataclass
from functools import partial
from typing import TypeAlias

from pinakes.api.debounce import EVERYTHING, Debounce
from pinakes.api.filesystems import tells_of_changes
from pinakes.core.caller import Caller
from pinakes.core.errors import PinakesError, SourceError, storing
from pinakes.core.ports import Source
from pinakes.core.records import Skipped
from pinakes.ingestion.report import Event, Report
from pinakes.jobs.queue import Job, Stopped
from pinakes.jobs.worker import Running, Task
from pinakes.library import Library
from pinakes.services.sync.watched import (
    WATCH,
    Doing,
    WatchedFolder,
    WatchStatus,
    summary,
    watched_in,
)

_log = logging.getLogger(__name__)

OnRead: TypeAlias = Callable[[WatchedFolder, Report, Sequence[str]], object]
"""Takes the folder, what the run did, and the files that it read."""

_TICK_MS = 100
_GROUP_MS = 200
_EVERYTHING_S = 300.0
"""Interval of full scans, in case a notification was missed."""

_MOST_FAILURES_SAID = 5
_BUSY_SHARE = 20
"""Polling takes at most one part in this many of the time."""

_NOTHING_REMOVED = "Was it moved, or a disk unmounted? Nothing was removed; it is looked for."

_TRIES = 3
"""Attempts to get change notifications from the system before the folder is polled."""


@dataclass(frozen=True, slots=True)
class RetryPauses:
    """Pauses before a folder or file is tried again: they begin with ``first_s`` and double up to ``longest_s``.

    ``absence_s``: the longest pause before a missing folder is looked for again.
    """

    first_s: float = 1.0
    longest_s: float = 60.0
    absence_s: float = 5.0


class Watching(Task):
    """Following folders, each for as long as the process runs. Another process may be at it already: then they wait.

    ``say`` gets a line for people whenever something goes wrong, ``on_read`` every run; without it the former gets a
    line whenever something was read, too.
    """

    kind = WATCH
    resumes = False
    caller = Caller("watch", "watch")

    def __init__(
        self,
        library: Library,
        wanted: Sequence[WatchedFolder] | None = None,
        *,
        say: Callable[[str], object] | None = None,
        on_read: OnRead | None = None,
        pauses: RetryPauses = RetryPauses(),
    ) -> None:
        """Follow what is ``wanted``, or what the settings name."""
        self._retry_pauses = pauses
        self._library = library
        self._say = say or partial(print, file=sys.stderr, flush=True)
        self._on_read = on_read or partial(_say_summary, self._say)
        self._first_run_lock = threading.Lock()
        self._chosen = {one.key: one for one in (watched_in(library.settings) if wanted is None else wanted)}
        self.at_once = len(self._chosen)

    def due_jobs(self) -> Iterable[Job]:
        """Return a job for each folder."""
        return [
            Job(key, self.kind, {"collection": one.collection, "folder": str(one.root)})
            for key, one in self._chosen.items()
        ]

    def accepts(self, job: Job) -> bool:
        """Say whether a folder is one of these."""
        return job.key in self._chosen

    def run(self, running: Running) -> None:
        """Follow a folder until the process ends."""
        how = self._first_run_lock, self._say, self._on_read, self._retry_pauses
        _FolderWatcher(self._library, self._chosen[running.job.key], running, *how).run()


class _FolderWatcher:
    def __init__(
        self,
        library: Library,
        watched: WatchedFolder,
        running: Running,
        first_run_lock: threading.Lock,
        say: Callable[[str], object],
        on_read: OnRead,
        pauses: RetryPauses,
    ) -> None:
        self._library = library
        self._folders = library.watched
        self._settings = library.settings.watch
        self._watched = watched
        self._root = watched.root
        self._running = running
        self._first_run_lock = first_run_lock
        self._say = say
        self._on_read = on_read
        self._status = WatchStatus("reading")
        self._there: tuple[int, int] | None = None
        self._last_error = ""
        self._failures = 0
        self._pauses = pauses
        self._retry = _Retry(pauses)

    def run(self) -> None:
        """Do so until the process ends."""
        while True:
            self._running.check()
            longest_s = self._pauses.longest_s
            try:
                self._follow()
                continue
            except Stopped:
                raise
            except SourceError as error:
                longest_s = self._pauses.absence_s
                self._note_error(error)
            except Exception as error:  # noqa: BLE001 - the thread's last door: the folder is to be followed all the same
                self._note_error(error)
            self._wait(min(self._pauses.first_s * 2.0**self._failures, longest_s))
            self._failures = min(self._failures + 1, 10)

    def _wait(self, seconds: float) -> None:
        self._running.ending.wait(seconds)
        self._running.check()

    def _follow(self) -> None:
        """Read the folder, then what changes in it.

        Raises:
            SourceError: it is not there, or is another one by now.
        """
        if self._there is None and self._root.is_relative_to(self._library.settings.home):
            with storing(f"The folder {str(self._root)!r}"):
                self._root.mkdir(parents=True, exist_ok=True)  # a place of ours, for others to put files in
        there = self._identity()
        if self._failures or self._there not in (None, there):
            self._folders.make_sure(self._watched)
        self._there = there
        with closing(self._ticks()) as ticks:
            next(ticks, None)  # from now on no change is missed
            self._read(None)
            settling = Debounce(self._root, self._settings.settle_ms / 1000)
            everything_at = time.monotonic() + _EVERYTHING_S
            for paths in ticks:
                if self._identity() != there:
                    raise SourceError(f"{str(self._root)!r} is another folder now.", hint="It is looked at again.")
                settling.add(paths)
                settling.add(self._retry.due())
                if time.monotonic() >= everything_at:
                    settling.add((EVERYTHING,))
                ready = settling.ready()
                if EVERYTHING in ready:
                    self._read(None)
                    everything_at = time.monotonic() + _EVERYTHING_S
                elif ready and self._folders.concerns(self._watched, ready):
                    self._read(ready)

    def _identity(self) -> tuple[int, int]:
        """Return what tells a folder from another one in its place; a file may be replaced by another."""
        try:
            status = self._root.stat()
            return (status.st_dev, status.st_ino) if self._root.is_dir() else (0, 0)
        except OSError as error:
            reason = error.strerror or type(error).__name__
            raise SourceError(
                f"{str(self._root)!r} cannot be followed: {reason.lower()}.", hint=_NOTHING_REMOVED
            ) from error

    def _ticks(self) -> Generator[frozenset[str], None, None]:
        """Yield, several times a second, the paths that changed since the last time; mostly none."""
        always, never = self._settings.polling == "always", self._settings.polling == "never"
        if self._root.is_dir() and not always and (never or tells_of_changes(self._root)):
            for _ in range(_TRIES):
                try:
                    yield from self._notified()
                    return
                except FileNotFoundError:
                    self._wait(self._pauses.first_s)
                    return  # which the next look at the folder notices
                except (OSError, RuntimeError) as error:
                    why = _why_polling(error, self._settings.poll_s)
                yield frozenset({EVERYTHING})
            self._say(f"{self._root}: {why}")
            self._set_status("polling", why)
        else:
            self._set_status("polling")
        yield from self._polled()

    def _notified(self) -> Iterator[frozenset[str]]:
        """Yield the changes that the system reports."""
        from watchfiles import watch

        self._set_status("watching")
        changes = watch(
            self._root,
            watch_filter=None,
            debounce=_GROUP_MS,
            step=_TICK_MS // 2,
            rust_timeout=_TICK_MS,
            yield_on_timeout=True,
            stop_event=self._running.ending,
            raise_interrupt=False,
            force_polling=False,
            ignore_permission_denied=True,
        )
        roots = f"{self._root}/", f"{os.path.realpath(self._root)}/"
        with closing(changes):
            for found in changes:
                self._running.check()
                yield frozenset(_relative(path, roots) for _, path in found)

    def _polled(self) -> Iterator[frozenset[str]]:
        """Yield the changes between scans of the whole folder."""
        with closing(self._folders.source(self._watched)) as source:
            before, next_at = _fingerprints(source), 0.0
            yield frozenset()
            while True:
                self._wait(_TICK_MS / 1000)
                start = time.monotonic()
                if start < next_at:
                    yield frozenset()
                    continue
                after = _fingerprints(source)
                next_at = time.monotonic() + max(self._settings.poll_s, (time.monotonic() - start) * _BUSY_SHARE)
                yield frozenset(path for path, _ in before.items() ^ after.items())
                before = after

    def _read(self, paths: frozenset[str] | None) -> None:
        """Read what changed and say so."""
        before, names = self._status.doing, list[str]()

        def on_event(event: Event) -> None:
            self._running.check()
            if event.stage == "read":
                names.append(event.detail)

        self._set_status("reading", self._status.message)
        with self._first_run_lock if paths is None else nullcontext():  # a first run may take long
            report = self._folders.read_again(self._watched, paths, on_event)
        self._failures, self._last_error = 0, ""
        self._retry.note(report)
        for entry in self._retry.fresh[:_MOST_FAILURES_SAID]:
            self._say(f"{self._root}: {entry.path} could not be read: {entry.reason}")
        self._on_read(self._watched, report, names)
        self._set_status(before, self._status.message)

    def _set_status(self, doing: Doing, message: str = "") -> None:
        if (doing, message) != (self._status.doing, self._status.message):
            self._status = WatchStatus(doing, message=message)
        self._running.progress = asdict(self._status)

    def _note_error(self, error: Exception) -> None:
        """Log what went wrong, once, and record it in the status."""
        known = isinstance(error, PinakesError)
        words = str(error) if known else f"{type(error).__name__}: {error}"
        if words != self._last_error:
            self._last_error = words
            _log.warning("%s is not followed: %s", self._root, words, exc_info=None if known else error)
            try:
                self._set_status("waiting", words)
                self._folders.note_trouble(self._watched, words)
            except PinakesError as failure:
                _log.warning("that cannot be noted: %s", failure)


class _Retry:
    """Files that could not be read, and when to try them again: each time after twice as long.

    ``fresh`` are those that the last run found, and none before.
    """

    def __init__(self, pauses: RetryPauses) -> None:
        self._pauses = pauses
        self._at: dict[str, tuple[float, float]] = {}
        self.fresh: list[Skipped] = []

    def note(self, report: Report) -> None:
        """Take the files that fail after a run; the others are forgotten."""
        first = self._pauses.first_s, time.monotonic() + self._pauses.first_s
        self.fresh = [entry for entry in report.failed if entry.path not in self._at]
        self._at = {entry.path: self._at.get(entry.path, first) for entry in report.failed}

    def due(self) -> list[str]:
        """Return the files whose time has come, once."""
        clock = time.monotonic()
        found = [path for path, (_, at) in self._at.items() if at <= clock]
        for path in found:
            pause = min(2 * self._at[path][0], self._pauses.longest_s)
            self._at[path] = pause, clock + pause
        return found


def _relative(path: str, roots: Sequence[str]) -> str:
    """Return a path below the folder as its source names it."""
    return next((path.removeprefix(root) for root in roots if path.startswith(root)), EVERYTHING)


def _fingerprints(source: Source) -> dict[str, str]:
    """Return path → fingerprint, or reason to skip it, of everything in a source."""
    scan = source.scan(None)
    skipped = {one.path.rstrip("/"): one.reason for one in scan.skipped if one.path != "."}
    return {item.path: item.fingerprint for item in scan.items} | skipped


def _why_polling(error: Exception, poll_s: float) -> str:
    words = str(error).lower()
    more = " Raise fs.inotify.max_user_watches." if "limit" in words else ""
    more = " Raise fs.inotify.max_user_instances." if "too many" in words else more
    return f"the system cannot tell of changes ({error}): they are looked for every {poll_s:g} s.{more}"


def _say_summary(say: Callable[[str], object], watched: WatchedFolder, report: Report, _: Sequence[str]) -> None:
    if words := summary(report):
        say(f"{watched.root} → {watched.collection}: {words}")
