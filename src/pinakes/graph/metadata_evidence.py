"""Evidence outside of the text of a document: the metadata field and value, or the path, that state a relation."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Final

from pinakes.catalog import Connection, graph_lookups, graph_statistics
from pinakes.catalog.graph_statistics import FIELD
from pinakes.catalog.stated_edges import Evidence
from pinakes.core.graph_records import folded
from pinakes.core.records import JSON
from pinakes.extraction.declared_names import names_in, texts_of
from pinakes.graph.chunk_expansion import ReachedChunks
from pinakes.settings import GraphRules

_MOST_CHARS: Final = 200
_BY_PATH: Final = frozenset({"topics", "code:build"})
"""Extractors that also find relations in the paths of documents: what a file or folder is part of."""


def field_of(extractor: str) -> str:
    """Return the metadata field in which an extractor found something, "" where it was none."""
    return extractor.removeprefix(FIELD) if extractor.startswith(FIELD) else ""


def metadata_words(rules: GraphRules, extractor: str, metadata: Mapping[str, JSON], names: Collection[str]) -> str:
    """Return what a metadata field says of the entities ``names`` as "FIELD: VALUE", at most 200 characters.

    Of a list the value that names one of them, or else the whole list. "" where metadata has no such field.
    """
    field = field_of(extractor)
    texts = texts_of(metadata, field) if field else []
    keys, wanted = [one for one in rules.metadata if one.field == field], {folded(one) for one in names}
    meant = [text for text in texts if any(folded(one) in wanted for rule in keys for one in names_in(rule, text))]
    words = f"{field}: {', '.join(meant[:1] or texts)}" if texts else ""
    return words if len(words) <= _MOST_CHARS else f"{words[: _MOST_CHARS - 1]}…"


def outside_words(
    rules: GraphRules, extractor: str, path: str, metadata: Mapping[str, JSON], names: Collection[str]
) -> str:
    """Return what a document says outside of its text: "FIELD: VALUE" or "path: PATH"; "" where nothing is known."""
    if field_of(extractor):
        return metadata_words(rules, extractor, metadata, names)
    return f"path: {path}" if extractor in _BY_PATH else ""


def with_metadata(
    connection: Connection,
    rules: GraphRules,
    places: Mapping[tuple[int, str, int], Sequence[Evidence]],
    names: Mapping[int, Collection[str]],
) -> dict[tuple[int, str, int], list[Evidence]]:
    """Return the places of relations with the words of metadata. ``names``: id of an entity → its names."""
    stated = [one.document_id for some in places.values() for one in some if field_of(one.extractor) and not one.field]
    held = graph_statistics.metadata_of(connection, stated) if stated else {}
    found = dict[tuple[int, str, int], list[Evidence]]()
    for key, some in places.items():
        ends = {*names.get(key[0], ()), *names.get(key[2], ())}
        found[key] = [with_words(one, rules, held.get(one.document_id, {}), ends) for one in some]
    return found


def with_words(one: Evidence, rules: GraphRules, metadata: Mapping[str, JSON], names: Collection[str]) -> Evidence:
    """Return a place with the words of ``metadata`` where that says it."""
    if one.field or one.end > one.start:
        return one
    words = outside_words(rules, one.extractor, one.path, metadata, names)
    return replace(one, text=words, context=words, field=field_of(one.extractor)) if words else one


def with_statements(
    connection: Connection, rules: GraphRules, reached: ReachedChunks, chunks: Collection[int]
) -> ReachedChunks:
    """Return ``reached`` with the places that state the relations to these chunks, and the words of metadata there."""
    hops = {hop.statement: hop for one in chunks for hop in reached.by_id[one].end.path}
    statements = graph_lookups.statements(connection, list(hops))
    stated = {number: one for number, one in statements.items() if not one.text}
    declared = [one.document_id for one in stated.values() if field_of(one.extractor)]
    held = graph_statistics.metadata_of(connection, declared) if declared else {}
    for number, one in stated.items():
        ends = [reached.names[end][0] for end in (hops[number].source_id, hops[number].target_id)]
        words = outside_words(rules, one.extractor, one.path, held.get(one.document_id, {}), ends)
        statements[number] = replace(one, text=words)
    return replace(reached, stated=statements)
