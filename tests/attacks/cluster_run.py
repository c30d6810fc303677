"""The long run: three servers and two workers of one catalogue, ten agents that write, and one kill -9 a minute.

``PYTHONPATH=tests/shared:. python tests/attacks/cluster_run.py --minutes 5``; prints what was done and what was wrong:
lost writes, doubled documents, errors that may not be retried, differences that ``verify`` finds in a home. It ends
with 1 where anything was.
"""

from __future__ import annotations

import argparse
import json
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
from databases import databases, postgres
from worker_processes import pinakes

from pinakes.catalog.schema import documents
from pinakes.library import Library
from pinakes.settings import Settings

SERVERS, WORKERS, AGENTS = 3, 2, 10
KILL_EVERY_S, AGAIN_S, SETTLED_S = 60.0, 3.0, 180.0
"""One is killed so often, started again after a moment; and so long may it take until all is embedded at the end."""


@dataclass
class Member:
    """A server or worker, started again each time it is killed."""

    home: Path
    words: tuple[str, ...]
    settings: dict[str, Any]
    process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        command, environment = pinakes("--home", str(self.home), *self.words, **self.settings)
        with self.log.open("ab") as out:
            self.process = subprocess.Popen(command, env=environment, stdout=out, stderr=out)

    @property
    def log(self) -> Path:
        return self.home.with_suffix(".log")

    def url(self) -> str:
        return str(json.loads((self.home / "server.json").read_text())["url"])

    def end(self, how: signal.Signals) -> None:
        if self.process is not None:
            self.process.send_signal(how)
            self.process.wait(60)


@dataclass
class Told:
    """What the agents did: path → the last text that a server confirmed, how calls ended, and what was wrong."""

    texts: dict[str, str] = field(default_factory=dict)
    ends: Counter[str] = field(default_factory=Counter)
    faults: list[str] = field(default_factory=list)


def main() -> int:
    """Run by the arguments of the command line."""
    words = argparse.ArgumentParser(description=__doc__)
    words.add_argument("--minutes", type=float, default=5.0)
    words.add_argument("--seed", type=int, default=1)
    words.add_argument("--kill-every", type=float, default=KILL_EVERY_S, help="seconds between kills")
    chosen = words.parse_args()
    with tempfile.TemporaryDirectory() as scratch, postgres() as server, databases(server) as make:
        told = attack(Path(scratch), make(), chosen.minutes * 60, chosen.kill_every, random.Random(chosen.seed))
    print(f"{sum(told.ends.values())} calls: {dict(told.ends)}; {len(told.texts)} documents")
    for fault in told.faults[:50]:
        print(f"  {fault[:1000]}")
    print("wrong: " + (str(len(told.faults)) if told.faults else "nothing"))
    return 1 if told.faults else 0


def attack(folder: Path, url: str, seconds: float, kill_every_s: float, chance: random.Random) -> Told:
    """Let agents write for so many seconds while members are killed; check what is left."""
    told = Told()
    with running(folder, url) as members:
        servers = members[:SERVERS]
        for one in servers:
            wait_for(lambda one=one: httpx.get(f"{one.url()}/readyz", timeout=10).status_code == 200, 120)
        ending = threading.Event()
        agents = [threading.Thread(target=write, args=(number, servers, told, ending)) for number in range(AGENTS)]
        for agent in agents:
            agent.start()
        until = time.monotonic() + seconds
        while (left := until - time.monotonic()) > 0:
            time.sleep(min(left, kill_every_s))
            if time.monotonic() < until:
                victim = chance.choice(members)
                print(f"kill -9 {victim.home.name}", flush=True)
                victim.end(signal.SIGKILL)
                time.sleep(AGAIN_S)
                victim.start()
        ending.set()
        for agent in agents:
            agent.join(120)
            if agent.is_alive():
                told.faults.append(f"{agent.name} does not end")
        settled(members[0], told)
        for one in members:
            one.end(signal.SIGTERM)
    for one in members:
        told.faults += [
            f"{one.home.name} said: {line}" for line in one.log.read_text().splitlines() if "Traceback" in line
        ]
    check(folder, url, told)
    return told


@contextmanager
def running(folder: Path, url: str) -> Iterator[list[Member]]:
    """Run servers, then workers; none is left at the end."""
    settings = {
        "catalog__url": url,
        "embedding__provider": "slow",
        "server__port": 0,
        "toolsets": "code,search",
        "embedding__mode": "progressive",
        "ingest__processes": 0,
    }
    members = [Member(folder / f"server-{number}", ("serve",), settings) for number in range(SERVERS)]
    members += [
        Member(folder / f"worker-{number}", ("worker", "--queues", "embed,parse"), settings)
        for number in range(WORKERS)
    ]
    try:
        for one in members:
            one.home.mkdir()
            one.start()
        yield members
    finally:
        for one in members:
            if one.process is not None and one.process.poll() is None:
                one.process.kill()
                one.process.wait()


def write(number: int, servers: list[Member], told: Told, ending: threading.Event) -> None:
    """Put documents, old and new ones, until ``ending``; each is tried until a server confirms it."""
    chance, round_ = random.Random(number), 0
    while not ending.is_set():
        round_ += 1
        path = f"agent{number}/note{chance.randrange(1 + round_ // 2)}.md"
        text = f"# Note of {number}\n\nThe word w{number}x{round_} is the newest at {path}.\n"
        body = {"content_type": "documentation", "source_path": path, "content": text}
        until = time.monotonic() + 90
        while (how := called(chance.choice(servers), body, told)) != "done":
            if how == "fault" or time.monotonic() > until:
                told.faults.append(f"{path} was not written: {how}")
                return
            time.sleep(0.2)
        told.texts[path] = text


def called(server: Member, body: dict[str, Any], told: Told) -> str:
    """Call the tool that writes; return "done", "again" or "fault"."""
    try:
        answer = httpx.post(f"{server.url()}/api/v1/tools/index_content", json=body, timeout=60)
    except (httpx.TransportError, OSError, ValueError) as error:  # it was killed, or is not there again yet
        told.ends[type(error).__name__] += 1
        return "again"
    if answer.status_code == 200 and "error" not in answer.json():
        told.ends["written"] += 1
        return "done"
    told.ends[f"{answer.status_code} {_code(answer)}"] += 1
    if '"retryable": true' in answer.text or '"retryable":true' in answer.text:
        return "again"
    told.faults.append(f"{answer.status_code} {answer.text}")
    return "fault"


def _code(answer: httpx.Response) -> str:
    try:
        return str(answer.json().get("code"))
    except ValueError:
        return ""


def settled(server: Member, told: Told) -> None:
    """Wait until everything is embedded."""

    def is_done() -> bool:
        health = httpx.get(f"{server.url()}/health", timeout=30).json()
        return bool(health["components"]["index"].get("pending") == 0)

    try:
        wait_for(is_done, SETTLED_S)
    except AssertionError:
        told.faults.append("chunks still wait for their vectors")


def wait_for(done: Any, most_s: float) -> None:
    """Wait until ``done()``, which may fail meanwhile."""
    until = time.monotonic() + most_s
    while True:
        try:
            if done():
                return
        except (httpx.TransportError, OSError, ValueError, KeyError):
            pass
        assert time.monotonic() < until
        time.sleep(0.2)


def check(folder: Path, url: str, told: Told) -> None:
    """Compare what the catalogue has with what was confirmed, and every home with the catalogue."""
    for number in range(SERVERS):
        named = {
            "home": folder / f"server-{number}",
            "catalog": {"url": url},
            "embedding": {"provider": "deterministic"},
        }
        with Library(Settings.model_validate(named)) as library:
            for name, differences in library.verify().items():
                told.faults += [f"server-{number}, {name}: {one}" for one in differences]
            if number == 0:
                with library.app.catalog.read() as connection:
                    rows = connection.execute(documents.select()).all()
                found = Counter(row.path for row in rows)
                told.faults += [f"{path} is there {count} times" for path, count in found.items() if count > 1]
                texts = {row.path: row.text for row in rows}
                told.faults += [f"{path} is lost" for path in told.texts if path not in texts]
                told.faults += [
                    f"{path} is {texts[path]!r}, not {text!r}"
                    for path, text in told.texts.items()
                    if path in texts and texts[path].strip() != text.strip()
                ]


if __name__ == "__main__":
    sys.exit(main())
