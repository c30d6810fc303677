"""The tables of the knowledge graph."""

from __future__ import annotations

from typing import Final

from sqlalchemy import (
    JSON,
    Column,
    Float,
    Index,
    Integer,
    Table,
    UniqueConstraint,
    text,
)

from pinakes.catalog.schema.types import ID, TEXT, metadata, owner

entities = Table(
    "entities",
    metadata,
    Column("id", ID, primary_key=True),
    Column("collection_id", ID, owner("collections"), nullable=False),
    Column("type", TEXT, nullable=False),
    Column("name", TEXT, nullable=False),
    Column("folded", TEXT, nullable=False),
    Column("canonical_id", ID, index=True),
    Column("why", TEXT, nullable=False, server_default=text("''")),
    Column("confidence", Float, nullable=False, server_default="0"),
    Column("documents", Integer, nullable=False, server_default="0"),
    Column("mentions", Integer, nullable=False, server_default="0"),
    UniqueConstraint("collection_id", "type", "folded"),
    Index(None, "collection_id", "folded"),
    sqlite_autoincrement=True,
)
"""Names that documents of a collection mention. A row is never removed while its collection is there, so that writers
need no lock on it. ``type`` "" is a candidate. ``canonical_id``: the entity that this is another name of, and ``why``;
it has none itself. ``confidence``, ``documents`` and ``mentions`` include those of its other names. The last five
columns are derived; see ``graphs``."""

entity_aliases = Table(
    "entity_aliases",
    metadata,
    Column("id", ID, primary_key=True),
    Column("collection_id", ID, owner("collections"), nullable=False),
    Column("type", TEXT, nullable=False),
    Column("name", TEXT, nullable=False),
    Column("alias", TEXT, nullable=False),
    Column("folded", TEXT, nullable=False),
    UniqueConstraint("collection_id", "type", "name", "folded"),
    Index(None, "collection_id", "folded"),
    sqlite_autoincrement=True,
)
"""Other names of entities, of curated lists and titles of documents, as of the last update of the graph."""

entity_decisions = Table(
    "entity_decisions",
    metadata,
    Column("id", ID, primary_key=True),
    Column("collection_id", ID, owner("collections"), nullable=False),
    Column("kind", TEXT, nullable=False),
    Column("type", TEXT, nullable=False),
    Column("name", TEXT, nullable=False),
    Column("other", TEXT, nullable=False),
    Column("other_type", TEXT, nullable=False, server_default=text("''")),
    Column("at", TEXT, nullable=False),
    UniqueConstraint("collection_id", "kind", "type", "name", "other"),
    sqlite_autoincrement=True,
)
"""What people decided about names: "merge" (``other`` is ``name``) or "split" (it is not), by name, since entities come
and go with documents. The latest one on a pair of names holds."""

entity_mentions = Table(
    "entity_mentions",
    metadata,
    Column("id", ID, primary_key=True),
    Column("document_id", ID, owner("documents"), nullable=False, index=True),
    Column("entity_id", ID, owner("entities"), nullable=False),
    Column("start", Integer, nullable=False),
    Column("end", Integer, nullable=False),
    Column("confidence", Float, nullable=False),
    Column("extractor", TEXT, nullable=False),
    Index(None, "entity_id", "document_id"),
    sqlite_autoincrement=True,
)
"""Where documents name entities, as offsets into their texts: a chunk that is cut anew needs no new ones."""

entity_relations = Table(
    "entity_relations",
    metadata,
    Column("id", ID, primary_key=True),
    Column("document_id", ID, owner("documents"), nullable=False, index=True),
    Column("source_id", ID, owner("entities"), nullable=False),
    Column("type", TEXT, nullable=False),
    Column("target_id", ID, owner("entities"), nullable=False),
    Column("start", Integer, nullable=False),
    Column("end", Integer, nullable=False),
    Column("confidence", Float, nullable=False),
    Column("extractor", TEXT, nullable=False),
    Column("fits", Integer, nullable=False, server_default="1"),
    Index(None, "source_id", "type"),
    Index(None, "target_id", "type"),
    sqlite_autoincrement=True,
)
"""Relations that documents state, with the place that says so. ``fits``: 0 where the types of its ends, as they turned
out, are none that such a relation has; it is derived."""

extractions = Table(
    "extractions",
    metadata,
    Column("document_id", ID, owner("documents"), primary_key=True, autoincrement=False),
    Column("recipe", TEXT, nullable=False),
    Column("left_out", Integer, nullable=False, server_default="0"),
)
"""The documents whose mentions and relations are those of their present text and metadata, and by which recipe."""

graphs = Table(
    "graphs",
    metadata,
    Column("collection_id", ID, owner("collections"), primary_key=True, autoincrement=False),
    Column("position", ID, nullable=False),
    Column("recipe", TEXT, nullable=False),
    Column("decided", ID, nullable=False, server_default="0"),
    Column("computed_at", TEXT, nullable=False),
    Column("figures", JSON, nullable=False),
)
"""What the derived part of a graph was computed from: changes up to ``position``, rules, decisions."""

entity_facts = Table(
    "entity_facts",
    metadata,
    Column("entity_id", ID, owner("entities"), primary_key=True, autoincrement=False),
    Column("extractor", TEXT, primary_key=True),
    Column("documents", Integer, nullable=False),
    Column("mentions", Integer, nullable=False),
    Column("confidence", Float, nullable=False),
)
"""How often each clue was found for an entity of prose, as of the last update of the graph: so many mentions in so many
documents, ``confidence`` of the surest."""

entity_changes = Table(
    "entity_changes",
    metadata,
    Column("id", ID, primary_key=True),
    Column("collection_id", ID, owner("collections"), nullable=False, index=True),
    Column("entity_id", ID, nullable=False),
    sqlite_autoincrement=True,
)
"""Entities of which mentions or relations were removed since the last update of the graph; one may be there often, so
that no writer waits for another. Those of new ones are told by the documents in ``changes``."""

GRAPH_TABLES: Final = (
    "entities",
    "entity_aliases",
    "entity_decisions",
    "entity_mentions",
    "entity_relations",
    "entity_facts",
    "entity_changes",
    "extractions",
    "graphs",
)
