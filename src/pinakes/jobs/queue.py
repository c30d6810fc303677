"""The job queue of a home."""

from __future__ import annotations

import secrets
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from datetime import datetime, timedelta
from itertools import count
from pathlib import Path
from typing import Final

from filelock import FileLock

from pinakes.catalog import Catalog, Connection, jobs
from pinakes.catalog.engine import fence
from pinakes.catalog.jobs import Job as Job
from pinakes.catalog.jobs import job_key as job_key
from pinakes.core.errors import StorageFull
from pinakes.core.records import JSON
from pinakes.platform.locks import is_free, try_acquire

LEASE_S: Final = 300.0
"""A lease expires this many seconds after its last renewal, if it is unknown whether its process is alive."""

SHARED_LEASE_S: Final = 30.0
"""The same where homes on several machines share the queue, and nobody there can tell."""


class Stopped(Exception):
    """The server shuts down, or the job's lease is lost. Uncommitted work is done again later."""


class Queue:
    """The job queue of a home in its catalogue, which several processes share. Thread-safe.

    A process that runs jobs holds a file lock, which the system releases when the process ends in any way. So the jobs
    of a killed process are free at once, and those of a living one are never taken over, even if the machine slept or
    the database was locked for long. The time of the lease counts only if the lock file is not visible (the home was
    copied, or the process runs on another machine).

    ``lease_s``: how long a lease holds that is not renewed, in seconds.

    Raises:
        Busy, StorageFull: the queue cannot be read or written at present.
    """

    def __init__(self, catalog: Catalog, home: Path, worker: str = "") -> None:
        """``worker``: the name of the process, which begins its leases; "" = one is made up."""
        self._catalog, self._home = catalog, home
        self.lease_s = SHARED_LEASE_S if catalog.is_shared else LEASE_S
        self._worker = worker or secrets.token_hex(4)
        self._numbers = count(1)
        self._leases: set[str] = set()
        self._leaves = False
        self._read: tuple[int, list[Job]] = (-1, [])
        self._lock = self._lock_of(self._worker)

    def now(self) -> datetime:
        """Return the time, UTC, by the clock that all have in common."""
        return self._catalog.now()

    def list_all(self) -> list[Job]:
        """Return all jobs in order of priority."""
        version, known, found = self._catalog.version(), *self._read
        if version != known:  # workers call this several times a second
            with self._catalog.read() as connection:
                found = jobs.list_all(connection)
            self._read = version, found
        return [replace(job, is_held=self._is_held(job)) for job in found]

    def enqueue(self, wanted: Sequence[Job]) -> None:
        """Enqueue jobs, except those whose key is already in the queue."""
        with self._catalog.write() as connection:
            for job in wanted:
                jobs.enqueue(connection, job)

    def claim(self, job: Job) -> str:
        """Return a new lease of a job, "" if another process holds it."""
        if not self._lock.is_locked:
            self._remove_locks()
            try_acquire(self._lock)
        lease = f"{self._worker}-{next(self._numbers)}"
        self._leases.add(lease)
        is_ours = False
        try:
            with self._catalog.write() as connection:
                claimed = jobs.claim(connection, job, lease, self._after(self.lease_s))
            is_ours = claimed
        finally:
            if not is_ours:
                self._leases.discard(lease)
        return lease if is_ours else ""

    def renew(self, progress: Mapping[str, Mapping[str, JSON]]) -> set[str]:
        """Renew leases (lease → progress of its job); return those still held."""
        with self._catalog.write() as connection:
            return jobs.renew(connection, progress, self._after(self.lease_s))

    @contextmanager
    def guard(self, lease: str) -> Iterator[None]:
        """Allow commits to the catalogue within the block only while the lease is held; otherwise raise ``Stopped``."""

        def check(connection: Connection) -> None:
            if not jobs.is_held(connection, lease):
                raise Stopped

        token = fence.set(check)
        try:
            yield
        finally:
            fence.reset(token)

    def finish(self, lease: str, again_s: float | None = None, error: str = "") -> None:
        """End a lease: the job is done, or is repeated after ``again_s`` seconds, with ``error`` if it failed."""
        try:
            with self._catalog.write() as connection:
                jobs.finish(connection, lease, None if again_s is None else self._after(again_s), error)
        except BaseException:  # the job is done once more; until then our lock says that nobody does it
            self._leaves = True
            raise
        finally:
            self._leases.discard(lease)

    def cancel(self, key: str) -> bool:
        """Remove a job, and stop it if it is running; return whether it existed."""
        with self._catalog.write() as connection:
            return jobs.cancel(connection, key)

    def close(self) -> None:
        """Release the resources of the queue."""
        if self._lock.is_locked:
            if not self._leaves:
                Path(self._lock.lock_file).unlink(missing_ok=True)
            self._lock.release()

    def _is_held(self, job: Job) -> bool:
        if job.owner is None:
            return False
        worker = job.owner.partition("-")[0]
        if worker == self._worker:
            return job.owner in self._leases
        lock = self._lock_of(worker)
        with suppress(StorageFull):
            if Path(lock.lock_file).exists():
                return not is_free(lock)
        return (job.expires_at or "") > self._after(0)

    def _after(self, seconds: float) -> str:
        return (self.now() + timedelta(seconds=seconds)).isoformat(timespec="milliseconds")

    def _lock_of(self, worker: str) -> FileLock:
        return FileLock(self._home / f"worker-{worker}.lock", thread_local=False)

    def _remove_locks(self) -> None:
        """Remove old lock files of killed processes, except those that still have jobs, which must be found free.

        A new lock file may belong to a process that is about to lock it.
        """
        owners = {(job.owner or "").partition("-")[0] for job in self.list_all()}
        for path in self._home.glob("worker-*.lock"):
            with suppress(OSError, StorageFull):  # it is gone by now, or another user's
                is_old = path.stat().st_mtime < time.time() - LEASE_S
                if is_old and path.stem.removeprefix("worker-") not in owners and is_free(FileLock(path)):
                    path.unlink(missing_ok=True)
