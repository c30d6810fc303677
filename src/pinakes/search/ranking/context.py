"""What a search works with."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from pinakes.catalog import Catalog
from pinakes.catalog.collections import CollectionRecord
from pinakes.core.ports import Index
from pinakes.core.records import Float32
from pinakes.search.ranking.reranking import Reranking
from pinakes.search.retrieval.tracer import Tracer
from pinakes.search.statistics.caches import CollectionStatistics, QueryVectors
from pinakes.settings import Settings


class HeadRefinement(Protocol):
    """Embeds the head of a ranking on demand: see ``head_refinement.HeadRefiner``."""

    def vectors(self, collection: CollectionRecord, chunk_ids: Sequence[int]) -> Mapping[int, Float32]:
        """Return chunk id → float32 (dim,), without the chunks that cannot be embedded."""
        ...

    def meet(self, collection: CollectionRecord, chunk_ids: Sequence[int]) -> None:
        """Note the chunks of an answer that have approximate vectors, best first."""
        ...


@dataclass(frozen=True, slots=True)
class SearchContext:
    """The catalogue, one generation of a collection with its index and model, and what else there is.

    All but ``tracer`` serve many searches at once. ``follow`` has the index catch up, as far as that takes no
    time, and says whether it has or is about to; it raises ``follow.Superseded`` where there is another one by now.
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
