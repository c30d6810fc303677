"""Verifying collections: the database, what it holds of each, and their indexes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from pinakes.catalog import soundness
from pinakes.catalog.collections import CollectionRecord
from pinakes.errors import IndexCorrupt, StorageFull
from pinakes.follow import Superseded
from pinakes.ports import Embedder, Remote
from pinakes.shelves import Shelves
from pinakes.verification import Difference, check_catalogue, compare


@dataclass(frozen=True, slots=True)
class Depth:
    """How deep to look. All that the catalogue and the index hold is read in any case.

    ``content``: every passage is also analysed again and looked for by its words. ``embeddings``: of each collection a
    sample of passages is also embedded again, where its model runs here.
    """

    content: bool = False
    embeddings: bool = False


def verify(shelves: Shelves, names: Sequence[str], depth: Depth) -> dict[str, list[Difference]]:
    """Check the database, then these collections and their indexes: collection → differences.

    Raises:
        CatalogueCorrupt: the database is damaged.
        ModelUnavailable: a sample is to be embedded, and the model cannot be had.
    """
    with shelves.catalog.read() as connection:
        soundness.check(connection)
    return {name: _verified(shelves, name, depth) for name in names}


def _verified(shelves: Shelves, name: str, depth: Depth) -> list[Difference]:
    record = shelves.record(name)
    found = check_catalogue(shelves.catalog, record, _model(shelves, record) if depth.embeddings else None)
    while True:
        try:
            record, index = shelves.followers.current(shelves.record(name))  # one that is damaged is told, not mended
            fill = shelves.fill_of(record)
            return found + compare(shelves.catalog, record, index, fill, deep_content=depth.content)
        except (IndexCorrupt, StorageFull) as error:
            return [*found, Difference("keyword", error.message, 1)]
        except Superseded:
            continue


def _model(shelves: Shelves, record: CollectionRecord) -> Callable[[], Embedder] | None:
    """Return what gives the model of a collection; None where it has none, or every text would have to be paid for."""
    if not record.fingerprint or isinstance(shelves.embedder_of(record), Remote):
        return None

    def checked() -> Embedder:
        shelves.check_model(record)
        return shelves.embedder_of(record)

    return checked
