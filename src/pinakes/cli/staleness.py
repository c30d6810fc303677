"""``status --stale``: what is not as it was indexed, source by source."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from pinakes.cli.progress import progress
from pinakes.cli.screen import Screen, labelled
from pinakes.cli.session import Session

if TYPE_CHECKING:
    from pinakes.library import Library
    from pinakes.services.sync.staleness import Stale

_NAMED = 20


def stale_sources(session: Session, library: Library, collection: str | None) -> Mapping[str, Sequence[Stale]]:
    """Return collection → how each of its sources differs from what was read."""
    found = {}
    with progress(session.screen) as show:
        for record in library.collections(collection):
            show(f"looking through the sources of {record.name}", 0, 0)
            found[record.name] = library.staleness.stale(record)
    return found


def show(screen: Screen, found: Iterable[Stale]) -> None:
    """Print what differs, for people: a line for each source, then some of the paths."""
    for one in found:
        where = f"{one.kind} {labelled(one.location, one.part)}"
        if one.error:
            screen.show(f"  stale    {where}: not known: {one.error}")
            continue
        counts = {"changed": one.changed, "missing": one.missing, "new": one.new, "kept": one.kept}
        differences = ", ".join(f"{len(paths):,} {what}" for what, paths in counts.items() if paths)
        screen.show(f"  stale    {where}: {differences or 'nothing'}, {one.current:,} current")
        named = [(what, path) for what, paths in counts.items() for path in paths]
        for what, path in named[:_NAMED]:
            screen.show(f"             {what:<8} {path}")
        if len(named) > _NAMED:
            screen.show(f"             and {len(named) - _NAMED:,} more (--json names all)")
