"""What a run works with."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field

from pinakes.catalog import Catalog
from pinakes.core.ports import Embedder
from pinakes.core.records import Item
from pinakes.graph.feeding import GraphFeed
from pinakes.ingestion.cutter import Cutter
from pinakes.ingestion.report import Event
from pinakes.settings import CollectionSettings, HistorySettings, IngestSettings


@dataclass(frozen=True, slots=True)
class Tools:
    """The dependencies of an ingestion run, chosen by the composition root."""

    catalog: Catalog
    embedder: Embedder
    cutting: Callable[[Sequence[Item]], AbstractContextManager[Cutter]]
    follow: Callable[[], object]
    embed_waiting: Callable[[Callable[[int], object]], Iterator[Event]]
    defer_chunks: int | None
    limits: IngestSettings
    rules: CollectionSettings
    history: HistorySettings
    longest: Mapping[str, int] = field(default_factory=dict)
    """Location of a source → maximum tokens of a new document from it; existing documents may be longer."""
    graph: GraphFeed = field(default_factory=GraphFeed)
