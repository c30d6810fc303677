"""A source of which only some paths are looked at."""

from __future__ import annotations

from collections.abc import Collection

from pinakes.core.ports import Lookable
from pinakes.core.records import Item, Scan


class PartialSource:
    """What a source has at some paths and below them."""

    def __init__(self, source: Lookable, paths: Collection[str]) -> None:
        self._source = source
        self._paths = paths

    def scan(self, state: str | None) -> Scan:
        """Say what there is at these paths; all of it where they alone do not tell what is to be read.

        Raises:
            SourceError: the place cannot be reached.
        """
        return self._source.look(self._paths, state)

    def read(self, item: Item) -> bytes:
        """Return the content of ``item`` as it is now."""
        return self._source.read(item)

    def close(self) -> None:
        """Release what the source holds."""
        self._source.close()
