"""Events of documents and sources, for clients that follow them by their numbers."""

from __future__ import annotations

from collections.abc import Collection

from pinakes.catalog import Catalog, events
from pinakes.catalog.events import KINDS, Event, kinds_of
from pinakes.catalog.transactions import within
from pinakes.settings import EventKind

__all__ = ["KINDS", "Event", "Events", "kinds_of"]


class Events:
    """The events of a home. Safe to share between threads.

    ``kinds`` () = all; ``within`` and ``visible`` are names of collections, None = all; both have to have that of the
    event.
    """

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog
        self.newest = within(catalog.read, events.newest)

    def latest(
        self, most: int, kinds: Collection[EventKind] = (), within: Collection[str] | None = None
    ) -> tuple[int, list[Event]]:
        """Return the number of the latest event of all, and the latest that are wanted, in order."""
        with self._catalog.read() as connection:
            return events.newest(connection), events.latest(connection, most, kinds, within)

    def after(
        self,
        position: int,
        most: int,
        kinds: Collection[EventKind] = (),
        within: Collection[str] | None = None,
        visible: Collection[str] | None = None,
    ) -> tuple[int, list[Event], int]:
        """Return the number from which to go on, up to ``most`` events after ``position``, and how many are lost.

        Those were dropped before anybody looked.
        """
        with self._catalog.read() as connection:
            newest = events.newest(connection)
            if newest <= position:
                return min(position, newest), [], 0
            lost = events.missed(connection, position)
            found = events.after(connection, position, most, kinds, within, visible)
        return (found[-1].id if len(found) == most else newest), found, lost
