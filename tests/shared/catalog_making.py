"""Documents for tests of the catalogue."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from alembic import command
from alembic.config import Config

from pinakes.catalog import Catalog, collections, documents
from pinakes.catalog.collections import CollectionRecord
from pinakes.catalog.dialects import database, sqlite
from pinakes.catalog.documents import NewDocument
from pinakes.core.records import Chunk, Document, Float32

MIGRATIONS = Path(database.__file__).parents[1] / "migrations"


def first_schema(home: Path) -> None:
    """Make the catalogue in ``home`` that the first migration alone makes."""
    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS))
    made = sqlite._engine(f"sqlite:///{home / 'catalog.db'}")
    with made.connect().execution_options(pinakes_write=True) as connection, connection.begin():
        config.attributes["connection"] = connection
        command.upgrade(config, "0001")
    made.dispose()


def new(
    path: str,
    *texts: str,
    metadata: Mapping[str, Any] | None = None,
    group: str = "",
    title: str = "T",
    uri: str | None = None,
    source_id: int | None = None,
) -> NewDocument:
    """Make a document of which each of ``texts`` is a chunk."""
    text = "\n".join(texts)
    chunks, start = [], 0
    for ordinal, piece in enumerate(texts):
        chunks.append(Chunk(ordinal, piece, start, start + len(piece), ordinal + 1, ordinal + 1, len(piece.split())))
        start += len(piece) + 1
    digest = hashlib.sha256(text.encode()).hexdigest()
    document = Document(text, title)
    return NewDocument(
        uri or f"file:///{path}", path, document, chunks, digest, title, dict(metadata or {}), group, source_id
    )


def put(catalog: Catalog, collection: CollectionRecord, *documents_: NewDocument) -> list[int]:
    with catalog.write() as connection:
        return [documents.put(connection, collection.id, document) for document in documents_]


def bind(catalog: Catalog, collection: CollectionRecord, fingerprint: str = "m", dimension: int = 4) -> int:
    with catalog.write() as connection:
        return collections.bind_model(connection, collection.id, fingerprint, dimension)


def vector(seed: int, dimension: int = 4) -> Float32:
    drawn = np.random.default_rng(seed).standard_normal(dimension)
    return (drawn / np.linalg.norm(drawn)).astype(np.float32)
