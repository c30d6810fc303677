"""The objects that a search uses."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from pinakes.catalog import Catalog
from pinakes.catalog.collections import CollectionRecord
from pinakes.catalog.manifest import Stamp
from pinakes.core.ports import Index
from pinakes.core.records import Float32
from pinakes.search.ranking.reranking import Reranking
from pinakes.search.retrieval.tracer import Tracer
from pinakes.search.statistics.collection_statistics import CollectionStatistics
from pinakes.search.statistics.query_vectors import QueryVectors
from pinakes.settings import Settings

if TYPE_CHECKING:
    from pinakes.graph.entity_retriever import EntityRetriever


class HeadRefinement(Protocol):
    """Embeds the best chunks of a ranking on demand: see ``head_refinement.HeadRefiner``."""

    def vectors(self, collection: CollectionRecord, chunk_ids: Sequence[int]) -> Mapping[int, Float32]:
        """Return chunk id → float32 (dim,), unit length; chunks that cannot be embedded are missing."""
        ...

    def meet(self, collection: CollectionRecord, chunk_ids: Sequence[int]) -> None:
        """Record the chunks of an answer that have approximate vectors, best first, for background embedding."""
        ...


@dataclass(frozen=True, slots=True)
class SearchContext:
    """Everything that a search of one collection uses: the catalogue, the index, the models, the settings, caches.

    Everything except ``tracer`` is shared by concurrent searches. ``follow`` lets the index catch up if that is quick
    and returns whether it has caught up or soon will; it raises ``Superseded`` if a newer index version has replaced
    it. ``stamped`` is told what documents were read from, by their uids. ``graph``: its entities, None where it has
    none, or rankings do not depend on them.
    """

    catalog: Catalog
    collection: CollectionRecord
    index: Index
    vectors: QueryVectors
    refiner: HeadRefinement
    reranking: Reranking | None
    settings: Settings
    statistics: CollectionStatistics
    tracer: Tracer
    follow: Callable[[], bool]
    stamped: Callable[[CollectionRecord, Mapping[str, Stamp | None]], object]
    graph: EntityRetriever | None


def graph_state(context: SearchContext) -> Hashable:
    """Return what changes with the graph where rankings depend on it, None where they do not.

    Answers that are kept of an earlier state of the graph are forgotten.
    """
    return None if context.graph is None else context.graph.refresh()
