"""``keys``: make, list and revoke the keys by which others are let in."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from pinakes.cli.options import command, usual_command
from pinakes.cli.screen import aligned
from pinakes.cli.session import Session
from pinakes.core.errors import InvalidInput
from pinakes.core.records import JSON
from pinakes.core.schedules import length_s

if TYPE_CHECKING:
    from pinakes.services.keys import Key

_HEADS = ("key", "begins with", "scope", "collections", "last used", "state")

Name = Annotated[str, typer.Argument(metavar="NAME", help="What it is called: who, or what, it is for.")]

keys_app = typer.Typer(help="List, make and revoke keys.")


@usual_command(keys_app)
@command(keys_app, "list")
def list_keys(session: Session) -> None:
    """List the keys, those included that are valid no more."""
    with session.library() as library:
        every = library.keys.list_all()
    session.screen.document({"keys": [_as_data(key) for key in every]})
    session.screen.lines(aligned([_HEADS, *map(_row, every)]) if every else ())
    if not every:
        session.screen.say(f"There are no keys. Make one: {session.command('keys', 'create', 'NAME')}")


@command(keys_app, "create")
def create(
    session: Session,
    name: Name,
    scope: Annotated[
        Literal["read", "write", "admin"],
        typer.Option("--scope", help="What may be done with it; each has the former."),
    ] = "read",
    collections: Annotated[
        Sequence[str],
        typer.Option("--collection", "-c", metavar="NAME", help="Only for this collection. May be repeated."),
    ] = (),
    per_minute: Annotated[
        int, typer.Option("--per-minute", metavar="N", help="So many requests; 0 = as server.per_minute says.")
    ] = 0,
    expires: Annotated[
        str, typer.Option("--expires", metavar="TIME", help="12h, 30d, 8w, a day: 2030-01-31, or never.")
    ] = "never",
) -> None:
    """Make a key. It is shown this once: what is kept recognises it, but cannot tell it."""
    at = None if expires.strip().lower() in ("", "never") else expiry(expires)
    with session.library(create=True) as library:
        there = {record.name for record in library.collections()}
        key, secret = library.keys.create(name, scope, collections or None, per_minute=per_minute, expires_at=at)
    session.screen.document({**_as_data(key), "key": secret})
    session.screen.show(secret)
    session.screen.warn(
        *(
            f"there is no collection {missing!r} yet: the key is for the one that is made so"
            for missing in sorted(set(key.collections or ()) - there)
        )
    )
    session.screen.say(f"{key.name}: made, {_what(key)}. Keep it well: it is not shown again.")


@command(keys_app, "revoke")
def revoke(session: Session, name: Name) -> None:
    """Make a key valid no more, at once, also for servers that run."""
    with session.library() as library:
        key = library.keys.revoke(name)
    session.screen.document(_as_data(key))
    session.screen.show(f"{key.name}: revoked")


def expiry(text: str) -> datetime:
    """Return the time that ``30d`` from now, or the end of a day such as ``2030-01-31``, stands for.

    Raises:
        InvalidInput: it is neither.
    """
    try:
        if (seconds := length_s(text.strip())) is not None:
            return datetime.now(UTC) + timedelta(seconds=seconds)
        return datetime.strptime(text.strip(), "%Y-%m-%d").replace(tzinfo=UTC) + timedelta(days=1)
    except (ValueError, OverflowError) as error:
        raise InvalidInput(f"{text!r} is no time to expire at.", hint="Write 12h, 30d, 8w or 2030-01-31.") from error


def _as_data(key: Key) -> dict[str, JSON]:
    data: dict[str, JSON] = {name: value for name, value in asdict(key).items() if name != "id"}
    return {**data, "collections": None if key.collections is None else list(key.collections), "state": key.state}


def _row(key: Key) -> tuple[str, ...]:
    used = key.last_used_at[:16].replace("T", " ") if key.last_used_at else "never"
    state = f"valid until {key.expires_at[:10]}" if key.state == "valid" and key.expires_at else key.state
    return key.name, f"pnk_{key.prefix}", key.scope, ", ".join(key.collections or ("all",)), used, state


def _what(key: Key) -> str:
    held = "all collections" if key.collections is None else ", ".join(key.collections)
    until = f", until {key.expires_at[:10]}" if key.expires_at else ""
    return f"may {key.scope}, {held}{until}"
