"""Looking through a source, and whether it still is the place that was read before."""

from __future__ import annotations

import os
from collections.abc import Generator, Mapping

from pinakes.catalog.sources import FileRecord, SourceRecord
from pinakes.core.errors import SourceError
from pinakes.core.ports import Gradual, Source
from pinakes.core.records import Scan
from pinakes.ingestion.report import Event


def looked_through(source: Source, state: str | None) -> Generator[Event, None, Scan]:
    """Return what a source has; yield how far it is with that, where the source tells.

    Raises:
        SourceError: the place cannot be reached.
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
    """Say whether a file that a source does not offer any more may still be there: rules may leave it out."""
    return source.kind != "folder" or os.path.lexists(f"{source.location}/{path}")


def check_place(scan: Scan, known: Mapping[str, FileRecord], location: str, collection: str) -> None:
    """Let a place pass that is the one it was, or has something to be read.

    Raises:
        SourceError: it is another one, and empty, as where a disk is not mounted, but documents were read there.
    """
    emptied = scan.complete and not scan.items and any(one.document_id is not None for one in known.values())
    if scan.replaced and emptied:
        raise SourceError(
            f"{location!r} is empty, and not the folder that it was.",
            hint="Was it moved, or a disk unmounted? Nothing was removed. If its documents are to go: "
            f"pinakes collections remove-source {collection} {location}",
        )
