"""``serve`` and ``mcp``: the HTTP server, and the stdio server that agents start."""

from __future__ import annotations

import json

from pinakes.cli.session import Session


def serve(session: Session, *, reindex: bool) -> None:
    """Serve HTTP until stopped."""
    from pinakes.serve import serve as serve_http

    settings = session.settings

    def on_ready(url: str) -> None:
        url = url.rstrip("/")
        ask = json.dumps({"query": "how does it work?", "top_k": 3})
        client = json.dumps({"mcpServers": {settings.server_name: {"url": f"{url}/mcp"}}})
        session.screen.say(f"Pinakes serves {settings.home} at {url} (Ctrl+C stops it).")
        session.screen.say(f"  ask        curl {url}/search -H 'Content-Type: application/json' -d '{ask}'")
        session.screen.say(f"  MCP client {client}")
        session.screen.say(f"  API        {url}/docs")

    serve_http(settings, reindex=reindex, on_ready=on_ready)


def mcp(session: Session, url: str | None) -> None:
    """Serve MCP over stdio until the client closes it; nothing but protocol goes to stdout."""
    from pinakes.serve import serve_stdio

    serve_stdio(session.settings, url)
