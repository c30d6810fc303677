"""``serve``, ``worker`` and ``mcp``: the HTTP server, workers of a shared catalogue, the stdio server of agents."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Annotated

import typer

from pinakes.cli.options import ReadOnly, Toolsets, Yes
from pinakes.cli.session import Session
from pinakes.cli.standard_streams import survive_stderr
from pinakes.core.caller import KEY_VARIABLE
from pinakes.core.errors import InvalidInput
from pinakes.core.records import JSON
from pinakes.core.wording import split_list
from pinakes.platform.memory import collect_seldom

_MOCK_PORT = 3001


def serve(
    session: Session,
    host: Annotated[str | None, typer.Option("--host", metavar="ADDRESS", help="Address to bind.")] = None,
    port: Annotated[int | None, typer.Option("--port", metavar="N", help="Port to bind; 0 = any free one.")] = None,
    reindex: Annotated[
        bool, typer.Option("--reindex", help="Read all sources again and build the indexes anew.")
    ] = False,
    no_auth: Annotated[
        bool, typer.Option("--no-auth", help="Allow an address that other machines reach, without authentication.")
    ] = False,
    workers: Annotated[
        int | None, typer.Option("--workers", metavar="N", help="Processes that answer, about one for each core.")
    ] = None,
    mock: Annotated[
        bool, typer.Option("--mock", help="Serve samples, for building a client; port 3001 where none is named.")
    ] = False,
    toolsets: Toolsets = None,
    read_only: ReadOnly = False,
) -> None:
    """Serve HTTP: the API, MCP at /mcp and the documentation at /docs."""
    from pinakes.api import serve as serve_http
    from pinakes.api import serve_mock

    collect_seldom()
    survive_stderr()
    if mock and port is None:
        port = _MOCK_PORT
    chosen = session.with_settings(
        server__host=host, server__port=port, server__no_auth=no_auth or None, server__workers=workers
    )
    chosen = offering(chosen, toolsets, read_only=read_only)
    say = session.screen.say

    def on_ready(url: str) -> None:
        for line in banner(chosen, url.rstrip("/")):
            say(line)

    if mock:
        words = "A mock of Pinakes answers at {0} (Ctrl+C stops it); {0}/routes lists its routes."
        serve_mock(chosen.settings, on_ready=lambda url: say(words.format(url)))
    else:
        serve_http(chosen.settings, reindex=reindex, on_ready=on_ready)


def worker(
    session: Session,
    queues: Annotated[
        str, typer.Option("--queues", metavar="NAMES", help="What to take: embed, parse, or both with a comma between.")
    ] = "embed",
    batch: Annotated[
        int, typer.Option("--batch", metavar="N", min=1, help="Chunks that are taken at once; a crash loses as many.")
    ] = 128,
    folders: Annotated[
        bool, typer.Option("--folders", help="Read folders too: their paths mean the same here as at the servers.")
    ] = False,
    yes: Yes = False,
) -> None:
    """Embed and read for the servers of a shared catalogue (catalog.url), until stopped."""
    from pinakes.api import serve_worker

    collect_seldom()
    survive_stderr()
    serve_worker(
        session.settings,
        queues=split_list(queues),
        batch=batch,
        folders=folders,
        agreed=yes,
        say=session.screen.say,
    )


def mcp(
    session: Session,
    url: Annotated[
        str | None, typer.Option("--url", metavar="URL", help="Ask this running server instead of opening the home.")
    ] = None,
    toolsets: Toolsets = None,
    read_only: ReadOnly = False,
) -> None:
    """Serve MCP over stdio, for agents that start their own server."""
    from pinakes.api import serve_stdio

    if url and (toolsets is not None or read_only):
        raise InvalidInput("The server at --url decides on its tools.", hint="Leave out --toolsets and --read-only.")
    collect_seldom()
    survive_stderr()
    serve_stdio(offering(session, toolsets, read_only=read_only).settings, url)


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
    names = None if toolsets is None else split_list(toolsets)
    return session.with_settings(toolsets=names, server__read_only=read_only or None)
