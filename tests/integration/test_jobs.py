"""Jobs are done once, by whichever process lives; leases hold as long as their process does."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from sqlalchemy import update
from waiting import until

from pinakes.catalog import Catalog, jobs, schema
from pinakes.catalog.jobs import Job
from pinakes.core.errors import StorageFull
from pinakes.jobs.queue import Queue, Stopped
from pinakes.jobs.worker import Running, Task, Worker

LONG_S = 20.0
HOLD = """
import sys, time
from pathlib import Path
from pinakes.catalog import Catalog
from pinakes.jobs.queue import Queue
home = Path(sys.argv[1])
queue = Queue(Catalog.at(home), home)
[job] = queue.list_all()
print(queue.claim(job), flush=True)
time.sleep(60)
"""


class Counting(Task):
    """Does jobs that others enqueue, and counts them."""

    kind = "count"
    pauses = (0.05, 0.2)

    def __init__(self) -> None:
        self.done: list[str] = []
        self.told: list[str] = []
        self.fails: list[BaseException] = []
        self.begun, self.go_on = threading.Event(), threading.Event()
        self.go_on.set()
        self.due: list[Job] = []

    def due_jobs(self) -> list[Job]:
        return self.due

    def run(self, running: Running) -> None:
        self.begun.set()
        while not self.go_on.wait(0.01):
            running.check()
        if self.fails:
            raise self.fails.pop()
        self.done.append(running.job.key)

    def report_failure(self, job: Job, words: str) -> None:
        self.told.append(f"{job.key}: {words}")


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


@pytest.fixture
def catalog(home: Path) -> Iterator[Catalog]:
    opened = Catalog.at(home)
    yield opened
    opened.close()


@pytest.fixture
def queue(catalog: Catalog, home: Path) -> Iterator[Queue]:
    opened = Queue(catalog, home)
    yield opened
    opened.close()


@pytest.fixture
def start(catalog: Catalog, home: Path) -> Iterator[Callable[[Task], Worker]]:
    workers: list[Worker] = []

    def start_one(task: Task) -> Worker:
        workers.append(Worker(Queue(catalog, home), [task]))
        workers[-1].start()
        return workers[-1]

    yield start_one
    ended = [worker.stop() for worker in workers]
    assert all(ended)


def keys(queue: Queue) -> list[str]:
    return [job.key for job in queue.list_all()]


def test_a_key_waits_once_with_the_earliest_time_and_runs_again_when_wanted_meanwhile(queue: Queue) -> None:
    queue.enqueue([Job("a", "count", run_at="2999"), Job("a", "count", run_at="2998"), Job("a", "count")])
    [job] = queue.list_all()
    assert job.run_at is not None
    assert job.run_at < "2998"
    lease = queue.claim(job)
    assert [one.state for one in queue.list_all()] == ["running"]
    queue.enqueue([Job("a", "count")])
    queue.finish(lease)
    [again] = queue.list_all()
    assert again.state == "waiting"
    queue.finish(queue.claim(again))
    assert queue.list_all() == []


def test_of_two_claims_one_wins_and_a_cancelled_job_is_nobodys(queue: Queue, catalog: Catalog) -> None:
    queue.enqueue([Job("a", "count")])
    [job] = queue.list_all()
    lease = queue.claim(job)
    assert lease
    assert queue.claim(job) == ""
    assert queue.renew({lease: "half"}) == {lease}
    assert queue.list_all()[0].progress == "half"
    assert queue.cancel("a")
    assert queue.renew({lease: ""}) == set()
    with pytest.raises(Stopped), queue.guard(lease), catalog.write():
        pass


def test_what_is_more_urgent_comes_first(queue: Queue) -> None:
    queue.enqueue(
        [Job("low", "count", priority=-1), Job("later", "count", run_at="2999"), Job("high", "count", priority=1)]
    )
    assert keys(queue) == ["high", "later", "low"] or keys(queue) == ["high", "low", "later"]
    assert keys(queue)[0] == "high"


def test_jobs_are_done_once_by_several_workers(queue: Queue, start: Callable[[Task], Worker]) -> None:
    tasks = [Counting(), Counting()]
    for task in tasks:
        start(task)
    names = [str(number) for number in range(20)]
    queue.enqueue([Job(name, "count") for name in names])
    until(lambda: not queue.list_all())
    assert sorted(tasks[0].done + tasks[1].done) == sorted(names)


def test_what_is_due_is_enqueued_once_and_done_again_and_again(queue: Queue, start: Callable[[Task], Worker]) -> None:
    task = Counting()
    task.look_every_s = 0.01
    task.due = [Job("a", "count")]
    start(task)
    until(lambda: len(task.done) >= 3)
    task.go_on.clear()
    task.begun.clear()
    until(task.begun.is_set)
    assert keys(queue) == ["a"]
    task.due = []
    task.go_on.set()
    until(lambda: not queue.list_all())


def test_what_fails_is_told_once_tried_later_each_time_and_forgotten_when_it_is_done(
    queue: Queue, start: Callable[[Task], Worker]
) -> None:
    task = Counting()
    task.fails = [ValueError("no"), StorageFull("full"), StorageFull("full")]
    start(task)
    queue.enqueue([Job("a", "count")])
    until(lambda: [job.state for job in queue.list_all()] == ["failed"])
    [job] = queue.list_all()
    assert "full" in job.error
    until(lambda: task.done == ["a"])
    assert [line.split(".")[0] for line in task.told] == ["a: full", "a: ValueError: no"]
    until(lambda: not queue.list_all())


class Panic(BaseException):
    """What libraries written in Rust raise."""


@pytest.mark.parametrize(
    "error", [Panic("a library gave up"), ValueError("no text: \udcff")], ids=["panic", "surrogate"]
)
def test_whatever_is_raised_a_job_is_tried_again_after_a_pause(
    queue: Queue, start: Callable[[Task], Worker], error: BaseException, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.CRITICAL, "pinakes.jobs.worker")  # pytest-xdist cannot pass on such text
    task = Counting()
    task.pauses = (0.2, 0.2)
    task.fails = [error]
    start(task)
    begin = time.monotonic()
    queue.enqueue([Job("a", "count"), Job("b", "count")])
    until(lambda: sorted(task.done) == ["a", "b"])
    assert time.monotonic() - begin >= 0.1
    assert len(task.told) == 1
    until(lambda: not queue.list_all())


def test_a_lock_that_is_of_somebody_else_stops_nothing(
    home: Path, queue: Queue, start: Callable[[Task], Worker]
) -> None:
    lock = home / "worker-00000000.lock"
    lock.mkdir()  # as little to be opened as the file of another user
    os.utime(lock, (0, 0))
    task = Counting()
    start(task)
    queue.enqueue([Job("a", "count")])
    until(lambda: task.done == ["a"])


def test_a_job_of_a_killed_process_is_free_at_once_and_that_of_a_living_one_never(
    home: Path, queue: Queue, catalog: Catalog, start: Callable[[Task], Worker]
) -> None:
    queue.enqueue([Job("a", "count")])
    with subprocess.Popen([sys.executable, "-c", HOLD, home], stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout is not None
        lease = other.stdout.readline().strip()
        with catalog.write() as connection:  # as after a night asleep, or a database that was held for long
            connection.execute(update(schema.jobs).values(expires_at="2020"))
        task = Counting()
        start(task)
        assert [job.state for job in queue.list_all()] == ["running"]
        assert not task.begun.wait(0.5)
        other.kill()
        other.wait()
        until(lambda: task.done == ["a"])
    until(lambda: not queue.list_all())
    assert lease


def test_a_lease_of_a_process_that_nobody_can_see_lasts_until_it_expires(
    home: Path, queue: Queue, catalog: Catalog
) -> None:
    queue.enqueue([Job("a", "count")])
    [job] = queue.list_all()
    with catalog.write() as connection:
        assert jobs.claim(connection, job, "elsewhere-1", "2999")
    assert [one.state for one in queue.list_all()] == ["running"]
    with catalog.write() as connection:
        connection.execute(update(schema.jobs).values(expires_at="2020"))
    [job] = queue.list_all()
    assert not job.is_held
    assert queue.claim(job)
    assert queue.list_all()[0].attempts == 1


def test_who_lost_its_lease_commits_nothing_any_more_and_ends(
    queue: Queue, catalog: Catalog, start: Callable[[Task], Worker]
) -> None:
    class Late(Counting):
        def run(self, running: Running) -> None:
            super().run(running)
            with catalog.write() as connection:
                jobs.enqueue(connection, Job("written", "other"))

    task = Late()
    task.go_on.clear()
    start(task)
    queue.enqueue([Job("a", "count")])
    until(task.begun.is_set)
    with catalog.write() as connection:
        connection.execute(update(schema.jobs).values(owner="elsewhere-1", expires_at="2999"))
    task.go_on.set()
    until(lambda: task.done)
    threading.Event().wait(0.3)
    assert [(job.key, job.owner) for job in queue.list_all()] == [("a", "elsewhere-1")]


def test_a_server_that_ends_leaves_its_jobs_to_the_next_one(queue: Queue, start: Callable[[Task], Worker]) -> None:
    first, second = Counting(), Counting()
    first.go_on.clear()
    worker = start(first)
    queue.enqueue([Job("a", "count")])
    until(first.begun.is_set)
    assert worker.stop()
    assert [(job.state, job.attempts) for job in queue.list_all()] == [("waiting", 0)]
    start(second)
    until(lambda: second.done == ["a"])


def test_a_job_whose_time_lies_far_ahead_since_the_clock_was_put_back_is_done(
    queue: Queue, start: Callable[[Task], Worker]
) -> None:
    queue.enqueue([Job("a", "count", run_at="2999-01-01T00:00:00.000+00:00")])
    task = Counting()
    start(task)
    until(lambda: task.done == ["a"])
