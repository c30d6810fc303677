"""A worker over a library, as a server has it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from pinakes.catalog.jobs import Job
from pinakes.jobs.queue import Queue
from pinakes.jobs.worker import Task, Worker
from pinakes.library import Library


def queue_of(library: Library) -> Queue:
    """Return the queue of a home, for one worker."""
    return Queue(library.app.catalog, library.settings.home)


def jobs_of(library: Library, kind: str = "") -> list[Job]:
    """Return the jobs of a home, or those of a kind."""
    return [job for job in queue_of(library).list_all() if kind in ("", job.kind)]


def worker_of(library: Library, *tasks: Task) -> Worker:
    """Return a worker that does these tasks; it has not begun."""
    return Worker(queue_of(library), tasks)


@contextmanager
def working(library: Library, *tasks: Task) -> Iterator[Worker]:
    """Do these tasks for as long as the block takes."""
    worker = worker_of(library, *tasks)
    worker.start()
    try:
        yield worker
    finally:
        assert worker.stop()
