"""Entities by name: alias, title, or a name as people write it; types in any case."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field

from pinakes.app import App
from pinakes.catalog import Connection, entities, graph_lookups
from pinakes.catalog.collections import CollectionRecord
from pinakes.catalog.entities import EntityRecord
from pinakes.core.errors import InvalidInput, NotFound
from pinakes.core.graph_records import CODE_TYPES, DOCUMENT, MAX_NAME_CHARS, STRUCTURE, folded
from pinakes.core.next_steps import step
from pinakes.graph.asked_names import apart, known_names, other_forms, types_of, unknown_type

_SUGGESTED, _LOOKED_AT = 5, 25
_MOST_TOLD = 10
_LEAST_SIMILARITY, _LEAST_RATIO, _SAME_WORDS = 70, 55, 95

Current = Callable[[str | Sequence[str] | None], list[CollectionRecord]]
"""Gives the collections with graphs that are meant, these up to date."""


@dataclass(frozen=True, slots=True)
class Entity:
    """An entity as callers see it. ``id`` is that of its row; ``aliases`` are other names that texts or lists have.

    ``note``: why it has no definition, for a name in code that no document defines, or several may.
    """

    id: int
    name: str
    type: str
    collection: str
    confidence: float
    documents: int
    mentions: int
    aliases: Sequence[str] = ()
    note: str = ""


@dataclass(frozen=True, slots=True)
class Chosen:
    """The entity that a name means most probably. ``notes``: which others are called so, too."""

    entity: Entity
    notes: Sequence[str] = field(default=())


class EntityLookup:
    """Finds entities by the names that callers give. Thread-safe."""

    def __init__(self, app: App, current: Current, absent: Callable[[str | Sequence[str] | None], list[str]]) -> None:
        """``absent``: says of the collections that are meant why they have no graph."""
        self._app, self._current, self._absent = app, current, absent

    def find(
        self,
        name: str,
        collection: str | Sequence[str] | None = None,
        types: Collection[str] = (),
        *,
        unmentioned: bool = False,
    ) -> list[Entity]:
        """Return the entities that are called ``name``, or have such an alias or title, the most mentioned first.

        ``name`` may be ``TYPE:NAME``. Behind those that have the very name come those that have it in another form:
        ``@name`` for people, ``CONFIG_NAME``, ``KEP-753`` for 753; see ``forms`` of a type. ``types``: in any case.
        ``unmentioned``: also those that no document mentions any more.

        Raises:
            InvalidInput: ``name`` is no name, or there is no such type.
        """
        return [one for group in self._groups(name, collection, types, unmentioned) for one in group]

    def called(
        self, name: str, collection: str | Sequence[str] | None = None, types: Collection[str] = ()
    ) -> list[Entity]:
        """Return the entities of the very name, or where none has it, those that have it in another form.

        Raises:
            InvalidInput: ``name`` is no name, or there is no such type.
        """
        return next((group for group in self._groups(name, collection, types) if group), [])

    def choose(
        self,
        name: str,
        collection: str | Sequence[str] | None = None,
        types: Collection[str] = (),
        *,
        unmentioned: bool = False,
    ) -> Chosen:
        """Return the entity that is called ``name``; of those of several types the one that most documents mention.

        Raises:
            NotFound: there is none; similar names are told, or why there is no graph.
            InvalidInput: several are called so, and none of them is meant more than the others.
        """
        groups = self._groups(name, collection, types, unmentioned)
        found = next((group for group in groups if group), [])
        if not found:
            raise NotFound(f"There is no entity {name!r}.", hint=self.why_none(name, collection, types))
        every, found = found, [one for one in found if not one.note] or found
        if len(found) > 1 and _are_equal(found, name):
            several = _listed(found)
            hint = "Give the whole name, the type (TYPE:NAME), or the collection."
            raise InvalidInput(f"Several entities are called {name!r}: {several}.", hint=hint)
        others = [one for group in (found, *(one for one in groups if one is not every)) for one in group]
        others = list({one.id: one for one in others if one.id != found[0].id}.values())
        return Chosen(found[0], (f"{name!r} may also mean {_listed(others)}",) if others else ())

    def one(
        self,
        name: str,
        collection: str | Sequence[str] | None = None,
        types: Collection[str] = (),
        *,
        unmentioned: bool = False,
    ) -> Entity:
        """Return the entity that is called ``name``; see ``choose``."""
        return self.choose(name, collection, types, unmentioned=unmentioned).entity

    def similar(
        self, name: str, collection: str | Sequence[str] | None = None, types: Collection[str] = ()
    ) -> list[Entity]:
        """Return entities whose names, aliases or titles are like ``name``, the most similar first.

        Raises:
            InvalidInput: ``name`` is no name, or there is no such type.
        """
        from rapidfuzz import fuzz, process

        records, found = self._current(collection), dict[int, tuple[float, Entity]]()
        name, types = self._name_and_types(name, records, types)
        key = name_key(name)
        with self._app.catalog.read() as connection:
            for record in records:
                of_types = types or [one for one in types_of(self._app.rules(record).graph) if one not in STRUCTURE]
                known = graph_lookups.similar_names(connection, record.id, of_types, key)
                names = [one.casefold() for one, _ in known]  # those of code are kept as they are written
                near = process.extract(key, names, scorer=fuzz.WRatio, limit=_LOOKED_AT, score_cutoff=_LEAST_SIMILARITY)
                close = sorted((-fuzz.ratio(key, one), at) for one, _, at in near if _is_like(key, one))
                best = dict[int, float]()
                for score, at in close:
                    best.setdefault(known[at][1], -score)
                rows = entities.of_ids(connection, list(best)[:_SUGGESTED])
                found |= {
                    one: (best[one], entity_of(connection, record.name, row, aliases=True)) for one, row in rows.items()
                }
        ranked = sorted(found.values(), key=lambda each: (-each[0], -each[1].documents, each[1].id))
        return [one for _, one in ranked][:_SUGGESTED]

    def why_none(self, name: str, collection: str | Sequence[str] | None = None, types: Collection[str] = ()) -> str:
        """Return why no entity is called ``name``, in words: what is called nearly so, or why there is no graph."""
        near = self.similar(name, collection, types)
        if near:
            return f"There is {_listed(near, aliases=True)}."
        words = [f"{one[0].upper()}{one[1:]}." for one in self._absent(collection)]
        return " ".join([*words, f"See what there is: {step('entities')}."])

    def typed(self, given: Collection[str], records: Sequence[CollectionRecord]) -> list[str]:
        """Return types of entities as the graphs of these collections have them.

        Raises:
            InvalidInput: there is no such type.
        """
        known = self._types(records)
        return known_names([one for one in given if one.strip()], known, "type of entities") if known else list(given)

    def _types(self, records: Sequence[CollectionRecord]) -> list[str]:
        every = (kind for record in records for kind in types_of(self._app.rules(record).graph))
        return list(dict.fromkeys(every))

    def _name_and_types(
        self, name: str, records: Sequence[CollectionRecord], types: Collection[str]
    ) -> tuple[str, list[str]]:
        """Return the name and the types that a caller means."""
        wanted = self.typed(types, records)
        kind, plain = apart(name, self._types(records))
        return (plain, [kind]) if kind and (not wanted or kind in wanted) else (name.strip(), wanted)

    def _groups(
        self, name: str, collection: str | Sequence[str] | None, types: Collection[str], unmentioned: bool = False
    ) -> list[list[Entity]]:
        """Return the entities of the very name, then those of its other forms, each the most mentioned first."""
        records = self._current(collection)
        plain, wanted = self._name_and_types(name, records, types)
        key = name_key(plain)
        exact, formed = list[Entity](), list[Entity]()
        with self._app.catalog.read() as connection:

            def called(record: CollectionRecord, key: str, written: str, of_types: Collection[str]) -> list[Entity]:
                rows = entities.named(connection, [record.id], key, written, unmentioned=unmentioned)
                return [
                    entity_of(connection, record.name, one, aliases=True)
                    for one in rows
                    if one.type and (one.type in of_types if of_types else one.type not in STRUCTURE)
                ]

            for record in records:
                exact += called(record, key, _symbol(plain), wanted)
                rules = self._app.rules(record).graph
                for kind, form in other_forms(plain, rules, wanted):
                    of_page = wanted or types_of(rules)  # a page may be that of an entity
                    meant = of_page if kind == DOCUMENT else [kind]
                    formed += called(record, folded(form), form, meant) if len(form) <= MAX_NAME_CHARS else []
        if not exact and not formed and records and (kind := unknown_type(name)):
            there = ", ".join(sorted(self._types(records)))
            raise InvalidInput(
                f"{kind!r}, before the colon of {name!r}, is no type of entities.", hint=f"There are {there}."
            )
        known = {one.id for one in exact}
        return [_ranked(exact), _ranked(one for one in formed if one.id not in known)]


def entity_of(connection: Connection, collection: str, one: EntityRecord, *, aliases: bool = False) -> Entity:
    """Return an entity of a collection as callers see it, with its other names if wanted."""
    others = [] if one.type in CODE_TYPES or not aliases else entities.other_names(connection, one)
    note = one.why if one.canonical_id is None else ""
    return Entity(
        one.id, one.name, one.type, collection, one.confidence, one.documents, one.mentions, tuple(others), note
    )


def _ranked(found: Iterable[Entity]) -> list[Entity]:
    unique = {one.id: one for one in found}
    return sorted(unique.values(), key=lambda one: (-one.documents, one.name, one.id))


def _is_like(name: str, other: str) -> bool:
    """Say whether two names have most letters in common, or the words of one are among those of the other."""
    from rapidfuzz import fuzz

    return fuzz.ratio(name, other) >= _LEAST_RATIO or fuzz.token_set_ratio(name, other) >= _SAME_WORDS


def _are_equal(found: Sequence[Entity], name: str) -> bool:
    """Say whether none of several entities of one name is meant more than the others: it is for the caller to say."""
    namesakes = [one for one in found if one.type in CODE_TYPES and one.name.partition("@")[0] == name]
    alike = [one for one in found if (one.type, one.collection) == (found[0].type, found[0].collection)]
    return found[0].documents == found[1].documents or len(found) in (len(namesakes), len(alike))


def _listed(found: Sequence[Entity], *, aliases: bool = False) -> str:
    also = {one.id: f"{one.aliases[0]}; " if aliases and one.aliases else "" for one in found}
    several = ", ".join(f"{one.type}:{one.name} ({also[one.id]}{one.collection})" for one in found[:_MOST_TOLD])
    return several + (f" and {len(found) - _MOST_TOLD} more" if len(found) > _MOST_TOLD else "")


def name_key(name: str) -> str:
    """Return a name in the form in which it is looked up.

    Raises:
        InvalidInput: it is none.
    """
    key = folded(name[: MAX_NAME_CHARS + 1])
    if not key or len(name) > MAX_NAME_CHARS:
        raise InvalidInput(f"{name[:50]!r} is no name of 1 to {MAX_NAME_CHARS} characters.")
    return key


def _symbol(name: str) -> str:
    """Return a name in code as the graph has it: that of ``fs/inode.c:helper`` is ``helper@fs/inode.c``."""
    path, colon, simple = name.strip().rpartition(":")
    return f"{simple}@{path}" if colon and simple and "." in path and not path.endswith(":") else name.strip()
