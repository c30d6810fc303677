"""A real ``pinakes serve``: how soon it answers, how fast, to how many at once, and with how much memory."""

from __future__ import annotations

import http.client
import json
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from statistics import median

import httpx

from benchmarks.quality.sets import ROOT
from benchmarks.speed.home import Home, serving_process, until
from benchmarks.speed.load import Load
from benchmarks.speed.machine import Spread, cpu_seconds, memory_mb, own_memory_mb, spread, with_children
from benchmarks.speed.queries import MODES, TOP_K
from pinakes.core.records import JSON

CLIENTS = 8
PROCESSES = 2
_MOST_PER_S = 500
"""The load has so many questions for each second, more than are answered: none is asked twice."""

_NOTHING_REMEMBERED = ("--set", "search.remembered_queries=0", "--set", "search.remembered_answers=0")
_START_TIMEOUT_S = 120.0


@dataclass(frozen=True, slots=True)
class Served:
    """Start in seconds (median of ``starts_s``), times per mode, load, and memory of the process in MB after it.

    ``cpu_ms_per_answer`` is processor time of the server under the load: it shows less of what else the machine does.
    No question is asked twice, but in ``load_repeated``. ``load_shared`` is that of ``PROCESSES`` processes behind the
    port, which then have ``memory_shared_mb`` each, what they share counted in part. ``level_1`` are calls of
    ``search_summaries`` over MCP (streamable HTTP), each question once, of a server that has just been started.
    """

    start_s: float
    starts_s: tuple[float, ...]
    http: Mapping[str, Spread]
    load: Load
    load_repeated: Load
    load_shared: Load
    memory_shared_mb: tuple[float, ...]
    level_1: Spread
    cpu_ms_per_answer: float
    memory_mb: float
    memory_peak_mb: float
    memory_anonymous_mb: float


def serving(home: Home, rounds: int, starts: int, load_s: float, settled_s: float) -> Served:
    """Start the server ``starts`` times; ask the last one every question ``rounds`` times a mode, then load it.

    One that has been up ``settled_s`` seconds has the summaries of the corpus at hand.
    """
    times = []
    for _ in range(starts - 1):
        with _server(home) as (_, _, seconds):
            times.append(seconds)
    with _server(home, *_NOTHING_REMEMBERED) as (process, port, seconds):
        times.append(seconds)
        answered: dict[str, Spread] = {mode: _ask(home, port, mode, rounds) for mode in MODES}
        time.sleep(settled_s)
        used = cpu_seconds(process.pid)
        load = _load(port, load_s, _fresh(home, load_s))
        used = (cpu_seconds(process.pid) - used) * 1000 / load.times.count
        memory = memory_mb(process.pid)
    with _server(home, "--toolsets", "retrieve") as (_, port, _):  # a profile may offer agents other tools
        time.sleep(settled_s)
        level_1 = _summaries(home, port)
        repeated = _load(port, load_s, home.corpus.questions)
    with _server(home, "--workers", str(PROCESSES)) as (process, port, _):
        time.sleep(settled_s)
        shared = _load(port, load_s, _fresh(home, load_s))
        memory_shared = tuple(map(own_memory_mb, with_children(process.pid)))
    return Served(
        start_s=median(times),
        starts_s=tuple(times),
        http=answered,
        load=load,
        load_repeated=repeated,
        load_shared=shared,
        memory_shared_mb=memory_shared,
        level_1=level_1,
        cpu_ms_per_answer=used,
        memory_mb=memory["now"],
        memory_peak_mb=memory["peak"],
        memory_anonymous_mb=memory["anonymous"],
    )


@contextmanager
def _server(home: Home, *options: str) -> Iterator[tuple[subprocess.Popen[bytes], int, float]]:
    """Give a serving process, its port, and the seconds from its start to its first answer to a search."""
    began, log = time.perf_counter(), home.work / "serve.log"
    with serving_process(home.folder, log, *home.profile, *options) as (process, port):
        answers = partial(_answers, port, _body(home.corpus.questions[0], "hybrid"))
        until(answers, _START_TIMEOUT_S, f"`pinakes serve` does not answer (see {log})")
        yield process, port, time.perf_counter() - began


def _answers(port: int, body: bytes) -> bool:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=_START_TIMEOUT_S)
    try:
        connection.request("POST", "/search", body, {"Content-Type": "application/json"})
        response = connection.getresponse()
        return response.status == 200 and _is_full(json.loads(response.read()))
    except (ConnectionError, http.client.HTTPException):
        return False
    finally:
        connection.close()


def _ask(home: Home, port: int, mode: str, rounds: int) -> Spread:
    bodies = [_body(question, mode) for question in home.corpus.questions]
    seconds = []
    with httpx.Client(
        base_url=f"http://127.0.0.1:{port}", headers={"Content-Type": "application/json"}, trust_env=False
    ) as client:
        for number in range(rounds + 1):
            for body in bodies:
                began = time.perf_counter()
                response = client.post("/search", content=body)
                took = time.perf_counter() - began
                if not _is_full(response.raise_for_status().json()):
                    raise RuntimeError(f"{mode} search over HTTP is degraded: {response.text[:200]}")
                if number:
                    seconds.append(took)
    return spread(seconds)


def _summaries(home: Home, port: int) -> Spread:
    headers = {"Accept": "application/json, text/event-stream"}
    seconds = []
    with httpx.Client(base_url=f"http://127.0.0.1:{port}", headers=headers, trust_env=False) as client:
        for question in ("What is this about?", *home.corpus.questions):
            call = {"name": "search_summaries", "arguments": {"query": question}}
            began = time.perf_counter()
            response = client.post("/mcp", json={"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call})
            seconds.append(time.perf_counter() - began)
            if not json.loads(response.raise_for_status().json()["result"]["content"][0]["text"])["results"]:
                raise RuntimeError(f"Level 1 over MCP finds nothing: {response.text[:200]}")
    return spread(seconds[1:])


def _is_full(answer: dict[str, JSON]) -> bool:
    return "degraded" not in answer


def _fresh(home: Home, seconds: float) -> list[str]:
    """Return questions for a load of so many seconds, each with a number of its own."""
    questions = home.corpus.questions
    return [f"{questions[number % len(questions)]} {number}" for number in range(int(seconds * _MOST_PER_S))]


def _load(port: int, seconds: float, questions: Sequence[str]) -> Load:
    command = [sys.executable, "-m", "benchmarks.speed.load", str(port), str(CLIENTS), str(seconds)]
    bodies = b"\n".join(_body(question, "hybrid") for question in questions)
    done = subprocess.run(command, input=bodies, stdout=subprocess.PIPE, cwd=ROOT, check=True)
    found = json.loads(done.stdout)
    return Load(**{**found, "times": Spread(**found["times"])})


def _body(question: str, mode: str) -> bytes:
    return json.dumps({"query": question, "search_type": mode, "top_k": TOP_K}).encode()
