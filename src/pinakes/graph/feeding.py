"""Extraction of entities and relations from documents before they are written."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from pinakes.catalog import Catalog, entities
from pinakes.catalog.documents import NewDocument
from pinakes.core.graph_records import Findings
from pinakes.extraction import Extraction


class GraphFeed:
    """Finds what new documents say; does nothing where a collection has no graph. Thread-safe."""

    def __init__(self, extraction: Extraction | None = None) -> None:
        self.extraction = extraction

    @property
    def plan(self) -> bytes:
        """What worker processes need to find what texts say; empty for nothing."""
        return self.extraction.plan if self.extraction else b""

    def read(self, new: NewDocument, of_text: Findings | None = None) -> NewDocument:
        """Return ``new`` with its findings; ``of_text``: what a worker found in its text."""
        if self.extraction is None:
            return new
        found = self.extraction.extract(new.path, new.title, new.document, new.metadata, new.chunks, of_text)
        return replace(new, findings=found)

    def name(self, catalog: Catalog, collection_id: int, documents: Iterable[NewDocument]) -> None:
        """Make rows for the entities of documents that are about to be written.

        That is a short transaction of its own: two writers that meet the same new name would else wait for each other
        until the longer transaction of the documents ends.
        """
        named = {one.key: one for new in documents if new.findings for one in new.findings.entities()}
        if named:
            with catalog.write() as connection:
                entities.ensure(connection, collection_id, named.values())
