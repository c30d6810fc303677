"""A home whose collections have a word each that stands nowhere else, keys for some of them, and callers that look."""

from __future__ import annotations

import json
import random
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
from hostile_values import QUESTION, bodies
from real_server import RealServer

from pinakes.catalog import keys
from pinakes.library import Library
from pinakes.settings import load
from pinakes.tools import TOOLS

OPEN = "open"
PLANTED = {
    OPEN: "Lisbonopenxq",
    "code": "Quaggacodexq",
    "words": "Quaggawordsxq",
    "private": "Quaggaprivatexq",
    "knowledge-base": "Quaggaplatformxq",
}
SETTINGS = f"""
toolsets = {json.dumps(sorted({tool.toolset for tool in TOOLS}))}
[embedding]
provider = "deterministic"
[knowledge_base]
enabled = true
[collections.words]
retrieval = "keyword"
[[tools]]
name = "search_keps"
description = "Search what is open."
collection = "{OPEN}"
hit = "{{path}} {{chunk}}"
"""
JSON_HEADERS = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}


@dataclass(frozen=True)
class HostileHome:
    """``keys``: name → headers; "nobody" has none. ``ids`` are those of documents in the open collection."""

    home: Path
    keys: Mapping[str, Mapping[str, str]]
    ids: tuple[str, ...]


def make_home(folder: Path, documents: int = 6) -> HostileHome:
    """Fill a home below ``folder``: every collection has documents, one that changed, and one that is gone."""
    (folder / "home").mkdir(parents=True)
    (folder / "home" / "config.toml").write_text(SETTINGS, "utf-8")
    with Library(load(home=folder / "home", environment={})) as library:
        for name, word in PLANTED.items():
            there = folder / name
            there.mkdir()
            text = f"---\ntags: [howto, {word}]\n---\n# Treasure\n\nThe treasure of the captain lies in {word}.\n"
            for number in range(documents):
                (there / f"doc{number}.md").write_text(f"{text}\nIt is map {number}.\n", "utf-8")
            (there / "code.py").write_text(f'def find_{word}(captain):\n    """The treasure."""\n', "utf-8")
            library.add(str(there), name)
            put = library.documents.put(f"The treasure of {word}.", title=f"Where {word} lies", collection=name)
            library.documents.update(put.document.uid, text=f"No treasure in {word}.", collection=name)
            gone = library.documents.put(f"More of {word}.", title=word, collection=name)
            library.documents.delete(gone.document.uid, collection=name)
        made: dict[str, Mapping[str, str]] = {"nobody": {}}
        with library.app.catalog.write() as connection:
            for key, scope, only in (("reader", "read", [OPEN]), ("writer", "write", [OPEN]), ("admin", "admin", None)):
                _, secret = keys.create(connection, key, scope, only)  # type: ignore[arg-type]
                made[key] = {"Authorization": f"Bearer {secret}"}
            rows = connection.exec_driver_sql(
                "SELECT uid FROM documents JOIN collections c ON c.id = collection_id WHERE c.name = ?", (OPEN,)
            )
            ids = tuple(str(row[0]) for row in rows)
    return HostileHome(folder / "home", made, ids)


def good_arguments(tool: str, schema: Mapping[str, Any], document: str) -> dict[str, Any]:
    """Return arguments with which a call of a tool is right."""
    if tool == "manageKnowledge":
        return {"operation": "ingest", "content": "A text.", "uri": "https://example.org/a"}
    usual: dict[str, Any] = {
        "query": QUESTION,
        "question": QUESTION,
        "queries": [QUESTION, "keys"],
        "doc_id": document,
        "document": document,
        "doc_ids": [document],
        "title": "A title",
        "text": "Some text.",
        "documents": [{"title": "A title", "text": "Some text."}],
        "content_type": "documentation",
        "source_path": "a/b.md",
        "content": "A text.",
        "chunk_index": 0,
        "collection": OPEN,
    }
    wanted = {*schema.get("required", ()), "collection", "chunk_index"}
    return {name: usual[name] for name in schema.get("properties", {}) if name in wanted and name in usual}


@dataclass
class HostileCaller:
    """Sends what is hostile and notes in ``faults`` what no answer may be.

    ``foreign`` are words that it may not read. ``answers``: (seconds, what was sent, status, the answer's beginning).
    """

    server: RealServer
    client: httpx.Client
    foreign: tuple[str, ...]
    most_s: float
    faults: list[str] = field(default_factory=list)
    answers: list[tuple[float, str, int, str]] = field(default_factory=list)
    _read: int = 0

    def tools(self) -> dict[str, dict[str, Any]]:
        """Return the schema of each tool that there is for this caller."""
        told = self.client.get("/api/v1/tools")
        listed = told.json()["data"]["tools"] if told.status_code == 200 else []
        return {tool["name"]: tool["inputSchema"] for tool in listed}

    def send(self, what: str, method: str, path: str, body: str | None = None) -> httpx.Response:
        """Send a request and look at the answer."""
        begun = time.monotonic()
        content = None if body is None else body.encode("utf-8", "surrogatepass")
        answer = self.client.request(method, path, content=content, headers=JSON_HEADERS)
        took, text = time.monotonic() - begun, answer.text
        self.answers.append((took, f"{method} {path} {what}", answer.status_code, text[:300]))
        wrong = [f"the word {word} of another collection" for word in self.foreign if word in text]
        if answer.status_code >= 500 and answer.status_code != 503:
            wrong.append(f"status {answer.status_code}")
        if '"errorCode":"INTERNAL_ERROR"' in text or "-32603" in text[:200]:
            wrong.append("an internal error")
        if took > self.most_s:
            wrong.append(f"{took:.1f} seconds")
        if len(text) > 50_000 and (answer.status_code >= 400 or '"errorCode"' in text[-200:]):
            wrong.append(f"a refusal of {len(text)} characters")
        with self.server.log.open("rb") as log:
            log.seek(self._read)
            said = log.read()
        self._read += len(said)
        if b"Traceback" in said:
            wrong.append(f"in the log: {said[-2000:].decode('utf-8', 'replace')}")
        self.faults += [f"{one}: {method} {path} {what}: {(body or '')[:200]} → {text[:300]}" for one in wrong]
        return answer

    def call(self, way: str, tool: str, what: str, body: str) -> httpx.Response:
        """Call a tool with arguments written as JSON, over "rest" or "mcp"."""
        if way == "rest":
            return self.send(what, "POST", f"/api/v1/tools/{tool}", body)
        return self.send(f"{tool} {what}", "POST", "/mcp", message(1, tool, body))


@contextmanager
def waiting(caller: HostileCaller) -> Iterator[list[tuple[float, str]]]:
    """Ask ``/healthz`` all the time; collect how long that takes, in seconds, and what was sent last before it."""
    done, waits = threading.Event(), [(0.0, "")]

    def ask() -> None:
        with httpx.Client(base_url=caller.server.url, timeout=60) as client:
            while not done.wait(0.05):
                begun = time.monotonic()
                if client.get("/healthz").status_code != 200:
                    caller.faults.append("/healthz is not well")
                waits.append((time.monotonic() - begun, caller.answers[-1][1] if caller.answers else "nothing"))

    thread = threading.Thread(target=ask)
    thread.start()
    try:
        yield waits
    finally:
        done.set()
        thread.join()


def message(number: int, tool: str, body: str) -> str:
    """Return the JSON-RPC message that calls a tool."""
    params = f'{{"name": {json.dumps(tool)}, "arguments": {body}}}'
    return f'{{"jsonrpc": "2.0", "id": {number}, "method": "tools/call", "params": {params}}}'


def hostile_calls(
    tools: Mapping[str, Mapping[str, Any]], ids: tuple[str, ...], seed: int, each: int
) -> Iterator[tuple[str, str, str]]:
    """Yield (tool, what is wrong, arguments as JSON)."""
    chosen = random.Random(seed)
    for tool, schema in tools.items():
        for what, body in bodies(schema, good_arguments(tool, schema, chosen.choice(ids)), chosen, each):
            yield tool, what, body


def hostile_requests(spec: Mapping[str, Any], seed: int, each: int) -> Iterator[tuple[str, str, str, str | None]]:
    """Yield (what is wrong, method, path, body) for the routes of an OpenAPI document that are no tools."""
    from urllib.parse import quote

    from hostile_values import NO_OBJECTS, values

    chosen = random.Random(seed)
    for path, methods in spec["paths"].items():
        for method, about in methods.items():
            if "requestBody" in about and "{" not in path:
                schema = _resolved(spec, about["requestBody"]["content"]["application/json"]["schema"])
                name = next(one for one in ("query", "question") if one in schema["properties"])
                for what, body in bodies(schema, {name: QUESTION}, chosen, each):
                    yield what, method.upper(), path, body
                for body in NO_OBJECTS:
                    yield "no object", method.upper(), path, body
            for parameter in about.get("parameters", ()):
                for _ in range(each if not path.endswith("events") else 0):
                    given = json.loads(chosen.choice(values(chosen.choice(("name", "time", "number")))))
                    value = quote(str(given).encode("utf-8", "surrogatepass")[:20_000], safe="")
                    where = f"{path}?{parameter['name']}={value}"
                    if parameter["in"] == "path":
                        where = path.partition("{")[0] + value
                    yield parameter["name"], method.upper(), where, "{}" if method == "post" else None


def _resolved(spec: Mapping[str, Any], schema: Mapping[str, Any]) -> dict[str, Any]:
    while "$ref" in schema:
        schema = spec["components"]["schemas"][schema["$ref"].rpartition("/")[2]]
    plain = {
        name: next((one for one in about["anyOf"] if one.get("type") != "null"), about) if "anyOf" in about else about
        for name, about in schema["properties"].items()
    }
    return {**schema, "properties": plain}
