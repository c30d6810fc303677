"""The worker of a server: it runs the jobs of a home by the tasks that it is given."""

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
"""Minimum seconds between writes of the progress of jobs."""

_LEFT_S = 60.0
_MOST_ERROR_CHARS = 500
_AFTER_FAILURE_S = 1.0
_STOP_TIMEOUT_S = 8.0


class Running:
    """A job that runs in this process. ``progress``: set by its task. ``ending``: set when the server shuts down."""

    def __init__(self, job: Job, lease: str, ending: threading.Event) -> None:
        self.job, self.lease, self.ending = job, lease, ending
        self.progress: Mapping[str, JSON] = {}
        self.is_lost = False

    def check(self) -> None:
        """Raise ``Stopped`` if the server shuts down or another process has taken over the job."""
        if self.is_lost or self.ending.is_set():
            raise Stopped

    def note(self, stage: str, done: int, total: int) -> None:
        """Do the same as ``check``, and record the progress of the job."""
        self.check()
        self.progress = {"stage": stage, "done": done, "total": total}


class Task:
    """One kind of job: which jobs are due, and how they run."""

    kind: ClassVar[str]
    at_once = 1
    """Maximum jobs of this kind that run at the same time."""

    resumes = True
    """Whether jobs left by one server wait for the next one, even if that one does not look for them."""

    drops = True
    """Whether a job that waits for long and is not accepted is removed: settings have changed."""

    look_every_s = 1.0
    pauses = (5.0, 60.0)
    """Delays in seconds of retries after failures: first, maximum. They double each time, and vary by a quarter."""

    caller = Caller()

    def due_jobs(self) -> Iterable[Job]:
        """Return the jobs that are due according to the catalogue. Called every ``look_every_s`` seconds."""
        raise NotImplementedError

    def accepts(self, job: Job) -> bool:
        """Return whether this process can run a job."""
        return job.kind == self.kind

    def run(self, running: Running) -> None:
        """Run a job, which may have been done in part before; call ``running.check`` regularly."""
        raise NotImplementedError

    def report_failure(self, job: Job, words: str) -> None:
        """Report to users why a job failed, unless its last failure had the same reason."""
        _log.warning("%s failed: %s", job.key, words)


class Worker:
    """Finds due jobs and runs each in a thread, up to the limits of their tasks."""

    def __init__(self, queue: Queue, tasks: Sequence[Task]) -> None:
        self._queue, self._tasks = queue, {task.kind: task for task in tasks}
        self._looks: dict[str, float] = {}
        self._running: dict[str, Running] = {}
        self._renewed: tuple[float, dict[str, Mapping[str, JSON]]] = (0.0, {})
        self._logged: dict[str, str] = {}
        self._stop, self._wake = threading.Event(), threading.Event()
        self._threads = [threading.Thread(target=self._run, name="pinakes-jobs", daemon=True)]

    def start(self) -> None:
        """Start, in threads of its own."""
        self._threads[0].start()

    def end(self) -> None:
        """Ask all jobs to stop."""
        self._stop.set()
        self._wake.set()

    def stop(self) -> bool:
        """Ask all jobs to stop, wait a little, and return whether they did. The next worker continues the others."""
        self.end()
        until = time.monotonic() + _STOP_TIMEOUT_S
        while (left := [one for one in self._threads if one.is_alive()]) and time.monotonic() < until:
            left[0].join(max(0.0, until - time.monotonic()))  # the first thread starts the others
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
        """Enqueue due jobs that are not in the queue; start waiting jobs."""
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
            elif task and not job.is_held and _is_left(job, clock) and task.drops and not task.accepts(job):
                lease = self._queue.claim(job)
                if lease:  # no other process took it
                    self._queue.finish(lease)

    def _has_room(self, task: Task) -> bool:
        same = sum(one.job.kind == task.kind for one in list(self._running.values()))
        return same < task.at_once and not self._stop.is_set()

    def _look(self) -> list[Job]:
        found: list[Job] = []

        def look(task: Task) -> None:
            found.extend(task.due_jobs())

        for kind, task in self._tasks.items():
            if time.monotonic() >= self._looks.get(kind, 0.0):
                self._attempt(kind, partial(look, task))
                self._looks[kind] = time.monotonic() + task.look_every_s
        return found

    def _renew(self) -> None:
        """Renew the leases regularly and after progress; stop a job whose lease is lost."""
        clock, (at, renewed) = time.monotonic(), self._renewed
        progress = {one.lease: one.progress for one in list(self._running.values())}
        news = any(one != renewed.get(lease, {}) for lease, one in progress.items())
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
            except RuntimeError as error:  # the system cannot start another thread
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
        except BaseException as error:  # noqa: BLE001 - also for panics of Rust: reported and retried
            known = isinstance(error, PinakesError)
            words = (str(error) if known else f"{type(error).__name__}: {error}")[:_MOST_ERROR_CHARS]
            words = words.encode(errors="backslashreplace").decode()  # a file name may not be valid text
            again_s = pause_s(job.attempts + 1, *task.pauses, job.key)
            if words != job.error:
                self._attempt(job.key, partial(task.report_failure, job, words))
                if not known:
                    _log.exception("%s failed", job.key)
        del self._running[running.lease]
        self._attempt(job.key, partial(self._queue.finish, running.lease, again_s, words))
        self._wake.set()

    def _attempt(self, what: str, work: Callable[[], object]) -> bool:
        """Run ``work`` and return whether it succeeded; log a failure once per reason."""
        try:
            work()
        except Exception as error:  # noqa: BLE001 - the other jobs must still run
            known = isinstance(error, PinakesError)
            if self._logged.get(what) != str(error):
                self._logged[what] = str(error)
                _log.warning("%s wait: %s", what, error, exc_info=None if known else error)
            return False
        self._logged.pop(what, None)
        return True


def _is_left(job: Job, clock: datetime) -> bool:
    """Say whether a job should have begun some time ago: if nobody wants it by now, settings have changed."""
    return job.run_at is None or datetime.fromisoformat(job.run_at) < clock - timedelta(seconds=_LEFT_S)


def _is_due(job: Job, task: Task, clock: datetime) -> bool:
    """Say whether a job waits no longer; one that waits for longer than any pause since the clock was put back does."""
    at = datetime.fromisoformat(job.run_at) if job.run_at else clock
    return at <= clock or at > clock + timedelta(seconds=2 * task.pauses[1])
