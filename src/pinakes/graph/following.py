"""The derived part of a graph follows its documents: what waits is extracted, names are made canonical."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from functools import partial

from pinakes.catalog import (
    Catalog,
    Connection,
    changes,
    code_symbols,
    derived_rows,
    described_entities,
    documents,
    entities,
    stated_edges,
)
from pinakes.catalog.collections import CollectionRecord
from pinakes.catalog.derived_rows import DerivedMention, DerivedRelation
from pinakes.catalog.entities import EntityRecord, GraphState
from pinakes.core.graph_records import PART_OF, STRUCTURE, TOPIC, UNTYPED, EntityName, folded
from pinakes.core.records import Document
from pinakes.extraction import Extraction
from pinakes.extraction.declared_names import titles_of
from pinakes.graph import code_resolution
from pinakes.graph.canonical import Canonical, canonical
from pinakes.graph.co_occurrence import co_occurring
from pinakes.graph.topic_tree import topics_of
from pinakes.settings import GraphRules

_log = logging.getLogger(__name__)

_BATCH = 50
_MOST_ROUNDS = 4
_TOPICS, _TOGETHER = "topics", "co-occurrence"


def is_behind(connection: Connection, record: CollectionRecord, extraction: Extraction) -> bool:
    """Say whether documents, rules or decisions are others than those that the graph was computed from."""
    known = entities.state(connection, record.id)
    return known.recipe != extraction.recipe or (known.position, known.decided) != _present(connection, record)


def follow(
    catalog: Catalog,
    record: CollectionRecord,
    extraction: Extraction,
    on_step: Callable[[int], object] = lambda _: None,
) -> bool:
    """Bring the graph of a collection up to date; say whether anything was to be done.

    ``on_step`` is told how many documents were extracted by now; it may raise to stop, and the next call goes on.
    """
    with catalog.read() as connection:
        if not is_behind(connection, record, extraction):
            return False
    for problem in extraction.problems:
        _log.warning("collection %r: %s", record.name, problem)
    _extract_waiting(catalog, record, extraction, on_step)
    if extraction.rules.topics:
        _put_topics(catalog, record, extraction.rules)
    for _ in range(_MOST_ROUNDS):
        if _resolve(catalog, record, extraction):
            break
    return True


def _present(connection: Connection, record: CollectionRecord) -> tuple[int, int]:
    return changes.head(connection, record.id), entities.last_decision(connection, record.id)


def _extract_waiting(
    catalog: Catalog, record: CollectionRecord, extraction: Extraction, on_step: Callable[[int], object]
) -> None:
    """Extract the documents that were written without that, or by another recipe."""
    done = 0
    while True:
        with catalog.read() as connection:
            ids = entities.outdated(connection, record.id, extraction.recipe, _BATCH)
            held = entities.subjects(connection, ids)
        if not ids:
            return
        found = []
        for one in held:
            document = Document(one.text, one.title, one.kind, one.language)
            found.append((one, extraction.extract(one.path, one.title, document, one.metadata)))
        named = {name.key: name for _, findings in found for name in findings.entities()}
        with catalog.write() as connection:
            entities.ensure(connection, record.id, named.values())
        with catalog.write() as connection:
            versions = {one.id: one.version for one in documents.of_ids(connection, ids)}
            for one, findings in found:
                if versions.get(one.id) == one.version:
                    entities.put(connection, record.id, one.id, findings)
        done += len(ids)
        on_step(done)


def _put_topics(catalog: Catalog, record: CollectionRecord, rules: GraphRules) -> None:
    with catalog.read() as connection:
        found = topics_of(derived_rows.sectioned(connection, record.id), rules.not_names)
    names = {one.name: EntityName(TOPIC, one.name) for one in found}
    with catalog.write() as connection:
        entities.ensure(connection, record.id, names.values())
    with catalog.write() as connection:
        ids = entities.ids(connection, record.id, {one.key for one in names.values()})
        number = {name: ids[one.key] for name, one in names.items()}
        mentions = [
            DerivedMention(document, number[one.name], *span, 1.0) for one in found for document, span in one.places
        ]
        relations = [
            DerivedRelation(one.places[0][0], number[one.name], PART_OF, number[one.parent], *one.places[0][1], 1.0)
            for one in found
            if one.parent and one.places and number[one.name] != number[one.parent]
        ]
        derived_rows.put_mentions(connection, record.id, _TOPICS, mentions)
        derived_rows.put_relations(connection, record.id, _TOPICS, relations)


def _co_occurring(
    connection: Connection, record: CollectionRecord, rules: GraphRules, found: Canonical, types: Mapping[int, str]
) -> list[DerivedRelation]:
    if not rules.co_occurs:
        return []
    main = {one.id: one.canonical_id or one.id for one in found.resolutions}
    counted = {one: canon for one, canon in main.items() if types[canon] not in (UNTYPED, *STRUCTURE)}
    return co_occurring(derived_rows.mentioning(connection, record.id), counted, rules.co_occurs)


def _resolve(catalog: Catalog, record: CollectionRecord, extraction: Extraction) -> bool:
    """Compute canonical names and statistics; False where entities were missing, so that it is to be done again."""
    with catalog.read() as connection:
        every = entities.every(connection, record.id)
        facts = entities.facts(connection, record.id)
        decisions = entities.decisions(connection, record.id)
        own_names = entities.own_names(connection, record.id)
        position, decided = _present(connection, record)
        in_one = partial(entities.are_together, connection)
        found = canonical(every, facts, decisions, extraction.rules, extraction.listings, own_names, in_one)
        of_code = code_resolution.resolve(connection, record.id) if extraction.rules.code else []
    if found.missing:
        with catalog.write() as connection:
            entities.ensure(connection, record.id, found.missing)
        return False
    before = {one.id: one for one in every}
    changed = [
        one
        for one in found.resolutions
        if (one.canonical_id, one.why, one.confidence)
        != (before[one.id].canonical_id, before[one.id].why, before[one.id].confidence)
    ]
    kinds = {one.id: one.type for one in every}
    with catalog.read() as connection:
        together = _co_occurring(connection, record, extraction.rules, found, kinds)
        titles = _titles(connection, record, extraction.rules, found, before)
    aliases = [(one.entity, alias, folded(alias)) for one in extraction.listings for alias in one.aliases]
    types = [before[one.id].type for one in found.resolutions if one.canonical_id is None]
    figures = {"entities": sum(kind != UNTYPED for kind in types), "candidates": types.count(UNTYPED)}
    with catalog.write() as connection:
        if extraction.rules.code:
            code_symbols.write(connection, record.id, of_code)
        reached = GraphState(position, extraction.recipe, decided, figures=figures)
        entities.resolve(connection, record.id, changed, [*titles, *aliases], reached)
        derived_rows.put_relations(connection, record.id, _TOGETHER, together)
        for relation, (sources, targets) in ends_of(extraction.rules).items():
            stated_edges.check_types(connection, record.id, relation, sources, targets)
    return True


def _titles(
    connection: Connection,
    record: CollectionRecord,
    rules: GraphRules,
    found: Canonical,
    rows: Mapping[int, EntityRecord],
) -> list[tuple[EntityName, str, str]]:
    """Return (entity, title, folded title) of the entities that documents are about; two may have the same title."""
    if not any(one.titles for one in rules.documents):
        return []
    main = {one.id: rows[one.canonical_id or one.id] for one in found.resolutions}
    titles = dict[tuple[int, str], tuple[EntityName, str, str]]()
    for entity_id, path, metadata in described_entities.each(connection, record.id):
        one = main.get(entity_id)
        for title in titles_of(rules.documents, path, metadata) if one is not None else ():
            key = folded(title)
            if one is not None and key != one.folded:
                titles.setdefault((one.id, key), (EntityName(one.type, one.name), title, key))
    return list(titles.values())


def ends_of(rules: GraphRules) -> dict[str, tuple[set[str], set[str]]]:
    """Return type of relation → the types that its sources and targets may have; none = any."""
    found: dict[str, tuple[set[str], set[str]]] = {}
    for rule in rules.relations:
        sources, targets = found.setdefault(rule.type, (set(), set()))
        sources.update(rule.source or rules.types)
        targets.update(rule.target or rules.types)
    for ends in found.get(PART_OF, ()) if rules.topics else ():
        ends.add(TOPIC)
    return found
