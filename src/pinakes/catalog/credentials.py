"""Rows of the catalogue that may hold credentials: read to be searched, and masked in place.

A mask is as long as what it hides, so that chunks keep their offsets; their vectors are made anew.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from sqlalchemy import Connection, Table, and_, delete, exists, func, or_, select, update

from pinakes.catalog import changes, document_fields, entity_changes
from pinakes.catalog.batched_rows import rows_among
from pinakes.catalog.documents import KEY_BYTES, OWN_SUMMARIES, summary_key
from pinakes.catalog.graph_statistics import OWN
from pinakes.catalog.schema import (
    audit,
    chunks,
    collections,
    documents,
    embeddings,
    entities,
    entity_aliases,
    entity_decisions,
    entity_mentions,
    entity_relations,
    events,
    extractions,
    files,
    sources,
    undelivered,
    versions,
)
from pinakes.core.batching import batches
from pinakes.core.records import JSON

Row: TypeAlias = dict[str, Any]
Masked: TypeAlias = Callable[[Mapping[str, JSON]], Row]
"""Takes columns of a row, and returns those that are others once they are masked."""

_LOGS: Final[tuple[tuple[Table, tuple[str, ...]], ...]] = (
    (audit, ("parameters", "message")),
    (events, ("uri", "title", "source", "detail")),
    (undelivered, ("events", "error")),
    (files, ("reason",)),
    (sources, ("error", "report")),
    (collections, ("description",)),
    (entities, ("name", "folded")),
    (entity_aliases, ("name", "alias")),
    (entity_decisions, ("name", "other")),
)
_OF_DOCUMENT: Final = ("uri", "title", "text", "summary", "metadata", "inherited", "given")
_OF_VERSION: Final = ("uri", "path", "title", "summary", "metadata", "given")


@dataclass(frozen=True, slots=True)
class RowReference:
    """A row in which something is: of which table, and which document, as far as it is one of a document."""

    table: str
    key: tuple[Any, ...]
    collection: str = ""
    path: str = ""
    version: int | None = None


def document_ids(connection: Connection) -> list[int]:
    """Return the ids of all documents."""
    return list(connection.scalars(select(documents.c.id).order_by(documents.c.id)))


def document(connection: Connection, document_id: int) -> tuple[RowReference, Row] | None:
    """Return what a document holds, with its chunks, None where it is gone."""
    row = connection.execute(_DOCUMENT.where(documents.c.id == document_id)).first()
    if row is None:
        return None
    of_document = select(chunks).where(chunks.c.document_id == document_id).order_by(chunks.c.ordinal)
    cut = connection.execute(of_document).mappings()
    values = {name: getattr(row, name) for name in _OF_DOCUMENT}
    if row.source_id is None:  # that of a file is what the file goes by
        values["path"] = row.path
    values["chunks"] = [dict(one) for one in cut]
    return RowReference("documents", (row.id,), row.name, row.path, row.version), values


def mask_document(
    connection: Connection, place: RowReference, changed: Row, cut: list[tuple[int, Row]], notes: list[Row]
) -> bool:
    """Write what is masked of a document and its chunks, and have the indexes follow; say whether it was there.

    ``cut`` has the ids of chunks with their columns. Vectors of texts that nothing has any more are dropped.
    """
    [document_id] = place.key
    old = connection.execute(select(documents).where(documents.c.id == document_id)).first()
    if old is None:
        return False
    keys = list(connection.scalars(select(chunks.c.embedding_key).where(chunks.c.document_id == document_id)))
    values = {**changed, "notes": [*(old.notes or ()), *notes] or None}
    if "summary" in changed and old.summary_by in OWN_SUMMARIES:
        keys.append(old.summary_key)
        values["summary_key"] = summary_key(changed["summary"])
    connection.execute(update(documents).where(documents.c.id == document_id).values(values))
    for chunk_id, columns in cut:
        connection.execute(update(chunks).where(chunks.c.id == chunk_id).values(columns))
    drop_vectors(connection, [key for key in keys if key])
    kept = shortened({name: changed.get(name, getattr(old, name)) for name in ("text", "title", "metadata")})
    entity_changes.note_document(connection, old.collection_id, document_id)
    _forget_titles(connection, old.collection_id, document_id)
    _forget_graph(connection, document_id, kept)
    document_fields.refresh(connection, document_id)
    changes.record(connection, old.collection_id, document_id, "put")
    return True


def _forget_titles(connection: Connection, collection_id: int, document_id: int) -> None:
    """Drop the other names of the entities that a document is about, its title among them, until the graph follows."""
    main = entities.alias()
    about = (
        select(main.c.type, main.c.folded)
        .join_from(entity_mentions, entities, entities.c.id == entity_mentions.c.entity_id)
        .join(main, main.c.id == func.coalesce(entities.c.canonical_id, entities.c.id))
        .where(entity_mentions.c.document_id == document_id, entity_mentions.c.extractor == OWN)
        .order_by(main.c.id)
    )
    for row in connection.execute(about).all():
        own = (entity_aliases.c.type == row.type, entity_aliases.c.name == row.folded)
        connection.execute(delete(entity_aliases).where(entity_aliases.c.collection_id == collection_id, *own))


def _forget_graph(connection: Connection, document_id: int, kept: str) -> None:
    """Have a document extracted again; forget the names that it alone mentioned and that it has not ``kept``."""
    columns = (entity_mentions.c.entity_id, entity_relations.c.source_id, entity_relations.c.target_id)
    named: set[int] = set()
    for column in columns:
        named.update(connection.scalars(select(column).where(column.table.c.document_id == document_id).distinct()))
    for table in (entity_mentions, entity_relations, extractions):
        connection.execute(delete(table).where(table.c.document_id == document_id))
    plain = " ".join(kept.split()).casefold()
    unused = select(entities.c.id, entities.c.name)
    unused = unused.where(*(~exists().where(column == entities.c.id) for column in columns))
    rows = rows_among(connection, unused, entities.c.id, sorted(named))
    _forget_names(connection, [row.id for row in rows if row.name.casefold() not in plain])


def _forget_names(connection: Connection, entity_ids: list[int]) -> None:
    """Give entities other names, since their rows stay; drop decisions, aliases and reasons that have the old ones."""
    for entity_id in entity_ids:
        row = connection.execute(select(entities).where(entities.c.id == entity_id)).one()
        for table, columns in (
            (entity_decisions, (entity_decisions.c.name, entity_decisions.c.other)),
            (entity_aliases, (entity_aliases.c.name, entity_aliases.c.folded)),
        ):
            named = or_(*(column == row.folded for column in columns))
            connection.execute(delete(table).where(table.c.collection_id == row.collection_id, named))
        other = {"name": f"[masked] {entity_id}", "folded": f"masked {entity_id}", "why": ""}
        connection.execute(update(entities).where(entities.c.id == entity_id).values(other))
        connection.execute(update(entities).where(entities.c.canonical_id == entity_id).values(why=""))


def drop_vectors(connection: Connection, keys: list[bytes]) -> None:
    """Drop the vectors of these keys that no chunk or summary has."""
    assert all(len(key) == KEY_BYTES for key in keys)
    for part in batches(keys, 500):
        of_nothing = and_(
            embeddings.c.key.in_(part),
            ~exists().where(chunks.c.embedding_key == embeddings.c.key),
            ~exists().where(documents.c.summary_key == embeddings.c.key),
        )
        connection.execute(delete(embeddings).where(of_nothing))


def each_other(connection: Connection) -> Iterator[tuple[RowReference, Row]]:
    """Yield versions of documents, then what logs and reports say, with the columns that may have credentials."""
    names = {row.id: row.name for row in connection.execute(select(collections.c.id, collections.c.name))}
    for row in connection.execute(select(versions)):
        values = {name: getattr(row, name) for name in _OF_VERSION}
        values["text"] = None if row.text is None else zlib.decompress(row.text).decode()
        key = (row.collection_id, row.uid, row.number)
        yield RowReference("versions", key, names.get(row.collection_id, ""), row.path or row.uid, row.number), values
    for table, columns in _LOGS:
        for row in connection.execute(select(table)):
            yield RowReference(table.name, (row.id,)), {name: getattr(row, name) for name in columns}


def mask_other(connection: Connection, place: RowReference, changed: Row) -> None:
    """Write what is masked of a row that ``each_other`` gave."""
    values = dict(changed)
    if place.table == "versions":
        if values.get("text") is not None:
            values["text"] = zlib.compress(values["text"].encode(), 1)
        collection_id, uid, number = place.key
        this = and_(versions.c.collection_id == collection_id, versions.c.uid == uid, versions.c.number == number)
        connection.execute(update(versions).where(this).values(values))
        return
    table = next(table for table, _ in _LOGS if table.name == place.table)
    if table is entities:
        _forget_names(connection, list(place.key))
        return
    if table in (entity_aliases, entity_decisions):
        connection.execute(delete(table).where(table.c.id == place.key[0]))
        return
    connection.execute(update(table).where(table.c.id == place.key[0]).values(values))


def shortened(values: Mapping[str, JSON]) -> str:
    """Return values as text in which credentials can be looked for."""
    return "\n".join(one if isinstance(one, str) else json.dumps(one, ensure_ascii=False) for one in values.values())


_DOCUMENT = select(
    *(documents.c[name] for name in ("id", "path", "version", "source_id", *_OF_DOCUMENT)), collections.c.name
).join(collections, collections.c.id == documents.c.collection_id)
