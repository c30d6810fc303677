"""Several processes behind one port: both answer, they count together, and they end together."""

from __future__ import annotations

import os
import signal
import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import httpx
import pytest
from attacked_home import open_library, write_documents
from prometheus_client.parser import text_string_to_metric_families
from real_server import RealServer, real_server
from waiting import until


def replicas(server: RealServer) -> list[int]:
    """Return the processes that the server started and that run."""
    tasks = Path(f"/proc/{server.process.pid}/task").glob("*/children")
    children = [int(one) for task in tasks for one in task.read_text().split()]
    return [one for one in children if "pinakes.api.replica" in command_of(one)]


def command_of(process: int) -> str:
    try:
        return Path(f"/proc/{process}/cmdline").read_text().replace("\0", " ")
    except OSError:
        return ""


def sockets_of(process: int) -> int:
    """Return how many sockets a process has open."""
    found = 0
    for one in Path(f"/proc/{process}/fd").iterdir():
        with suppress(FileNotFoundError):  # closed meanwhile
            found += one.readlink().name.startswith("socket:")
    return found


def is_gone(process: int) -> bool:
    return not command_of(process)


@pytest.fixture
def server(tmp_path: Path) -> Iterator[RealServer]:
    with open_library(tmp_path / "home") as library:
        library.add(str(write_documents(tmp_path / "documents")))
    with real_server(tmp_path / "home", server__workers=2) as found:
        until(lambda: replicas(found))
        until(lambda: found.health()["status"] == "healthy")
        until(lambda: answered_by_replica(found))
        yield found


def answered_by_replica(server: RealServer) -> bool:
    """Say whether something is answered while the first process is stopped: nobody else is there."""
    with stopped(server.process.pid):
        try:
            return httpx.get(f"{server.url}/healthz", timeout=2).status_code == 200
        except httpx.TimeoutException:
            return False


@contextmanager
def stopped(process: int) -> Iterator[None]:
    """Hold a process while the body runs."""
    os.kill(process, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(process, signal.SIGCONT)


def test_each_answers_alone_and_finds_what_the_other_wrote(server: RealServer) -> None:
    [replica] = replicas(server)
    with stopped(replica):
        put = server.call("ingest_document", content="The zyzzyva came last.", title="Late")
        assert put.status_code == 200, put.text
        assert server.search("zyzzyva").json()["results"]
    with stopped(server.process.pid):
        assert server.search("zyzzyva").json()["results"]
        assert server.call("ingest_document", content="A quokka came later.", title="Later").status_code == 200
    with stopped(replica):
        assert server.search("quokka").json()["results"]


def test_connections_that_come_at_once_are_shared(server: RealServer) -> None:
    processes = [server.process.pid, *replicas(server)]
    before = [sockets_of(one) for one in processes]
    address = httpx.URL(server.url)
    with ExitStack() as open_ones:
        for _ in range(16):
            open_ones.enter_context(socket.create_connection((address.host, address.port or 0)))
        taken: list[int] = []

        def all_are_taken() -> bool:
            taken[:] = [sockets_of(one) - count for one, count in zip(processes, before, strict=True)]
            return sum(taken) >= 15  # one of before may have been closed

        until(all_are_taken)
    assert min(taken) >= 2


def test_they_count_together(server: RealServer) -> None:
    [replica] = replicas(server)
    for held in (replica, server.process.pid):
        with stopped(held):
            for _ in range(5):
                assert server.search("heron").status_code == 200

    def searches() -> float:
        families = text_string_to_metric_families(httpx.get(f"{server.url}/metrics").text)
        samples = [one for family in families for one in family.samples if one.name == "pinakes_requests_total"]
        return sum(one.value for one in samples if one.labels == {"path": "/search", "status": "200"})

    until(lambda: searches() == 10)  # one is counted after its answer


def test_one_that_ends_is_started_again(server: RealServer) -> None:
    [before] = replicas(server)
    os.kill(before, signal.SIGKILL)
    until(lambda: [one for one in replicas(server) if one != before])
    until(lambda: answered_by_replica(server))
    assert b"another is started" in server.log.read_bytes()


def test_they_end_together(server: RealServer) -> None:
    [replica] = replicas(server)
    assert server.end() < 6
    assert server.process.returncode == 0
    until(lambda: is_gone(replica), within_s=2)
    assert b"Traceback" not in server.log.read_bytes()


def test_a_replica_does_not_outlive_the_first_process(server: RealServer) -> None:
    [replica] = replicas(server)
    server.process.kill()
    server.process.wait()
    until(lambda: is_gone(replica), within_s=10)
