"""Canonical entities: which names mean one entity, and its type, from statistics of a collection and decisions.

All is computed anew from what documents say, so that what is merged can be split again, and an entity is what its
documents make it.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from rapidfuzz.distance import Levenshtein

from pinakes.catalog.entities import Decision, EntityRecord, Resolution
from pinakes.catalog.entity_changes import EntityFact
from pinakes.core.graph_records import STRUCTURE, UNTYPED, EntityName, folded
from pinakes.extraction import Listing
from pinakes.settings import GraphRules

SIMILARITY: Final = 0.85
"""Names of one type with at least this normalised Levenshtein similarity are one entity: 1 - distance / longer."""

ACCEPTED: Final = 0.6
"""A name has a type that only texts tell where the clues are as sure as this together."""

_LEAST_SIMILAR_CHARS: Final = 6
_MOST_OF_BLOCK: Final = 200
_SURE: Final = frozenset({"lists", "records", "documents", "patterns"})
_GIVEN_NAMES: Final = 0.95
"""Names of people as sure as this tell which given names there are."""

_LEAST_SHARE: Final = 0.15
"""A type that only the words around a name tell holds where so many of its mentions have them."""

_STRONG: Final = frozenset(f"candidates:{clue}" for clue in ("columns", "links", "suffixes", "titles"))
"""Clues that hold where they are, even if a name is mostly written without them."""

_DECLARED: Final = frozenset({"lists", "records"})
_NAMED_ALONE: Final = frozenset({"candidates:run", "candidates:cell"})
_PERSON: Final = re.compile(r"[^\W\d_]['’]?[^\W\d_]*(?:-[^\W\d_]+)?\.?")
LEGAL: Final = re.compile(r"(?:,? (?:inc|llc|ltd|limited|gmbh|corp|corporation|co|plc|n\.a|ag|s\.a))+\.?$")
DOMAIN: Final = re.compile(r"(?<=\w)\.(?:com|org|net|io|ai|dev|app|co)$")
_DIGITS: Final = re.compile(r"\d+")
_WORD: Final = re.compile(r"[^\W_]+")


@dataclass(frozen=True, slots=True)
class Canonical:
    """The result: what became of each entity. ``missing``: those that need a row first; then all is computed again."""

    resolutions: Sequence[Resolution]
    missing: Sequence[EntityName]


class _Groups:
    """Which entity each is another name of, and why. Chains are followed to their end."""

    def __init__(self) -> None:
        self._of: dict[int, tuple[int, str]] = {}

    def root(self, one: int) -> int:
        while one in self._of:
            one = self._of[one][0]
        return one

    def join(self, other: int, one: int, why: str) -> None:
        """Make ``other`` another name of ``one``, unless both are one already."""
        other, one = self.root(other), self.root(one)
        if other != one:
            self._of[other] = one, why

    def why(self, one: int) -> str:
        return self._of[one][1] if one in self._of else ""


def canonical(
    every: Sequence[EntityRecord],
    facts: Iterable[EntityFact],
    decisions: Sequence[Decision],
    rules: GraphRules,
    listings: Sequence[Listing],
    own_names: Sequence[tuple[int, int]] = (),
    together: Callable[[int, int], bool] = lambda _one, _other: True,
) -> Canonical:
    """Return what became of each entity of a collection. Linear time, but for names of one block that are compared.

    ``own_names``: (other name, entity) of what documents are about, by id. ``together`` says whether one document
    mentions both.
    """
    clues: dict[int, dict[str, EntityFact]] = defaultdict(dict)
    for fact in facts:
        clues[fact.entity_id][fact.extractor] = fact
    by_key = {(one.type, one.folded): one for one in every}
    groups = _Groups()
    split = {frozenset((one.name, one.other)) for one in decisions if one.kind == "split"}
    missing = [*_decided(groups, by_key, decisions)]
    names = {row.id: row.folded for row in every}
    # Entities of code, which are none of ``every``, have names of documents, too.
    _own(groups, [pair for pair in own_names if frozenset(names.get(one) for one in pair) not in split])
    missing += [
        *_people(groups, every, by_key, clues, rules),
        *_typed(groups, every, by_key, clues),
        *_listed(groups, by_key, listings, clues, split),
    ]
    if missing:
        return Canonical((), missing)
    for kind, one in rules.types.items():
        mentioned = [row for row in every if row.type == kind and row.id in clues and groups.root(row.id) == row.id]
        if one.given_names:
            alive = {groups.root(row_id) for row_id in clues}
            people = [row for row in every if row.type == kind and row.id in alive]
            _merge_people(groups, people, clues, split)
        if one.merge:
            _merge(groups, mentioned, clues, split, one.suffixes, together)
    sure = _confidences(every, groups, clues)
    return Canonical(
        [
            Resolution(
                row.id, root if (root := groups.root(row.id)) != row.id else None, groups.why(row.id), sure[root]
            )
            for row in every
        ],
        (),
    )


def _decided(
    groups: _Groups, by_key: Mapping[tuple[str, str], EntityRecord], decisions: Sequence[Decision]
) -> Iterable[EntityName]:
    for one in decisions:
        if one.kind != "merge":
            continue
        other = by_key.get((one.other_type or one.type, one.other))
        main = by_key.get((one.type, one.name))
        if other is not None and main is None:
            yield EntityName(one.type, one.name)
        elif other is not None and main is not None:
            groups.join(other.id, main.id, "merged by hand")


def _own(groups: _Groups, own_names: Sequence[tuple[int, int]]) -> None:
    """Make the other names of what documents are about its own, unless they are those of two."""
    meant: dict[int, set[int]] = defaultdict(set)
    for other, own in own_names:
        meant[other].add(own)
    for other, owners in meant.items():
        if len(owners) == 1 and other not in owners and groups.root(other) == other:
            groups.join(other, min(owners), "a name of its document")


def _typed(
    groups: _Groups,
    every: Sequence[EntityRecord],
    by_key: Mapping[tuple[str, str], EntityRecord],
    clues: Mapping[int, Mapping[str, EntityFact]],
) -> Iterable[EntityName]:
    """Give names the type that the clues of the whole collection tell; one that none tells is a candidate.

    A candidate that is written as a listed name is no mention of it: the list would have found it.
    """
    ranked_by_name: dict[str, list[tuple[float, EntityRecord]]] = defaultdict(list)
    for row in every:
        if row.type not in (UNTYPED, *STRUCTURE) and row.id in clues and groups.root(row.id) == row.id:
            ranked_by_name[row.folded].append((_sureness(clues[row.id]), row))
    for name, ranked in ranked_by_name.items():
        ranked.sort(key=lambda each: (-each[0], each[1].type))
        sure, best = ranked[0]
        candidate = by_key.get((UNTYPED, name))
        for other_sure, row in ranked[1:]:
            if other_sure < 1.0:
                groups.join(row.id, best.id, f"the text rather says {best.type}")
        rare = sure < 1 and _share(best, candidate, clues) < _LEAST_SHARE
        if rare and clues[best.id].keys() & _STRONG:
            continue  # at these places only: the App team, and an app
        if sure < ACCEPTED or rare:
            if candidate is None:
                yield EntityName(UNTYPED, best.name)
            else:
                groups.join(best.id, candidate.id, "too few clues of its type")
        elif candidate is not None and groups.root(candidate.id) == candidate.id and "lists" not in clues[best.id]:
            groups.join(candidate.id, best.id, f"{best.type} by {', '.join(sorted(clues[best.id]))}")


def _people(
    groups: _Groups,
    every: Sequence[EntityRecord],
    by_key: Mapping[tuple[str, str], EntityRecord],
    clues: Mapping[int, Mapping[str, EntityFact]],
    rules: GraphRules,
) -> Iterable[EntityName]:
    """Give candidates the type of people where they begin with a name that people of the collection have."""
    for kind in (name for name, one in rules.types.items() if one.given_names):
        people = [row for row in every if row.type == kind and row.id in clues and groups.root(row.id) == row.id]
        declared = [row for row in people if clues[row.id].keys() & _DECLARED]
        sure = declared or [row for row in people if _sureness(clues[row.id]) >= _GIVEN_NAMES]
        given = {row.folded.split()[0] for row in sure if " " in row.folded}
        for row in every:
            words = row.name.split()
            if row.type in (kind, *STRUCTURE) or row.id not in clues or groups.root(row.id) != row.id or len(words) > 3:
                continue
            if row.type != UNTYPED and _sureness(clues[row.id]) >= 1:
                continue
            if row.folded.split()[0] not in given or not all(_PERSON.fullmatch(word) for word in words):
                continue
            if len(words) == 1 and row.type == UNTYPED and not clues[row.id].keys() & _NAMED_ALONE:
                continue
            person = by_key.get((kind, row.folded))
            if person is None:
                yield EntityName(kind, row.name)
            else:
                groups.join(row.id, person.id, "begins with a name of people")


def _listed(
    groups: _Groups,
    by_key: Mapping[tuple[str, str], EntityRecord],
    listings: Sequence[Listing],
    clues: Mapping[int, Mapping[str, EntityFact]],
    split: set[frozenset[str]],
) -> Iterable[EntityName]:
    """Make other names of listed entities theirs."""
    for one in listings:
        main = by_key.get(one.entity.key)
        for alias in one.aliases:
            row = by_key.get((one.entity.type, folded(alias)))
            if row is None or row.id not in clues or row is main or frozenset((one.entity.key[1], row.folded)) in split:
                continue
            if main is None:
                yield one.entity
                break
            groups.join(row.id, main.id, "an alias of the list")


def _merge(
    groups: _Groups,
    rows: Sequence[EntityRecord],
    clues: Mapping[int, Mapping[str, EntityFact]],
    split: set[frozenset[str]],
    suffixes: Sequence[str],
    together: Callable[[int, int], bool],
) -> None:
    """Join names of one type that are written alike; the sure and then the often mentioned one stays."""
    ranked = sorted(rows, key=lambda row: (-_sureness(clues[row.id]), -_documents(clues[row.id]), row.id))
    plain: dict[str, EntityRecord] = {}
    initials: dict[str, list[EntityRecord]] = defaultdict(list)
    for row in ranked:
        key = _plain(row.folded, suffixes)
        main = plain.setdefault(key, row)
        if main is not row and _may(row, main, split) and not _both_listed(row, main, clues):
            groups.join(row.id, main.id, f"written like {main.name!r}")
        words = _WORD.findall(row.folded)
        if len(words) >= 3:
            initials["".join(word[0] for word in words)].append(row)
    for row in ranked:
        meant = initials.get(row.folded, ()) if row.name.isupper() else ()
        if len(meant) == 1 and _may(row, meant[0], split) and together(row.id, meant[0].id):
            groups.join(row.id, meant[0].id, f"initials of {meant[0].name!r}")
    _merge_similar(groups, [row for row in ranked if groups.root(row.id) == row.id], clues, split)


def _merge_people(
    groups: _Groups,
    rows: Sequence[EntityRecord],
    clues: Mapping[int, Mapping[str, EntityFact]],
    split: set[frozenset[str]],
) -> None:
    """Join names of people that differ by signs, and a given name to the only one who has it, if records know them."""
    nothing: Mapping[str, EntityFact] = {}
    evidence = {row.id: clues.get(row.id, nothing) for row in rows}
    ranked = sorted(rows, key=lambda row: (-_sureness(evidence[row.id]), -_documents(evidence[row.id]), row.id))
    by_id = {row.id: row for row in rows}
    whole: dict[str, EntityRecord] = {}
    bearers: dict[str, set[int]] = defaultdict(set)
    for row in ranked:
        if " " in row.folded:
            main = whole.setdefault(re.sub(r"[\W_]", "", row.folded), row)
            if main is not row and _may(row, main, split):
                groups.join(row.id, main.id, f"written like {main.name!r}")
            bearers[row.folded.split()[0]].add(groups.root(row.id))
    for row in ranked:
        [*meant] = bearers.get(row.folded, ()) if " " not in row.folded else ()
        if len(meant) == 1 and evidence[meant[0]].keys() & _DECLARED and _may(row, by_id[meant[0]], split):
            groups.join(row.id, meant[0], f"only {by_id[meant[0]].name!r} has this given name")


def _merge_similar(
    groups: _Groups,
    ranked: Sequence[EntityRecord],
    clues: Mapping[int, Mapping[str, EntityFact]],
    split: set[frozenset[str]],
) -> None:
    """Join names with few other letters: those are compared that begin or end alike."""
    blocks: dict[str, list[EntityRecord]] = defaultdict(list)
    for row in ranked:
        name = row.folded
        if len(name) < _LEAST_SIMILAR_CHARS:
            continue
        compared: set[int] = set()
        for block in (f"^{name[:3]}", f"{name[-3:]}$"):
            for main in blocks[block][:_MOST_OF_BLOCK]:
                if main.id in compared:
                    continue
                compared.add(main.id)
                alike = Levenshtein.normalized_similarity(name, main.folded, score_cutoff=SIMILARITY)
                if alike >= SIMILARITY and _may(row, main, split) and not _both_listed(row, main, clues):
                    groups.join(row.id, main.id, f"{alike:.2f} like {main.name!r}")
                    break
            if groups.root(row.id) != row.id:
                break
        else:
            for block in (f"^{name[:3]}", f"{name[-3:]}$"):
                blocks[block].append(row)


def _may(one: EntityRecord, other: EntityRecord, split: set[frozenset[str]]) -> bool:
    """Say whether two names may be one entity: nobody split them, and they have the same digits."""
    same_digits = _DIGITS.findall(one.folded) == _DIGITS.findall(other.folded)
    return same_digits and frozenset((one.folded, other.folded)) not in split


def _both_listed(one: EntityRecord, other: EntityRecord, clues: Mapping[int, Mapping[str, EntityFact]]) -> bool:
    """Say whether lists have both: whoever keeps them holds them apart."""
    return "lists" in clues[one.id] and "lists" in clues[other.id]


def _plain(name: str, suffixes: Sequence[str]) -> str:
    """Return a folded name without legal forms, generic words at its end, and blanks."""
    short = LEGAL.sub("", DOMAIN.sub("", name))
    for word in suffixes:
        short = short.removesuffix(f" {word.casefold()}")
    return re.sub(r"[\W_]", "", short.replace("&", "and")) or name


def _sureness(clues: Mapping[str, EntityFact]) -> float:
    """Return how sure a type is by all clues together: 1 minus the product of the doubts, one for each document."""
    doubt = 1.0
    for extractor, fact in clues.items():
        source = extractor.partition(":")[0]
        if source in _SURE or source == "metadata":
            return 1.0 + (source == "lists")
        doubt *= (1 - fact.confidence) ** min(fact.documents, 5)
    return 1 - doubt


def _share(row: EntityRecord, candidate: EntityRecord | None, clues: Mapping[int, Mapping[str, EntityFact]]) -> float:
    """Return which share of the mentions of a name says its type."""
    typed = sum(fact.mentions for fact in clues[row.id].values())
    untyped = sum(fact.mentions for fact in clues.get(candidate.id, {}).values()) if candidate else 0
    return typed / (typed + untyped)


def _documents(clues: Mapping[str, EntityFact]) -> int:
    return max((fact.documents for fact in clues.values()), default=0)


def _confidences(
    every: Sequence[EntityRecord], groups: _Groups, clues: Mapping[int, Mapping[str, EntityFact]]
) -> dict[int, float]:
    sure: dict[int, float] = defaultdict(float)
    for row in every:
        root = groups.root(row.id)
        sure[root] = max(sure[root], *(fact.confidence for fact in clues.get(row.id, {}).values()), 0.0)
    return {root: round(value, 3) for root, value in sure.items()}
