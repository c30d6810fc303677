"""``pinakes serve --mock``: a real server over sample documents, for teams that build a client or a controller.

Needs no documents, model or home. It keeps what it is sent until it ends, and knows nothing else than that and the
samples: whatever the real server refuses, echoes or does not find, it does too.
"""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from tempfile import TemporaryDirectory

from fastapi import FastAPI

from pinakes.api.access import NEEDED
from pinakes.api.connections import Connections
from pinakes.api.http_app import create_app
from pinakes.api.instance import COMMANDS
from pinakes.api.server import Server, bind, check_exposure, configured, url_of
from pinakes.core.records import JSON
from pinakes.library import Library
from pinakes.schemas.envelope import PREFIX
from pinakes.settings import ChatSettings, EmbeddingSettings, ExpansionSettings, GraphRules, RerankSettings, Settings
from pinakes.tools import TOOLS

_DEPLOY = "# Deploying\n\nA merge to main is deployed by the pipeline after its tests have passed.\n"
FILES = {
    "documents/guides/keys.md": (
        "---\ntags: [howto]\n---\n# Signing keys\n\nEvery service signs with a key of its own.\n\n"
        "## How to rotate the signing keys\n\nMake a new key, publish it, wait a day, then retire the old one.\n"
    ),
    "documents/guides/backup.md": (
        "# Backup\n\nCopies are made at night. Keys are not part of them. Acme offers Coldstore.\n"
    ),
    "documents/code/keys.py": (
        'def rotate_keys(service: str) -> None:\n    """Rotate the signing keys of a service."""\n'
    ),
    "documents/keps/sig-auth/9999-signing-keys/kep.yaml": (
        "title: Signing keys of services\nkep-number: 9999\nowning-sig: sig-auth\nstatus: provisional\n"
    ),
    "documents/keps/sig-auth/9999-signing-keys/README.md": (
        "# KEP-9999: Signing keys of services\n\n## Summary\n\nEach service gets a signing key of its own, "
        "so that one that leaks is retired without the others.\n"
    ),
    "knowledge_base/alerts.md": "# Alerts\n\nAn alert names the service, the rule and who is on call.\n",
    "knowledge_base/runbooks/deploy.md": _DEPLOY,
}
PUSHED = {
    "uri": "https://example.org/platform/blob/main/docs/deploy.md",
    "sourceId": "default/platform-docs",
    "content": _DEPLOY,
}
GRAPH = GraphRules.model_validate(
    {
        "types": {"VENDOR": {"names": {"Acme": []}}, "PRODUCT": {"names": {"Coldstore": []}}},
        "relations": [
            {"type": "OFFERS", "source": ["VENDOR"], "target": ["PRODUCT"], "patterns": ["{source} offers {target}"]}
        ],
    }
)
"""The graph of collections for which the settings name none."""

_SHOWN = re.compile(r"^\[1\].*\n<(?P<fence>document-\w+)>\n(?P<text>(?:.*\n)*?)</(?P=fence)>", re.MULTILINE)
"""The first chunk that a chat model is shown."""


def run(settings: Settings, *, on_ready: Callable[[str], None]) -> None:
    """Serve the samples until SIGINT or SIGTERM.

    Raises:
        Busy: the port is taken.
        Refused: an address that other machines reach, without authentication.
    """
    check_exposure(settings.server)
    listener = bind(settings.server)
    with listener, sampled(settings) as library:
        connections = Connections(settings.server)
        app = create_mock_app(library, connections)
        server = Server(
            configured(app, settings.server),
            lambda: on_ready(url_of(listener)),
            app.state.ending.set,
            connections=connections,
            workers=app.state.workers,
        )
        server.run(sockets=[listener])


def create_mock_app(library: Library, connections: Connections | None = None) -> FastAPI:
    """Return the application over ``library``, which also lists its routes at ``/routes``."""
    app = create_app(library, connections=connections)

    @app.get("/routes", include_in_schema=False)
    def routes() -> dict[str, JSON]:
        keeps_knowledge = "knowledge" in library.settings.toolsets
        hidden = {f"POST {COMMANDS}"} | {one for one in NEEDED if f"{PREFIX}/knowledge/" in one and not keeps_knowledge}
        there = sorted(NEEDED.keys() - hidden)
        return {"routes": [dict(zip(("method", "path"), route.split(), strict=True)) for route in there]}

    return app


@contextmanager
def sampled(settings: Settings) -> Iterator[Library]:
    """Give a library that holds the samples, in a folder of its own that is gone afterwards."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(TemporaryDirectory(prefix="pinakes-mock-")))
        for path, text in FILES.items():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_text(text, "utf-8")
        chat = stack.enter_context(_chat_model())
        alone = _isolated_settings(settings, folder, chat)
        writable = alone.model_copy(update={"server": alone.server.model_copy(update={"read_only": False})})
        with Library(writable) as library:
            for collection in {settings.collection, *_named(settings)}:
                library.add(str(folder / "documents"), collection)
            tools = {tool.name: tool for tool in TOOLS}
            tools["kb_resync"].answer(library, {})
            tools["manageKnowledge"].answer(library, {"operation": "ingest", **PUSHED})
        yield stack.enter_context(Library(alone))


def _isolated_settings(settings: Settings, folder: Path, chat: str) -> Settings:
    """Return ``settings`` with a home, a cache and models of their own; with every tool where none are named."""
    collections = {name: settings.of_collection(name) for name in (settings.collection, *_named(settings))}
    graphs = {name: one for name, one in collections.items() if not one.graph.types}
    own: dict[str, object] = {
        "collections": settings.collections
        | {name: one.model_copy(update={"graph": GRAPH}) for name, one in graphs.items()},
        "home": folder / "home",
        "cache": folder / "cache",
        "embedding": EmbeddingSettings(provider="deterministic"),
        "chat": ChatSettings(url=chat, model="mock"),
        "knowledge_base": settings.knowledge_base.model_copy(
            update={"enabled": True, "folder": folder / "knowledge_base"}
        ),
        "rerank": RerankSettings(),
        "expansion": ExpansionSettings(),
        "summary": settings.summary.model_copy(update={"writer": "extractive"}),
        "server": settings.server.model_copy(update={"no_auth": True, "require_keys": False}),
    }
    if "toolsets" not in settings.model_fields_set:
        own["toolsets"] = tuple(sorted({tool.toolset for tool in TOOLS}))
    return settings.model_copy(update=own)


def _named(settings: Settings) -> list[str]:
    """Return the collections of the searches that the settings name."""
    return [tool.collection for tool in settings.tools]


@contextmanager
def _chat_model() -> Iterator[str]:
    """Give the address of a chat model that repeats the last line of the first chunk."""
    with ThreadingHTTPServer(("127.0.0.1", 0), _Repeating) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}/v1"
        finally:
            server.shutdown()


class _Repeating(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
        shown = _SHOWN.search(asked["messages"][-1]["content"])
        line = shown["text"].strip().splitlines()[-1] if shown else ""
        message = {"role": "assistant", "content": f"{line} [1]"}
        answer = json.dumps({"choices": [{"message": message}]}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *_: object) -> None:
        """Say nothing of requests."""
