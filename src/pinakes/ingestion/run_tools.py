"""The dependencies of a run: what parses and chunks files for it, and how long versions are kept."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Protocol

from pinakes.catalog import Catalog
from pinakes.catalog.history import Retention
from pinakes.core import caller
from pinakes.core.parsed_files import ParsedDocument
from pinakes.core.ports import Embedder
from pinakes.core.records import Chunk, Document, Item
from pinakes.graph.feeding import GraphFeed
from pinakes.ingestion.report import Event
from pinakes.settings import CollectionSettings, HistorySettings, IngestSettings


class FileParser(Protocol):
    """Parses and chunks files, several at once if it has several processes."""

    files_ahead: int
    """How many files can be submitted before the first result is requested."""

    def begin(self, data: bytes, path: str) -> Callable[[], ParsedDocument]:
        """Submit a file, and return a function that waits for the result.

        Raises (that function):
            Unreadable: the file cannot be read.
            ChildProcessError, TimeoutError: reading was aborted; it may be tried again.
        """
        ...

    def chunks(self, document: Document) -> Sequence[Chunk]:
        """Chunk a parsed document in this process."""
        ...


@dataclass(frozen=True, slots=True)
class Tools:
    """The dependencies of an ingestion run, chosen by the composition root."""

    catalog: Catalog
    embedder: Embedder
    open_parser: Callable[[Sequence[Item]], AbstractContextManager[FileParser]]
    follow: Callable[[], object]
    embed_waiting: Callable[[Callable[[int], object]], Iterator[Event]]
    defer_chunks: int | None
    limits: IngestSettings
    rules: CollectionSettings
    history: HistorySettings
    longest: Mapping[str, int] = field(default_factory=dict)
    """Location of a source → maximum tokens of a new document from it; existing documents may be longer."""
    graph: GraphFeed = field(default_factory=GraphFeed)


def keeping_of(history: HistorySettings) -> Retention:
    """Return the retention for the current caller."""
    return Retention(caller.current().label, history.days, history.versions)
