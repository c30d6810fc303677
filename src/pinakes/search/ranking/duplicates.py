"""Chunks and documents that say the same: copies of a text, licence headers, templates, versions of a file.

Two say the same only where the numbers, identifiers and dates in them are the same: of two invoices or test reports,
none is ever left out. A version or date that stands in the path or title of a text is not compared, unless the query
or a filter names it.
"""

from __future__ import annotations

import re
import string
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Protocol

import numpy as np

from pinakes.core.records import Bool, Filter, Float32
from pinakes.text.version_numbers import versions_in, without_versions

_NEAR_COSINE = 0.9
"""Only chunks whose vectors are so near, or of which one has none, are compared by runs of words."""

_AT_ONCE = 64
"""So many chunks are compared with all others at once: of thousands that say the same all pairs would be too many."""

_SHINGLE_WORDS = 5
_SAME_SHARE = 0.9
_MOST_WORDS = 5000
"""Of longer chunks only equal ones are the same."""

_WORD = re.compile(r"\w+|§")
_RUN = re.compile(r"[\w.,:/+-]+")
_NO_LETTERS = bytes(set(range(256)) - set(string.ascii_lowercase.encode() + string.digits.encode()))
_DIGIT = re.compile(r"\d")
"""What has a digit among these signs is a number, identifier, date or amount."""


class PlacedText(Protocol):
    """A text with where it stands: a chunk or document as the catalogue has it."""

    @property
    def path(self) -> str:
        """The path of its document."""
        ...

    @property
    def title(self) -> str:
        """The title of its document."""
        ...


def named_versions(query: str, where: Filter) -> frozenset[str]:
    """Return the versions and dates that a query or its filters name: texts of these are told apart."""
    conditions = (value for one in where for value in (*one.any_of, *one.glob))
    return versions_in(" ".join([query, *map(str, conditions)]))


def comparable(text: str, place: PlacedText, named: frozenset[str]) -> str:
    """Return ``text`` as it is compared: without the versions in its path and title, with those that are ``named``."""
    versions = versions_in(f"{place.path}\n{place.title}")
    return "\n".join([without_versions(text, versions - named), *sorted(versions & named)])


def repetitions(
    ids: Sequence[int],
    vectors: Float32,
    texts_of: Callable[[Sequence[int]], Mapping[int, str]],
    surely: int | None = None,
) -> dict[int, int]:
    """Return chunk → the earlier one of ``ids`` that says all it says, for those that add nothing.

    ``vectors`` float32 (n, dim), unit length, NaN where there is none. A chunk adds nothing when its words are those
    of an earlier one, without regard to case and punctuation, or when at least 0.9 of its runs of five words are there;
    and all of its numbers and identifiers are there. Behind the first ``surely`` (None: all), only chunks that are
    near another one are looked at: texts take time to be read.
    """
    wanted = list(ids)
    if surely is not None and surely < len(ids):
        others = np.triu(_near(vectors, vectors), 1)
        compared = {*range(surely), *np.flatnonzero(others.any(0)).tolist(), *np.flatnonzero(others.any(1)).tolist()}
        wanted = [one for row, one in enumerate(ids) if row in compared]
    texts = {one: TextComparison(text) for one, text in texts_of(wanted).items()}
    first: defaultdict[bytes, list[int]] = defaultdict(list)
    same: dict[int, int] = {}
    for one in (one for one in ids if one in texts):
        alike = first[texts[one].letters]
        better = next((other for other in alike if texts[other].equals(texts[one])), None)
        if better is None:
            alike.append(one)
        else:
            same[one] = better
    left = [row for row, one in enumerate(ids) if one in texts and one not in same]
    while len(left) > 1:
        near = np.argwhere(np.triu(_near(vectors[left[:_AT_ONCE]], vectors[left]), 1))
        for earlier, later in near.tolist():
            one, other = ids[left[earlier]], ids[left[later]]
            if one not in same and other not in same and texts[one].holds(texts[other]):
                same[other] = one
        left = [row for row in left[_AT_ONCE:] if ids[row] not in same]
    while any(better in same for better in same.values()):
        same = {other: same.get(better, better) for other, better in same.items()}
    return same


def _near(some: Float32, others: Float32) -> Bool:
    """Return bool (n, m): which of ``some`` vectors are near which of ``others``, or may be."""
    known = some.shape[1] > 0  # an index that never had a vector does not know how long they are
    near: Bool = ~((some @ others.T < _NEAR_COSINE) & known)
    return near


class TextComparison:
    """A text as it is compared with others; what that takes is found when first asked for."""

    def __init__(self, text: str) -> None:
        self._text = text

    def says(self, other: TextComparison) -> bool:
        """Say whether it says all that ``other`` says, which says something."""
        return bool(other.words) and (self.equals(other) or self.holds(other))

    def equals(self, other: TextComparison) -> bool:
        """Say whether it has the same words in the same order, and the same numbers."""
        if self._text == other._text:
            return True
        return self.words == other.words and self.numbers == other.numbers

    @cached_property
    def letters(self) -> bytes:
        """Its letters and digits of ASCII: texts that are equal have the same, and these take little time."""
        return self._text.lower().encode("utf-8", "replace").translate(None, _NO_LETTERS)

    @cached_property
    def words(self) -> tuple[str, ...]:
        """Its words, lower-cased."""
        return tuple(_WORD.findall(self._text.lower()))

    @cached_property
    def numbers(self) -> frozenset[str]:
        """Its numbers and identifiers: see ``numbers_in``."""
        return numbers_in(self._text)

    def holds(self, other: TextComparison) -> bool:
        """Say whether it says all that ``other`` says: nearly all runs of words, and all numbers."""
        return other.numbers <= self.numbers and _holds(self._shingles, other._shingles)

    @cached_property
    def _shingles(self) -> set[tuple[str, ...]]:
        return _shingles(self.words)


def numbers_in(text: str) -> frozenset[str]:
    """Return the numbers, identifiers, dates and amounts of a text, lower-cased, without the signs around them."""
    return frozenset(one.strip(".,:/+-").lower() for one in _RUN.findall(text) if _DIGIT.search(one))


def signature(text: str) -> tuple[str, ...]:
    """Return what of a text has to be equal to that of another which says the same: its words, then its numbers."""
    return (*_WORD.findall(text.lower()), *sorted(numbers_in(text)))


def _shingles(words: Sequence[str]) -> set[tuple[str, ...]]:
    """Return all runs of five words; none of a chunk that is too short or too long to be told by them."""
    if len(words) > _MOST_WORDS:
        return set()
    return set(zip(*(words[start:] for start in range(_SHINGLE_WORDS)), strict=False))


def _holds(whole: set[tuple[str, ...]], part: set[tuple[str, ...]]) -> bool:
    least = _SAME_SHARE * len(part)
    return bool(part) and len(whole) >= least and len(whole & part) >= least
