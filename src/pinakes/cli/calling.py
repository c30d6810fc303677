"""``tools`` and ``call``: what agents can do, done from the command line; here, or by a running server."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pinakes.cli.session import Session, assigned
from pinakes.core.caller import KEY_VARIABLE, shown_key
from pinakes.core.errors import (
    Busy,
    InvalidInput,
    NotFound,
    PinakesError,
    RateLimited,
    Refused,
    ServerUnreachable,
    TooLarge,
    Unauthorized,
    exit_code,
    kind_of,
)
from pinakes.core.records import JSON
from pinakes.core.wording import split_list

if TYPE_CHECKING:
    from pinakes.tools import Tool

_CONNECT_TIMEOUT_S = 5.0
_ERRORS = {
    400: InvalidInput,
    401: Unauthorized,
    403: Refused,
    404: NotFound,
    413: TooLarge,
    422: InvalidInput,
    429: RateLimited,
    503: Busy,
}

Url = Annotated[
    str | None, typer.Option("--url", metavar="URL", help="Ask this running server instead of opening the home.")
]


@dataclass(frozen=True, slots=True)
class ToolResult:
    """What a tool answered. ``failed``: what kind of thing went wrong; ``error``: it is told instead of the answer."""

    text: str
    data: Mapping[str, JSON] | None
    failed: type[PinakesError] | None = None
    error: PinakesError | None = None


def tools(
    session: Session,
    every: Annotated[bool, typer.Option("--all", help="Also those that the setting `toolsets` leaves out.")] = False,
    url: Url = None,
) -> None:
    """List the tools that agents have."""
    offered = _remote_tools(session, url) if url else _local_tools(session, every)
    session.screen.document({"tools": offered})
    width = max((len(tool["name"]) for tool in offered), default=0)
    for tool in offered:
        first = tool["description"].partition("\n")[0]
        session.screen.show(f"{tool['name']:<{width}}  {first}")


def call(
    session: Session,
    name: Annotated[str, typer.Argument(metavar="TOOL", help="Name of the tool; `pinakes tools` lists them.")],
    words: Annotated[
        Sequence[str],
        typer.Option(
            "--arg", "-a", metavar="NAME=VALUE", help="An argument; =@FILE takes the text of a file, =@- stdin."
        ),
    ] = (),
    as_object: Annotated[
        str | None, typer.Option("--json-args", metavar="JSON", help="The arguments as one JSON object.")
    ] = None,
    url: Url = None,
) -> None:
    """Call a tool as an agent would."""
    result = _remote_result(session, url, name, words, as_object) if url else None
    result = result or _local_result(session, name, words, as_object)
    if result.error is not None:
        raise result.error
    session.screen.document(result.data if result.data is not None else {"text": result.text})
    session.screen.text(result.text)
    if result.failed is not None:
        raise typer.Exit(exit_code(result.failed))


def arguments_of(schema: Mapping[str, JSON], words: Sequence[str], as_object: str | None) -> dict[str, JSON]:
    """Return the arguments that ``words`` (``name=value``) and a JSON object give, by the types of ``schema``.

    Raises:
        InvalidInput: of another form, or a file that cannot be read.
    """
    given = _parsed(as_object, "--json-args") if as_object else {}
    if not isinstance(given, dict):
        raise InvalidInput("--json-args is no JSON object.", hint='As in --json-args \'{"query": "keys"}\'')
    for name, text in assigned("--arg", words, "query=keys"):
        about = schema.get("properties", {}).get(name, {})
        given[name] = _value(name, _content(text), about.get("type", "string"))
    return given


def _local_tools(session: Session, every: bool) -> list[dict[str, JSON]]:
    from pinakes.tools import TOOLS, tools_of
    from pinakes.tools.listing_limits import listing_for

    offered = tools_of(session.settings)
    names = {tool.name for tool in offered}
    rest = [tool for tool in TOOLS if tool.name not in names] if every else []
    return [listing_for(tool, session.settings) for tool in (*offered, *rest)]


def _local_result(session: Session, name: str, words: Sequence[str], as_object: str | None) -> ToolResult:
    from pinakes.core.caller import calling, current

    tool = _local_tool(session, name)
    arguments = arguments_of(tool.schema(), words, as_object)
    with (
        calling(replace(current(), interface="cli")),
        session.library(create=not tool.read_only, recorded=False) as library,
    ):
        outcome = tool.answer(library, arguments)
    failed = None if outcome.error is None else type(outcome.error)
    return ToolResult(outcome.text, outcome.data, failed, outcome.error if tool.error_data is None else None)


def _local_tool(session: Session, name: str) -> Tool:
    from rapidfuzz import process

    from pinakes.tools import TOOLS, tools_of

    known: dict[str, Tool] = {tool.name: tool for tool in (*TOOLS, *tools_of(session.settings))}
    if name not in known:
        near = [found for found, _, _ in process.extract(name, list(known), limit=1, score_cutoff=60)]
        hint = f"Did you mean {near[0]!r}?" if near else "`pinakes tools --all` lists them."
        raise NotFound(f"There is no tool {name!r}.", hint=hint)
    return known[name]


def _remote_tools(session: Session, url: str) -> list[dict[str, JSON]]:
    status, body = _ask(session, "GET", url, "/api/v1/tools")
    if status != 200:
        raise _refusal(status, body)
    offered: list[dict[str, JSON]] = body["data"]["tools"]
    return offered


def _remote_result(session: Session, url: str, name: str, words: Sequence[str], as_object: str | None) -> ToolResult:
    schemas: dict[str, dict[str, JSON]] = {tool["name"]: tool["inputSchema"] for tool in _remote_tools(session, url)}
    schema = schemas.get(name, {})
    status, body = _ask(session, "POST", url, f"/api/v1/tools/{name}", arguments_of(schema, words, as_object))
    if status != 200:
        raise _refusal(status, body)
    result = body["data"]["result"]
    text = result["text"] if set(result) == {"text"} else json.dumps(result, ensure_ascii=False, indent=2)
    return ToolResult(text, result, kind_of(body["data"].get("errorCode")) if "error" in body else None)


def _ask(
    session: Session, method: str, url: str, path: str, body: Mapping[str, JSON] | None = None
) -> tuple[int, dict[str, JSON]]:
    """Return status and JSON of a server's answer; one on this machine is never asked through a proxy.

    Raises:
        ServerUnreachable: it does not answer, or not as a Pinakes does.
    """
    import httpx

    from pinakes.core.loopback import is_loopback

    place = url.rstrip("/").removesuffix("/mcp")
    timeout = httpx.Timeout(session.settings.server.write_timeout_s, connect=_CONNECT_TIMEOUT_S)
    try:
        direct = is_loopback(httpx.URL(place).host)
        with httpx.Client(timeout=timeout, trust_env=not direct) as client:
            response = client.request(method, place + path, json=body, headers=shown_key())
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        raise ServerUnreachable(
            f"No Pinakes answers at {place} ({type(error).__name__}).", hint="Start it: pinakes serve"
        ) from error
    try:
        answer = response.json()
    except ValueError:
        answer = None
    if not isinstance(answer, dict) or "success" not in answer:
        raise ServerUnreachable(f"{place} answers with HTTP {response.status_code}.", hint="Is it a Pinakes?")
    return response.status_code, answer


def _refusal(status: int, body: Mapping[str, JSON]) -> PinakesError:
    error = body.get("error") or {}
    details = error.get("details")
    details = details if isinstance(details, dict) else {}
    hint = details.get("hint", "")
    hint = f"Put a key into {KEY_VARIABLE}." if status == 401 else hint
    kind = _ERRORS.get(status) or kind_of(details.get("errorCode"))
    return kind(error.get("message", "The server refused."), hint=hint)


def _content(text: str) -> str:
    if not text.startswith("@"):
        return text
    if text == "@-":
        return sys.stdin.read()
    try:
        return Path(text[1:]).expanduser().read_text("utf-8-sig")
    except (OSError, ValueError) as error:
        raise InvalidInput(f"{text[1:]!r} cannot be read: {error}.", hint="Check the path.") from error


def _value(name: str, text: str, kind: JSON) -> JSON:
    """Return ``text`` as a parameter of JSON Schema's type ``kind`` wants it; lists may be separated by commas."""
    if kind == "string":
        return text
    if kind == "array" and not text.lstrip().startswith("["):
        return split_list(text)
    return _parsed(text, f"--arg {name}")


def _parsed(text: str, what: str) -> JSON:
    try:
        return json.loads(text)
    except ValueError as error:
        raise InvalidInput(f"{what} is not JSON: {error}.", hint="Put texts in double quotes.") from error
