"""Scans a source, and checks that its location is still the same place."""

from __future__ import annotations

import os
from collections.abc import Generator, Mapping
from shlex import quote

from pinakes.catalog.sources import FileRecord, SourceRecord
from pinakes.core.errors import SourceError
from pinakes.core.ports import Gradual, Source
from pinakes.core.records import Scan
from pinakes.ingestion.report import Event


def scanned(source: Source, state: str | None) -> Generator[Event, None, Scan]:
    """Scan a source and return the result; yield progress, if the source reports it.

    Raises:
        SourceError: the location cannot be reached.
    """
    if not isinstance(source, Gradual):
        return source.scan(state)
    steps = source.scanning(state)
    while True:
        try:
            done, total = next(steps)
        except StopIteration as end:
            scan: Scan = end.value
            return scan
        yield Event("fetch", done, total)


def is_there(source: SourceRecord, path: str) -> bool:
    """Return whether a file that the source no longer lists may still exist, excluded by rules."""
    return source.kind != "folder" or os.path.lexists(f"{source.location}/{path}")


def check_place(scan: Scan, known: Mapping[str, FileRecord], location: str, collection: str) -> None:
    """Check that a location is the same place as before, or is not empty.

    Raises:
        SourceError: it is another, empty place (an unmounted disk, for example), but had documents before.
    """
    emptied = scan.complete and not scan.items and any(one.document_id is not None for one in known.values())
    if scan.replaced and emptied:
        raise SourceError(
            f"{location!r} is empty, and not the folder that it was.",
            hint="Was it moved, or a disk unmounted? Nothing was removed. If its documents are to go: "
            f"pinakes collections remove-source {quote(collection)} {quote(location)}",
        )
