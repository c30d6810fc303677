"""Write the answers of the mock server anew, by asking a real one: python tests/integration/serve/mock_fixtures.py"""

from __future__ import annotations

import http.server
import json
import re
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any
from uuid import NAMESPACE_DNS, uuid5

from serve_support import Running
from websockets.sync.client import connect

from pinakes.library import Library
from pinakes.serve.app import create_app
from pinakes.settings import load
from pinakes.testing import write_files
from pinakes.tools import TOOLS
from pinakes.tools.declare import as_json

FILE = Path(__file__).parents[3] / "src" / "pinakes" / "serve" / "fixtures.json"

KEYS = """---
tags: [howto]
---
# Signing keys

Every service signs with a key of its own.

## How to rotate the signing keys

Make a new key, publish it, wait a day, then retire the old one.
"""
BACKUP = "# Backup\n\nCopies are made at night. Keys are not part of them.\n"
DEPLOY = "# Deploying\n\nA merge to main is deployed by the pipeline after its tests have passed.\n"
ALERTS = "# Alerts\n\nAn alert names the service, the rule and who is on call.\n"
CERTIFICATES = (
    "# Certificates\n\nA certificate is renewed thirty days before it ends, by the same job for all services.\n"
)
CODE = 'def rotate_keys(service: str) -> None:\n    """Rotate the signing keys of a service."""\n'
DOCUMENTS = {
    "documents/guides/keys.md": KEYS,
    "documents/guides/backup.md": BACKUP,
    "documents/code/keys.py": CODE,
    "knowledge_base/alerts.md": ALERTS,
    "knowledge_base/runbooks/deploy.md": DEPLOY,
}
QUESTION = "how do we rotate the signing keys?"
URI = "https://example.org/platform/blob/main/docs/deploy.md"
SOURCE = "default/platform-docs"

Answer = dict[str, Any]
Ask = Callable[..., Answer]


def record(folder: Path, provider: str = "deterministic") -> dict[str, Any]:
    """Return what a server over a small corpus answers to one call of everything, fit to be kept."""
    write_files(folder, DOCUMENTS)
    with chat_model() as url:
        settings = load(
            home=folder / "home",
            environment={},
            embedding__provider=provider,
            server__port=0,
            toolsets=sorted({tool.toolset for tool in TOOLS}),
            summary__writer="extractive",
            chat__url=url,
            chat__model="example",
            knowledge_base__enabled=True,
            knowledge_base__folder=str(folder / "knowledge_base"),
        )
        with Library(settings) as library:
            library.add(str(folder / "documents"))
            server = Running(create_app(library), settings)
            try:
                found = {"tools": tools(library), "routes": routes(server), "socket": typed(server)}
            finally:
                server.stop()
    whole: dict[str, Any] = lasting(found, str(folder))
    return whole


def tools(library: Library) -> dict[str, list[Answer]]:
    """Return name → cases, each with the arguments it is for."""
    declared = {tool.name: tool for tool in TOOLS}
    cases: dict[str, list[Answer]] = {tool.name: [] for tool in TOOLS}

    def ask(name: str, when: Mapping[str, Any] | None = None, *, fails: bool = False, **arguments: Any) -> Answer:
        outcome = declared[name].answer(library, arguments)
        assert (outcome.error is not None) == fails, f"{name}: {outcome.error}"
        assert outcome.data is not None
        case: Answer = {"when": dict(when or {}), "data": outcome.data}
        if outcome.text != as_json(outcome.data):
            case["text"] = outcome.text
        if all(known["when"] != case["when"] for known in cases[name]):
            cases[name].append(case)
        return outcome.data

    documents(ask)
    knowledge(ask)
    code(ask)
    ask("version")
    ask("kb_resync")
    ask("kb_status")
    ask("list_collections")
    ask("collection_stats")
    ask("retrieval_log", last_n=3)
    ask("search", query=QUESTION, top_k=2)
    ask("read", document="guides/keys.md")
    ask("status")
    ask("metadata_report", missing=1)
    ask("list_sources")
    ask("ask", question=QUESTION)
    missing = [name for name, known in cases.items() if not known]
    assert not missing, f"say here how these are called: {missing}"
    return cases


def documents(ask: Ask) -> None:
    one = ask("ingest_document", title="Deploying", text=DEPLOY, tags=["howto"], metadata={"team": "platform"})[
        "doc_id"
    ]
    bad = {"title": "", "text": "A text without a title."}
    batch = [{"title": "Alerts", "text": ALERTS}, {"title": "Certificates", "text": CERTIFICATES}, bad]
    results = ask("ingest_batch", documents=batch)["results"]
    other = next(result["doc_id"] for result in results if "doc_id" in result)
    ask("search_summaries", query=QUESTION, top_k=3)
    ask("hybrid_search", query=QUESTION, top_k=3)
    ask("multi_query_search", queries=[QUESTION, "backup of keys"], top_k=3)
    ask("find_similar", doc_id=one, top_k=3)
    ask("get_documents", {"include_chunks": True}, doc_ids=[one], include_chunks=True)
    ask("get_documents", doc_ids=[one, other])
    ask("get_document_chunk", doc_id=one, chunk_index=0)
    ask("get_document_metadata", doc_id=one)
    ask("explain_retrieval", query=QUESTION, doc_ids=[one, other])
    ask("update_document", doc_id=one, title="How to deploy", tags=["howto", "pipeline"])
    ask("document_history", doc_id=one)
    ask("delete_document", doc_id=other)
    ask("restore_document", doc_id=other)


def knowledge(ask: Ask) -> None:
    def manage(operation: str, **arguments: Any) -> Answer:
        return ask("manageKnowledge", {"operation": operation}, operation=operation, **arguments)

    def refuse(operation: str, **lacking: Any) -> None:
        given: dict[str, Any] = {"operation": operation, **lacking}
        ask("manageKnowledge", given, fails=True, **({"content": DEPLOY} if "uri" in lacking else {}), **given)

    refuse("ingest", content="")
    refuse("ingest", uri="")
    refuse("search", query="")
    refuse("getChunk", chunkId="")
    refuse("deleteByUri", uri="")
    metadata = {"sourceIdentifier": SOURCE, "branch": "main"}
    chunks = manage("ingest", content=DEPLOY, uri=URI, metadata=metadata)["chunkIds"]
    manage("search", query="how to deploy", limit=2)
    manage("getChunk", chunkId=chunks[0])
    manage("deleteByUri", uri=URI)
    manage("ingest", content=DEPLOY, uri=URI, metadata=metadata)
    manage("deleteBySource", sourceId=SOURCE)


def code(ask: Ask) -> None:
    content = ask("index_content", content_type="source_file", source_path="keys.py", content=CODE)["content_id"]
    ask("get_index_status", content_id=content)
    ask("semantic_search", query="rotate keys", max_results=2)


def routes(server: Running) -> dict[str, Answer]:
    """Return route → answer."""

    def ask(method: str, path: str, body: Any = None) -> Answer:
        answer = server.client.request(method, path, json=body)
        assert answer.status_code == 200, answer.text
        return {"body": answer.json()}

    kept = {"operation": "ingest", "content": DEPLOY, "uri": URI, "metadata": {"sourceIdentifier": SOURCE}}
    ask("POST", "/api/v1/tools/manageKnowledge", kept)
    source = "/api/v1/knowledge/source/"
    return {
        "GET /health": ask("GET", "/health"),
        "GET /stats": ask("GET", "/stats"),
        "GET /api/v1/sources": ask("GET", "/api/v1/sources"),
        "POST /search": ask("POST", "/search", {"query": QUESTION, "top_k": 2}),
        "POST /api/v1/ask": ask("POST", "/api/v1/ask", {"question": QUESTION}),
        "POST /api/v1/knowledge/ask": ask("POST", "/api/v1/knowledge/ask", {"query": "How is it deployed?"}),
        f"DELETE {source}{{source_id}}": ask("DELETE", source + SOURCE.replace("/", "%2F")),
    }


def typed(server: Running) -> list[Answer]:
    """Return what comes over a socket for one question."""
    messages: list[Answer] = []
    with connect(server.url.replace("http", "ws", 1) + "/ws/search", proxy=None) as socket:
        socket.send(json.dumps({"id": 1, "query": QUESTION, "top_k": 2}))
        while not messages or not messages[-1]["done"]:
            messages.append(json.loads(socket.recv(timeout=30)))
    return messages


def lasting(value: Any, folder: str) -> Any:
    """Return ``value`` without what is another each time: random ids, moments, marks, the folder of the day."""
    known: dict[str, str] = {}
    numbers = count(1)

    def stable(found: re.Match[str]) -> str:
        if found[0] not in known:
            digits = str(uuid5(NAMESPACE_DNS, f"{next(numbers)}.example.org"))
            known[found[0]] = f"{digits[:14]}4{digits[15:]}"
        return known[found[0]]

    text = json.dumps(value, ensure_ascii=False).replace(folder, "/srv/example")
    text = re.sub(r"\b[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}\b", stable, text)
    text = re.sub(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?", "2026-01-15T09:30:00", text)
    text = re.sub(r"\bdocument-[0-9a-f]{8}\b", "document-5eed5eed", text)
    return json.loads(text)


@contextmanager
def chat_model() -> Iterator[str]:
    """Give the address of a chat model that always answers the same."""
    content = json.dumps({"choices": [{"message": {"role": "assistant", "content": "By the pipeline [1]."}}]}).encode()

    class Model(http.server.BaseHTTPRequestHandler):
        def log_message(self, *args: object) -> None:
            pass

        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["content-length"]))
            self.send_response(200)
            self.send_header("content-length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Model) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}/v1"
        finally:
            server.shutdown()
            thread.join()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as scratch:
        answers = record(Path(scratch), *sys.argv[1:])
    FILE.write_text(json.dumps(answers, ensure_ascii=False, indent=1) + "\n", "utf-8")
