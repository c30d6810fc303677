"""Updates of the derived part of a graph after its documents changed: extraction, canonical names, relations."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from pinakes.catalog import (
    Catalog,
    Connection,
    changes,
    code_symbols,
    derived_rows,
    entities,
    entity_changes,
    graph_state,
    graph_statistics,
    stated_edges,
)
from pinakes.catalog.collections import CollectionRecord
from pinakes.catalog.derived_rows import DerivedMention, DerivedRelation
from pinakes.catalog.entities import Decision, EntityRecord, Resolution
from pinakes.catalog.entity_changes import EntityFact, Touched
from pinakes.catalog.graph_state import GraphState
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
    known = graph_state.state(connection, record.id)
    return (
        known.recipe != extraction.recipe
        or (known.position, known.decided) != _present(connection, record)
        or entity_changes.is_any(connection, record.id)
    )


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
    done = 0
    for number in range(_MOST_ROUNDS):
        before = done
        done = _extract_waiting(catalog, record, extraction, on_step, before)
        if extraction.rules.topics and (done > before or not number):
            _put_topics(catalog, record, extraction.rules)
        if _resolve(catalog, record, extraction):
            break
    return True


def _present(connection: Connection, record: CollectionRecord) -> tuple[int, int]:
    return changes.head(connection, record.id), entities.last_decision(connection, record.id)


def _extract_waiting(
    catalog: Catalog, record: CollectionRecord, extraction: Extraction, on_step: Callable[[int], object], done: int
) -> int:
    """Extract the documents that were written without that, or by another recipe, each once: it may change meanwhile.

    Returns how many were extracted by now, together with those ``done`` before.
    """
    last = 0
    while True:
        with catalog.read() as connection:
            ids = entities.outdated(connection, record.id, extraction.recipe, _BATCH, last)
            held = entities.subjects(connection, ids)
        if not ids:
            return done
        found = []
        for one in held:
            document = Document(one.text, one.title, one.kind, one.language)
            found.append((one, extraction.extract(one.path, one.title, document, one.metadata)))
        named = {name.key: name for _, findings in found for name in findings.entities()}
        with catalog.write() as connection:
            entities.ensure(connection, record.id, named.values())
        with catalog.write() as connection:
            noted = not graph_state.is_anew(connection, record.id, extraction.recipe)
            now = {one.id: one for one in entities.subjects(connection, ids)}  # masking a text makes no new version
            for one, findings in found:
                if now.get(one.id) == one:
                    entities.put(connection, record.id, one.id, findings, noted=noted)
                    if noted:
                        entity_changes.note_document(connection, record.id, one.id)
        done, last = done + len(ids), ids[-1]
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
        changed = derived_rows.put_mentions(connection, record.id, _TOPICS, mentions)
        changed |= derived_rows.put_relations(connection, record.id, _TOPICS, relations)
        entity_changes.note(connection, record.id, changed)


def _co_occurring(
    connection: Connection, record: CollectionRecord, rules: GraphRules, found: Canonical, types: Mapping[int, str]
) -> list[DerivedRelation]:
    main = {one.id: one.canonical_id or one.id for one in found.resolutions}
    counted = {one: canon for one, canon in main.items() if types[canon] not in (UNTYPED, *STRUCTURE)}
    return co_occurring(derived_rows.mentioning(connection, record.id, counted), counted, rules.co_occurs)


@dataclass(frozen=True, slots=True)
class _Computed:
    """What is to be written of a graph, and from what it was computed.

    ``touched``: the entities that changed since; ``changed``: what became of those that are not as they were;
    ``near``: all of these and what they mean and meant, None for all entities; ``meanings`` of names in code, of
    ``names`` only (None = all); ``together``: co-occurrence; ``aliases``: other names of entities, as (entity, name,
    folded name).
    """

    known: GraphState
    reached: GraphState
    touched: Touched
    facts: Sequence[EntityFact]
    changed: Sequence[Resolution]
    near: Collection[int] | None
    names: Collection[int] | None
    meanings: Sequence[Mapping[str, Any]]
    together: Sequence[DerivedRelation]
    aliases: Sequence[tuple[EntityName, str, str]]


def _resolve(catalog: Catalog, record: CollectionRecord, extraction: Extraction) -> bool:
    """Compute canonical names and statistics; False where that is to be done again.

    That is where documents wait to be extracted, entities were missing, or somebody else computed them meanwhile. What
    no changed document mentions is taken as it was computed before.
    """
    with catalog.read() as connection:
        if not is_behind(connection, record, extraction):
            return True
        if entities.outdated(connection, record.id, extraction.recipe, 1):
            return False
        computed = _compute(connection, record, extraction)
    if not isinstance(computed, _Computed):
        with catalog.write() as connection:
            entities.ensure(connection, record.id, computed)
        return False
    with catalog.write() as connection:
        if not graph_state.take_turn(connection, record.id, computed.known):
            return False
        _write(connection, record, extraction, computed)
    return True


def _compute(
    connection: Connection, record: CollectionRecord, extraction: Extraction
) -> _Computed | Sequence[EntityName]:
    """Return what became of the entities of a collection, or those that need a row first."""
    rules = extraction.rules
    position, decided = _present(connection, record)
    known = graph_state.state(connection, record.id)
    as_before = known.recipe == extraction.recipe
    touched = entity_changes.since(connection, record.id, known.position if as_before else 0, known.newest)
    every = entities.every(connection, record.id)
    new, old = entity_changes.facts(connection, record.id, touched)
    decisions = entities.decisions(connection, record.id)
    own_names = entities.own_names(connection, record.id)
    in_one = partial(entities.are_together, connection)
    found = canonical(every, [*new, *old], decisions, rules, extraction.listings, own_names, in_one)
    if found.missing:
        return found.missing
    names: Collection[int] | None = None
    if rules.code and touched.entities is not None:
        names = code_resolution.affected(connection, record.id, touched.entities)
    of_code = code_resolution.resolve(connection, record.id, names) if rules.code else []
    kinds = {one.id: one.type for one in every}
    changed = [one for was, one in zip(every, found.resolutions, strict=True) if _differs(was, one)]
    newest = entity_changes.newest(connection, record.id)
    return _Computed(
        known,
        GraphState(position, extraction.recipe, decided, newest=newest, times=known.times + 1),
        touched,
        new,
        changed,
        None if touched.entities is None else _near(every, found.resolutions, touched.entities),
        names,
        of_code,
        _co_occurring(connection, record, rules, found, kinds) if rules.co_occurs else [],
        _aliases(_titles(connection, record, rules, found, every), extraction, decisions, every),
    )


def _differs(was: EntityRecord, one: Resolution) -> bool:
    return (was.canonical_id, was.why, was.confidence) != (one.canonical_id, one.why, one.confidence)


def _near(every: Sequence[EntityRecord], found: Sequence[Resolution], touched: Collection[int]) -> set[int]:
    """Return the entities whose counts or types may change: those touched, those merged anew, and their main ones."""
    near = set(touched)
    for was, one in zip(every, found, strict=True):
        if one.id in touched or was.canonical_id != one.canonical_id:
            near.update((one.id, was.canonical_id or one.id, one.canonical_id or one.id))
    return near


def _write(connection: Connection, record: CollectionRecord, extraction: Extraction, computed: _Computed) -> None:
    touched = computed.touched
    if extraction.rules.code:
        code_symbols.write(connection, record.id, computed.meanings, computed.names)
    entities.resolve(connection, computed.changed)
    entity_changes.put_facts(connection, record.id, touched, computed.facts)
    if touched.entities is None or extraction.rules.co_occurs:
        derived_rows.put_relations(connection, record.id, _TOGETHER, computed.together)
    entities.count(connection, record.id, computed.near)
    meant = None if computed.near is None else {*computed.near, *(computed.names or ())}
    stated_edges.check_types(connection, record.id, ends_of(extraction.rules), meant)
    entities.put_aliases(connection, record.id, computed.aliases)
    entity_changes.forget(connection, touched)
    graph_state.put_state(connection, record.id, computed.reached)


def _aliases(
    titles: Sequence[tuple[EntityName, str, str]],
    extraction: Extraction,
    decisions: Sequence[Decision],
    every: Sequence[EntityRecord],
) -> list[tuple[EntityName, str, str]]:
    """Return other names of entities: titles, those of lists, and those that people gave and no document mentions."""
    listed = [(one.entity, alias, folded(alias)) for one in extraction.listings for alias in one.aliases]
    mentioned = {(row.type, row.folded) for row in every}
    given = [
        (EntityName(one.type, one.name), one.other, one.other)
        for one in decisions
        if one.kind == "merge" and (one.other_type or one.type, one.other) not in mentioned
    ]
    split = {frozenset((one.name, one.other)) for one in decisions if one.kind == "split"}
    return [one for one in (*titles, *listed, *given) if frozenset((one[0].key[1], one[2])) not in split]


def _titles(
    connection: Connection,
    record: CollectionRecord,
    rules: GraphRules,
    found: Canonical,
    every: Sequence[EntityRecord],
) -> list[tuple[EntityName, str, str]]:
    """Return (entity, title, folded title) of the entities that documents are about; two may have the same title."""
    if not any(one.titles for one in rules.documents):
        return []
    rows = {one.id: one for one in every}
    main = {one.id: rows[one.canonical_id or one.id] for one in found.resolutions}
    titles = dict[tuple[int, str], tuple[EntityName, str, str]]()
    for entity_id, path, metadata in graph_statistics.described_entities(connection, record.id):
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
