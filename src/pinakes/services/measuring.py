"""What measuring a home needs of it: its documents by the names of questions, its generations, and copies of it."""

from __future__ import annotations

from functools import partial

from pinakes.app import App
from pinakes.catalog import embeddings
from pinakes.catalog.transactions import within
from pinakes.evaluation import names, run, runs, systems


class Measuring:
    """A home as ``pinakes.evaluation`` measures it."""

    def __init__(self, app: App) -> None:
        self.beside = app.beside
        self.copy_catalog = app.catalog.copy_to
        self.corpus_of = partial(runs.corpus_of, app.catalog)
        self.embedded = within(app.catalog.read, embeddings.embedded)
        self.embedder_of = app.embedder_of
        self.resolve = within(app.catalog.read, names.resolve)
        self.subject = partial(run.Subject, app.catalog)
        self.system = partial(systems.CollectionSystem, app.catalog)
