"""``secrets``: credentials that a home holds from before they were masked, found and masked."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

import typer

from pinakes.cli.options import command
from pinakes.cli.session import Session
from pinakes.core.wording import counted

if TYPE_CHECKING:
    from pinakes.services.collections.credentials import HeldCredential

_SHOWN = 50

secrets_app = typer.Typer(help="Find and mask credentials that were stored before.")


@command(secrets_app, "scan")
def scan(session: Session) -> None:
    """Name the keys, tokens and passwords in documents, old versions and logs. They are not shown."""
    with session.library() as library:
        found = library.credentials.scan()
        elsewhere = library.credentials.elsewhere() if found else []
    session.screen.document({"found": [asdict(one) for one in found], "elsewhere": elsewhere})
    _show(session, found)
    if found:
        session.screen.say(f"To mask them: {session.command('secrets', 'purge')}")
    _show_unmasked_places(session, elsewhere)


@command(secrets_app, "purge")
def purge(session: Session) -> None:
    """Mask what `scan` names, build the indexes that had it anew, and wipe free pages. Stop servers first."""
    with session.library() as library:
        done = library.credentials.purge()
    session.screen.document(asdict(done))
    _show(session, list(done.found))
    if done.found:
        session.screen.show(f"masked: {counted(len(done.found), 'credential')}")
    if done.rebuilt:
        session.screen.say(f"Indexes built anew: {', '.join(done.rebuilt)}")
    if done.degraded:
        session.screen.warn(f"chunks wait for a vector: {done.degraded}")
    _show_unmasked_places(session, list(done.elsewhere))


def _show(session: Session, found: list[HeldCredential]) -> None:
    for one in found[:_SHOWN]:
        place = f"{one.collection}: {one.path}" if one.path else one.where
        line = f":{one.line}" if one.line else ""
        version = f" (version {one.version})" if one.where == "versions" else ""
        session.screen.show(f"  {place}{line}{version}: {one.kind}")
    if len(found) > _SHOWN:
        session.screen.show(f"  … and {len(found) - _SHOWN:,} more (--json has all)")
    if not found:
        session.screen.say("No credentials were found.")


def _show_unmasked_places(session: Session, places: list[str]) -> None:
    session.screen.warn(*(f"{place} may still have what was found: it is not changed" for place in places))
