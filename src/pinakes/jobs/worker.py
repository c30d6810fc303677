"""Runs the jobs of a home: one worker for each server, with the tasks that it knows."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from functools import partial
from typing import ClassVar

from pinakes.catalog.jobs import Job
from pinakes.core.caller import Caller, calling
from pinakes.core.errors import PinakesError
from pinakes.core.records import JSON
from pinakes.core.schedules import pause_s
from pinakes.jobs.queue import Queue, Stopped

_log = logging.getLogger(__name__)

_STEP_S = 0.1
_RENEWALS = 5
"""A lease is renewed so often before it would end."""

_TELL_S = 1.0
"""How far jobs are is written so often, at most."""

_LEFT_S = 60.0
_MOST_ERROR_CHARS = 500
_AFTER_FAILURE_S = 1.0
_STOP_TIMEOUT_S = 8.0


class Running:
    """A job that runs here. ``progress``: how far it is; its task sets it. ``ending``: is set once the server ends."""

    def __init__(self, job: Job, lease: str, ending: threading.Event) -> None:
        self.job, self.lease, self.ending = job, lease, ending
        self.progress: Mapping[str, JSON] = {}
        self.is_lost = False

    def check(self) -> None:
        """Go on, unless the server ends or another process has the job by now, which raises ``Stopped``."""
        if self.is_lost or self.ending.is_set():
            raise Stopped

    def note(self, stage: str, done: int, total: int) -> None:
        """Go on in the same way, and note how far the job is."""
        self.check()
        self.progress = {"stage": stage, "done": done, "total": total}


class Task:
    """One kind of job: what of it is due, and how it is done."""

    kind: ClassVar[str]
    at_once = 1
    """So many jobs of this kind run at the same time."""

    resumes = True
    """What was not done when the server ended waits for the next one, also where that does not look for it."""

    look_every_s = 1.0
    pauses = (5.0, 60.0)
    """After so many seconds what failed is tried again: at first, and at most. They double, a quarter more or less."""

    caller = Caller()

    def wanted(self) -> Iterable[Job]:
        """Return what is to be done now, by what the catalogue says. It is asked every ``look_every_s`` seconds."""
        raise NotImplementedError

    def accepts(self, job: Job) -> bool:
        """Say whether this process can do a job."""
        return job.kind == self.kind

    def run(self, running: Running) -> None:
        """Do a job; call ``running.check`` now and then. It may have been done in part before."""
        raise NotImplementedError

    def tell(self, job: Job, words: str) -> None:
        """Tell people why a job failed; not where it failed for the same reason the last time."""
        _log.warning("%s failed: %s", job.key, words)


class Worker:
    """Looks for what is due and runs it, a thread for each job; so many of a kind as its task says."""

    def __init__(self, queue: Queue, tasks: Sequence[Task]) -> None:
        self._queue, self._tasks = queue, {task.kind: task for task in tasks}
        self._looks: dict[str, float] = {}
        self._running: dict[str, Running] = {}
        self._renewed: tuple[float, dict[str, Mapping[str, JSON]]] = (0.0, {})
        self._told: dict[str, str] = {}
        self._stop, self._wake = threading.Event(), threading.Event()
        self._threads = [threading.Thread(target=self._run, name="pinakes-jobs", daemon=True)]

    def start(self) -> None:
        """Begin, in threads of its own."""
        self._threads[0].start()

    def end(self) -> None:
        """Ask all jobs to end."""
        self._stop.set()
        self._wake.set()

    def stop(self) -> bool:
        """Ask all jobs to end and wait a little; say whether they did. What was not done is done by the next worker."""
        self.end()
        until = time.monotonic() + _STOP_TIMEOUT_S
        while (left := [one for one in self._threads if one.is_alive()]) and time.monotonic() < until:
            left[0].join(max(0.0, until - time.monotonic()))  # the first one begins the others
        if not left:
            self._queue.close()
        return not left

    def _run(self) -> None:
        while not self._stop.is_set():
            self._wake.wait(_STEP_S)
            self._wake.clear()
            if not self._attempt("jobs", self._step):
                self._stop.wait(_AFTER_FAILURE_S)

    def _step(self) -> None:
        """Enqueue what is due and is not there yet; begin what waits."""
        self._renew()
        there = self._queue.list_all()
        keys = {job.key for job in there}
        if fresh := [job for job in self._look() if job.key not in keys]:
            self._queue.enqueue(fresh)
            there = self._queue.list_all()
        clock = self._queue.now()
        for job in there:
            task = self._tasks.get(job.kind)
            if task and not job.is_held and _is_due(job, task, clock) and self._has_room(task) and task.accepts(job):
                self._begin(task, job)
            elif task and not job.is_held and _is_left(job, clock) and not task.accepts(job):
                lease = self._queue.claim(job)
                if lease:  # nobody took it meanwhile
                    self._queue.finish(lease)

    def _has_room(self, task: Task) -> bool:
        same = sum(one.job.kind == task.kind for one in list(self._running.values()))
        return same < task.at_once and not self._stop.is_set()

    def _look(self) -> list[Job]:
        found: list[Job] = []

        def look(task: Task) -> None:
            found.extend(task.wanted())

        for kind, task in self._tasks.items():
            if time.monotonic() >= self._looks.get(kind, 0.0):
                self._attempt(kind, partial(look, task))
                self._looks[kind] = time.monotonic() + task.look_every_s
        return found

    def _renew(self) -> None:
        """Prolong the leases now and then, and when there is something to tell; a job whose lease is lost ends."""
        clock, (at, told) = time.monotonic(), self._renewed
        progress = {one.lease: one.progress for one in list(self._running.values())}
        news = any(one != told.get(lease, {}) for lease, one in progress.items())
        if progress and clock >= at + (_TELL_S if news else self._queue.lease_s / _RENEWALS):
            held = self._queue.renew(progress)
            self._renewed = clock, progress
            for one in list(self._running.values()):
                one.is_lost = one.lease in progress and one.lease not in held

    def _begin(self, task: Task, job: Job) -> None:
        lease = self._queue.claim(job)
        if lease:
            running = self._running[lease] = Running(job, lease, self._stop)
            thread = threading.Thread(target=self._do, args=(task, running), name=f"pinakes-{job.kind}", daemon=True)
            self._threads = [self._threads[0], *(one for one in self._threads[1:] if one.is_alive()), thread]
            try:
                thread.start()
            except RuntimeError as error:  # the system has no room for one more thread
                del self._running[lease]
                self._queue.finish(lease, pause_s(job.attempts + 1, *task.pauses, job.key), str(error))
                raise

    def _do(self, task: Task, running: Running) -> None:
        job, again_s, words = running.job, None, ""
        try:
            with calling(task.caller), self._queue.guard(running.lease):
                task.run(running)
        except Stopped:
            again_s = 0.0 if task.resumes else None
        except BaseException as error:  # noqa: BLE001 - the last door, also for panics of Rust: told, and tried again
            known = isinstance(error, PinakesError)
            words = (str(error) if known else f"{type(error).__name__}: {error}")[:_MOST_ERROR_CHARS]
            words = words.encode(errors="backslashreplace").decode()  # a name of a file may be no text
            again_s = pause_s(job.attempts + 1, *task.pauses, job.key)
            if words != job.error:
                self._attempt(job.key, partial(task.tell, job, words))
                if not known:
                    _log.exception("%s failed", job.key)
        del self._running[running.lease]
        self._attempt(job.key, partial(self._queue.finish, running.lease, again_s, words))
        self._wake.set()

    def _attempt(self, what: str, work: Callable[[], object]) -> bool:
        """Do ``work`` and say whether it was done; why it failed is logged, once."""
        try:
            work()
        except Exception as error:  # noqa: BLE001 - all other jobs are to be done all the same
            known = isinstance(error, PinakesError)
            if self._told.get(what) != str(error):
                self._told[what] = str(error)
                _log.warning("%s wait: %s", what, error, exc_info=None if known else error)
            return False
        self._told.pop(what, None)
        return True


def _is_left(job: Job, clock: datetime) -> bool:
    """Say whether a job should have begun some time ago: if nobody wants it by now, settings have changed."""
    return job.run_at is None or datetime.fromisoformat(job.run_at) < clock - timedelta(seconds=_LEFT_S)


def _is_due(job: Job, task: Task, clock: datetime) -> bool:
    """Say whether a job waits no longer; one that waits for longer than any pause since the clock was put back does."""
    at = datetime.fromisoformat(job.run_at) if job.run_at else clock
    return at <= clock or at > clock + timedelta(seconds=2 * task.pauses[1])
