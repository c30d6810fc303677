"""What older versions of Pinakes made of a collection: how much of it is left, and making it again.

An index of an older version is built again beside, from the catalogue; nothing is embedded for that. Documents that no
file gives are cut again from their texts. Documents of sources are read again by their next sync (``ingest``).
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Generator, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

from pinakes import chunking, parsing
from pinakes.app import App
from pinakes.catalog import collections, contents, sources
from pinakes.catalog.collections import CollectionRecord
from pinakes.core.errors import IndexCorrupt, PinakesError
from pinakes.indexes.storage import versions
from pinakes.ingestion.report import Event
from pinakes.ingestion.rereading import present_versions
from pinakes.platform.locks import is_free
from pinakes.services.documents import rechunking

_log = logging.getLogger(__name__)

IndexState: TypeAlias = Literal["none", "present", "older", "building", "newer", "unknown"]
"""There is no index yet; it is of the present version; of an older one; … and one is being built in its place; of a
newer one, which is left alone; its version cannot be read."""


@dataclass(frozen=True, slots=True)
class UpgradeStatus:
    """How much of a collection was made by other versions than there are now.

    ``version`` is that of the ``index``, ``present`` that of one that is built now, both in words. Of the ``documents``
    of an older index ``indexed`` are in the one that is built in its place. ``to_read`` documents were read or cut by
    older versions and are read again by the next sync of their source; ``to_cut`` are documents that no file gives and
    that older versions cut. ``made_by`` counts both by reader or chunker: "pdf:1" → 3. ``kept`` are documents whose
    files are gone (``on_delete = keep``), so that they stay as older versions made them.
    """

    index: IndexState
    version: str
    present: str
    indexed: int
    documents: int
    to_read: int
    to_cut: int
    made_by: Mapping[str, int]
    kept: int = 0

    @property
    def is_done(self) -> bool:
        """Whether nothing is left."""
        return self.index in ("none", "present") and not (self.to_read or self.to_cut)


def status_of(app: App, record: CollectionRecord) -> UpgradeStatus:
    """Return what is left to be made again of a collection."""
    state, version = _index_of(app, record)
    done, total = app.rebuilder.progress(record) if state in ("older", "building") else (0, 0)
    with app.catalog.read() as connection:
        makers = contents.makers(connection, record.id)
        known = sources.list_all(connection, record.id)
    read_to_the_end = {one.id for one in known if one.read_by == present_versions()}
    to_read, to_cut, kept, made_by = 0, 0, 0, Counter[str]()
    for maker in makers:
        read = not maker.by_hand and parsing.is_older(maker.reader, maker.path)
        cut = chunking.is_older(maker.chunker, maker.kind, maker.language)
        if (read or cut) and maker.source_id in read_to_the_end and not maker.failed:
            kept += maker.count  # what is there was read since
            continue
        if read:
            made_by[maker.reader or parsing.first_reader_of(maker.path)] += maker.count
        elif cut:
            made_by[maker.chunker or f"{chunking.row_of(maker.kind, maker.language)}:1"] += maker.count
        to_read += maker.count * (not maker.by_hand and (read or cut))
        to_cut += maker.count * (maker.by_hand and cut)
    return UpgradeStatus(
        index=state,
        version=version,
        present=str(versions.current_version(app.rebuilder.languages_of(record))),
        indexed=done,
        documents=total,
        to_read=to_read,
        to_cut=to_cut,
        made_by=dict(made_by.most_common()),
        kept=kept,
    )


def upgrade(app: App, record: CollectionRecord) -> Generator[Event, None, None]:
    """Build the index of a collection again where an older version made it, and cut what older chunkers cut.

    The old index answers until the new one is there; a newer one is left alone. Where another process is building it
    the event is "elsewhere".

    Raises:
        NotFound: the collection was deleted.
        StorageFull: there is no room. What was there answers as before.
    """
    yield from app.rebuilder.upgrade(record)
    yield from rechunking.rechunk(app, record.name, only_older=True)


def upgrade_each(app: App, names: Iterable[str]) -> Iterator[Event]:
    """Do so for each of these collections that is there. What goes wrong with one is logged: all answer as before."""
    for name in dict.fromkeys(names):
        with app.catalog.read() as connection:
            record = collections.find(connection, name)
        if record is None:
            continue
        try:
            yield from upgrade(app, record)
        except PinakesError as error:
            _log.warning("collection %r is left as an older version made it: %s", name, error)


def _index_of(app: App, record: CollectionRecord) -> tuple[IndexState, str]:
    try:
        found = app.rebuilder.version(record)
    except IndexCorrupt:
        return "unknown", ""
    if found is None:
        return "none", ""
    if found.is_newer:
        return "newer", str(found)
    if found.is_present(app.rebuilder.languages_of(record)):
        return "present", str(found)
    return "older" if is_free(app.rebuilder.numbering(record)) else "building", str(found)
