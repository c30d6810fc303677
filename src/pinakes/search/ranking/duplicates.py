"""Detects chunks and documents with the same content: copies, licence headers, templates, versions of a file.

Texts are duplicates only if their numbers, identifiers and dates are the same: two invoices or test reports are never
folded. A version or date in the path or title of a document is ignored, unless the query or a filter names it.
"""

from __future__ import annotations

import re
import string
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Protocol

import numpy as np

from pinakes.core.records import Bool, Filter, Float32
from pinakes.text.version_numbers import versions_in, without_versions

_NEAR_COSINE = 0.9
"""Minimum cosine of chunks that are compared by shingles; pairs without both vectors are compared, too."""

_AT_ONCE = 64
"""Chunks compared with all others per step, which bounds the memory for thousands of duplicates."""

_SHINGLE_WORDS = 5
_SAME_SHARE = 0.9
_MOST_WORDS = 5000
"""Longer chunks are duplicates only if they are equal."""

_WORD = re.compile(r"\w+|§")
_RUN = re.compile(r"[\w.,:/+-]+")
_NO_LETTERS = bytes(set(range(256)) - set(string.ascii_lowercase.encode() + string.digits.encode()))
_DIGIT = re.compile(r"\d")
"""A run of the characters of ``_RUN`` with a digit is a number, identifier, date or amount."""


class PlacedText(Protocol):
    """The document fields of a chunk or document record that duplicate detection needs."""

    @property
    def path(self) -> str:
        """The path of its document."""
        ...

    @property
    def title(self) -> str:
        """The title of its document."""
        ...


def named_versions(query: str, where: Filter) -> frozenset[str]:
    """Return the versions and dates in a query or its filters: texts that differ in these are not duplicates."""
    conditions = (value for one in where for value in (*one.any_of, *one.glob))
    return versions_in(" ".join([query, *map(str, conditions)]))


def comparable(text: str, place: PlacedText, named: frozenset[str]) -> str:
    """Return ``text`` without the versions in its path and title, followed by those of them that are ``named``."""
    versions = versions_in(f"{place.path}\n{place.title}")
    return "\n".join([without_versions(text, versions - named), *sorted(versions & named)])


def repetitions(
    ids: Sequence[int],
    vectors: Float32,
    texts_of: Callable[[Sequence[int]], Mapping[int, str]],
    always_compared: int | None = None,
) -> dict[int, int]:
    """Return duplicate → the earlier chunk of ``ids`` whose content includes its content.

    ``vectors``: float32 (n, dim), unit length, NaN if missing. A chunk is a duplicate if an earlier one contains all of
    its numbers and identifiers, and has the same words (case and punctuation aside) or at least 0.9 of its five-word
    shingles. After the first ``always_compared`` chunks (None: all), only chunks near another one are compared, since
    reading texts is slow.
    """
    wanted = list(ids)
    if always_compared is not None and always_compared < len(ids):
        others = np.triu(_near(vectors, vectors), 1)
        compared = {
            *range(always_compared),
            *np.flatnonzero(others.any(0)).tolist(),
            *np.flatnonzero(others.any(1)).tolist(),
        }
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
    """Return bool (n, m): which vectors of ``some`` are near which of ``others``; true if a vector is missing."""
    known = some.shape[1] > 0  # an index without vectors does not know their dimension
    near: Bool = ~((some @ others.T < _NEAR_COSINE) & known)
    return near


class TextComparison:
    """A text under comparison; derived values are computed on first use."""

    def __init__(self, text: str) -> None:
        self._text = text

    def says(self, other: TextComparison) -> bool:
        """Return whether the text includes all of the content of ``other``; False if ``other`` has no words."""
        return bool(other.words) and (self.equals(other) or self.holds(other))

    def equals(self, other: TextComparison) -> bool:
        """Return whether both texts have the same words in the same order, and the same numbers."""
        if self._text == other._text:
            return True
        return self.words == other.words and self.numbers == other.numbers

    @cached_property
    def letters(self) -> bytes:
        """Its ASCII letters and digits, lower-cased: cheap to compute, and the same for equal texts."""
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
        """Return whether the text contains nearly all shingles of ``other``, and all of its numbers."""
        return other.numbers <= self.numbers and _holds(self.shingles, other.shingles)

    @cached_property
    def shingles(self) -> set[tuple[str, ...]]:
        """Its runs of five words; none if it is too short or too long for them."""
        return _shingles(self.words)


class ComparedTexts:
    """Texts in which the content of another one is looked for: only those that share words with it are compared."""

    def __init__(self) -> None:
        self._texts: list[TextComparison] = []
        self._by_words = defaultdict[tuple[str, ...], list[int]](list)
        self._by_shingle = defaultdict[tuple[str, ...], list[int]](list)

    def add(self, text: TextComparison) -> None:
        """Add a text; the first one has number 0."""
        number = len(self._texts)
        self._texts.append(text)
        self._by_words[text.words].append(number)
        for shingle in text.shingles:
            self._by_shingle[shingle].append(number)

    def saying(self, text: TextComparison) -> list[int]:
        """Return the numbers of the texts that include all of the content of ``text``, in ascending order."""
        shared = Counter(number for shingle in text.shingles for number in self._by_shingle.get(shingle, ()))
        least = _SAME_SHARE * len(text.shingles)
        alike = {number for number, count in shared.items() if count >= least}
        return sorted(one for one in alike.union(self._by_words.get(text.words, ())) if self._texts[one].says(text))


def numbers_in(text: str) -> frozenset[str]:
    """Return the numbers, identifiers, dates and amounts of a text, lower-cased, without surrounding signs."""
    return frozenset(one.strip(".,:/+-").lower() for one in _RUN.findall(text) if _DIGIT.search(one))


def signature(text: str) -> tuple[str, ...]:
    """Return the words of a text, then its numbers sorted: equal for texts with the same content."""
    return (*_WORD.findall(text.lower()), *sorted(numbers_in(text)))


def _shingles(words: Sequence[str]) -> set[tuple[str, ...]]:
    """Return all five-word shingles; none if the text is too short or too long for them."""
    if len(words) > _MOST_WORDS:
        return set()
    return set(zip(*(words[start:] for start in range(_SHINGLE_WORDS)), strict=False))


def _holds(whole: set[tuple[str, ...]], part: set[tuple[str, ...]]) -> bool:
    least = _SAME_SHARE * len(part)
    return bool(part) and len(whole) >= least and len(whole & part) >= least
