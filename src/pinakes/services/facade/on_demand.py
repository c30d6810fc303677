"""The services of a home by name, each loaded and made when it is first asked for.

A command needs few of them, and to load them all takes longer than a search. So each is imported where it is made.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from importlib import import_module
from operator import attrgetter
from typing import TYPE_CHECKING, Any

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


def _service(place: str, *needs: str, is_partial: bool = False) -> once[Any]:
    """Return a service that is imported and made when it is first asked for, of these attributes of ``Services``.

    ``place``: "module:name" below ``pinakes.services``; without ``needs`` it takes the ``app``. ``is_partial``: each
    call of it makes it anew.
    """
    module, _, name = place.partition(":")

    def make(services: Services) -> Any:
        kind = getattr(import_module(f"pinakes.services.{module}"), name)
        bound = partial(kind, *(attrgetter(need)(services) for need in needs or ("app",)))
        return bound if is_partial else bound()

    return once(make)


class Services:
    """The services of one home. Those that are a ``partial``, such as ``background``, are made anew by each call."""

    addition: once[Callable[[str, AddRequest], PlannedSource]] = _service("sync.adding:addition", is_partial=True)
    background: once[partial[Background]] = _service(
        "collections.background:Background", "app", "staged.texts", is_partial=True
    )
    blames: once[Blames] = _service("documents.blame:Blames")
    chosen_model: once[Callable[[str, str | None], EmbeddingSettings]] = _service(
        "model_change:chosen_model", is_partial=True
    )
    cluster: once[Cluster] = _service("cluster:Cluster")
    collecting: once[Collections] = _service("collections.management:Collections")
    credentials: once[Credentials] = _service("collections.credentials:Credentials")
    documents: once[Documents] = _service("documents.editing:Documents", "app", "naming")
    embedding_worker: once[partial[EmbeddingWorker]] = _service("embedding_worker:EmbeddingWorker", is_partial=True)
    events: once[Events] = _service("events:Events", "app.catalog")
    exchange: once[BackupService] = _service("backup:BackupService")
    expanding: once[GraphSearch] = _service("graph_search:GraphSearch", "app", "graph")
    forecasts: once[partial[Forecasts]] = _service("sync.forecasting:Forecasts", is_partial=True)
    graph: once[KnowledgeGraph] = _service("knowledge_graph:KnowledgeGraph", "app", "naming.named")
    graph_job: once[partial[GraphFollowing]] = _service("graph_job:GraphFollowing", "app", "graph", is_partial=True)
    keys: once[Keys] = _service("keys:Keys", "app.catalog")
    loading: once[Loading] = _service("collections.background:Loading")
    lookup: once[Lookup] = _service("documents.lookup:Lookup")
    measuring: once[Measuring] = _service("measuring:Measuring")
    refreshing: once[Refreshing] = _service("sync.refreshing:Refreshing")
    snapshots: once[Snapshots] = _service("documents.as_of_snapshots:Snapshots")
    spending: once[partial[Spending]] = _service("spending:Spending", is_partial=True)
    staged: once[DocumentSearch] = _service("document_search.search:DocumentSearch", "app", "naming")
    staleness: once[Staleness] = _service("sync.staleness:Staleness")
    syncing: once[Syncing] = _service("sync.syncing:Syncing")
    watched: once[WatchedFolders] = _service("sync.watched:WatchedFolders")
    webhooks: once[partial[Webhooks]] = _service("webhooks:Webhooks", "app.catalog", "settings", is_partial=True)

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
    def jobs(self) -> Queue:
        from pinakes.jobs.queue import open_queue

        return open_queue(self.app.catalog, self.settings.home, self.app.process)
