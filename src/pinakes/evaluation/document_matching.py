"""Matching of the documents of two sides: by path, uri, key or id, whichever matches most."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from pinakes.catalog.document_queries import ListedDocument
from pinakes.core.errors import InvalidInput
from pinakes.evaluation.names import DocumentNames, among
from pinakes.evaluation.systems import Named

NAMINGS = ("path", "uri", "key", "id")
"""Names by which documents may match, in order of preference."""


@dataclass(frozen=True, slots=True)
class KnownDocuments:
    """The documents of a side: those in answers (``answered``), and all known ones (``every``)."""

    answered: Sequence[Named]
    every: Sequence[Named]


@dataclass(frozen=True, slots=True)
class DocumentMatches:
    """A common name for each document of both sides; equal documents have equal names.

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


def link(a: KnownDocuments, b: KnownDocuments, *, grouped: bool = False) -> DocumentMatches:
    """Return names for the documents of both sides.

    The names of one side are looked up among the documents of the other as golden names are: whole, or as the end of
    a path. Names of several documents link nothing. ``grouped``: documents with one key count as one.
    """
    best: DocumentMatches | None = None
    for attempt in _attempts(a, b, ("key",) if grouped else NAMINGS):
        if best is None or attempt.share > best.share:
            best = attempt
        if best.share == 1:
            break
    return best or _links("", 0.0, (a, {}), (b, {}))


def listed(every: Sequence[Named]) -> list[ListedDocument]:
    """Return documents in the form for the lookup of names; the id is the index in the list."""
    seen: set[str] = set()
    found = []
    for number, one in enumerate(every):
        own = one.id if one.id and one.id not in seen else f"\0{number}"
        seen.add(own)
        found.append(ListedDocument(number, own, one.uri or one.id, one.path, one.key, ""))
    return found


def _attempts(a: KnownDocuments, b: KnownDocuments, namings: Sequence[str]) -> Iterator[DocumentMatches]:
    for naming in namings:
        if naming == "key":
            yield from _by_key(a, b)
            continue
        for wanting, having, turned in ((b, a, False), (a, b, True)):
            links = _looked_up(wanting, having, naming, turned=turned)
            if links is not None:
                yield links


def _by_key(a: KnownDocuments, b: KnownDocuments) -> Iterator[DocumentMatches]:
    keys = {one.key for one in a.every if one.key}
    wanted = [one for one in b.answered if one.key]
    if not keys or not wanted:
        return
    share = sum(one.key in keys for one in b.answered) / len(b.answered)
    names_a, names_b = ({one: one.key for one in met.every if one.key} for met in (a, b))
    yield _links("key", share, (a, names_a), (b, names_b))


def _looked_up(wanting: KnownDocuments, having: KnownDocuments, naming: str, *, turned: bool) -> DocumentMatches | None:
    """Return the links from names in ``wanting`` to ``having``; None if ``having`` has no such names."""
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


def _links(
    by: str, share: float, a: tuple[KnownDocuments, Mapping[Named, str]], b: tuple[KnownDocuments, Mapping[Named, str]]
) -> DocumentMatches:
    """Add a unique name for each document without a common one."""
    shown: dict[str, str] = {}
    filled: list[dict[Named, str]] = []
    unknown: list[tuple[str, ...]] = []
    for letter, (met, names), (_, others) in (("a", a, b), ("b", b, a)):
        there = set(others.values())
        named: dict[Named, str] = {}
        for number, one in enumerate(met.answered):
            name = names.get(one)
            named[one] = f"={name}" if name is not None else f"{letter}{number}"
            shown.setdefault(named[one], one.key if by == "key" and one.key else one.label)
        filled.append(named)
        missing = (shown[common] for one, common in named.items() if names.get(one) not in there)
        unknown.append(tuple(dict.fromkeys(missing)))
    return DocumentMatches(by, share, filled[0], filled[1], shown, (unknown[0], unknown[1]))


@dataclass(frozen=True, slots=True)
class GoldenNames:
    """The golden names of the documents of a side."""

    names: DocumentNames
    uids: Mapping[Named, str]

    def ranking(self, documents: Sequence[Named], relevant: Mapping[str, float]) -> list[str]:
        """Return the distinct names by which a question with these ``relevant`` names refers to ``documents``."""
        return list(dict.fromkeys(self.names.name_of(self.uids[one], relevant) for one in documents))


def golden_names(names: Sequence[str], met: KnownDocuments, *, by_field: bool) -> GoldenNames | None:
    """Return the documents of a side for golden ``names``, None for a name without a document."""
    every = listed(met.every)
    values = {number: [one.key] for number, one in enumerate(met.every) if one.key} if by_field else None
    try:
        found = among(names, every, values)
    except InvalidInput:
        return None
    return GoldenNames(found, {one: entry.uid for one, entry in zip(met.every, every, strict=True)})
