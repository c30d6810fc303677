"""The long run: three servers and two workers of one catalogue, ten agents, and a fault a minute: kill -9, or a pause.

Agents write, delete, and look at every server for what was confirmed. ``PYTHONPATH=tests/shared:. python
tests/attacks/cluster_run.py --minutes 5`` prints what was done and what was wrong: lost writes, doubled documents, what
a server does not find, or finds though it was deleted, errors that may not be retried, differences that ``verify``
finds in a home. It ends with 1 where anything was.
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
FAULT_EVERY_S, AGAIN_S, PAUSED_S, SETTLED_S = 60.0, 3.0, 35.0, 180.0
"""A fault comes so often; who was killed starts again after a moment, who is paused sleeps for longer than a lease; and
so long may it take until all is embedded at the end."""

ANSWER_S, TRIED_S, AWAY_S = 60.0, 90.0, 300.0
"""A call may take so long, longer than a pause, so that none is given up that a server carries out later; so long is a
call tried again at servers that are there; and so long may one be away until it is started again, on a busy machine."""

DELETED, LOOKED_FOR = 0.15, 0.3
"""The share of steps that delete, and of those whose outcome is looked for at every server."""


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
    """What the agents did: path → the last text that a server confirmed, how calls ended, and what was wrong.

    ``deleted``: paths whose deletion was confirmed. ``disturbed``: how often a fault began or ended. ``lags_s``: how
    long it took from a confirmed write until a server found it, while nothing was disturbed. ``longest_wait_s``: the
    longest time in which no write was confirmed.
    """

    texts: dict[str, str] = field(default_factory=dict)
    deleted: set[str] = field(default_factory=set)
    ends: Counter[str] = field(default_factory=Counter)
    faults: list[str] = field(default_factory=list)
    disturbed: int = 0
    lags_s: list[float] = field(default_factory=list)
    written_at: float = 0.0
    longest_wait_s: float = 0.0

    def wrote(self) -> None:
        now = time.monotonic()
        self.longest_wait_s = max(self.longest_wait_s, now - (self.written_at or now))
        self.written_at = now


def main() -> int:
    """Run by the arguments of the command line."""
    words = argparse.ArgumentParser(description=__doc__)
    words.add_argument("--minutes", type=float, default=5.0)
    words.add_argument("--seed", type=int, default=1)
    words.add_argument("--fault-every", type=float, default=FAULT_EVERY_S, help="seconds between faults")
    words.add_argument("--work", type=Path, help="a folder for homes and logs, which stays; none = one that goes")
    chosen = words.parse_args()
    with tempfile.TemporaryDirectory() as scratch, postgres() as server, databases(server) as make:
        told = attack(
            chosen.work or Path(scratch), make(), chosen.minutes * 60, chosen.fault_every, random.Random(chosen.seed)
        )
    print(f"{sum(told.ends.values())} calls: {dict(told.ends)}; {len(told.texts)} documents")
    lags = sorted(told.lags_s)
    if lags:
        p50, p95 = (lags[int(share * (len(lags) - 1))] for share in (0.5, 0.95))
        print(f"found at a server, {len(lags)} times: p50 {p50:.2f} s, p95 {p95:.2f} s, at most {lags[-1]:.2f} s")
    print(f"longest time without a confirmed write: {told.longest_wait_s:.1f} s")
    for fault in told.faults[:50]:
        print(f"  {fault[:1000]}")
    print("wrong: " + (str(len(told.faults)) if told.faults else "nothing"))
    return 1 if told.faults else 0


def attack(folder: Path, url: str, seconds: float, fault_every_s: float, chance: random.Random) -> Told:
    """Let agents write for so many seconds while members are killed and paused; check what is left."""
    told = Told()
    with running(folder, url) as members:
        servers = members[:SERVERS]
        for one in servers:
            wait_for(lambda one=one: httpx.get(f"{one.url()}/readyz", timeout=10).status_code == 200, 120)
        ending = threading.Event()
        agents = [threading.Thread(target=act, args=(number, servers, told, ending)) for number in range(AGENTS)]
        for agent in agents:
            agent.start()
        until, next_fault = time.monotonic() + seconds, time.monotonic() + fault_every_s
        while next_fault < until:
            time.sleep(max(0.0, next_fault - time.monotonic()))
            disturb(chance.choice(members), chance.choice(("kill", "pause")), told)
            next_fault += fault_every_s
        time.sleep(max(0.0, until - time.monotonic()))
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
        "toolsets": "code,search,manage",
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
            one.home.mkdir(parents=True)
            one.start()
        yield members
    finally:
        for one in members:
            if one.process is not None and one.process.poll() is None:
                one.process.kill()
                one.process.wait()


def disturb(victim: Member, how: str, told: Told) -> None:
    """Kill a member and start it again, or pause it."""
    print(f"{time.strftime('%H:%M:%S')} {how} {victim.home.name}", flush=True)
    told.disturbed += 1
    if victim.process is not None and (code := victim.process.poll()) is not None:
        told.faults.append(f"{victim.home.name} ended by itself, with {code}")
    if how == "kill":
        victim.end(signal.SIGKILL)
        time.sleep(AGAIN_S)
        victim.start()
    else:
        assert victim.process is not None
        victim.process.send_signal(signal.SIGSTOP)
        time.sleep(PAUSED_S)
        victim.process.send_signal(signal.SIGCONT)
    told.disturbed += 1


def act(number: int, servers: list[Member], told: Told, ending: threading.Event) -> None:
    """Put documents, old and new ones, and delete some, until ``ending``; look for some of them at every server."""
    chance, round_, own = random.Random(number), 0, dict[str, tuple[str, str]]()
    while not ending.is_set():
        round_ += 1
        if own and chance.random() < DELETED:
            path = chance.choice(sorted(own))
            doc_id, word = own.pop(path)
            if confirmed(servers, "delete_document", {"doc_id": doc_id}, told, chance) is None:
                told.faults.append(f"{path} was not deleted")
                return
            told.deleted.add(path)
            del told.texts[path]
            is_there = False
        else:
            path, word = f"agent{number}/note{chance.randrange(1 + round_ // 2)}.md", f"w{number}x{round_}"
            text = f"# Note of {number}\n\nThe word {word} is the newest at {path}.\n"
            body = {"content_type": "documentation", "source_path": path, "content": text}
            if (answer := confirmed(servers, "index_content", body, told, chance)) is None:
                told.faults.append(f"{path} was not written")
                return
            told.wrote()
            told.texts[path], own[path] = text, (answer["content_id"], word)
            told.deleted.discard(path)
            is_there = True
        if chance.random() < LOOKED_FOR:
            looking = [
                threading.Thread(target=look, args=(server, word, path, told), kwargs={"is_there": is_there})
                for server in servers
            ]
            for one in looking:
                one.start()
            for one in looking:
                one.join()


def confirmed(
    servers: list[Member], tool: str, body: dict[str, Any], told: Told, chance: random.Random
) -> dict[str, Any] | None:
    """Call a tool at any server until one confirms it; return what it says, None where none did."""
    until, was_lost = time.monotonic() + TRIED_S, False
    while time.monotonic() < until:
        how, answer = called(chance.choice(servers), f"/api/v1/tools/{tool}", body, told, may_be_gone=was_lost)
        was_lost = was_lost or how == "away"
        if how == "done":
            return answer
        if how == "fault":
            return None
        time.sleep(0.2)
    return None


def look(server: Member, word: str, path: str, told: Told, *, is_there: bool) -> None:
    """Ask one server for a word until it finds it at ``path``, or, where that was deleted, no longer."""
    since, disturbed = time.monotonic(), told.disturbed
    until, at_last = since + TRIED_S, since + AWAY_S
    while time.monotonic() < min(until, at_last):
        how, answer = called(server, "/search", {"query": word, "search_type": "keyword"}, told)
        if how == "fault":
            return
        if how == "away":
            until = time.monotonic() + TRIED_S
            time.sleep(1)
            continue
        if how == "done":
            found = Counter(one["metadata"]["file_path"] for one in answer["results"] if word in one["text"])
            if found[path] > 1:
                told.faults.append(f"{server.home.name} finds {path} {found[path]} times")
            if (path in found) == is_there:
                if is_there and disturbed == told.disturbed and not disturbed % 2:
                    told.lags_s.append(time.monotonic() - since)
                return
        time.sleep(0.05)
    at = time.strftime("%H:%M:%S")
    told.faults.append(f"{at}: {server.home.name} {'does not find' if is_there else 'still finds'} {path} by {word}")


def called(
    server: Member, route: str, body: dict[str, Any], told: Told, *, may_be_gone: bool = False
) -> tuple[str, dict[str, Any]]:
    """Call a server; return "done", "again", "away" or "fault", and what it answered.

    ``may_be_gone``: a server that was killed before it answered may have deleted what is not found.
    """
    try:
        answer = httpx.post(f"{server.url()}{route}", json=body, timeout=ANSWER_S)
    except (httpx.TransportError, OSError, ValueError) as error:  # it was killed, or is not there again yet
        told.ends[type(error).__name__] += 1
        return "away", {}
    if answer.status_code == 200 and "error" not in answer.json():
        told.ends[f"{route.rpartition('/')[2]} done"] += 1
        data: dict[str, Any] = answer.json()
        return "done", data["data"]["result"] if "data" in data else data
    told.ends[f"{answer.status_code} {_code(answer)}"] += 1
    if '"retryable": true' in answer.text or '"retryable":true' in answer.text:
        return "again", {}
    if may_be_gone and "not_found" in answer.text:
        return "done", {}
    told.faults.append(f"{route} {body} {answer.status_code} {answer.text}")
    return "fault", {}


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
                told.faults += [f"{path} is there, though it was deleted" for path in told.deleted if path in texts]
                told.faults += [
                    f"{path} is {texts[path]!r}, not {text!r}"
                    for path, text in told.texts.items()
                    if path in texts and texts[path].strip() != text.strip()
                ]


if __name__ == "__main__":
    sys.exit(main())
