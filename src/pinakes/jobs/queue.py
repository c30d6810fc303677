"""The queue of a home: a port, and what is behind it with a catalogue in a file."""

from __future__ import annotations

import secrets
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import replace
from datetime import datetime, timedelta
from itertools import count
from pathlib import Path
from typing import Final, Protocol

from filelock import FileLock

from pinakes.catalog import Catalog, Connection, jobs
from pinakes.catalog.engine import fence
from pinakes.catalog.jobs import Job as Job
from pinakes.catalog.jobs import job_key as job_key
from pinakes.core.errors import StorageFull
from pinakes.core.records import JSON
from pinakes.platform.locks import free, taken

LEASE_S: Final = 300.0
"""A lease is taken over so long after it was renewed, where nobody can tell whether its process lives."""

SHARED_LEASE_S: Final = 30.0
"""The same where homes on several machines share the queue, and nobody there can tell."""


class Stopped(Exception):
    """The server ends, or the lease of a job is lost. What is not committed is done again."""


class Queue(Protocol):
    """Jobs that several processes share. All methods are thread-safe.

    ``lease_s``: how long a lease holds that is not renewed, in seconds.

    Raises:
        Busy, StorageFull: the queue cannot be read or written now.
    """

    lease_s: float

    def now(self) -> datetime:
        """Return the time, UTC, by the clock that all have in common."""

    def list_all(self) -> list[Job]:
        """Return all jobs, those first that are to be done first."""

    def enqueue(self, wanted: Sequence[Job]) -> None:
        """Have jobs wait; a key that waits already is not enqueued twice."""

    def claim(self, job: Job) -> str:
        """Return a new lease of a job that nobody holds, "" where another process was quicker."""

    def renew(self, progress: Mapping[str, Mapping[str, JSON]]) -> set[str]:
        """Prolong leases (→ how far the job is); return those that are still held."""

    def guard(self, lease: str) -> AbstractContextManager[None]:
        """Commit to the catalogue within the block only while the lease is held; else ``Stopped`` is raised."""

    def finish(self, lease: str, again_s: float | None = None, error: str = "") -> None:
        """End a lease: the job is done, or runs again after so many seconds, with ``error`` since it failed."""

    def cancel(self, key: str) -> bool:
        """Remove a job; who runs it stops. Say whether there was one."""

    def close(self) -> None:
        """Hold nothing any more."""


def open_queue(catalog: Catalog, home: Path) -> Queue:
    """Return the queue of a home, for one worker."""
    return _CatalogQueue(catalog, home)


class _CatalogQueue:
    """The queue of a home in its catalogue.

    A process that runs jobs holds a file lock for as long as it lives, which the system releases however it ends. So
    the jobs of a killed process are free at once, and those of a living one are never taken: neither because the
    machine slept nor because another process kept the database from being written for long. Only where that file
    cannot be seen (the home was copied, or the process runs elsewhere) the time of the lease counts.
    """

    def __init__(self, catalog: Catalog, home: Path) -> None:
        self._catalog, self._home = catalog, home
        self.lease_s = SHARED_LEASE_S if catalog.is_shared else LEASE_S
        self._worker = secrets.token_hex(4)
        self._numbers = count(1)
        self._leases: set[str] = set()
        self._leaves = False
        self._read: tuple[int, list[Job]] = (-1, [])
        self._lock = self._lock_of(self._worker)

    def now(self) -> datetime:
        return self._catalog.now()

    def list_all(self) -> list[Job]:
        version, known, found = self._catalog.version(), *self._read
        if version != known:  # workers ask several times a second
            with self._catalog.read() as connection:
                found = jobs.list_all(connection)
            self._read = version, found
        return [replace(job, is_held=self._is_held(job)) for job in found]

    def enqueue(self, wanted: Sequence[Job]) -> None:
        with self._catalog.write() as connection:
            for job in wanted:
                jobs.enqueue(connection, job)

    def claim(self, job: Job) -> str:
        if not self._lock.is_locked:
            self._remove_locks()
            taken(self._lock)
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
        with self._catalog.write() as connection:
            return jobs.renew(connection, progress, self._after(self.lease_s))

    @contextmanager
    def guard(self, lease: str) -> Iterator[None]:

        def check(connection: Connection) -> None:
            if not jobs.is_held(connection, lease):
                raise Stopped

        token = fence.set(check)
        try:
            yield
        finally:
            fence.reset(token)

    def finish(self, lease: str, again_s: float | None = None, error: str = "") -> None:
        try:
            with self._catalog.write() as connection:
                jobs.finish(connection, lease, None if again_s is None else self._after(again_s), error)
        except BaseException:  # the job is done once more; until then our lock says that nobody does it
            self._leaves = True
            raise
        finally:
            self._leases.discard(lease)

    def cancel(self, key: str) -> bool:
        with self._catalog.write() as connection:
            return jobs.cancel(connection, key)

    def close(self) -> None:
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
                return not free(lock)
        return (job.expires_at or "") > self._after(0)

    def _after(self, seconds: float) -> str:
        return (self.now() + timedelta(seconds=seconds)).isoformat(timespec="milliseconds")

    def _lock_of(self, worker: str) -> FileLock:
        return FileLock(self._home / f"worker-{worker}.lock", thread_local=False)

    def _remove_locks(self) -> None:
        """Remove what killed processes left long ago, unless they had jobs: these are to be found free.

        A new one may belong to a process that is just about to take it.
        """
        owners = {(job.owner or "").partition("-")[0] for job in self.list_all()}
        for path in self._home.glob("worker-*.lock"):
            with suppress(OSError, StorageFull):  # it is gone by now, or another user's
                is_old = path.stat().st_mtime < time.time() - LEASE_S
                if is_old and path.stem.removeprefix("worker-") not in owners and free(FileLock(path)):
                    path.unlink(missing_ok=True)
