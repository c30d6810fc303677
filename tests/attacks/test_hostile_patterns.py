"""Patterns made to take for ever, by every way that takes one: each is matched or refused at once."""

from __future__ import annotations

import os
import random
import shutil
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from forking import run_pinakes
from real_server import RealServer, real_server

PIECES = (
    ("*a", "a*", "?", "b"),
    ("**/", "a/", "*", "/"),
    ("[ab]", "*", "[!a]", "["),
    ("{a,b}", "*", ","),
    ("\\", "*", "a"),
    ("(a+)+", "(", ")", "$"),
    ("é", "*", "?"),
    ("bird", "*", "?", ".md"),
)
TIMEOUT_S = 20
"""A pattern that is tried in all ways takes longer than any test would wait."""


def patterns(count: int) -> list[str]:
    chosen = random.Random(11)
    found = []
    for number in range(count):
        pieces, length = PIECES[number % len(PIECES)], chosen.choice((5, 30, 60, 300, 1000, 4000))
        found.append("".join(chosen.choice(pieces) for _ in range(length))[:length])
    return found


@pytest.fixture(scope="module")
def server(made: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealServer]:
    home = tmp_path_factory.mktemp("patterns") / "home"
    shutil.copytree(made, home)
    with real_server(home) as running:
        yield running


@pytest.mark.parametrize("way", ["glob", "value", "query", "tool path", "file_paths"])
def test_each_is_answered(server: RealServer, way: str) -> None:
    with httpx.Client(base_url=server.url, timeout=TIMEOUT_S) as client:
        for pattern in patterns(64):
            if way == "glob":
                answer = client.post("/search", json={"query": "heron", "filters": {"path": {"glob": pattern}}})
            elif way == "value":
                answer = client.post("/search", json={"query": "heron", "filters": {"path": pattern}})
            elif way == "query":
                answer = client.post("/search", json={"query": f'heron path:"{pattern}"'})
            elif way == "tool path":
                answer = client.post("/api/v1/tools/search", json={"query": "heron", "path": pattern})
            else:
                arguments = {"query": "heron", "filters": {"file_paths": [pattern]}}
                answer = client.post("/api/v1/tools/semantic_search", json=arguments)
            assert answer.status_code < 500 or answer.status_code == 503, (pattern, answer.text)
            if answer.status_code == 422 and len(pattern) > 1000 and way == "glob":
                assert "characters" in answer.text
        assert client.get("/healthz").status_code == 200


def test_an_ignore_file_full_of_them_is_read(tmp_path: Path) -> None:
    folder = tmp_path / "repository"
    folder.mkdir()
    (folder / ".gitignore").write_text("\n".join(one.replace("\n", "") for one in patterns(400)), "utf-8")
    for name in ("a" * 200, "ab" * 100, "/".join("a" * 40)):
        (folder / name).mkdir(parents=True)
        (folder / name / "kept.txt").write_text("Herons wait at the pond.", "utf-8")
    command = ["--home", str(tmp_path / "home"), "add", str(folder)]
    words = ["--set", "embedding.provider=deterministic", "--include", "*a*a*/**/*.txt"]
    done = run_pinakes([*command, *words], os.environ)
    assert done.returncode in (0, 3), done.stderr
    assert "not used of the ignore files" in (done.stdout + done.stderr).lower()


def test_an_include_pattern_that_is_too_much_is_refused(tmp_path: Path) -> None:
    command = ["--home", str(tmp_path / "home"), "add", str(tmp_path)]
    done = run_pinakes([*command, "--include", "*a" * 40], os.environ)
    assert done.returncode == 2
    assert "40 wildcards, more than 32" in done.stderr
