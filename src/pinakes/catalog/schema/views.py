"""Views for people who use SQL: ``knowledge_base``, ``indexed_content``, ``vector_embeddings`` and those of the graph.

They are dropped before the tables are migrated and made anew afterwards, so that none keeps a table from changing. In
SQLite, vectors are the bytes that are stored (float16, little-endian); in PostgreSQL they are ``real[]``, which casts
to ``vector`` and ``halfvec``.
"""

from __future__ import annotations

from typing import Any, Final

from sqlalchemy import Connection, event

from pinakes.catalog.schema import metadata
from pinakes.core.content_types import CONFIG_EXTENSIONS, CONFIG_PATTERN

VIEWS: Final = ("knowledge_base", "indexed_content", "vector_embeddings", "knowledge_entities", "entity_relationships")

_VECTOR: Final = """
CREATE OR REPLACE FUNCTION pinakes_vector(stored bytea) RETURNS real[]
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$
    SELECT array_agg(
        ((CASE WHEN bits >= 32768 THEN -1 ELSE 1 END) * (CASE WHEN (bits >> 10) & 31 = 0
            THEN (bits & 1023) * power(2::float8, -24)
            ELSE (1024 + (bits & 1023)) * power(2::float8, ((bits >> 10) & 31) - 25) END))::real
        ORDER BY place
    )
    FROM (
        SELECT place, get_byte(stored, 2 * place) + 256 * get_byte(stored, 2 * place + 1) AS bits
        FROM generate_series(0, length(stored) / 2 - 1) AS place
    ) AS each
$$
"""

_KNOWLEDGE_BASE: Final = """
CREATE VIEW knowledge_base AS
SELECT k.id, c.name AS collection, d.uid AS document_id, k.chunk_text, {hash} AS chunk_hash,
    {vector} AS embedding, k.path AS source_file,
    coalesce({category}, k.kind) AS source_category, coalesce({date}, k.updated_at) AS document_date,
    k.ordinal AS chunk_index, k.chunk_count AS total_chunks, k.path || coalesce({headings}, '') AS context_header,
    {words} AS ts_vector, k.created_at, k.updated_at
FROM (
    SELECT chunks.id, chunks.document_id, chunks.ordinal, chunks.heading_path, chunks.embedding_key,
        substr(documents.text, chunks.start + 1, chunks."end" - chunks.start) AS chunk_text,
        documents.path, documents.kind, documents.chunk_count, documents.created_at, documents.updated_at
    FROM chunks JOIN documents ON documents.id = chunks.document_id
) AS k
JOIN documents AS d ON d.id = k.document_id
JOIN collections AS c ON c.id = d.collection_id
LEFT JOIN embeddings AS e ON e.key = k.embedding_key AND e.model_id = c.model_id
"""

_INDEXED_CONTENT: Final = """
CREATE VIEW indexed_content AS
SELECT d.uid AS content_id, c.name AS collection,
    CASE WHEN {type} IN ('source_file', 'documentation', 'config') THEN {type}
        WHEN {config} THEN 'config' WHEN d.kind = 'code' THEN 'source_file' ELSE 'documentation' END AS content_type,
    d.path AS source_path, d.uri, d.content_hash, d.title, d.text AS content, d.metadata,
    CASE WHEN waits.waiting THEN 'pending' ELSE 'completed' END AS status,
    CASE WHEN waits.waiting THEN NULL ELSE d.updated_at END AS indexed_at, d.updated_at, d.created_at
FROM documents AS d JOIN collections AS c ON c.id = d.collection_id
JOIN (
    SELECT d.id, EXISTS (
        SELECT 1 FROM chunks AS k LEFT JOIN embeddings AS e ON e.key = k.embedding_key AND e.model_id = c.model_id
        WHERE k.document_id = d.id AND e.id IS NULL
    ) AS waiting
    FROM documents AS d JOIN collections AS c ON c.id = d.collection_id
) AS waits ON waits.id = d.id
UNION ALL
SELECT NULL, c.name, NULL, f.path, NULL, f.content_hash, NULL, NULL, NULL, 'failed', NULL, NULL, NULL
FROM files AS f JOIN sources AS s ON s.id = f.source_id JOIN collections AS c ON c.id = s.collection_id
WHERE f.status <> 'indexed' AND f.document_id IS NULL
"""

_VECTOR_EMBEDDINGS: Final = """
CREATE VIEW vector_embeddings AS
SELECT d.uid AS content_id, c.name AS collection, k.id AS chunk_id, {vector} AS embedding, m.fingerprint AS model,
    {name} AS model_name, {version} AS model_version, k.ordinal AS chunk_index
FROM chunks AS k
JOIN documents AS d ON d.id = k.document_id
JOIN collections AS c ON c.id = d.collection_id
JOIN embeddings AS e ON e.key = k.embedding_key
JOIN models AS m ON m.id = e.model_id
"""

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

_SQLITE: Final = {
    "vector": "e.vector",
    "hash": "lower(hex(k.embedding_key))",
    "category": "coalesce(d.metadata ->> '$.category', d.inherited ->> '$.category')",
    "date": "coalesce(d.metadata ->> '$.date', d.inherited ->> '$.date')",
    "headings": "(SELECT group_concat(' > ' || value, '') FROM json_each(k.heading_path))",
    "words": "lower(k.chunk_text)",
    "type": "coalesce(d.metadata ->> '$.content_type', '')",
    "config": " OR ".join(
        f"d.path LIKE '%.{one}'" for one in CONFIG_EXTENSIONS.replace("ya?ml", "yaml|yml").split("|")
    ),
    "name": "CASE WHEN instr(m.fingerprint, '@') THEN substr(m.fingerprint, 1, instr(m.fingerprint, '@') - 1) "
    "ELSE m.fingerprint END",
    "version": "CASE WHEN instr(m.fingerprint, '@') THEN substr(m.fingerprint, instr(m.fingerprint, '@') + 1) "
    "ELSE '' END",
    "array": "json_group_array(alias)",
    "object": "json_object",
    "after": "max",
}
_POSTGRES: Final = {
    "vector": "pinakes_vector(e.vector)",
    "hash": "encode(sha256(convert_to(k.chunk_text, 'UTF8')), 'hex')",
    "category": "coalesce(d.metadata ->> 'category', d.inherited ->> 'category')",
    "date": "coalesce(d.metadata ->> 'date', d.inherited ->> 'date')",
    "headings": "(SELECT string_agg(' > ' || one.value, '' ORDER BY one.place) "
    "FROM json_array_elements_text(k.heading_path) WITH ORDINALITY AS one (value, place))",
    "words": "to_tsvector('simple', k.chunk_text)",
    "type": "coalesce(d.metadata ->> 'content_type', '')",
    "config": f"d.path ~* '^({CONFIG_PATTERN})$'",
    "name": "split_part(m.fingerprint, '@', 1)",
    "version": "split_part(m.fingerprint, '@', 2)",
    "array": "coalesce(jsonb_agg(alias), '[]'::jsonb)",
    "object": "jsonb_build_object",
    "after": "greatest",
}


def create_views(connection: Connection) -> None:
    """Make the views, and what they need."""
    in_postgresql = connection.dialect.name == "postgresql"
    if in_postgresql:
        connection.exec_driver_sql(_VECTOR)
    words = _POSTGRES if in_postgresql else _SQLITE
    words = {**words, "aliases": _ALIASES.format(**words), "context": _CONTEXT.format(**words)}
    for view in (_KNOWLEDGE_BASE, _INDEXED_CONTENT, _VECTOR_EMBEDDINGS, _KNOWLEDGE_ENTITIES, _ENTITY_RELATIONSHIPS):
        connection.exec_driver_sql(view.format(**words))


def drop_views(connection: Connection) -> None:
    """Remove the views, where there are any."""
    for name in VIEWS:
        connection.exec_driver_sql(f"DROP VIEW IF EXISTS {name}")


@event.listens_for(metadata, "after_create")
def _with_the_tables(_metadata: object, connection: Connection, **_: Any) -> None:
    create_views(connection)
