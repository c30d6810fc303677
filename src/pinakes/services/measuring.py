"""Access of evaluation to a home: documents by golden names, generations, and copies of the home."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from pinakes.app import App
from pinakes.catalog import embeddings
from pinakes.catalog.transactions import within
from pinakes.core.graph_records import folded
from pinakes.evaluation import graph_quality, names, run, runs, systems


class Measuring:
    """A home as ``pinakes.evaluation`` measures it."""

    def __init__(self, app: App) -> None:
        self.beside = app.beside
        self.copy_catalog = app.catalog.copy_to
        self.corpus_of = partial(runs.corpus_of, app.catalog)
        self.embedded = within(app.catalog.read, embeddings.embedded)
        self.embedder_of = app.embedder_of
        self.graph = partial(_graph_quality, app)
        self.resolve = within(app.catalog.read, names.resolve)
        self.subject = partial(run.Subject, app.catalog)
        self.system = partial(systems.CollectionSystem, app.catalog)


def _graph_quality(
    app: App, collection: str, wanted: Sequence[graph_quality.ReadDocument]
) -> graph_quality.GraphQuality:
    """Compare the graph of a collection with what was read in its documents."""
    record = app.record(collection)
    extraction = app.graphs.of(record).extraction
    listings = extraction.listings if extraction else ()
    listed = frozenset((one.entity.type, folded(name)) for one in listings for name in (one.entity.name, *one.aliases))
    rules = extraction.rules.relations if extraction else ()
    symmetric = frozenset(rule.type for rule in rules if rule.symmetric)
    with app.catalog.read() as connection:
        return graph_quality.measure(connection, record.id, wanted, listed, symmetric)
