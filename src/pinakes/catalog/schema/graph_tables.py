"""The tables of the knowledge graph, and the views under which others read it."""

from __future__ import annotations

from typing import Final

from sqlalchemy import (
    DDL,
    JSON,
    Column,
    Float,
    Index,
    Integer,
    Table,
    UniqueConstraint,
    event,
    text,
)
from sqlalchemy.schema import ExecutableDDLElement

from pinakes.catalog.schema.table_metadata import metadata, owner
from pinakes.catalog.schema.types import ID, TEXT

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
"""Other names of the entities of curated lists, as of the last update of the graph."""

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

_ALIASES: Final = """(SELECT {array} FROM (
    SELECT o.name AS alias FROM entities o WHERE o.canonical_id = e.id AND o.name <> e.name
    UNION SELECT a.alias FROM entity_aliases a
    WHERE a.collection_id = e.collection_id AND a.type = e.type AND a.name = e.folded
    ORDER BY alias) AS named)"""
_CONTEXT: Final = """(SELECT substr(d.text, {after}(m."start" - 80, 0) + 1, 200) FROM entity_mentions m
    JOIN documents d ON d.id = m.document_id WHERE m.entity_id = e.id AND m."end" > m."start"
    ORDER BY m.confidence DESC, m.id LIMIT 1)"""
_KNOWLEDGE_ENTITIES: Final = """CREATE VIEW knowledge_entities AS
SELECT e.id, e.collection_id, e.name AS entity_name, e.type AS entity_type, e.documents, e.mentions,
    {object}('aliases', {aliases}, 'confidence', e.confidence, 'context', {context}, 'canonical', e.name) AS metadata
FROM entities e WHERE e.canonical_id IS NULL AND e.type <> '' AND e.documents > 0"""
_ENTITY_RELATIONSHIPS: Final = """CREATE VIEW entity_relationships AS
SELECT r.id, c.collection_id, s.id AS source_id, s.name AS source, r.type AS relation_type, t.id AS target_id,
    t.name AS target, r.confidence, (
        SELECT min(k.id) FROM chunks k
        WHERE k.document_id = r.document_id AND k."start" <= r."start" AND r."start" < k."end"
    ) AS source_chunk_id, r.document_id, r."start", r."end", r.extractor
FROM entity_relations r
JOIN documents c ON c.id = r.document_id
JOIN entities a ON a.id = r.source_id JOIN entities s ON s.id = coalesce(a.canonical_id, a.id)
JOIN entities b ON b.id = r.target_id JOIN entities t ON t.id = coalesce(b.canonical_id, b.id)
WHERE r.fits = 1 AND s.type <> '' AND t.type <> '' AND s.id <> t.id"""


def _views(array: str, json_object: str, after: str) -> tuple[str, ...]:
    aliases, context = _ALIASES.format(array=array), _CONTEXT.format(after=after)
    entity_view = _KNOWLEDGE_ENTITIES.format(object=json_object, aliases=aliases, context=context)
    return entity_view, _ENTITY_RELATIONSHIPS


VIEWS: Final = {
    "sqlite": _views("json_group_array(alias)", "json_object", "max"),
    "postgresql": _views("coalesce(jsonb_agg(alias), '[]'::jsonb)", "jsonb_build_object", "greatest"),
}
"""Name of a dialect → the statements that make the views ``knowledge_entities`` and ``entity_relationships``."""

for _dialect, _statements in VIEWS.items():
    for _statement in _statements:
        _made: ExecutableDDLElement = DDL(_statement.replace("%", "%%"))  # type: ignore[no-untyped-call]
        event.listen(metadata, "after_create", _made.execute_if(dialect=_dialect))
