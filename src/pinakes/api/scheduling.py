"""Reads sources by their schedules, and what failed again after a while, as jobs of a server."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from datetime import UTC, datetime, timedelta
from functools import partial

from pinakes.core.caller import Caller
from pinakes.core.schedules import zone_of
from pinakes.jobs.queue import Job, job_key
from pinakes.jobs.worker import Running, Task
from pinakes.library import Library
from pinakes.services.sync.syncing import LONGEST_PAUSE_S, Place, SyncPlan, next_run
from pinakes.services.sync.watched import WatchedFolder, summary

_CLOCK_STEP_S = 1.0
"""A clock that goes back by more than this was put back."""


class Scheduling(Task):
    """Reading sources when it is time; never one source twice at once.

    A schedule is kept by looking at what is known of the last run, not by a job that waits for its time: so it holds
    for whoever reads the source, and also where settings or the clock change.

    ``ready`` says whether to begin. ``say`` gets a line for people when something was read or goes wrong. ``clock``
    tells the time, UTC.
    """

    kind = "sync"
    at_once = 2
    caller = Caller("schedule", "schedule")

    def __init__(
        self,
        library: Library,
        *,
        ready: Callable[[], bool] = lambda: True,
        say: Callable[[str], object] | None = None,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._library = library
        self._sync = library.settings.sync
        self._zone = zone_of(self._sync.timezone)
        self._ready = ready
        self._say = say or partial(print, file=sys.stderr, flush=True)
        self._clock = clock
        self._looked = clock()
        self._due: dict[Place, tuple[object, datetime | None]] = {}
        self._plans: dict[str, SyncPlan] = {}
        self._retries: dict[Place, str] = {}
        self._version = -1
        self.pauses = self._sync.retry_first_s, min(self._sync.retry_longest_s, LONGEST_PAUSE_S)

    def due_jobs(self) -> Iterable[Job]:
        """Return a job for each source that is due, or has files to try again."""
        if not self._ready():
            return []
        before, self._looked = self._looked, self._clock()
        if self._looked < before - timedelta(seconds=_CLOCK_STEP_S):
            self._due.clear()
        syncing = self._library.syncing
        version = syncing.version()
        if version != self._version:
            self._plans = {job_key(self.kind, *plan.place): plan for plan in syncing.plans()}
            self._retries, self._version = syncing.first_retries(), version
        found = []
        for key, plan in self._plans.items():
            is_due = self._is_due(plan)
            retry_at = self._retries.get(plan.place)
            if is_due or (retry_at and datetime.fromisoformat(retry_at) <= self._looked):
                arguments = {"collection": plan.collection, "source": plan.name}
                found.append(Job(key, self.kind, arguments, priority=is_due - 1))  # whole sources come first
        return found

    def accepts(self, job: Job) -> bool:
        """Say whether there is such a source."""
        return job.key in self._plans

    def run(self, running: Running) -> None:
        """Read a source, or what of it is to be tried again."""
        plan = self._plans[running.job.key]
        whole = self._is_due(plan) or running.job.attempts
        paths = None if whole else self._library.syncing.paths_to_retry(plan.place, self._clock())
        if paths != []:
            watched = WatchedFolder(plan.collection, plan.source)
            report = self._library.watched.read_again(
                watched, paths, lambda event: running.note(event.stage, event.done, event.total)
            )
            if words := summary(report):
                self._say(f"{plan.name} → {plan.collection}: {words}")

    def report_failure(self, job: Job, words: str) -> None:
        """Say why a source could not be read."""
        self._say(f"{job.arguments['source']}: {words}")

    def _is_due(self, plan: SyncPlan) -> bool:
        """Say whether it is time by the schedule; that stays so until it was read, or the clock is put back."""
        report = plan.kept.report if plan.kept else None
        of = plan.kept.synced_at if plan.kept else None, int((report or {}).get("failures", 0)), plan.source.schedule
        known, now = self._due.get(plan.place), self._clock()
        if known is None or known[0] != of:
            known = of, next_run(plan.source, plan.kept, self._sync, self._zone, now)
            self._due[plan.place] = known
        return known[1] is not None and known[1] <= now
