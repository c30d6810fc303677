"""Co-occurrence of entities: more often than by chance, by normalised pointwise mutual information.

G. Bouma, "Normalized (Pointwise) Mutual Information in Collocation Extraction", GSCL 2009: log(p(a, b) / (p(a) p(b))) /
-log p(a, b), from -1 (never together) by 0 (independent) to 1 (only together).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from pinakes.catalog.derived_rows import DerivedRelation, MentioningDocument
from pinakes.core.graph_records import CO_OCCURS
from pinakes.core.records import Span

MOST_NEIGHBOURS: Final = 10
"""An entity is related to so many others at most, those of the largest information first."""

LEAST_INFORMATION: Final = 0.2

SUREST: Final = 0.4
"""Confidence of two that stand only together; it falls with their information."""

MOST_TOGETHER: Final = 30
"""A chunk with more entities is a list of names; standing there together says nothing."""

_MOST_PLACES: Final = 3
_MOST_PAIRS: Final = 500_000


@dataclass(slots=True)
class _Pair:
    """In how many chunks two stand together, and the first of these places."""

    count: int = 0
    places: list[tuple[int, Span]] = field(default_factory=list)


def co_occurring(held: Iterable[MentioningDocument], canonical: Mapping[int, int], least: int) -> list[DerivedRelation]:
    """Return the relations of entities that at least ``least`` chunks mention together, with up to three of the places.

    ``canonical``: id → that of its canonical entity, of those that count. Linear in the mentions; where there are very
    many pairs, those that stood together only once so far are forgotten, so that memory stays flat.
    """
    total = 0
    counts: Counter[int] = Counter()
    pairs: dict[tuple[int, int], _Pair] = {}
    for one in held:
        for spans in _by_chunk(one, canonical):
            total += 1
            counts.update(spans.keys())
            if 1 < len(spans) <= MOST_TOGETHER:
                _count(pairs, one.id, spans)
        if len(pairs) > _MOST_PAIRS:
            pairs = {key: pair for key, pair in pairs.items() if pair.count > 1}
    found = [
        (sure, key, pair)
        for key, pair in pairs.items()
        if pair.count >= least and (sure := _information(pair.count, counts[key[0]], counts[key[1]], total)) > 0
    ]
    return list(_bounded(sorted(found, key=lambda each: (-each[0], -each[2].count, each[1]))))


def _by_chunk(one: MentioningDocument, canonical: Mapping[int, int]) -> Iterable[dict[int, Span]]:
    """Yield for each chunk the entities that it mentions, with the first place of each."""
    first = 0
    for start, end in one.chunks:
        while first < len(one.mentions) and one.mentions[first][1][0] < start:
            first += 1
        spans: dict[int, Span] = {}
        at = first
        while at < len(one.mentions) and one.mentions[at][1][0] < end:
            entity, span = one.mentions[at]
            if entity in canonical:
                spans.setdefault(canonical[entity], span)
            at += 1
        if spans:
            yield spans


def _count(pairs: dict[tuple[int, int], _Pair], document_id: int, spans: Mapping[int, Span]) -> None:
    ends = sorted(spans)
    for at, a in enumerate(ends):
        for b in ends[at + 1 :]:
            pair = pairs.setdefault((a, b), _Pair())
            pair.count += 1
            if len(pair.places) < _MOST_PLACES:
                both = (*spans[a], *spans[b])
                pair.places.append((document_id, (min(both), max(both))))


def _information(together: int, one: int, other: int, total: int) -> float:
    if together == total:
        return 0.0
    found = math.log(together * total / (one * other)) / -math.log(together / total)
    return found if found >= LEAST_INFORMATION else 0.0


def _bounded(ranked: Iterable[tuple[float, tuple[int, int], _Pair]]) -> Iterable[DerivedRelation]:
    degree: Counter[int] = Counter()
    for sure, (a, b), pair in ranked:
        if max(degree[a], degree[b]) < MOST_NEIGHBOURS:
            degree.update((a, b))
            for document_id, (start, end) in pair.places:
                yield DerivedRelation(document_id, a, CO_OCCURS, b, start, end, round(SUREST * sure, 3))
