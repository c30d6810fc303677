"""Who knows most of an entity, and which documents are to be looked at when it changes, each with what says so."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, Literal, TypeAlias

from pinakes.catalog import Connection, entities, graph_listing, stated_edges
from pinakes.catalog.graph_listing import SpeakingDocument
from pinakes.catalog.stated_edges import Edge
from pinakes.core.graph_records import MAX_NAME_CHARS, folded
from pinakes.core.records import JSON
from pinakes.extraction.declared_names import STAND_FOR_NOTHING
from pinakes.graph.metadata_evidence import outside_words
from pinakes.settings import GraphRules

WROTE: Final = ("authors", "author", "editor")
"""Metadata fields that name who wrote a document; ``authors`` of a repository are those of its history."""

ANSWERS: Final = (
    "owners",
    "owner",
    "dri",
    "team_member",
    "maintainers",
    "maintainer",
    "contact",
    "approvers",
    "reviewers",
)
"""Metadata fields that name who answers for a document."""

Link: TypeAlias = Literal["about", "states", "mentions", "related"]

MOST_DOCUMENTS: Final = 2_000
"""So many documents that mention an entity are looked at, those of most mentions first."""

_MOST_EVIDENCE = 3
_MOST_PEOPLE = 50
_MOST_RELATED = 200
_RANKS: Final[Mapping[str, int]] = {"about": 0, "states": 1, "mentions": 2, "related": 3}
_ADDRESS = re.compile(r"\s*<[^>]*>\s*$")


@dataclass(frozen=True, slots=True)
class SpokenFor:
    """A document of somebody: ``mentions`` of the entity, and the metadata ``fields`` that name the person."""

    uid: str
    path: str
    title: str
    mentions: int
    fields: Sequence[str]


@dataclass(frozen=True, slots=True)
class Expert:
    """Somebody who ``wrote`` so many documents that mention an entity, and ``answers`` for so many.

    ``mentions``: places in all of them. ``documents``: some, those that they wrote first.
    """

    name: str
    wrote: int
    answers: int
    mentions: int
    documents: Sequence[SpokenFor] = ()


@dataclass(frozen=True, slots=True)
class Affected:
    """A document to look at when an entity changes, and why.

    ``link``: it is "about" the entity, "states" a relation of it, "mentions" it, or is about an entity that is
    "related" to it. ``relations``: as "SOURCE TYPE TARGET". ``text``: the words, or "FIELD: VALUE".
    """

    uid: str
    path: str
    title: str
    link: Link
    mentions: int
    confidence: float
    relations: Sequence[str] = ()
    text: str = ""


@dataclass(slots=True)
class _Person:
    name: str
    wrote: set[int] = field(default_factory=set)
    answers: set[int] = field(default_factory=set)
    fields: dict[int, list[str]] = field(default_factory=dict)


def experts(connection: Connection, collection_id: int, entity_id: int, limit: int) -> list[Expert]:
    """Return who wrote most of the documents that mention an entity, then who answers for most of them."""
    spoken = {one.id: one for one in graph_listing.speaking_of(connection, entity_id, MOST_DOCUMENTS)}
    people: dict[str, _Person] = {}
    for one in spoken.values():
        for name, key in _people(one):
            person = people.setdefault(_person_key(name), _Person(name))
            (person.wrote if key in WROTE else person.answers).add(one.id)
            named = person.fields.setdefault(one.id, [])
            if key not in named:
                named.append(key)
    joined = _joined(connection, collection_id, people)
    found = [_expert(one, spoken) for one in joined]
    return sorted(found, key=lambda one: (-one.wrote, -one.answers, -one.mentions, one.name))[:limit]


def _people(one: SpeakingDocument) -> Iterator[tuple[str, str]]:
    for key in (*WROTE, *ANSWERS):
        value = one.metadata.get(key)
        for each in (value if isinstance(value, list) else [value])[:_MOST_PEOPLE]:
            name = _name(each)
            if name and _person_key(name):
                yield name, key


def _name(value: JSON) -> str:
    if isinstance(value, Mapping):
        value = value.get("name")
    name = _ADDRESS.sub("", value).strip().lstrip("@")[:MAX_NAME_CHARS] if isinstance(value, str) else ""
    return "" if name.casefold().strip(".-") in STAND_FOR_NOTHING else name


def _person_key(name: str) -> str:
    return folded(name).lstrip("@")


def _joined(connection: Connection, collection_id: int, people: Mapping[str, _Person]) -> list[_Person]:
    """Return people once who have several names by the lists and merges of the graph: an alias, a handle."""
    keys = [key for name in people for key in (name, f"@{name}")]
    main = {key.lstrip("@"): name for key, name in graph_listing.main_names(connection, collection_id, keys).items()}
    found: dict[str, _Person] = {}
    for key, person in people.items():
        known = main.get(key, key)
        one = found.setdefault(known, _Person(people[known].name if known in people else person.name))
        one.wrote |= person.wrote
        one.answers |= person.answers
        for document, names in person.fields.items():
            one.fields[document] = list(dict.fromkeys([*one.fields.get(document, []), *names]))
    return list(found.values())


def _expert(one: _Person, spoken: Mapping[int, SpeakingDocument]) -> Expert:
    every = [spoken[number] for number in one.fields]
    every.sort(key=lambda each: (each.id not in one.wrote, -each.mentions, each.path))
    shown = [SpokenFor(each.uid, each.path, each.title, each.mentions, one.fields[each.id]) for each in every]
    total = sum(each.mentions for each in every)
    return Expert(one.name, len(one.wrote), len(one.answers - one.wrote), total, shown[:_MOST_EVIDENCE])


def affected(connection: Connection, rules: GraphRules, entity_id: int, limit: int) -> list[Affected]:
    """Return the documents that speak of an entity, the most direct first.

    Those about it come first, then those that state a relation of it, those that mention it, and those about an entity
    that is related to it.
    """
    found: dict[int, Affected] = {}
    for said in graph_listing.statements_of(connection, entity_id, MOST_DOCUMENTS):
        one = found.get(said.document_id) or Affected(said.uid, said.path, said.title, "states", 0, said.confidence)
        relations = dict.fromkeys([*one.relations, f"{said.source} {said.type} {said.target}"])
        ends, metadata = (said.source, said.target), said.metadata or {}
        text = one.text or said.text or outside_words(rules, said.extractor, said.path, metadata, ends)
        found[said.document_id] = replace(one, relations=tuple(relations), text=text)
    words = {one.document_id: one for one in stated_edges.mentions(connection, entity_id, limit)}
    for each in graph_listing.speaking_of(connection, entity_id, MOST_DOCUMENTS):
        place = words.get(each.id)
        text = place.context if place and place.end > place.start else ""
        fresh = Affected(each.uid, each.path, each.title, "mentions", 0, place.confidence if place else 0.0, (), text)
        one = found.get(each.id) or fresh
        found[each.id] = replace(
            one, link="about" if each.is_about else one.link, mentions=each.mentions, text=one.text or text
        )
    _add_related(connection, entity_id, found)
    order = sorted(found.values(), key=lambda one: (_RANKS[one.link], -len(one.relations), -one.mentions, one.path))
    return order[:limit]


def _add_related(connection: Connection, entity_id: int, found: dict[int, Affected]) -> None:
    edges = stated_edges.edges(connection, [entity_id])[:_MOST_RELATED]
    names = {number: one.name for number, one in entities.of_ids(connection, _ends(edges)).items()}
    others = {end: edge for edge in reversed(edges) for end in (edge.source_id, edge.target_id) if end != entity_id}
    for other, number, uid, path, title in graph_listing.about_any(connection, others, MOST_DOCUMENTS):
        if number not in found:
            edge = others[other]
            relation = f"{names[edge.source_id]} {edge.type} {names[edge.target_id]}"
            found[number] = Affected(uid, path, title, "related", 0, edge.confidence, (relation,))


def _ends(edges: Sequence[Edge]) -> set[int]:
    return {end for edge in edges for end in (edge.source_id, edge.target_id)}
