"""``events`` and ``webhooks``: what happened, and who is told of it."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from pinakes.cli.hit_lines import one_line
from pinakes.cli.options import OneOrAll, command, usual_command
from pinakes.cli.session import Session
from pinakes.cli.standard_streams import survive_stderr
from pinakes.core.errors import SourceError
from pinakes.core.records import JSON
from pinakes.core.wording import counted

if TYPE_CHECKING:
    from pinakes.services.events import Event
    from pinakes.settings import WebhookSettings

_LOOK_EVERY_S = 0.25
_BATCH = 200

Hook = Annotated[str, typer.Argument(metavar="NAME", help="What the settings call it.")]

webhooks_app = typer.Typer(help="See how far addresses were told of events.")


def events(
    session: Session,
    collection: OneOrAll = None,
    kinds: Annotated[
        Sequence[str],
        typer.Option(
            "--kind", metavar="KIND", help="indexed, updated, deleted, failed or sync_finished. May be repeated."
        ),
    ] = (),
    last: Annotated[int, typer.Option("--last", "-n", metavar="N", min=0, help="How many of those that were.")] = 20,
    after: Annotated[int | None, typer.Option("--after", metavar="ID", min=0, help="All after this one.")] = None,
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Go on with what happens, until stopped.")] = False,
) -> None:
    """Show what happened to documents and sources; with --json one document a line."""
    from pinakes.services.events import kinds_of

    if follow:
        survive_stderr()
    within, chosen = [collection] if collection else None, kinds_of(kinds)
    with session.library(recorded=False) as library:
        position, found = library.events.latest(last, chosen, within) if after is None else (after, [])
        _show(session, found)
        if follow:
            session.screen.say("following (Ctrl+C stops it)")
        while True:
            _, found, _ = library.events.after(position, _BATCH, chosen, within)
            position = found[-1].id if found else position
            _show(session, found)
            if len(found) < _BATCH:
                if not follow:
                    return
                time.sleep(_LOOK_EVERY_S)


def _show(session: Session, found: Sequence[Event]) -> None:
    for one in found:
        if session.screen.as_json:
            sys.stdout.write(json.dumps(one.as_data(), ensure_ascii=False) + "\n")
        else:
            session.screen.show(one_line(_line(one)))
    if found:
        sys.stdout.flush()


def _line(one: Event) -> str:
    detail = one.detail or {}
    error = detail.get("error")
    what = one.uri or one.source or ""
    more = {
        "failed": str(detail.get("reason", "")),
        "updated": f"{', '.join(one.changed)}; version {one.version}" if one.changed else f"version {one.version}",
        "sync_finished": str(error["message"]) if isinstance(error, dict) else _counts(detail),
    }.get(one.kind, one.title or "")
    kind = one.operation if one.operation in ("moved", "restored", "collection deleted", "unreachable") else one.kind
    return f"{one.id:>6}  {one.at[:19]}Z  {kind:<13}  {one.collection}  {what}{f': {more}' if more else ''}"


def _counts(detail: Mapping[str, JSON]) -> str:
    counts = (f"{detail[name]:,} {name}" for name in ("added", "changed", "moved", "removed") if detail.get(name))
    return ", ".join(counts) or "nothing new"


@usual_command(webhooks_app)
@command(webhooks_app, "list")
def list_webhooks(session: Session) -> None:
    """Show how far addresses were told of events."""
    from pinakes.fetching.webhook_requests import check

    check(session.settings.webhooks)
    with session.library() as library:
        rows = library.webhooks().status()
    session.screen.document({"webhooks": rows})
    for row in rows:
        session.screen.show(one_line(f"{row['name']}  {row['address']}  {_words(row)}"))
        if row["error"]:
            tries = f" ({row['tries']} times)" if row["tries"] else ""
            session.screen.show(one_line(f"    {row['error']}{tries}"))
    if not rows:
        session.screen.say("No webhooks are configured: see [[webhooks]] in the settings.")


@command(webhooks_app, "test")
def test(session: Session, name: Hook) -> None:
    """Post an event of the kind "test" now, and say how that went."""
    from pinakes.services.webhooks import post_test

    outcome = post_test(_named(session, name), session.settings.fetch)
    if outcome.error:
        where = "its receiver" if outcome.counts else "its address and secret here: nothing was posted"
        raise SourceError(f"The webhook {name!r} failed: {outcome.error.rstrip('.')}.", hint=f"Check {where}.")
    session.screen.document({"name": name, "status": outcome.status})
    session.screen.show(f"{name}: answers {outcome.status}")


@command(webhooks_app, "retry")
def retry(session: Session, name: Hook) -> None:
    """Have a server send at once what waits for its time, and once more what was laid aside."""
    _named(session, name)
    with session.library() as library:
        count = library.webhooks().retry(name)
    session.screen.document({"name": name, "laid_aside": count})
    posts = counted(count, "post")
    session.screen.show(
        f"{name}: as soon as a server runs it sends what waits, and once more what was laid aside: {posts}"
    )


def _words(row: dict[str, JSON]) -> str:
    if not row["begun"]:
        return "not told of anything yet: a server does that"
    words = [f"{row['delivered']:,} events delivered"]
    words += [f"{row['waiting']:,} wait"] if row["waiting"] else []
    words += [f"sent again at {row['retry_at'][:19]}Z"] if row["retry_at"] else []
    words += [f"{counted(len(row['laid_aside']), 'post')} laid aside"] if row["laid_aside"] else []
    words += [f"{row['missed']:,} events missed"] if row["missed"] else []
    return ", ".join(words)


def _named(session: Session, name: str) -> WebhookSettings:
    from pinakes.fetching.webhook_requests import check
    from pinakes.services.webhooks import named

    check(session.settings.webhooks)
    return named(session.settings.webhooks, name)
