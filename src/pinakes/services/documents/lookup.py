"""Documents, files and vectors by reference, for the interfaces of other systems."""

from __future__ import annotations

import time
import uuid
from collections.abc import Iterator
from functools import partial
from itertools import islice
from typing import Any, Literal, TypeAlias

from pinakes.app import App
from pinakes.catalog import (
    Connection,
    collections,
    contents,
    document_queries,
    documents,
    embeddings,
    full_documents,
    selection,
)
from pinakes.catalog.collections import CollectionRecord
from pinakes.catalog.contents import FailedFile, Totals
from pinakes.catalog.document_queries import DocumentRecord
from pinakes.catalog.selection import BY_ID as BY_ID
from pinakes.catalog.transactions import within
from pinakes.core.records import Filter
from pinakes.parsing import pool
from pinakes.services.documents import reading
from pinakes.services.documents.index_update import catch_up
from pinakes.services.sync.placement import placement

_PAGE = 100

Listed: TypeAlias = tuple[CollectionRecord, DocumentRecord | None]
"""A collection, or a document of one."""

State: TypeAlias = Literal["stale", "processed", "pending"]
"""Of a chunk: its file is another now, or gone; it has its vector; it waits for it."""


class Lookup:
    """The documents of a home: queries of the catalogue, and what embeds one anew. Safe to share between threads."""

    def __init__(self, app: App) -> None:
        self._app = app
        self.chunk_counts = within(app.catalog.read, document_queries.chunk_counts)
        self.failed = within(app.catalog.read, contents.failed)
        self.find = within(app.catalog.read, documents.find)
        self.embedding_id = within(app.catalog.read, _embedding_id)
        self.following = within(app.catalog.read, document_queries.following)
        self.held = within(app.catalog.read, contents.collection_totals)
        self.list_from = within(app.catalog.read, _list_from)
        self.matching = within(app.catalog.read, _matching)
        self.of_uids = within(app.catalog.read, full_documents.of_uids)
        self.placement = partial(placement, app)
        self.read = partial(pool.read, limits=app.settings.ingest, workers=app.workers)
        self.read_in = within(app.catalog.read, reading.read_in)
        self.standing = within(app.catalog.read, _pending_and_failed)
        self.types_of = within(app.catalog.read, contents.types_of)

    def chunk(self, record: CollectionRecord, uri: str, number: int) -> tuple[DocumentRecord, Any, State] | None:
        """Return the document at ``uri``, its chunk ``number`` (from 0) as of ``selection.chunks``, and how it stands.

        None where there is none.
        """
        with self._app.catalog.read() as connection:
            at = [one for one in documents.find(connection, record.id, uri) if one.uri == uri]
            place = (at[0].id if at else 0), number
            row = selection.hit_rows_at(connection, [place]).get(place)
            if row is None:
                return None
            embedded = embeddings.of_chunks(connection, record.model_id, [row.id])
        changed = self._app.freshness.changed([at[0].uid], record)[at[0].uid]
        return at[0], row, "stale" if changed else "processed" if embedded else "pending"

    def embed(self, record: CollectionRecord, document_id: int) -> float:
        """Embed the chunks of a document anew; return how long the model took, in seconds."""
        app = self._app
        with app.catalog.read() as connection:
            rows = embeddings.embedded(connection, document_queries.chunk_ids(connection, [document_id]))
        start = time.perf_counter()
        embedder = app.embedder_of(record)
        vectors = embedder.embed([text for _, _, text in rows])
        spent = time.perf_counter() - start
        with app.catalog.write() as connection:
            model_id = collections.bind_model(connection, record.id, embedder.fingerprint, embedder.dimension)
            embeddings.replace(
                connection, model_id, {key: vector for (_, key, _), vector in zip(rows, vectors, strict=True)}
            )
        catch_up(app, record.name)
        return spent

    def totals(self, record: CollectionRecord) -> tuple[Totals, list[FailedFile]]:
        """Return what a collection holds, and its files that were not indexed."""
        _, index = self._app.index(record.name, wait=False)
        described = index.describe()
        vectors = int(described.get("exact_vectors", described.get("vectors", 0)))
        with self._app.catalog.read() as connection:
            return self._app.statistics.totals(connection, record, vectors), contents.failed(connection, record.id)


def _matching(connection: Connection, collection_id: int, where: Filter) -> list[DocumentRecord]:
    """Return the documents of a collection that pass a filter, those with the shortest paths first."""
    return documents.of_ids(connection, selection.matching(connection, collection_id, where).tolist())


def _list_from(connection: Connection, collection_id: int, document_id: int, most: int) -> list[Listed]:
    """Return what follows a document, all by id: the rest of its collection, then each other one and its documents."""

    def following() -> Iterator[Listed]:
        for record in sorted(collections.list_all(connection), key=lambda one: one.id):
            last = document_id if record.id == collection_id else 0
            if record.id < collection_id:
                continue
            if record.id != collection_id:
                yield record, None
            while page := document_queries.following(connection, record.id, last, _PAGE):
                yield from ((record, one) for one in page)
                last = page[-1].id

    return list(islice(following(), most))


def _pending_and_failed(
    connection: Connection, record: CollectionRecord, document: DocumentRecord
) -> tuple[int, list[FailedFile]]:
    """Return how many chunks of a document wait for a vector, and the files at its path that were not indexed."""
    waiting = contents.waiting(connection, document.id, record.model_id)
    return waiting, contents.failed(connection, record.id, document.path)


def _embedding_id(connection: Connection, document_id: int) -> str | None:
    """Return the key of the vector of the first chunk of a document as a UUID, None where it has no chunk."""
    rows = embeddings.embedded(connection, document_queries.chunk_ids(connection, [document_id])[:1])
    return next((str(uuid.UUID(bytes=key)) for _, key, _ in rows), None)
