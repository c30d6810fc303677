"""Jobs: work that waits, or that a process holds a lease of. Each key has one row.

A row without ``owner`` waits until ``run_at``. A row with one is held; a ``run_at`` that it has was requested
meanwhile, so that it waits again when it is finished. A finished job has no row.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from sqlalchemy import Case, Connection, case, delete, select, update

from pinakes.catalog.dialects.upsert import insert
from pinakes.catalog.engine import now
from pinakes.catalog.schema import jobs
from pinakes.core.records import JSON


@dataclass(frozen=True, slots=True)
class Job:
    """Work of a ``kind``; of two with one ``key`` one is done. Times are ISO 8601 in UTC.

    ``owner`` is the lease of whoever runs it, until ``expires_at`` unless it is renewed. ``attempts`` failed in a row,
    the last one with ``error``. ``is_held``: the process that owns it lives, as far as can be told.
    """

    key: str
    kind: str
    arguments: Mapping[str, JSON] = field(default_factory=dict)
    priority: int = 0
    created_at: str = field(default_factory=now)
    run_at: str | None = None
    owner: str | None = None
    expires_at: str | None = None
    attempts: int = 0
    error: str = ""
    progress: Mapping[str, JSON] = field(default_factory=dict)
    is_held: bool = False

    @property
    def state(self) -> Literal["waiting", "running", "failed"]:
        """What it does; "failed" waits, too: until it is tried again."""
        return "running" if self.is_held else "failed" if self.attempts else "waiting"


def job_key(*parts: str) -> str:
    """Return parts as a key, which any database can keep."""
    return ":".join(parts).encode(errors="backslashreplace").decode()


def list_all(connection: Connection) -> list[Job]:
    """Return all jobs in the order in which they are to be done."""
    rows = connection.execute(select(jobs).order_by(jobs.c.priority.desc(), jobs.c.run_at, jobs.c.created_at))
    return [Job(**row._asdict()) for row in rows]


def enqueue(connection: Connection, job: Job) -> None:
    """Have a job wait until its ``run_at``, now where it has none; one that waits by then waits no longer than that.

    While a job of that key runs, it will be done once more.
    """
    at = job.run_at or now()
    values = asdict(job) | {"run_at": at}
    del values["is_held"]
    again = {"run_at": _no_later_than(at)}
    connection.execute(insert(jobs).values(values).on_conflict_do_update(index_elements=["key"], set_=again))


def claim(connection: Connection, job: Job, owner: str, expires_at: str) -> bool:
    """Make ``owner`` the one who runs a job; False where it was finished or taken meanwhile.

    A job that had an owner is one whose process ended in the middle of it, which counts as a failed attempt.
    """
    same = jobs.c.key == job.key, jobs.c.owner.is_not_distinct_from(job.owner)
    attempts = jobs.c.attempts + int(job.owner is not None)
    values: dict[str, Any] = {
        "owner": owner,
        "expires_at": expires_at,
        "run_at": None,
        "progress": {},
        "attempts": attempts,
    }
    return bool(connection.execute(update(jobs).where(*same).values(values)).rowcount)


def renew(connection: Connection, progress: Mapping[str, Mapping[str, JSON]], expires_at: str) -> set[str]:
    """Prolong leases (owner → how far it is) until ``expires_at``; return those that are still held."""
    return {
        owner
        for owner, reported in progress.items()
        if connection.execute(
            update(jobs).where(jobs.c.owner == owner).values(expires_at=expires_at, progress=reported)
        ).rowcount
    }


def is_held(connection: Connection, owner: str) -> bool:
    """Say whether a lease was neither taken by another process nor cancelled."""
    held = select(jobs.c.key).where(jobs.c.owner == owner).with_for_update(read=True)  # until the commit
    return connection.execute(held).first() is not None


def finish(connection: Connection, owner: str, run_at: str | None = None, error: str = "") -> None:
    """End the lease: the job is done, or waits until ``run_at``, with ``error`` since it failed."""
    mine = jobs.c.owner == owner
    if run_at is None:
        connection.execute(delete(jobs).where(mine, jobs.c.run_at.is_(None)))
    values: dict[str, Any] = {
        "owner": None,
        "expires_at": None,
        "run_at": run_at if error else _no_later_than(run_at) if run_at else jobs.c.run_at,
        "attempts": jobs.c.attempts + 1 if error else 0,
        "error": error,
        "progress": {},
    }
    connection.execute(update(jobs).where(mine).values(values))


def cancel(connection: Connection, key: str) -> bool:
    """Remove a job; whoever runs it notices when it renews its lease or commits. Say whether there was one."""
    return bool(connection.execute(delete(jobs).where(jobs.c.key == key)).rowcount)


def _no_later_than(at: str) -> Case[str]:
    return case((jobs.c.run_at < at, jobs.c.run_at), else_=at)
