"""Verifying collections: the database, what it holds of each, and their indexes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from pinakes.app import App
from pinakes.catalog.collections import CollectionRecord
from pinakes.catalog.integrity import graph_faults
from pinakes.core.errors import IndexCorrupt, StorageFull
from pinakes.core.ports import Embedder, Remote
from pinakes.graph import following
from pinakes.indexes.updater import Superseded
from pinakes.indexes.verification import Difference, check_catalogue, compare

_EXAMPLES = 10


@dataclass(frozen=True, slots=True)
class Depth:
    """How deep to look. All that the catalogue and the index hold is read in any case.

    ``content``: every chunk is also analysed again and looked for by its words. ``embeddings``: of each collection a
    sample of chunks is also embedded again, where its model runs here.
    """

    content: bool = False
    embeddings: bool = False


def verify(app: App, names: Sequence[str], depth: Depth) -> dict[str, list[Difference]]:
    """Check the database, then these collections and their indexes: collection → differences.

    Raises:
        CatalogueCorrupt: the database is damaged.
        ModelUnavailable: a sample is to be embedded, and the model cannot be had.
    """
    with app.catalog.read() as connection:
        app.catalog.check(connection)
    return {name: _verified(app, name, depth) for name in names}


def _verified(app: App, name: str, depth: Depth) -> list[Difference]:
    record = app.record(name)
    found = check_catalogue(app.catalog, record, _model(app, record) if depth.embeddings else None)
    found += _of_graph(app, record)
    while True:
        try:
            record, index = app.followers.current(app.record(name))  # one that is damaged is told, not mended
            fill = app.fill_of(record)
            return found + compare(app.catalog, record, index, fill, deep_content=depth.content)
        except (IndexCorrupt, StorageFull) as error:
            return [*found, Difference("keyword", error.message, 1)]
        except Superseded:
            continue


def _of_graph(app: App, record: CollectionRecord) -> list[Difference]:
    """Return what is wrong in the graph of a collection once it has followed its documents."""
    extraction = app.graphs.of(record).extraction
    if extraction is None:
        return []
    if not app.catalog.unwritable:
        following.follow(app.catalog, record, extraction)
    with app.catalog.read() as connection:
        faults = graph_faults(connection, record.id)
        behind = following.is_behind(connection, record, extraction)
    found = [Difference("graph", problem, len(ids), tuple(ids[:_EXAMPLES])) for problem, ids in faults.items()]
    return [*found, Difference("graph", "it does not follow its documents", 1)] if behind else found


def _model(app: App, record: CollectionRecord) -> Callable[[], Embedder] | None:
    """Return what gives the model of a collection; None where it has none, or every text would have to be paid for."""
    if not record.fingerprint or isinstance(app.embedder_of(record), Remote):
        return None

    def checked() -> Embedder:
        app.check_model(record)
        return app.embedder_of(record)

    return checked
