"""Which documents of two sides are the same: by path, uri, key or id, whichever tells of the most."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from pinakes.catalog.listing import Listed
from pinakes.errors import InvalidInput
from pinakes.evaluation.names import Names, among
from pinakes.evaluation.sides import Named

NAMINGS = ("path", "uri", "key", "id")
"""What documents may have in common, in the order of preference."""


@dataclass(frozen=True, slots=True)
class Met:
    """The documents of a side: those ``answered`` with, and ``every`` one it is known to have, these included."""

    answered: Sequence[Named]
    every: Sequence[Named]


@dataclass(frozen=True, slots=True)
class Links:
    """One name for each document of both sides, the same where the documents are.

    ``by``: what they have in common. ``share``: how many of the documents that one side answered with were found in
    the other: of B, or of A where it is more. ``unknown``: those that A and B answered with and the other has not, as
    far as that is known.
    """

    by: str
    share: float
    a: Mapping[Named, str]
    b: Mapping[Named, str]
    shown: Mapping[str, str]
    unknown: tuple[tuple[str, ...], tuple[str, ...]]


def link(a: Met, b: Met, *, grouped: bool = False) -> Links:
    """Return names for the documents of both sides.

    The names of one side are looked up among the documents of the other as golden names are: whole, or as the end of
    a path. Names of several documents link nothing. ``grouped``: documents with one key count as one.
    """
    best: Links | None = None
    for attempt in _attempts(a, b, ("key",) if grouped else NAMINGS):
        if best is None or attempt.share > best.share:
            best = attempt
        if best.share == 1:
            break
    return best or _named_alone(a, b)


def listed(every: Sequence[Named]) -> list[Listed]:
    """Return documents in the form in which names are looked up; the place in the list is the id."""
    seen: set[str] = set()
    found = []
    for number, one in enumerate(every):
        own = one.id if one.id and one.id not in seen else f"\0{number}"
        seen.add(own)
        found.append(Listed(number, own, one.uri or one.id, one.path, one.key, ""))
    return found


def _attempts(a: Met, b: Met, namings: Sequence[str]) -> Iterator[Links]:
    for naming in namings:
        if naming == "key":
            yield from _by_key(a, b)
            continue
        for wanting, having, turned in ((b, a, False), (a, b, True)):
            links = _looked_up(wanting, having, naming, turned=turned)
            if links is not None:
                yield links


def _by_key(a: Met, b: Met) -> Iterator[Links]:
    keys = {one.key for one in a.every if one.key}
    wanted = [one for one in b.answered if one.key]
    if not keys or not wanted:
        return
    share = sum(one.key in keys for one in b.answered) / len(b.answered)
    names_a, names_b = ({one: one.key for one in met.every if one.key} for met in (a, b))
    yield _links("key", share, (a, names_a), (b, names_b))


def _looked_up(wanting: Met, having: Met, naming: str, *, turned: bool) -> Links | None:
    """Return the links by the names that ``wanting`` has, looked up in ``having``; None where it has no such names."""
    own = {one: str(getattr(one, naming)) for one in wanting.every}
    counted = Counter(own.values())
    wanted = [name for name in own.values() if name and counted[name] == 1]
    if not wanted or not wanting.answered:
        return None
    every = listed(having.every)
    try:
        found = among(wanted, every)
    except InvalidInput:
        return None
    sure = {name for name, members in found.members.items() if len(members) == 1}
    there: dict[Named, str] = {}
    for one, entry in zip(having.every, every, strict=True):
        name = next((name for name in found.called.get(entry.uid, ()) if name in sure), None)
        if name is not None:
            there[one] = name
    canonical = {name: there[having.every[found.members[name][0].id]] for name in sure}
    here = {one: canonical[name] for one, name in own.items() if name in canonical}
    share = sum(one in here for one in wanting.answered) / len(wanting.answered)
    sides = ((wanting, here), (having, there)) if turned else ((having, there), (wanting, here))
    return _links(naming, share, *sides)


def _links(by: str, share: float, a: tuple[Met, Mapping[Named, str]], b: tuple[Met, Mapping[Named, str]]) -> Links:
    """Fill in names of their own for documents without a common one."""
    shown: dict[str, str] = {}
    filled: list[dict[Named, str]] = []
    unknown: list[tuple[str, ...]] = []
    for letter, (met, names), (_, others) in (("a", a, b), ("b", b, a)):
        there = set(others.values())
        named: dict[Named, str] = {}
        for number, one in enumerate(met.answered):
            name = names.get(one)
            named[one] = f"={name}" if name is not None else f"{letter}{number}"
            shown.setdefault(named[one], one.key if by == "key" and one.key else one.shown)
        filled.append(named)
        missing = (shown[common] for one, common in named.items() if names.get(one) not in there)
        unknown.append(tuple(dict.fromkeys(missing)))
    return Links(by, share, filled[0], filled[1], shown, (unknown[0], unknown[1]))


def _named_alone(a: Met, b: Met) -> Links:
    """Return names where nothing is common."""
    return _links("", 0.0, (a, {}), (b, {}))


@dataclass(frozen=True, slots=True)
class Called:
    """What golden questions call the documents of a side."""

    names: Names
    uids: Mapping[Named, str]

    def ranking(self, documents: Sequence[Named], relevant: Mapping[str, float]) -> list[str]:
        """Return what a question with these ``relevant`` names calls ``documents``, each name once."""
        return list(dict.fromkeys(self.names.name_of(self.uids[one], relevant) for one in documents))


def called(names: Sequence[str], met: Met, *, by_field: bool) -> Called | None:
    """Return what golden ``names`` stand for among the documents of a side, None where they stand for nothing."""
    every = listed(met.every)
    values = {number: [one.key] for number, one in enumerate(met.every) if one.key} if by_field else None
    try:
        found = among(names, every, values)
    except InvalidInput:
        return None
    return Called(found, {one: entry.uid for one, entry in zip(met.every, every, strict=True)})
