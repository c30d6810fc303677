"""The tables of the catalogue, from which every index is derived."""

from __future__ import annotations

from sqlalchemy import (
    JSON,
    Column,
    Float,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    Table,
    UniqueConstraint,
    text,
)

from pinakes.catalog.schema.graph_tables import (
    GRAPH_TABLES,
    entities,
    entity_aliases,
    entity_changes,
    entity_decisions,
    entity_facts,
    entity_mentions,
    entity_relations,
    extractions,
    graphs,
)
from pinakes.catalog.schema.types import ID, TEXT, metadata
from pinakes.catalog.schema.types import owner as _owner

__all__ = [
    "GRAPH_TABLES",
    "audit",
    "beside",
    "changes",
    "chunks",
    "collections",
    "documents",
    "embeddings",
    "entities",
    "entity_aliases",
    "entity_changes",
    "entity_decisions",
    "entity_facts",
    "entity_mentions",
    "entity_relations",
    "events",
    "extractions",
    "fields",
    "files",
    "graphs",
    "index_numbers",
    "installation",
    "jobs",
    "keys",
    "leaps",
    "metadata",
    "models",
    "sources",
    "undelivered",
    "versions",
    "webhooks",
]


models = Table(
    "models",
    metadata,
    Column("id", ID, primary_key=True),
    Column("fingerprint", TEXT, nullable=False, unique=True),
    Column("dimension", Integer, nullable=False),
)

collections = Table(
    "collections",
    metadata,
    Column("id", ID, primary_key=True),
    Column("name", TEXT, nullable=False, unique=True),
    Column("description", TEXT, nullable=False, default=""),
    Column("model_id", ID, ForeignKey("models.id"), nullable=True),
    Column("generation", Integer, nullable=False, default=1),
    Column("created_at", TEXT, nullable=False),
    Column("embedding", JSON(none_as_null=True)),
    Column("line", Integer, nullable=False, server_default="0"),
    Column("newest", Integer, nullable=False, server_default="0"),
    Column("settings", JSON(none_as_null=True)),
    sqlite_autoincrement=True,
)
"""``settings`` are those that the collection was made with; those of files win over them."""

beside = Table(
    "beside",
    metadata,
    Column("collection_id", ID, _owner("collections"), primary_key=True, autoincrement=False),
    Column("model_id", ID, ForeignKey("models.id"), nullable=True),
    Column("generation", Integer, nullable=False),
    Column("embedding", JSON(none_as_null=True)),
    Column("line", Integer, nullable=False),
    Column("state", TEXT, nullable=False),
)
"""What a collection has beside the generation that answers: another model's vectors and index."""

sources = Table(
    "sources",
    metadata,
    Column("id", ID, primary_key=True),
    Column("collection_id", ID, _owner("collections"), nullable=False),
    Column("kind", TEXT, nullable=False),
    Column("location", TEXT, nullable=False),
    Column("part", TEXT, nullable=False, server_default=text("''")),
    Column("options", JSON, nullable=False),
    Column("state", TEXT),
    Column("synced_at", TEXT),
    Column("error", TEXT),
    Column("report", JSON(none_as_null=True)),
    Column("read_by", JSON(none_as_null=True)),
    UniqueConstraint("collection_id", "kind", "location", "part"),
)
"""``part`` tells several of one place apart; ``report`` is what came of the last run that ended. ``read_by``: the
versions of readers and chunkers by which it was last read to its end, None where that is not known."""

files = Table(
    "files",
    metadata,
    Column("id", ID, primary_key=True),
    Column("source_id", ID, _owner("sources"), nullable=False),
    Column("path", TEXT, nullable=False),
    Column("fingerprint", TEXT, nullable=False),
    Column("content_hash", TEXT),
    Column("status", TEXT, nullable=False),
    Column("reason", TEXT),
    Column("document_id", ID, _owner("documents", nullable=True), index=True),
    Column("tries", Integer, nullable=False, server_default="0"),
    Column("retry_at", TEXT),
    Column("code", TEXT),
    UniqueConstraint("source_id", "path"),
)
"""``tries`` counts the failures in a row of a file that cannot be read; it is tried again at ``retry_at``.
``code`` is that of the error which a file was skipped for."""

documents = Table(
    "documents",
    metadata,
    Column("id", ID, primary_key=True),
    Column("uid", TEXT, nullable=False, unique=True),
    Column("collection_id", ID, _owner("collections"), nullable=False),
    Column("source_id", ID, _owner("sources", nullable=True), index=True),
    Column("uri", TEXT, nullable=False),
    Column("path", TEXT, nullable=False),
    Column("title", TEXT, nullable=False),
    Column("kind", TEXT, nullable=False),
    Column("language", TEXT),
    Column("text", TEXT, nullable=False),
    Column("metadata", JSON, nullable=False),
    Column("inherited", JSON, nullable=False),
    Column("group_key", TEXT, nullable=False, default=""),
    Column("content_hash", TEXT, nullable=False),
    Column("token_count", Integer, nullable=False),
    Column("chunk_count", Integer, nullable=False),
    Column("version", Integer, nullable=False),
    Column("created_at", TEXT, nullable=False),
    Column("updated_at", TEXT, nullable=False),
    Column("summary", TEXT, nullable=False, server_default=text("''")),
    Column("summary_by", TEXT, nullable=False, server_default=text("''")),
    Column("summary_key", LargeBinary(16)),
    Column("given", JSON(none_as_null=True)),
    Column("pages", JSON(none_as_null=True)),
    Column("notes", JSON(none_as_null=True)),
    Column("lines", JSON(none_as_null=True)),
    Column("reader", TEXT, nullable=False, server_default=text("''")),
    Column("chunker", TEXT, nullable=False, server_default=text("''")),
    UniqueConstraint("collection_id", "uri"),
    Index(None, "collection_id", "path"),
    Index(None, "collection_id", "group_key", "path"),
    Index(None, "collection_id", "content_hash"),
    sqlite_autoincrement=True,
)
"""``given`` is metadata that a caller put over that of a file, and that stays when the file is read again.
``summary_by`` is who wrote the summary: "given", "chat", "extractive"; "" where there is none. ``summary_key`` is that
of its embedding, where it has one of its own. ``pages`` are the offsets at which its pages begin, where it has any.
``notes`` are what its reader dropped, doubted or masked, ``lines`` the numbers in the file of the lines of ``text``
where these are others; ``reader`` and ``chunker`` made it, with their versions, "" where that is not known."""

_KEPT = text("title IS NOT NULL")

versions = Table(
    "versions",
    metadata,
    Column("collection_id", ID, _owner("collections"), primary_key=True, autoincrement=False),
    Column("uid", TEXT, primary_key=True),
    Column("number", Integer, primary_key=True, autoincrement=False),
    Column("op", TEXT, nullable=False),
    Column("at", TEXT, nullable=False),
    Column("by", TEXT, nullable=False),
    Column("changed", JSON, nullable=False),
    Column("content_hash", TEXT, nullable=False),
    Column("until", TEXT),
    Column("title", TEXT),
    Column("uri", TEXT),
    Column("path", TEXT),
    Column("kind", TEXT),
    Column("language", TEXT),
    Column("source_id", ID),
    Column("group_key", TEXT),
    Column("metadata", JSON(none_as_null=True)),
    Column("given", JSON(none_as_null=True)),
    Column("summary", TEXT),
    Column("summary_by", TEXT),
    Column("text", LargeBinary),
    Index(None, "collection_id", "until", sqlite_where=text("title IS NOT NULL")),
)
"""What happened to documents, also to those that are gone. See ``catalog.history`` for what stands where and when."""


chunks = Table(
    "chunks",
    metadata,
    Column("id", ID, primary_key=True),
    Column("document_id", ID, _owner("documents"), nullable=False),
    Column("ordinal", Integer, nullable=False),
    Column("start", Integer, nullable=False),
    Column("end", Integer, nullable=False),
    Column("start_line", Integer, nullable=False),
    Column("end_line", Integer, nullable=False),
    Column("token_count", Integer, nullable=False),
    Column("header", TEXT, nullable=False),
    Column("heading_path", JSON, nullable=False),
    Column("symbols", JSON, nullable=False),
    Column("embedding_key", LargeBinary(16), nullable=False, index=True),
    UniqueConstraint("document_id", "ordinal"),
    sqlite_autoincrement=True,
)

embeddings = Table(
    "embeddings",
    metadata,
    Column("id", ID, primary_key=True),
    Column("key", LargeBinary(16), nullable=False),
    Column("model_id", ID, _owner("models"), nullable=False),
    Column("vector", LargeBinary, nullable=False),
    UniqueConstraint("key", "model_id"),
)

fields = Table(
    "fields",
    metadata,
    Column("id", ID, primary_key=True),
    Column("document_id", ID, _owner("documents"), nullable=False, index=True),
    Column("collection_id", ID, _owner("collections"), nullable=False),
    Column("name", TEXT, nullable=False),
    Column("value", TEXT, nullable=False),
    Column("number", Float),
    Index(None, "collection_id", "name", "value"),
)

changes = Table(
    "changes",
    metadata,
    Column("seq", ID, primary_key=True),
    Column("collection_id", ID, _owner("collections"), nullable=False),
    Column("document_id", ID, nullable=False),
    Column("op", TEXT, nullable=False),
    UniqueConstraint("collection_id", "document_id", "op"),
    Index(None, "collection_id", "seq"),
    Index(None, "collection_id", "op", "seq"),
    sqlite_autoincrement=True,
)

audit = Table(
    "audit",
    metadata,
    Column("id", ID, primary_key=True),
    Column("at", TEXT, nullable=False, index=True),
    Column("interface", TEXT, nullable=False),
    Column("tool", TEXT, nullable=False, index=True),
    Column("caller", TEXT, nullable=False, index=True),
    Column("session", TEXT, nullable=False, index=True),
    Column("collection", TEXT, nullable=False, index=True),
    Column("parameters", TEXT, nullable=False),
    Column("result_count", Integer, nullable=False),
    Column("ids", TEXT, nullable=False),
    Column("latency_ms", Float, nullable=False),
    Column("outcome", TEXT, nullable=False),
    Column("message", TEXT, nullable=False),
    Column("query_id", TEXT, nullable=False, server_default=text("''")),
    sqlite_autoincrement=True,
)
"""Calls: who asked what. Collections are named, not referred to, since entries outlive them."""

keys = Table(
    "keys",
    metadata,
    Column("id", ID, primary_key=True),
    Column("name", TEXT, nullable=False, unique=True),
    Column("prefix", TEXT, nullable=False, unique=True),
    Column("hash", LargeBinary, nullable=False),
    Column("scope", TEXT, nullable=False),
    Column("collections", JSON(none_as_null=True)),
    Column("per_minute", Integer, nullable=False),
    Column("created_at", TEXT, nullable=False),
    Column("expires_at", TEXT),
    Column("last_used_at", TEXT),
    Column("revoked_at", TEXT),
    sqlite_autoincrement=True,
)
"""Keys by which others are let in; revoked ones stay, so that the audit log's names never mean two. Collections are
named: a key is for whatever is called so."""

events = Table(
    "events",
    metadata,
    Column("id", ID, primary_key=True),
    Column("at", TEXT, nullable=False),
    Column("kind", TEXT, nullable=False),
    Column("operation", TEXT, nullable=False),
    Column("collection", TEXT, nullable=False),
    Column("document", TEXT),
    Column("uri", TEXT),
    Column("title", TEXT),
    Column("version", Integer),
    Column("source", TEXT),
    Column("by", TEXT, nullable=False),
    Column("changed", JSON),
    Column("detail", JSON(none_as_null=True)),
    sqlite_autoincrement=True,
)
"""What happened, for whoever wants to be told: written with what it tells of, in one transaction. Collections,
documents and sources are named, since events outlive them."""

leaps = Table(
    "leaps",
    metadata,
    Column("upto", ID, primary_key=True, autoincrement=False),
    Column("after", ID, nullable=False),
)
"""Numbers that no event has or will have: those above ``after``, ``upto`` included."""

webhooks = Table(
    "webhooks",
    metadata,
    Column("name", TEXT, primary_key=True),
    Column("position", ID, nullable=False),
    Column("since", TEXT, nullable=False),
    Column("delivered", Integer, nullable=False, server_default="0"),
    Column("delivered_at", TEXT),
    Column("missed", Integer, nullable=False, server_default="0"),
    Column("tries", Integer, nullable=False, server_default="0"),
    Column("retry_at", TEXT),
    Column("error", TEXT),
)
"""How far addresses were told of events: up to the event ``position``. ``missed``: events that were dropped before."""

undelivered = Table(
    "undelivered",
    metadata,
    Column("id", ID, primary_key=True),
    Column("webhook", TEXT, nullable=False, index=True),
    Column("at", TEXT, nullable=False),
    Column("events", JSON, nullable=False),
    Column("tries", Integer, nullable=False),
    Column("error", TEXT, nullable=False),
    Column("again", Integer, nullable=False, server_default="0"),
    sqlite_autoincrement=True,
)
"""Posts that failed too often. ``again``: somebody wants them to be sent once more."""

installation = Table(
    "installation",
    metadata,
    Column("id", Integer, primary_key=True, autoincrement=False),
    Column("epoch", TEXT, nullable=False),
    Column("min_reader", TEXT, nullable=False, server_default="0020"),
    Column("min_writer", TEXT, nullable=False, server_default="0020"),
)
"""One row. ``epoch`` tells this catalogue from any other, also from an older state of it; see ``installation``.
Programs that know no schema as new as ``min_reader`` cannot read it, nor those below ``min_writer`` write."""

index_numbers = Table(
    "index_numbers",
    metadata,
    Column("home", TEXT, primary_key=True),
    Column("collection_id", ID, _owner("collections"), primary_key=True, autoincrement=False),
    Column("line", Integer, primary_key=True, autoincrement=False),
    Column("number", Integer, nullable=False),
    Column("following", Integer),
)
"""Numbers of the folders of indexes that were built anew in one home of several, in place of ``generation``.
``following`` is that of the one that is being built."""

jobs = Table(
    "jobs",
    metadata,
    Column("key", TEXT, primary_key=True),
    Column("kind", TEXT, nullable=False),
    Column("arguments", JSON, nullable=False),
    Column("priority", Integer, nullable=False),
    Column("created_at", TEXT, nullable=False),
    Column("run_at", TEXT),
    Column("owner", TEXT),
    Column("expires_at", TEXT),
    Column("attempts", Integer, nullable=False),
    Column("error", TEXT, nullable=False),
    Column("progress", JSON, nullable=False),
)
"""Work that waits or runs; see ``catalog.jobs``."""

servers = Table(
    "servers",
    metadata,
    Column("id", TEXT, primary_key=True),
    Column("home", TEXT, nullable=False),
    Column("host", TEXT, nullable=False),
    Column("pid", Integer, nullable=False),
    Column("role", TEXT, nullable=False),
    Column("version", TEXT, nullable=False),
    Column("url", TEXT, nullable=False),
    Column("started_at", Float, nullable=False),
    Column("beat_at", Float, nullable=False),
    Column("positions", JSON, nullable=False),
)
"""Servers and workers of a shared catalogue, and when each last said that it runs; see ``catalog.heartbeats``."""

embedding_claims = Table(
    "embedding_claims",
    metadata,
    Column("model_id", ID, ForeignKey("models.id"), primary_key=True, autoincrement=False),
    Column("key", LargeBinary, primary_key=True),
    Column("owner", TEXT, nullable=False),
    Column("expires_at", Float, nullable=False),
    Column("wanted", Integer, nullable=False),
    Column("refused", TEXT, nullable=False),
)
"""Texts without a vector that somebody embeds now, or that searches met; see ``catalog.embedding_claims``."""

EPHEMERAL = (servers, embedding_claims)
"""Tables about processes that run now, which no copy of a catalogue has."""
