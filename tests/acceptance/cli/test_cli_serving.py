"""What ``serve`` says when it begins, and when it is stopped while it reads for the first time."""

from __future__ import annotations

import os
import re
import shlex
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from forking import PINAKES, Forked

IN_A_GROUP_OF_ITS_OWN = f"import os; os.setsid(); {PINAKES}"
SERVE = ["--set", "embedding.provider=deterministic", "serve", "--port", "0"]


@contextmanager
def serving(*words: str, until: str) -> Iterator[tuple[Forked, str]]:
    """Run ``serve`` in a group of its own; give it and what it said, once ``until`` was."""
    with Forked(IN_A_GROUP_OF_ITS_OWN, *SERVE, *words, text=True) as server:
        assert server.stderr is not None
        try:
            said = ""
            while until not in said:
                line = server.stderr.readline()
                assert line, said
                said += line
            yield server, said
        finally:
            server.kill()


def asked(said: str, environment: dict[str, str]) -> httpx.Response:
    """Do what the line with ``curl`` says."""
    [line] = [line for line in said.splitlines() if " curl " in line]
    command = re.sub(r"\$(\w+)", lambda found: environment[found[1]], line.partition("curl ")[2])
    url, *options = shlex.split(command)
    given = list(zip(options[::2], options[1::2], strict=True))
    headers = dict(value.split(": ", 1) for name, value in given if name == "-H")
    [body] = [value for name, value in given if name == "-d"]
    for _ in range(100):
        answer = httpx.post(url, headers=headers, content=body, timeout=60)
        if answer.status_code != 503:  # else it is still starting
            break
        time.sleep(0.1)
    return answer


def test_the_line_with_curl_answers_where_keys_are_needed(pinakes: Any, corpus: Path) -> None:
    pinakes("add", corpus)
    key = pinakes("keys", "create", "reader", "--scope", "read").out.strip()
    with serving("--host", "0.0.0.0", until="  keys ") as (_, said):
        assert "elsewhere  http://" in said
        assert "Authorization" in said.partition("MCP client")[2]
        answer = asked(said, {"PINAKES_KEY": key})
        assert answer.json().get("results"), answer.text
        assert asked(said, {"PINAKES_KEY": "other"}).status_code == 401
    with serving(until="  API ") as (_, said):
        assert "Authorization" not in said
        assert asked(said, {}).json()["results"]


@pytest.mark.parametrize(
    ("processes", "stages"),
    [("0", (("  API ", 0.0), (" files read", 0.4))), ("2", (("  API ", 0.7), ("  50 of ", 0.0)))],
)
def test_ctrl_c_in_a_first_ingest_prints_no_traceback(
    home: Path, tmp_path: Path, processes: str, stages: tuple[tuple[str, float], ...]
) -> None:
    docs = tmp_path / "many"
    docs.mkdir()
    for number in range(1000):
        (docs / f"{number}.md").write_text(f"# Bird {number}\n\n" + "Herons wait at the pond. " * 100, "utf-8")
    home.mkdir()
    (home / "config.toml").write_text(f'[[sources]]\nlocation = "{docs}"\n[ingest]\nprocesses = {processes}\n')
    for until, later_s in stages:
        with serving(until=until) as (server, _):
            time.sleep(later_s)
            os.killpg(server.pid, signal.SIGINT)
            _, err = server.communicate(timeout=60)
            assert server.returncode == 0
            assert "Traceback" not in err
            assert "Error" not in err


def test_an_unreachable_forge_has_the_hint_to_add_a_clone(program: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("https_proxy", "http://127.0.0.1:9")  # where nothing listens
    for words in (("sync", "--profile", "kep"), ("serve", "--profile", "kep", "--port", "0")):
        done = program(*words)
        assert done.code == 6
        assert re.search(r"pinakes (--profile kep )?add CLONE", done.err.replace("--profile kep add", "add"))
        assert "--profile kep" in done.err.partition("A clone")[2]
