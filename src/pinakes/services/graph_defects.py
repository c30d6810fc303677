"""Possible defects of a graph: duplicate entities, names of several types, contradicting relations."""

from __future__ import annotations

import hashlib
import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from rapidfuzz import process
from rapidfuzz.distance import Levenshtein

from pinakes.catalog.entities import Decision, EntityRecord
from pinakes.catalog.stated_edges import Edge
from pinakes.core.records import JSON, Metadata

JUDGED: Final = 200
"""So many entities are judged, a sample that stays the same while their names do."""

SIMILARITY: Final = 0.85
"""Normalised Levenshtein similarity of names that may be one."""

_MOST_COMPARED = 20_000
_LEAST_CHARS, _LEAST_INITIALS = 5, 3
_DIGITS = re.compile(r"\d+")


@dataclass(frozen=True, slots=True)
class Duplicate:
    """Two entities of a type that may be one, and why."""

    type: str
    name: str
    other: str
    reason: str


@dataclass(frozen=True, slots=True)
class Duplicates:
    """The entities of a sample of ``judged`` ones that may be another one, too. ``share``: 0 to 1."""

    judged: int
    pairs: Sequence[Duplicate]

    @property
    def share(self) -> float:
        """The share of the sample that may be another entity."""
        return len({(one.type, one.name) for one in self.pairs}) / self.judged if self.judged else 0.0


def duplicates(known: Iterable[EntityRecord], types: Collection[str], decisions: Iterable[Decision] = ()) -> Duplicates:
    """Return which entities of ``types`` may be one: by letters, similarity or initials, not where somebody decided."""
    of_type: dict[str, list[EntityRecord]] = defaultdict(list)
    for one in known:
        if one.type in types and len(of_type[one.type]) < _MOST_COMPARED:
            of_type[one.type].append(one)
    apart = {frozenset((one.name, one.other)) for one in decisions if one.kind == "split"}
    sample = sorted((_digest(one), one) for found in of_type.values() for one in found)[:JUDGED]
    pairs = []
    for _, one in sample:
        others = [each for each in of_type[one.type] if each.id != one.id]
        found = _like(one.folded, [each.folded for each in others])
        pairs += [
            Duplicate(one.type, one.name, others[at].name, reason)
            for at, reason in found
            if frozenset((one.folded, others[at].folded)) not in apart
        ]
    return Duplicates(len(sample), pairs)


def _digest(one: EntityRecord) -> tuple[bytes, int]:
    return hashlib.sha256(f"{one.type}:{one.folded}".encode(errors="replace")).digest(), one.id


def _like(name: str, others: Sequence[str]) -> list[tuple[int, str]]:
    found: dict[int, str] = {}
    if len(name) >= _LEAST_CHARS:
        near = process.extract(name, others, scorer=Levenshtein.normalized_similarity, score_cutoff=SIMILARITY, limit=5)
        for other, score, at in near:
            if _DIGITS.findall(other) == _DIGITS.findall(name) and len(other) >= _LEAST_CHARS:
                found[at] = f"similarity {score:.2f}"
    for at, other in enumerate(others):
        if _letters(other) == _letters(name):
            found[at] = "the same letters"
        elif _is_short_for(name, other) or _is_short_for(other, name):
            found[at] = "initials"
    return sorted(found.items())


def _letters(name: str) -> str:
    return "".join(char for char in name if char.isalnum())


def _is_short_for(short: str, name: str) -> bool:
    words = name.split()
    return len(words) >= _LEAST_INITIALS and short == "".join(word[0] for word in words)


def of_several_types(known: Iterable[EntityRecord]) -> list[tuple[str, Sequence[str]]]:
    """Return (name, types) of names that are entities of several types, those of most documents first."""
    found: dict[str, list[EntityRecord]] = defaultdict(list)
    for one in known:
        found[one.folded].append(one)
    several = [each for each in found.values() if len(each) > 1]
    several.sort(key=lambda each: (-sum(one.documents for one in each), each[0].name))
    return [(each[0].name, tuple(sorted(one.type for one in each))) for each in several]


def several_targets(
    edges: Iterable[Edge], names: Mapping[int, str], single: Collection[str]
) -> list[tuple[str, str, Sequence[str]]]:
    """Return (source, type, targets) where relations of types that have one target for each source have several."""
    found: dict[tuple[int, str], list[str]] = defaultdict(list)
    for one in edges:
        if one.type in single and one.source_id in names and one.target_id in names:
            found[one.source_id, one.type].append(names[one.target_id])
    several = [(names[source], kind, tuple(sorted(targets))) for (source, kind), targets in found.items()]
    return sorted(one for one in several if len(one[2]) > 1)


def repeats(answers: Iterable[Sequence[Metadata]], field: str) -> float | None:
    """Return the share of hits that name no other value of ``field`` than those before them in their answer.

    None where no hit has the field.
    """
    repeated = counted = 0
    for hits in answers:
        seen: set[str] = set()
        for metadata in hits:
            values = {str(one).casefold() for one in _listed(metadata.get(field)) if one}
            if values:
                counted += 1
                repeated += values <= seen
                seen |= values
    return repeated / counted if counted else None


def _listed(value: JSON) -> Sequence[JSON]:
    return value if isinstance(value, list) else [value]
