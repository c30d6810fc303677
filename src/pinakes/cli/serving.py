"""``serve`` and ``mcp``: the HTTP server, and the stdio server that agents start."""

from __future__ import annotations

import json
from collections.abc import Iterator

from pinakes.cli.session import Session
from pinakes.core.caller import KEY_VARIABLE
from pinakes.core.records import JSON
from pinakes.platform.memory import collect_seldom

MOCK_PORT = 3001


def serve(session: Session, *, reindex: bool, mock: bool = False) -> None:
    """Serve HTTP until stopped, ``mock``: samples."""
    from pinakes.api import serve as serve_http
    from pinakes.api import serve_mock

    collect_seldom()

    settings = session.settings

    def on_ready(url: str) -> None:
        for line in banner(session, url.rstrip("/")):
            session.screen.say(line)

    def on_mock_ready(url: str) -> None:
        session.screen.say(f"A mock of Pinakes answers at {url} (Ctrl+C stops it); {url}/routes lists its routes.")

    if mock:
        serve_mock(settings, on_ready=on_mock_ready)
    else:
        serve_http(settings, reindex=reindex, on_ready=on_ready)


def banner(session: Session, url: str) -> Iterator[str]:
    """Yield what is said when a server answers at ``url``: how to ask it, from where, and with which key."""
    from pinakes.api.access import needs_keys
    from pinakes.api.guard import is_unspecified
    from pinakes.api.server import address_of_machine

    settings = session.settings
    keys = needs_keys(settings.server)
    yield f"Pinakes serves {settings.home} at {url} (Ctrl+C stops it)."
    if is_unspecified(settings.server.host):
        url = url.replace("127.0.0.1", address_of_machine())
        yield f"  elsewhere  {url} and by every other address of this machine"
    header = f' -H "Authorization: Bearer ${KEY_VARIABLE}"' if keys else ""
    ask = json.dumps({"query": "how does it work?", "top_k": 3})
    client: dict[str, JSON] = {"url": f"{url}/mcp"}
    if keys:
        client["headers"] = {"Authorization": f"Bearer ${{{KEY_VARIABLE}}}"}
    yield f"  ask        curl {url}/search{header} -H 'Content-Type: application/json' -d '{ask}'"
    yield f"  MCP client {json.dumps({'mcpServers': {settings.server_name: client}})}"
    yield f"  API        {url}/docs"
    if keys:
        make = session.command("keys", "create", "NAME")
        yield f"  keys       are needed, as in these lines: {make} makes one; put it into {KEY_VARIABLE}"


def offering(session: Session, toolsets: str | None, *, read_only: bool) -> Session:
    """Return a session whose agents see these toolsets, names between commas, and perhaps only what reads."""
    names = None if toolsets is None else [name.strip() for name in toolsets.split(",") if name.strip()]
    return session.with_settings(toolsets=names, server__read_only=read_only or None)


def mcp(session: Session, url: str | None) -> None:
    """Serve MCP over stdio until the client closes it; nothing but protocol goes to stdout."""
    from pinakes.api import serve_stdio

    collect_seldom()

    serve_stdio(session.settings, url)
