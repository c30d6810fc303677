"""``worker`` and ``status --cluster``: the processes that share a catalogue."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

from pinakes.cli.session import Session
from pinakes.core.wording import counted

if TYPE_CHECKING:
    from pinakes.services.cluster import MemberStatus


def work(session: Session, queues: str, batch: int, *, folders: bool, yes: bool) -> None:
    """Embed and read for the servers of the catalogue, until stopped."""
    from pinakes.api import serve_worker
    from pinakes.platform.memory import collect_seldom

    collect_seldom()
    names = [name.strip() for name in queues.split(",") if name.strip()]
    serve_worker(
        session.settings,
        queues=names,
        batch=batch,
        folders=folders,
        agreed=yes,
        say=session.screen.say,
    )


def show_cluster(session: Session) -> None:
    """Say which servers and workers share the catalogue, how far their indexes are, and what they do."""
    screen = session.screen
    with session.library() as library:
        shared, members = library.cluster.is_shared, library.cluster.members()
    screen.document({"shared": shared, "members": [asdict(one) for one in members]})
    if screen.as_json:
        return
    for one in members:
        for line in _lines(one):
            screen.show(line)
    if not shared:
        screen.say("The catalogue is a file of this home: no other machine shares it. See catalog.url.")
    elif not members:
        screen.say("No server and no worker of this catalogue has run within a day.")


def _lines(one: MemberStatus) -> list[str]:
    heard = "" if one.state == "running" else f", not heard of for {one.silent_s:,.0f} s"
    lines = [f"{one.role:<7} {one.id}  {one.state}{heard}"]
    lines.append(f"  runs     on {one.host} as process {one.pid}, Pinakes {one.version}{one.url and f', at {one.url}'}")
    for index in one.indexes:
        behind = f"{counted(index.lag, 'change')} behind" if index.lag else "up to date"
        lines.append(f"  index    {index.collection}: change {index.position:,}, {behind}")
    lines += [f"  lease    {key}" for key in one.jobs]
    if one.embedding:
        lines.append(f"  embeds   {counted(one.embedding, 'chunk')}")
    return lines
