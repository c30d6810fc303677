"""A source restricted to some paths."""

from __future__ import annotations

from collections.abc import Collection

from pinakes.core.ports import Lookable
from pinakes.core.records import Item, Scan


class PartialSource:
    """The content of a source at some paths and below them."""

    def __init__(self, source: Lookable, paths: Collection[str]) -> None:
        self._source = source
        self._paths = paths

    def scan(self, state: str | None) -> Scan:
        """List these paths and everything below; the whole source if the paths do not suffice.

        Raises:
            SourceError: the location cannot be reached.
        """
        return self._source.look(self._paths, state)

    def read(self, item: Item) -> bytes:
        """Return the current content of ``item``."""
        return self._source.read(item)

    def close(self) -> None:
        """Close the source."""
        self._source.close()
