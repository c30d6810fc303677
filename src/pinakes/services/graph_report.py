"""The quality of the graph of a collection: completeness, defects, and what its lists lack."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from shlex import quote

from pinakes.app import App
from pinakes.catalog import Connection, entities, graph_statistics, stated_edges
from pinakes.catalog.collections import CollectionRecord
from pinakes.catalog.entities import EntityRecord
from pinakes.catalog.graph_statistics import Reference
from pinakes.catalog.stated_edges import Edge
from pinakes.core.errors import InvalidInput
from pinakes.core.graph_records import DOCUMENT, LINKS_TO, WEAK, folded
from pinakes.services.graph_defects import Duplicates, duplicates, of_several_types, several_targets
from pinakes.settings import GraphRules

VENDOR, PRODUCT = "VENDOR", "PRODUCT"


@dataclass(frozen=True, slots=True)
class MissingEntity:
    """An entity that metadata ``fields`` refer to, ``references`` times, and no document is about, for a ``reason``."""

    type: str
    name: str
    reason: str
    references: int
    fields: Sequence[str]


@dataclass(frozen=True, slots=True)
class GraphReport:
    """Counts of a graph, and names for who keeps its lists.

    ``documents_with_entity`` of ``documents`` mention an entity; ``vendors_with_product`` of ``vendors`` are related to
    a product or another vendor's. ``orphans``: entities without relations. ``merged``: names that became other names.
    ``left_out``: mentions over the limits; ``left_out_of``: paths of the documents with most of them, and how many.
    ``conflicts``: directed relations that are stated both ways.
    ``unlisted``: entities that texts alone tell, ``candidates``: frequent names without a type, both as (type, name,
    documents); ``unseen``: listed names that no document mentions. ``missing``: entities that metadata refers to and no
    document is about, where documents are; ``missing_by_reason`` counts all of them. ``problems``: what is wrong with
    the lists. ``duplicates``: entities that may be one; ``several_types``: names of several types, as (name, types);
    ``several_targets``: relations that should have one target, as (source, type, targets).
    """

    collection: str
    documents: int
    documents_with_entity: int
    entities: int
    candidates_count: int
    merged: int
    relations: int
    orphans: int
    vendors: int
    vendors_with_product: int
    left_out: int
    conflicts: Sequence[tuple[str, str, str]] = field(default=())
    unlisted: Sequence[tuple[str, str, int]] = field(default=())
    candidates: Sequence[tuple[str, str, int]] = field(default=())
    unseen: Sequence[tuple[str, str]] = field(default=())
    missing: Sequence[MissingEntity] = field(default=())
    missing_by_reason: Mapping[str, int] = field(default_factory=dict)
    problems: Sequence[str] = field(default=())
    left_out_of: Sequence[tuple[str, int]] = field(default=())
    duplicates: Duplicates = field(default=Duplicates(0, ()))
    several_types: Sequence[tuple[str, Sequence[str]]] = field(default=())
    several_targets: Sequence[tuple[str, str, Sequence[str]]] = field(default=())


def report_of(app: App, collection: str, most: int = 20) -> GraphReport:
    """Return how the graph of a collection stands; it has followed its documents before.

    Raises:
        InvalidInput: the collection has no graph.
    """
    record = app.record(collection)
    extraction = app.graphs.of(record).extraction
    if extraction is None:
        raise InvalidInput(
            f"Collection {collection!r} has no graph.", hint="Name types in collections.NAME.graph.types, or a profile."
        )
    symmetric = {rule.type for rule in extraction.rules.relations if rule.symmetric} | WEAK | {LINKS_TO}
    symmetric |= {rule.relation for rule in extraction.rules.metadata if rule.symmetric}
    listed = {one.entity.key for one in extraction.listings}
    with app.catalog.read() as connection:
        known = {one.id: one for one in entities.known(connection, record.id)}
        edges = stated_edges.all_edges(connection, record.id)
        counts = graph_statistics.counts(connection, record.id)
        candidates = graph_statistics.frequent_candidates(connection, record.id, most)
        left_out = graph_statistics.most_left_out(connection, record.id, most)
        references = graph_statistics.without_document(connection, record.id, _described(extraction.rules))
        decisions = entities.decisions(connection, record.id)
    missing = [_missing(one, extraction.rules) for one in references]
    related = {end for one in edges for end in (one.source_id, one.target_id)}
    vendors = {one.id for one in known.values() if one.type == VENDOR}
    directed = {(one.source_id, one.type, one.target_id) for one in edges if one.type not in symmetric}
    both = sorted((a, kind, b) for a, kind, b in directed if a < b and (b, kind, a) in directed)
    names = {one.id: one.name for one in known.values()}
    seen = {(one.type, one.folded) for one in known.values()}
    named = (one.entity for one in extraction.listings)
    unseen = sorted((one.type, one.name) for one in named if (one.key[0], folded(one.key[1])) not in seen)
    return GraphReport(
        collection,
        counts.documents,
        counts.documents_with_entity,
        len(known),
        counts.candidates,
        counts.merged,
        len(edges),
        len(known.keys() - related),
        len(vendors),
        len(_offering(edges, known, vendors)),
        counts.left_out,
        [(known[a].name, kind, known[b].name) for a, kind, b in both if a in known and b in known][:most],
        [
            (one.type, one.name, one.documents)
            for one in known.values()
            if listed and (one.type, one.folded) not in listed
        ][:most],
        candidates,
        unseen[:most],
        missing[:most],
        dict(sorted(Counter(one.reason for one in missing).items())),
        [*extraction.problems, *_outdated(app, record)],
        left_out,
        duplicates(known.values(), {kind for kind, one in extraction.rules.types.items() if one.merge}, decisions),
        of_several_types(known.values())[:most],
        several_targets(edges, names, {rule.type for rule in extraction.rules.relations if rule.single})[:most],
    )


def _outdated(app: App, record: CollectionRecord) -> list[str]:
    """Say whether a collection keeps rules of a shipped profile as another version had them."""
    profile = app.profile_rules.outdated(record)
    if not profile:
        return []
    renewal = f"pinakes sync -c {quote(record.name)} --profile {quote(profile)}"
    return [f"the rules are as another version of the profile {profile} had them; those of this version: {renewal}"]


def _offering(edges: Sequence[Edge], known: Mapping[int, EntityRecord], vendors: set[int]) -> set[int]:
    """Return the vendors that are related to a product or another vendor."""
    return {
        end
        for one in edges
        for end, other in ((one.source_id, one.target_id), (one.target_id, one.source_id))
        if end in vendors and other in known and known[other].type in (PRODUCT, VENDOR)
    }


def why_missing(connection: Connection, entity_id: int, kind: str, name: str, rules: GraphRules) -> str:
    """Return why no document is about an entity, "" where one is, or where documents are about no such entities."""
    return (
        _reason(kind, name, rules)
        if kind in _described(rules) and not graph_statistics.has_document(connection, entity_id)
        else ""
    )


def _described(rules: GraphRules) -> set[str]:
    """Return the types of entities that documents are about."""
    return {rule.type for rule in rules.documents} | ({DOCUMENT} if rules.links else set())


def _missing(one: Reference, rules: GraphRules) -> MissingEntity:
    return MissingEntity(one.type, one.name, _reason(one.type, one.name, rules), one.references, one.fields)


def _reason(kind: str, name: str, rules: GraphRules) -> str:
    """Say why a reference leads nowhere: no document has such a name, or the reference is written in another way."""
    if kind == DOCUMENT:
        return "no document has this path"
    templates = [rule.name for rule in rules.documents if rule.type == kind]
    if any(":int" in one and re.fullmatch(_form(one), name, re.IGNORECASE) for one in templates):
        return "no document has this name"
    return f"not written as {' or '.join(templates)}"


def _form(template: str) -> str:
    """Return a regular expression of the names that a template makes."""
    parts = re.split(r"(\{\w+(?::int)?\})", template)
    return "".join(
        re.escape(part) if not at % 2 else r"\d+" if ":int" in part else ".+" for at, part in enumerate(parts)
    )
