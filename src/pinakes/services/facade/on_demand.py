"""The services of a home by name, each imported and made at its first use.

A command needs few of them, and to load them all takes longer than a search. So each is imported where it is made.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING

from pinakes.app import App
from pinakes.app.leftovers import drop_leftovers
from pinakes.catalog.collections import CollectionRecord
from pinakes.core.graph_paths import Expansion
from pinakes.core.once import once
from pinakes.core.ports import Embedder
from pinakes.core.records import Results
from pinakes.search import Request
from pinakes.search.collection_choice import CollectionChoice
from pinakes.services.audit import Audit
from pinakes.services.collection_search import answered_by
from pinakes.settings import EmbeddingSettings, Settings

if TYPE_CHECKING:
    from pinakes.jobs.queue import Queue
    from pinakes.services.backup import BackupService
    from pinakes.services.cluster import Cluster
    from pinakes.services.collections.background import Background, Loading
    from pinakes.services.collections.credentials import Credentials
    from pinakes.services.collections.management import Collections
    from pinakes.services.document_search.search import DocumentSearch
    from pinakes.services.documents.as_of_snapshots import Asked, Snapshots
    from pinakes.services.documents.blame import Blames
    from pinakes.services.documents.editing import Documents
    from pinakes.services.documents.lookup import Lookup
    from pinakes.services.embedding_worker import EmbeddingWorker
    from pinakes.services.events import Events
    from pinakes.services.graph_job import GraphFollowing
    from pinakes.services.graph_search import GraphSearch
    from pinakes.services.keys import Keys
    from pinakes.services.knowledge_graph import KnowledgeGraph
    from pinakes.services.measuring import Measuring
    from pinakes.services.spending import Spending
    from pinakes.services.sync.adding import AddRequest, PlannedSource
    from pinakes.services.sync.forecasting import Forecasts
    from pinakes.services.sync.refreshing import Refresh, Refreshing
    from pinakes.services.sync.staleness import Staleness
    from pinakes.services.sync.syncing import Syncing
    from pinakes.services.sync.watched import WatchedFolders
    from pinakes.services.webhooks import Webhooks


class Services:
    """The services of one home. Those that are a ``partial``, such as ``background``, are made anew by each call."""

    def __init__(self, settings: Settings, embedder: Embedder | None = None) -> None:
        """Open the catalogue, drop what killed deletions left; ``embedder``: that of ``settings``, if it is open."""
        self.settings = settings
        self.app = App(settings, embedder)
        drop_leftovers(self.app)
        self.audit = Audit(self.app.catalog, settings)
        self.naming = CollectionChoice(settings, self.app.catalog)

    def close(self) -> None:
        """Save pending data and release all resources."""
        self.audit.close()
        for name in ("refreshing", "blames", "snapshots"):
            if made := vars(self).get(name):
                made.close()
        self.app.close()

    def asked_as_of(self, as_of: str | None, asked: Asked, *, beside: bool) -> Callable[[str], Results]:
        """Return what asks a collection, given by name, as it was at a time: see ``Snapshots``; None = as it is."""
        if as_of:
            return partial(self.snapshots.answer, as_of, answered_by, asked, beside=beside)
        return partial(answered_by, self.app, asked, beside=beside)

    def refreshed(self, ask: Callable[[], Results], refresh: Refresh) -> Results:
        """Return the answer of ``ask``, after reading again what changed: see ``Refreshing``."""
        return ask() if refresh == "never" else self.refreshing.answer(ask, refresh)

    def expanded(
        self,
        answer: Results,
        request: Callable[[CollectionRecord], Request],
        names: Sequence[str],
        wanted: int | Expansion | None,
        as_of: str | None,
        generation: str,
    ) -> Results:
        """Return ``answer`` with the hits that the graphs of the collections ``names`` add: see ``GraphSearch``."""
        if wanted in (None, Expansion()) and not any(self.app.expands(name) for name in names):
            return answer
        return self.expanding.of_results(answer, request, names, wanted, as_of, generation)

    @once
    def addition(self) -> Callable[[str, AddRequest], PlannedSource]:
        from pinakes.services.sync.adding import addition

        return partial(addition, self.app)

    @once
    def background(self) -> partial[Background]:
        from pinakes.services.collections.background import Background

        return partial(Background, self.app, self.staged.texts)

    @once
    def blames(self) -> Blames:
        from pinakes.services.documents.blame import Blames

        return Blames(self.app)

    @once
    def chosen_model(self) -> Callable[[str, str | None], EmbeddingSettings]:
        from pinakes.services.model_change import chosen_model

        return partial(chosen_model, self.app)

    @once
    def cluster(self) -> Cluster:
        from pinakes.services.cluster import Cluster

        return Cluster(self.app)

    @once
    def collecting(self) -> Collections:
        from pinakes.services.collections.management import Collections

        return Collections(self.app)

    @once
    def credentials(self) -> Credentials:
        from pinakes.services.collections.credentials import Credentials

        return Credentials(self.app)

    @once
    def documents(self) -> Documents:
        from pinakes.services.documents.editing import Documents

        return Documents(self.app, self.naming)

    @once
    def embedding_worker(self) -> partial[EmbeddingWorker]:
        from pinakes.services.embedding_worker import EmbeddingWorker

        return partial(EmbeddingWorker, self.app)

    @once
    def events(self) -> Events:
        from pinakes.services.events import Events

        return Events(self.app.catalog)

    @once
    def exchange(self) -> BackupService:
        from pinakes.services.backup import BackupService

        return BackupService(self.app)

    @once
    def expanding(self) -> GraphSearch:
        from pinakes.services.graph_search import GraphSearch

        return GraphSearch(self.app, self.graph)

    @once
    def forecasts(self) -> partial[Forecasts]:
        from pinakes.services.sync.forecasting import Forecasts

        return partial(Forecasts, self.app)

    @once
    def graph(self) -> KnowledgeGraph:
        from pinakes.services.knowledge_graph import KnowledgeGraph

        return KnowledgeGraph(self.app, self.naming.named)

    @once
    def graph_job(self) -> partial[GraphFollowing]:
        from pinakes.services.graph_job import GraphFollowing

        return partial(GraphFollowing, self.app, self.graph)

    @once
    def jobs(self) -> Queue:
        from pinakes.jobs.queue import Queue

        return Queue(self.app.catalog, self.settings.home, self.app.process)

    @once
    def keys(self) -> Keys:
        from pinakes.services.keys import Keys

        return Keys(self.app.catalog)

    @once
    def loading(self) -> Loading:
        from pinakes.services.collections.background import Loading

        return Loading(self.app)

    @once
    def lookup(self) -> Lookup:
        from pinakes.services.documents.lookup import Lookup

        return Lookup(self.app)

    @once
    def measuring(self) -> Measuring:
        from pinakes.services.measuring import Measuring

        return Measuring(self.app)

    @once
    def refreshing(self) -> Refreshing:
        from pinakes.services.sync.refreshing import Refreshing

        return Refreshing(self.app)

    @once
    def snapshots(self) -> Snapshots:
        from pinakes.services.documents.as_of_snapshots import Snapshots

        return Snapshots(self.app)

    @once
    def spending(self) -> partial[Spending]:
        from pinakes.services.spending import Spending

        return partial(Spending, self.app)

    @once
    def staged(self) -> DocumentSearch:
        from pinakes.services.document_search.search import DocumentSearch

        return DocumentSearch(self.app, self.naming)

    @once
    def staleness(self) -> Staleness:
        from pinakes.services.sync.staleness import Staleness

        return Staleness(self.app)

    @once
    def syncing(self) -> Syncing:
        from pinakes.services.sync.syncing import Syncing

        return Syncing(self.app)

    @once
    def watched(self) -> WatchedFolders:
        from pinakes.services.sync.watched import WatchedFolders

        return WatchedFolders(self.app)

    @once
    def webhooks(self) -> partial[Webhooks]:
        from pinakes.services.webhooks import Webhooks

        return partial(Webhooks, self.app.catalog, self.settings)
