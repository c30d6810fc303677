"""``serve`` and ``mcp``: the HTTP server, and the stdio server that agents start."""

from __future__ import annotations

import json

from pinakes.cli.session import Session

MOCK_PORT = 3001


def serve(session: Session, *, reindex: bool, mock: bool = False) -> None:
    """Serve HTTP until stopped, ``mock``: with fixed answers."""
    from pinakes.serve import serve as serve_http
    from pinakes.serve import serve_mock

    settings = session.settings

    def on_ready(url: str) -> None:
        from pinakes.serve.access import needs_keys

        url = url.rstrip("/")
        ask = json.dumps({"query": "how does it work?", "top_k": 3})
        client = json.dumps({"mcpServers": {settings.server_name: {"url": f"{url}/mcp"}}})
        session.screen.say(f"Pinakes serves {settings.home} at {url} (Ctrl+C stops it).")
        session.screen.say(f"  ask        curl {url}/search -H 'Content-Type: application/json' -d '{ask}'")
        session.screen.say(f"  MCP client {client}")
        session.screen.say(f"  API        {url}/docs")
        if needs_keys(settings.server):
            session.screen.say(f"  keys       are needed; {session.command('keys', 'create', 'NAME')} makes one")

    def on_mock_ready(url: str) -> None:
        session.screen.say(f"A mock of Pinakes answers at {url} (Ctrl+C stops it); {url}/routes lists what.")

    if mock:
        serve_mock(settings, on_ready=on_mock_ready)
    else:
        serve_http(settings, reindex=reindex, on_ready=on_ready)


def offering(session: Session, toolsets: str | None, *, read_only: bool) -> Session:
    """Return a session whose agents see these toolsets, names between commas, and perhaps only what reads."""
    names = None if toolsets is None else [name.strip() for name in toolsets.split(",") if name.strip()]
    return session.with_settings(toolsets=names, server__read_only=read_only or None)


def mcp(session: Session, url: str | None) -> None:
    """Serve MCP over stdio until the client closes it; nothing but protocol goes to stdout."""
    from pinakes.serve import serve_stdio

    serve_stdio(session.settings, url)
