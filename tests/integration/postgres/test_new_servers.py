"""A server that has just started on a shared catalogue: it answers from what it has, and says that this is not all."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from filelock import FileLock
from starlette.testclient import TestClient
from waiting import until

from pinakes.api.http_app import create_app
from pinakes.api.startup import Startup
from pinakes.library import Library
from pinakes.settings import Settings


@pytest.fixture
def url(new_database: Callable[[], str]) -> str:
    return new_database()


def settings(home: Path, url: str) -> Settings:
    return Settings.model_validate(
        {"home": home, "catalog": {"url": url}, "embedding": {"provider": "deterministic"}, "server": {"port": 0}}
    )


@pytest.fixture
def one(url: str, tmp_path: Path) -> Iterator[Library]:
    with Library(settings(tmp_path / "one", url)) as library:
        yield library


def test_it_is_ready_once_its_index_has_what_there_was_when_it_started(one: Library, url: str, tmp_path: Path) -> None:
    one.documents.put("The cardinal buoy.", title="Buoy")
    two = tmp_path / "two"
    with Library(settings(two, url)) as library:
        assert library.search("cardinal").hits
    one.documents.put("The lateral mark.", title="Mark")
    writing = FileLock(two / "index" / "1-1" / "keyword.lock")
    with Library(settings(two, url)) as library:
        startup = Startup(library, say=lambda _: None)
        # not as a context manager: the lifespan of the application is that of a server, which this is not
        client = TestClient(create_app(library, startup=startup), base_url="http://localhost")
        assert client.get("/readyz").json() == {"status": "starting", "behind": 1}
        with writing:
            startup.start()
            until(lambda: startup._answers.is_set())
            answer = client.get("/readyz")
            assert (answer.status_code, answer.json()) == (503, {"status": "starting", "behind": 1})
            found = client.post("/search", json={"query": "cardinal lateral"})
            assert "does not have all documents yet" in found.text
            assert _titles(library) == {"Buoy"}
            one.documents.put("The isolated danger.", title="Danger")
        until(lambda: client.get("/readyz").status_code == 200)
        assert "does not have all" not in client.post("/search", json={"query": "cardinal lateral"}).text
        assert _titles(library) >= {"Buoy", "Mark"}
        startup.stop()


def test_a_new_home_reads_everything_before_it_is_ready(one: Library, url: str, tmp_path: Path) -> None:
    for number in range(20):
        one.documents.put(f"The word w{number}.", title=f"N{number}")
    with Library(settings(tmp_path / "new", url)) as library:
        startup = Startup(library, say=lambda _: None)
        assert (startup.answers_all, startup.behind()) == (False, 1)
        startup.start()
        until(lambda: startup.answers_all)
        assert len(library.search("word", top_k=20, mode="keyword").hits) == 20
        assert not any(library.verify().values())
        startup.stop()


def test_a_home_of_its_own_is_ready_once_it_is_loaded(tmp_path: Path) -> None:
    with Library(settings(tmp_path, "")) as library:
        startup = Startup(library, say=lambda _: None)
        assert not startup.answers_all
        startup.start()
        until(lambda: startup.answers_all)
        startup.stop()


def _titles(library: Library) -> set[str]:
    return {hit.title for hit in library.search("cardinal lateral", mode="keyword").hits}
