"""``python -m benchmarks.speed.agents``: agents that search and write at once, each by an MCP session of its own.

A real ``pinakes serve`` over a fresh home. Every agent keeps account of what it was told is written: it reads its
documents again and searches them by words that nothing else has, meanwhile and once more at the end. All agents set
fields of one document, too. Prints the figures as JSON; the exit code is 1 if a call failed or a write was lost.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import mcp
from mcp.client.streamable_http import streamable_http_client
from mcp_types import CallToolResult, TextContent

from benchmarks.speed import machine
from benchmarks.speed.documents import vocabulary
from benchmarks.speed.home import serving_process, start
from benchmarks.speed.machine import Spread, spread

_SHARES = {
    "search_summaries": 24,
    "hybrid_search": 20,
    "get_documents": 14,
    "ingest_document": 20,
    "update_document": 14,
    "delete_document": 8,
}
_WORDS = 120
_READ_AT_ONCE = 20
_MOST_TOKENS = 50_000
_SHOWN = 20


@dataclass(frozen=True, slots=True)
class Busy:
    """What some agents did in some seconds: the calls of each tool, and what was found in the end.

    ``errors``: calls that failed. ``lost``: acknowledged writes that a call did not see.
    """

    agents: int
    seconds: float
    calls: int
    calls_per_s: float
    tools: Mapping[str, Spread]
    documents: int
    deleted: int
    updates: int
    errors: Sequence[str]
    lost: Sequence[str]


@dataclass(slots=True)
class _Kept:
    """A document as its agent was told it is, and the word that only its text has."""

    doc_id: str
    title: str
    text: str
    word: str
    version: int = 1


@dataclass(slots=True)
class _Account:
    """What all agents saw."""

    seconds: dict[str, list[float]] = field(default_factory=dict)
    done: Counter[str] = field(default_factory=Counter)
    errors: list[str] = field(default_factory=list)
    lost: list[str] = field(default_factory=list)


class _Agent:
    """One session, the documents it wrote, and those it deleted."""

    def __init__(self, number: int, session: mcp.ClientSession, shared: str, words: Sequence[str], account: _Account):
        self._number = number
        self._session = session
        self._shared = shared
        self._words = words
        self._account = account
        self._chance = random.Random(number)
        self._made = 0
        self._kept: list[_Kept] = []
        self._deleted: list[_Kept] = []
        self._turns = 0

    @property
    def documents(self) -> int:
        """How many documents of its own are there."""
        return len(self._kept)

    async def work(self, until: float) -> None:
        """Call one tool after the other; what is begun is waited for."""
        names, shares = list(_SHARES), list(_SHARES.values())
        while time.perf_counter() < until:
            [name] = self._chance.choices(names, shares)
            if name in ("search_summaries", "ingest_document") or not self._kept:
                await (self._search() if name == "search_summaries" else self._ingest())
            else:
                kept = self._chance.choice(self._kept)
                await {
                    "hybrid_search": self._find,
                    "get_documents": self._read,
                    "update_document": self._update,
                    "delete_document": self._delete,
                }[name](kept)

    async def check(self) -> None:
        """Look at every document once more: those that are to be there, and those that are not."""
        for part in _parts(self._kept):
            found = await self._texts(part)
            for one in part:
                if found.get(one.doc_id) != one.text:
                    self._miss(f"{one.title} is not as it was written last")
        for one in self._kept:
            await self._find(one)
        for part in _parts(self._deleted):
            found = await self._texts(part)
            for one in part:
                if one.doc_id in found or one.doc_id in await self._hits(one):
                    self._miss(f"{one.title} was deleted and is there")

    async def fields(self) -> None:
        """Look whether the document of all agents has what this one set last."""
        answer = await self._call("get_document_metadata", doc_id=self._shared)
        told = answer.get("metadata", {}).get(f"agent{self._number}")
        if self._turns and told != self._turns:
            self._miss(f"agent{self._number} set its field to {self._turns}, it is {told}")

    async def _search(self) -> None:
        await self._call("search_summaries", query=" ".join(self._chance.choices(self._words, k=4)))

    async def _find(self, kept: _Kept) -> None:
        if kept.doc_id not in await self._hits(kept):
            self._miss(f"{kept.title} is not found by {kept.word}")

    async def _read(self, kept: _Kept) -> None:
        if (await self._texts([kept])).get(kept.doc_id) != kept.text:
            self._miss(f"{kept.title} is not read as it was written")

    async def _ingest(self) -> None:
        word, text = self._text()
        title = f"Note {self._made} of agent {self._number}"
        answer = await self._call("ingest_document", title=title, text=text, tags=[f"agent{self._number}"])
        if "doc_id" in answer:
            self._account.done["documents"] += 1
            self._kept.append(_Kept(answer["doc_id"], title, text, word))

    async def _update(self, kept: _Kept) -> None:
        word, text = self._text()
        answer = await self._call("update_document", doc_id=kept.doc_id, text=text, if_version=kept.version)
        if "version" in answer:
            self._account.done["updates"] += 1
            kept.text, kept.word, kept.version = text, word, answer["version"]
        turn = self._turns + 1
        answer = await self._call("update_document", doc_id=self._shared, metadata={f"agent{self._number}": turn})
        if "version" in answer:
            self._turns = turn

    async def _delete(self, kept: _Kept) -> None:
        if "doc_id" in await self._call("delete_document", doc_id=kept.doc_id):
            self._account.done["deleted"] += 1
            self._kept.remove(kept)
            self._deleted.append(kept)

    async def _hits(self, kept: _Kept) -> list[str]:
        answer = await self._call("hybrid_search", query=kept.word, semantic_weight=0.0, keyword_weight=1.0, top_k=3)
        return [hit["doc_id"] for hit in answer.get("results", [])]

    async def _texts(self, some: Sequence[_Kept]) -> dict[str, str]:
        answer = await self._call("get_documents", doc_ids=[one.doc_id for one in some], max_tokens=_MOST_TOKENS)
        return {one["doc_id"]: one["full_text"] for one in answer.get("documents", [])}

    async def _call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        began = time.perf_counter()
        try:
            answer = await self._session.call_tool(tool, arguments)
        except Exception as error:  # noqa: BLE001 - whatever it is, it is what the agent gets
            self._account.errors.append(f"{tool}: {type(error).__name__}: {error}")
            return {}
        self._account.seconds.setdefault(tool, []).append(time.perf_counter() - began)
        data = _data(answer)
        if data is None or answer.is_error or "error" in data or data.get("degraded"):
            self._account.errors.append(f"{tool}: {data or answer}")
            return {}
        return data

    def _text(self) -> tuple[str, str]:
        """Return a word that no other text has, and a text with it."""
        self._made += 1
        word = f"zq{self._number}x{self._made}k"
        words = self._chance.choices(self._words, k=_WORDS)
        return word, f"# {words[0].title()} {word}\n\n{' '.join(words[:60])}.\n\n## {word}\n\n{' '.join(words[60:])}."

    def _miss(self, what: str) -> None:
        self._account.lost.append(what)


def _data(answer: object) -> dict[str, Any] | None:
    """Return the JSON object of an answer, None where it is no data."""
    if not isinstance(answer, CallToolResult):
        return None
    text = answer.content[0].text if answer.content and isinstance(answer.content[0], TextContent) else ""
    data: dict[str, Any] | None = json.loads(text) if text.startswith("{") else None
    return data


def _parts(kept: Sequence[_Kept]) -> Iterator[Sequence[_Kept]]:
    for first in range(0, len(kept), _READ_AT_ONCE):
        yield kept[first : first + _READ_AT_ONCE]


async def crowd(url: str, agents: int, seconds: float) -> Busy:
    """Let ``agents`` work on the server at ``url`` for ``seconds``, then look at all they wrote."""
    account, words = _Account(), vocabulary()
    ready, over = asyncio.Barrier(agents), asyncio.Barrier(agents)
    async with streamable_http_client(url) as (reading, writing, *_), mcp.ClientSession(reading, writing) as session:
        await session.initialize()
        first = await session.call_tool("ingest_document", {"title": "Shared", "text": "Of all agents."})
        data = _data(first)
        assert data is not None, first
        shared = data["doc_id"]
    took: list[float] = []
    left: list[int] = []
    tools: dict[str, list[float]] = {}

    async def agent(number: int) -> None:
        async with streamable_http_client(url) as (reading, writing, *_), mcp.ClientSession(reading, writing) as own:
            await own.initialize()
            me = _Agent(number, own, shared, words, account)
            await ready.wait()
            began = time.perf_counter()
            await me.work(began + seconds)
            if await over.wait() == 0:
                took.append(time.perf_counter() - began)
                tools.update({name: list(times) for name, times in account.seconds.items()})
            await over.wait()
            await me.check()
            await me.fields()
            left.append(me.documents)

    await asyncio.gather(*(agent(number) for number in range(agents)))
    calls = sum(map(len, tools.values()))
    return Busy(
        agents=agents,
        seconds=took[0],
        calls=calls,
        calls_per_s=calls / took[0],
        tools={name: spread(times) for name, times in sorted(tools.items())},
        documents=sum(left),
        deleted=account.done["deleted"],
        updates=account.done["updates"],
        errors=account.errors[:_SHOWN],
        lost=account.lost[:_SHOWN],
    )


def measured(work: Path, agents: int, seconds: float) -> Busy:
    """Serve a home that is made in ``work``, let agents work on it, and compare its index with its catalogue."""
    with serving_process(work / "home", work / "serve.log") as (_, port):
        found = asyncio.run(crowd(f"http://127.0.0.1:{port}/mcp", agents, seconds))
    verified = start("verify", "--home", str(work / "home"), stdout=subprocess.DEVNULL)
    if verified.wait() != 0:
        raise RuntimeError("`pinakes verify` finds that the index is not as the catalogue")
    return found


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--agents", type=int, default=10)
    parser.add_argument("--seconds", type=float, default=60.0)
    given = parser.parse_args()
    about = machine.describe()
    with tempfile.TemporaryDirectory() as work:
        figures = measured(Path(work), given.agents, given.seconds)
    print(machine.as_json(about, figures))
    if figures.errors or figures.lost:
        sys.exit(1)


if __name__ == "__main__":
    main()
