"""A server answers all the time: while it embeds what waits, and while another process changes the documents."""

from __future__ import annotations

import itertools
import os
import re
import signal
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest
from bert_reference import WORDS, make_tiny_bert
from forking import PINAKES, Forked, run_pinakes
from progressive_support import assert_sound, directly, small_steps, stopped_at_searchable, waiting
from waiting import until

from pinakes.library import Library

FILES = 160
CHANGED = range(12)
REMOVED = range(12, 18)
LONGEST_S = 60


def name(number: int) -> str:
    return f"part{number % 5}/file{number}.md"


def text(number: int, version: int = 0) -> str:
    """Return what stands in a file: two chunks or so, either with the word that no other file has."""
    random = np.random.default_rng([number, version])
    lines = [" ".join(random.choice(WORDS, 10)) for _ in range(3)]
    return f"# File {number}\n\nheron{number}q {lines[0]}\n\n## More\n\n{lines[1]} heron{number}q\n{lines[2]}\n"


def write(folder: Path, number: int, version: int = 0) -> None:
    path = folder / name(number)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text(number, version))


@pytest.fixture(scope="module")
def settings(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    model = make_tiny_bert(tmp_path_factory.mktemp("model") / "tiny")
    small = {"ingest__batch_chunks": 8, "embedding__sample_chunks": 40}
    return {**small_steps(model), "cache": str(tmp_path_factory.mktemp("cache")), **small}


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    for number in range(FILES):
        write(tmp_path / "docs", number)
    return tmp_path / "docs"


@pytest.fixture
def home(tmp_path: Path, docs: Path, settings: dict[str, Any]) -> Path:
    place = tmp_path / "home"
    with Library.open(place, **settings) as library:
        stopped_at_searchable(library, docs)
        assert waiting(library) > 300
    return place


def command(home: Path, settings: dict[str, Any], *words: str) -> list[str]:
    chosen = {"home": str(home), **settings}
    flags = itertools.chain.from_iterable(
        ("--set", f"{name.replace('__', '.')}={value}") for name, value in chosen.items()
    )
    return [*flags, *words]


@contextmanager
def serving(home: Path, settings: dict[str, Any]) -> Iterator[tuple[Forked, httpx.Client]]:
    """Run a server; give its process and a client of it once it is healthy."""
    server = Forked(PINAKES, *command(home, settings, "serve", "--port", "0"), text=True)
    try:
        url = None
        assert server.stderr is not None
        for line in server.stderr:
            url = url or re.search(r"http://127\.0\.0\.1:\d+", line)
            if url is not None:
                break
        assert url is not None, server.communicate()
        with httpx.Client(base_url=url[0], timeout=30) as client:
            until(lambda: health(client)["status"] == "healthy")
            yield server, client
    finally:
        if server.poll() is None:
            server.kill()
        server.communicate()


def health(client: httpx.Client) -> dict[str, Any]:
    found: dict[str, Any] = client.get("/health").json()
    return found


def pending(client: httpx.Client) -> int:
    return int(health(client)["components"]["index"]["pending"])


class Reader:
    """Asks for one file after the other and looks at every answer."""

    def __init__(self, url: httpx.URL, stop: threading.Event) -> None:
        self._client = httpx.Client(base_url=url, timeout=30)
        self._stop = stop
        self.answers = 0
        self.approximate = 0

    def run(self, first: int) -> Reader:
        with self._client:
            for number in itertools.count(first, 7):
                if self._stop.wait(0.01):
                    return self
                self._ask(number % FILES)
        return self

    def _ask(self, number: int) -> None:
        mode = "vector" if number % 4 == 3 else "hybrid"
        body = {"query": f"heron{number}q quick fox", "search_type": mode, "top_k": 10}
        answer = self._client.post("/search", json=body)
        assert answer.status_code == 200, answer.text
        found = answer.json()
        assert "degraded" not in found, found
        results = found["results"]
        ids = [one["chunk_id"] for one in results]
        assert len(ids) == len(set(ids)), ids
        paths = [one["metadata"]["file_path"] for one in results]
        if mode == "hybrid" and number not in CHANGED and number not in REMOVED:
            assert name(number) in paths, (number, paths)
        for one in results:
            assert any(one["text"].strip() in version for version in versions(one["metadata"]["file_path"])), one
        self.answers += 1
        self.approximate += any(one.get("approximate") for one in results)


def versions(path: str) -> list[str]:
    """Return all that ever stood in a file."""
    number = int(re.findall(r"\d+", path)[-1])
    return [text(number, version) for version in range(3 if number in CHANGED else 1)]


def test_every_answer_is_right_until_all_is_exact(
    home: Path, docs: Path, tmp_path: Path, settings: dict[str, Any]
) -> None:
    stop = threading.Event()
    with serving(home, settings) as (server, client), ThreadPoolExecutor(3) as pool:
        before = pending(client)
        assert before > 300
        until(lambda: pending(client) < before)
        readers = [Reader(client.base_url, stop) for _ in range(3)]
        reading = [pool.submit(reader.run, number) for number, reader in enumerate(readers)]
        try:
            for version in (1, 2):
                for number in CHANGED:
                    write(docs, number, version)
                for number in (FILES + version, FILES + 10 + version):
                    write(docs, number)
                for number in REMOVED[:3] if version == 1 else REMOVED[3:]:
                    (docs / name(number)).unlink()
                added = run_pinakes(command(home, settings, "add", str(docs), "--json"), os.environ)
                assert added.returncode == 0, added.stderr
            until(lambda: pending(client) == 0 or any(one.done() for one in reading))
            until(lambda: sum(reader.answers for reader in readers) > 30 or any(one.done() for one in reading))
        finally:
            stop.set()
        for one in reading:
            one.result()
        assert sum(reader.approximate for reader in readers) > 0
        server.send_signal(signal.SIGINT)
        _, said = server.communicate(timeout=30)
        assert (server.returncode, "Traceback" in said) == (0, False), said
    with Library.open(home, **settings) as library:
        assert_sound(library, directly(tmp_path / "direct", [docs], settings))
        assert library.status()[0].documents == FILES + 4 - len(REMOVED)


def test_a_server_that_embeds_stops_promptly(home: Path, docs: Path, tmp_path: Path, settings: dict[str, Any]) -> None:
    with serving(home, settings) as (server, client):
        before = pending(client)
        until(lambda: pending(client) < before)
        start = time.monotonic()
        server.send_signal(signal.SIGINT)
        _, said = server.communicate(timeout=30)
        assert time.monotonic() - start < 25
        assert (server.returncode, "Traceback" in said) == (0, False), said
    with Library.open(home, **settings) as library:
        assert waiting(library) < before
        assert library.verify() == {"default": []}
        library.add(str(docs))
        assert_sound(library, directly(tmp_path / "direct", [docs], settings))
