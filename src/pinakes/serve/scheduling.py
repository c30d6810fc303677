"""Reads sources by their schedules, and what failed again after a while, for as long as a server runs."""

from __future__ import annotations

import logging
import sys
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from pinakes.calls.caller import Caller, calling
from pinakes.errors import PinakesError
from pinakes.ingest import Event, Report
from pinakes.library import Library
from pinakes.machine.locks import taken
from pinakes.schedules import pause_s, zone_of
from pinakes.serve.startup import Stopped
from pinakes.upkeep.syncing import LONGEST_PAUSE_S, Place, Plan, next_run
from pinakes.upkeep.watched import Watched, read_again, summary

_log = logging.getLogger(__name__)

_AT_ONCE = 2
_LOOK_EVERY_S = 5.0
_LOOK_AGAIN_S = 1.0
_LONGEST_LOOK_S = 30.0
_SHORTEST_WAIT_S = 0.05
_STOP_TIMEOUT_S = 8.0
_CLOCK_STEP_S = 1.0
"""A clock that goes back by more than this was put back."""


@dataclass(slots=True)
class _Due:
    """When a source is read next, and what of its last run that was worked out from."""

    of: tuple[str | None, int, str]
    at: datetime | None


class Scheduling:
    """The threads of one process that read sources when it is time; never one source twice at once.

    Of several processes with one home one does so, the others wait for its end. ``ready`` says whether to begin.
    ``say`` gets a line for people when something was read or goes wrong. ``clock`` tells the time, UTC.
    """

    def __init__(
        self,
        library: Library,
        *,
        ready: Callable[[], bool] = lambda: True,
        say: Callable[[str], object] | None = None,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._library = library
        self._shelves = library.shelves
        self._sync = library.settings.sync
        self._zone = zone_of(self._sync.timezone)
        self._ready = ready
        self._say = say or _to_stderr
        self._clock = clock
        self._stop = threading.Event()
        self._wake = threading.Event()
        self._due: dict[Place, _Due] = {}
        self._retries: dict[Place, datetime] = {}
        self._failures: dict[Place, tuple[int, datetime]] = {}
        self._told: dict[Place, str] = {}
        self._running: set[Place] = set()
        self._thread = threading.Thread(target=self._run, name="pinakes-schedule", daemon=True)

    def start(self) -> None:
        """Begin, in threads of its own."""
        self._thread.start()

    def end(self) -> None:
        """Ask the work to end."""
        self._stop.set()
        self._wake.set()

    def stop(self) -> bool:
        """Ask the work to end and wait a little; say whether it did."""
        self.end()
        if self._thread.is_alive():
            self._thread.join(_STOP_TIMEOUT_S)
        return not self._thread.is_alive()

    def _run(self) -> None:
        with calling(Caller("schedule", "schedule")):
            while not self._stop.is_set():
                try:
                    lock = self._shelves.home.scheduling()
                    if taken(lock):
                        try:
                            self._keep_time()
                        finally:
                            lock.release()
                except PinakesError as error:
                    _log.warning("schedules wait: %s", error)
                self._stop.wait(_LOOK_AGAIN_S)

    def _keep_time(self) -> None:
        """Look at all sources now and then, and begin what is due."""
        before = retries_at = self._clock()
        workers = ThreadPoolExecutor(_AT_ONCE, "pinakes-schedule")
        try:
            while not self._stop.is_set():
                self._wake.clear()
                now = self._clock()
                if now < before - timedelta(seconds=_CLOCK_STEP_S):
                    self._due.clear()
                    self._failures.clear()
                    retries_at = now
                before = now
                ready = self._ready()
                try:
                    if ready:
                        if now >= retries_at:
                            self._retries = _times(self._library.syncing.first_retries())
                            retries_at = now + timedelta(seconds=self._retry_look_s())
                        self._begin_what_is_due(workers, now)
                except PinakesError as error:
                    _log.warning("schedules wait: %s", error)
                self._wake.wait(self._pause_s() if ready else _LOOK_AGAIN_S)
        finally:
            workers.shutdown(wait=True, cancel_futures=True)

    def _begin_what_is_due(self, workers: ThreadPoolExecutor, now: datetime) -> None:
        plans = self._library.syncing.plans()
        for plan in plans:
            place = plan.place
            due = self._next(plan, now)
            if place in self._running or (place in self._failures and now < self._failures[place][1]):
                continue
            if due is not None and due <= now:
                self._begin(workers, plan, None)
            elif place in self._retries and self._retries[place] <= now:
                del self._retries[place]
                self._begin(workers, plan, self._library.syncing.paths_to_retry(place, now))

    def _next(self, plan: Plan, now: datetime) -> datetime | None:
        """Return when a source is read by its schedule; that stays so until it was read, or the clock is put back."""
        report = plan.kept.report if plan.kept else None
        of = plan.kept.synced_at if plan.kept else None, int((report or {}).get("failures", 0)), plan.source.schedule
        known = self._due.get(plan.place)
        if known is None or known.of != of:
            known = _Due(of, next_run(plan.source, plan.kept, self._sync, self._zone, now))
            self._due[plan.place] = known
        return known.at

    def _begin(self, workers: ThreadPoolExecutor, plan: Plan, paths: Sequence[str] | None) -> None:
        if paths is not None and not paths:
            return
        self._running.add(plan.place)
        workers.submit(self._read, plan, paths)

    def _read(self, plan: Plan, paths: Sequence[str] | None) -> None:
        """Read a source, or what it has at ``paths``; whatever goes wrong is told, and it is tried again later."""
        place = plan.place
        try:
            with calling(Caller("schedule", "schedule")):
                report = read_again(self._shelves, Watched(plan.collection, plan.source), paths, self._on_event)
            self._failures.pop(place, None)
            self._told.pop(place, None)
            self._tell(plan, report)
        except Stopped:
            return
        except PinakesError as error:
            self._failed(plan, str(error))
        except Exception as error:  # noqa: BLE001 - the thread's last door: other sources are to be read all the same
            _log.exception("%s could not be read", plan.name)
            self._failed(plan, f"{type(error).__name__}: {error}")
        finally:
            self._running.discard(place)
            self._wake.set()

    def _failed(self, plan: Plan, words: str) -> None:
        failures = self._failures.get(plan.place, (0, None))[0] + 1
        pause = pause_s(failures, self._sync.retry_first_s, min(self._sync.retry_longest_s, LONGEST_PAUSE_S), plan.name)
        self._failures[plan.place] = failures, self._clock() + timedelta(seconds=pause)
        if self._told.get(plan.place) != words:
            self._told[plan.place] = words
            self._say(f"{plan.name}: {words}")

    def _tell(self, plan: Plan, report: Report) -> None:
        if words := summary(report):
            self._say(f"{plan.name} → {plan.collection}: {words}")

    def _on_event(self, _: Event) -> None:
        if self._stop.is_set():
            raise Stopped

    def _retry_look_s(self) -> float:
        return min(_LONGEST_LOOK_S, max(self._sync.retry_first_s / 2, _SHORTEST_WAIT_S))

    def _pause_s(self) -> float:
        """Return how long nothing is due, in seconds; the catalogue is looked at now and then all the same."""
        times = [
            max(one.at, self._failures[place][1] if place in self._failures else one.at)
            for place, one in self._due.items()
            if one.at is not None and place not in self._running
        ]
        left = min((at - self._clock()).total_seconds() for at in times) if times else _LOOK_EVERY_S
        return min(max(left, _SHORTEST_WAIT_S), _LOOK_EVERY_S, self._retry_look_s())


def _times(texts: dict[Place, str]) -> dict[Place, datetime]:
    return {place: datetime.fromisoformat(text) for place, text in texts.items()}


def _to_stderr(line: str) -> None:
    sys.stderr.write(line + "\n")
    sys.stderr.flush()
