"""A library over a small corpus, and servers over the library."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from forking import Forked
from serve_support import Running, settings_for, write_corpus

from pinakes.api.http_app import create_app
from pinakes.library import Library


@pytest.fixture(scope="session")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_corpus(tmp_path_factory.mktemp("corpus"))


@pytest.fixture(scope="session")
def home(tmp_path_factory: pytest.TempPathFactory, corpus: Path) -> Path:
    folder = tmp_path_factory.mktemp("home")
    with Library(settings_for(folder, server__port=0)) as library:
        library.add(str(corpus), "keps")
    return folder


@pytest.fixture(scope="session")
def library(home: Path) -> Iterator[Library]:
    with Library(settings_for(home, server__port=0)) as opened:
        yield opened


@pytest.fixture(scope="session")
def server(library: Library) -> Iterator[Running]:
    running = Running(create_app(library, instance_id="this-one"), library.settings)
    yield running
    running.stop()


@pytest.fixture
def start(library: Library) -> Iterator[Callable[..., Running]]:
    """Start servers over the library with other server settings."""
    started: list[Running] = []

    def start_one(app: object | None = None, **server: object) -> Running:
        settings = library.settings.model_copy(
            update={"server": library.settings.server.model_copy(update=server)}
        )  # fmt: skip
        other = Library(settings)
        running = Running(app or create_app(other), settings)
        running.other = other  # type: ignore[attr-defined]
        started.append(running)
        return running

    yield start_one
    for running in started:
        running.stop()
        running.other.close()  # type: ignore[attr-defined]


@pytest.fixture
def process() -> Iterator[Callable[..., Forked]]:
    """Start processes that run Python; they are gone when the test ends."""
    started: list[Forked] = []

    def start_one(script: str, *arguments: object) -> Forked:
        child = Forked(script, *map(str, arguments))
        started.append(child)
        return child

    yield start_one
    for child in started:
        child.kill()
        with child:
            child.wait()
