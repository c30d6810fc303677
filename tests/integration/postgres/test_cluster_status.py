"""Servers and workers of one catalogue tell that they run, how far their indexes are, and what they do."""

from __future__ import annotations

import json
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from forking import run_pinakes
from real_server import real_server
from waiting import until
from worker_processes import pinakes, worker

from pinakes.catalog.heartbeats import STALE_S
from pinakes.catalog.schema import servers
from pinakes.jobs.queue import Job
from pinakes.library import Library
from pinakes.settings import Settings


@pytest.fixture
def url(new_database: Callable[[], str]) -> str:
    return new_database()


@contextmanager
def opened(home: Path, url: str) -> Iterator[Library]:
    named = {"home": home, "catalog": {"url": url}, "embedding": {"provider": "deterministic"}}
    with Library(Settings.model_validate(named)) as library:
        yield library


def test_a_server_tells_of_itself_until_it_ends(url: str, tmp_path: Path) -> None:
    with opened(tmp_path / "one", url) as one, opened(tmp_path / "two", url) as two:
        one.documents.put("A cardinal buoy.", title="Buoy")
        assert one.search("buoy").hits
        member = one.cluster.membership("server", "http://one")
        member.start()
        [found] = until(two.cluster.members)
        assert (found.role, found.state, found.url) == ("server", "running", "http://one")
        [index] = found.indexes
        assert (index.collection, index.lag) == (one.collection().name, 0)
        two.documents.put("A lateral mark.", title="Mark")
        assert two.cluster.members()[0].indexes[0].lag >= 1, "it has not looked since"
        one.jobs.enqueue([Job("sync:x", "sync")])
        lease = one.jobs.claim(one.jobs.list_all()[0])
        assert two.cluster.members()[0].jobs == ["sync:x"]
        one.jobs.finish(lease)
        one.jobs.close()
        assert member.stop()
        assert two.cluster.members() == []


def test_a_silent_one_is_stale_and_forgotten_after_a_day(url: str, tmp_path: Path) -> None:
    with opened(tmp_path / "one", url) as one, opened(tmp_path / "two", url) as two:
        one.cluster.membership("server").beat()
        with one.app.catalog.write() as connection:
            connection.execute(servers.update().values(beat_at=servers.c.beat_at - STALE_S))
        assert [member.state for member in two.cluster.members()] == ["stale"]
        with one.app.catalog.write() as connection:
            connection.execute(servers.update().values(beat_at=servers.c.beat_at - 24 * 3600))
        two.cluster.membership("server").beat()
        assert [member.id for member in one.cluster.members()] == [two.app.process]


@pytest.mark.long
def test_the_command_and_health_show_servers_and_workers(url: str, tmp_path: Path) -> None:
    (tmp_path / "server").mkdir()
    with (
        real_server(tmp_path / "server", catalog__url=url) as server,
        worker(tmp_path / "worker", url, embedding__provider="deterministic") as one,
    ):
        until(lambda: len(server.health()["components"]["cluster"]) == 2)
        command, environment = pinakes("--home", str(tmp_path / "server"), "status", "--cluster", catalog__url=url)
        shown = run_pinakes(command[3:], environment)
        assert f"process {server.process.pid}, " in shown.stdout
        assert f"process {one.process.pid}, " in shown.stdout
        assert server.url in shown.stdout
        told = json.loads(run_pinakes([*command[3:], "--json"], environment).stdout)
        assert [member["role"] for member in told["members"]] == ["server", "worker"]
        one.process.send_signal(signal.SIGTERM)
        assert one.process.wait(20) == 0
        until(lambda: len(server.health()["components"]["cluster"]) == 1)


def test_a_home_with_a_catalogue_of_its_own_has_no_others(tmp_path: Path) -> None:
    with opened(tmp_path, "") as library:
        assert (library.cluster.is_shared, library.cluster.members()) == (False, [])
