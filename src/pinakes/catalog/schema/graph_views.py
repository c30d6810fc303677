"""The knowledge graph for people who use SQL: ``knowledge_entities`` and ``entity_relationships``."""

from __future__ import annotations

from typing import Final

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

_SQLITE: Final = {"array": "json_group_array(alias)", "object": "json_object", "after": "max"}
_POSTGRES: Final = {
    "array": "coalesce(jsonb_agg(alias), '[]'::jsonb)",
    "object": "jsonb_build_object",
    "after": "greatest",
}


def graph_views(*, in_postgresql: bool) -> tuple[str, str]:
    """Return the statements that make the two views."""
    words = _POSTGRES if in_postgresql else _SQLITE
    aliases, context = _ALIASES.format(**words), _CONTEXT.format(**words)
    return _KNOWLEDGE_ENTITIES.format(**words, aliases=aliases, context=context), _ENTITY_RELATIONSHIPS
