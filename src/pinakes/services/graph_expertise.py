"""Experts on an entity, and documents to review when it changes, each with its evidence."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, Literal, TypeAlias, TypeVar

from pinakes.catalog import Connection, entities, graph_listing, stated_edges
from pinakes.catalog.graph_listing import MentioningDocument, StatementWords
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

_Row = TypeVar("_Row")

MOST_DOCUMENTS: Final = 2_000
"""So many documents that mention an entity are looked at, those of most mentions first."""

MOST_STATEMENTS: Final = 2_000
"""So many statements of its relations are looked at, the surest first."""

_MOST_EVIDENCE = 3
_MOST_PEOPLE = 50
_MOST_RELATED = 200
_MOST_READ = 5
"""So many statements of a document are read for words."""

_MORE_DOCUMENTS = f"of the documents that mention it only {MOST_DOCUMENTS:,} are looked at, those of most mentions"
_MORE_RELATED = (
    f"of documents about related entities only {MOST_DOCUMENTS:,} are listed, by the {_MOST_RELATED} surest relations"
)
_RANKS: Final[Mapping[str, int]] = {"about": 0, "states": 1, "mentions": 2, "related": 3}
_ADDRESS = re.compile(r"\s*<[^>]*>\s*$")


@dataclass(frozen=True, slots=True)
class PersonDocument:
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
    documents: Sequence[PersonDocument] = ()


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


@dataclass(frozen=True, slots=True)
class ExpertPage:
    """Some experts, of ``total``. ``notes``: which documents were not looked at."""

    experts: Sequence[Expert]
    total: int
    notes: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class AffectedPage:
    """Some documents to look at, of ``total``. ``notes``: what was not looked at."""

    documents: Sequence[Affected]
    total: int
    notes: Sequence[str] = ()


@dataclass(slots=True)
class _Person:
    name: str
    wrote: set[int] = field(default_factory=set)
    answers: set[int] = field(default_factory=set)
    fields: dict[int, list[str]] = field(default_factory=dict)


def experts(connection: Connection, collection_id: int, entity_id: int, start: int, limit: int) -> ExpertPage:
    """Return who wrote most of the documents that mention an entity, then who answers for most of them."""
    known = graph_listing.mentioning_documents(connection, entity_id, MOST_DOCUMENTS + 1, metadata=True)
    some, more = _cut(known, MOST_DOCUMENTS)
    spoken = {one.id: one for one in some}
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
    ranked = sorted(found, key=lambda one: (-one.wrote, -one.answers, -one.mentions, one.name))
    return ExpertPage(ranked[start : start + limit], len(ranked), (_MORE_DOCUMENTS,) if more else ())


def _people(one: MentioningDocument) -> Iterator[tuple[str, str]]:
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


def _expert(one: _Person, spoken: Mapping[int, MentioningDocument]) -> Expert:
    every = [spoken[number] for number in one.fields]
    every.sort(key=lambda each: (each.id not in one.wrote, -each.mentions, each.path))
    shown = [PersonDocument(each.uid, each.path, each.title, each.mentions, one.fields[each.id]) for each in every]
    total = sum(each.mentions for each in every)
    return Expert(one.name, len(one.wrote), len(one.answers - one.wrote), total, shown[:_MOST_EVIDENCE])


def affected(connection: Connection, rules: GraphRules, entity_id: int, start: int, limit: int) -> AffectedPage:
    """Return the documents that speak of an entity, the most direct first, from number ``start`` on.

    Those about it come first, then those that state a relation of it, those that mention it, and those about an entity
    that is related to it. Words are read of those that are returned only.
    """
    listed, more_statements = _cut(
        graph_listing.statements_of(connection, entity_id, MOST_STATEMENTS + 1), MOST_STATEMENTS
    )
    statements, relations = dict[int, list[int]](), dict[int, dict[str, None]]()
    found: dict[int, Affected] = {}
    for each in listed:
        number = each.document_id
        found.setdefault(number, Affected(each.uid, each.path, each.title, "states", 0, each.confidence))
        relations.setdefault(number, {})[f"{each.source} {each.type} {each.target}"] = None
        statements.setdefault(number, []).append(each.id)
    found = {number: replace(one, relations=tuple(relations[number])) for number, one in found.items()}
    spoken, more_spoken = _cut(
        graph_listing.mentioning_documents(connection, entity_id, MOST_DOCUMENTS + 1), MOST_DOCUMENTS
    )
    for document in spoken:
        fresh = Affected(document.uid, document.path, document.title, "mentions", 0, 0.0)
        one = found.get(document.id, fresh)
        found[document.id] = replace(one, link="about" if document.is_about else one.link, mentions=document.mentions)
    more_related = _add_related(connection, entity_id, found)
    order = sorted(
        found.items(), key=lambda one: (_RANKS[one[1].link], -len(one[1].relations), -one[1].mentions, one[1].path)
    )
    shown = dict(order[start : start + limit])
    notes = [f"of its statements only the {MOST_STATEMENTS:,} surest are looked at"] if more_statements else []
    notes += [_MORE_DOCUMENTS] if more_spoken else []
    notes += [_MORE_RELATED] if more_related else []
    return AffectedPage(_with_words(connection, rules, entity_id, shown, statements), len(found), tuple(notes))


def _with_words(
    connection: Connection,
    rules: GraphRules,
    entity_id: int,
    shown: Mapping[int, Affected],
    statements: Mapping[int, Sequence[int]],
) -> list[Affected]:
    """Return documents with the words that say what they have to do with an entity. ``statements``: ids by document."""
    first = {number: statements.get(number, ())[:_MOST_READ] for number in shown}
    words = graph_listing.words_of(connection, [one for some in first.values() for one in some])
    places = {one.document_id: one for one in stated_edges.mentions(connection, entity_id, len(shown), shown)}
    found = list[Affected]()
    for number, one in shown.items():
        text, place = next(filter(None, (_words(rules, words[each]) for each in first[number])), ""), places.get(number)
        if place is not None:
            text = text or (place.context if place.end > place.start else "")
            one = replace(one, confidence=one.confidence or place.confidence)
        found.append(replace(one, text=text))
    return found


def _words(rules: GraphRules, statement: StatementWords) -> str:
    ends = statement.source, statement.target
    return statement.text or outside_words(rules, statement.extractor, statement.path, statement.metadata or {}, ends)


def _add_related(connection: Connection, entity_id: int, found: dict[int, Affected]) -> bool:
    """Add the documents about related entities; say whether there are more of these than are looked at."""
    edges, more = _cut(stated_edges.edges(connection, [entity_id]), _MOST_RELATED)
    ends = {end for edge in edges for end in (edge.source_id, edge.target_id)}
    names = {number: one.name for number, one in entities.of_ids(connection, ends).items()}
    others = {end: edge for edge in reversed(edges) for end in (edge.source_id, edge.target_id) if end != entity_id}
    about, more_about = _cut(graph_listing.about_any(connection, others, MOST_DOCUMENTS + 1), MOST_DOCUMENTS)
    for other, number, uid, path, title in about:
        if number not in found:
            edge = others[other]
            relation = f"{names[edge.source_id]} {edge.type} {names[edge.target_id]}"
            found[number] = Affected(uid, path, title, "related", 0, edge.confidence, (relation,))
    return more or more_about


def _cut(found: Sequence[_Row], most: int) -> tuple[Sequence[_Row], bool]:
    """Return at most so many, and whether there are more."""
    return found[:most], len(found) > most
