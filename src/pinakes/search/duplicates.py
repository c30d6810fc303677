"""Passages that say the same: copies of a text, licence headers, templates, versions of a file."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache

import numpy as np

from pinakes.types import Float32

_NEAR_COSINE = 0.9
"""Only passages whose vectors are so near, or of which one has none, are compared by their words."""

_SHINGLE_WORDS = 5
_SAME_SHARE = 0.9
_MOST_WORDS = 5000
"""Of longer passages only equal ones are the same."""

_WORD = re.compile(r"\w+")


def repetitions(
    ids: Sequence[int], vectors: Float32, texts_of: Callable[[Sequence[int]], Mapping[int, str]]
) -> dict[int, int]:
    """Return passage → the earlier one of ``ids`` that says all it says, for those that add nothing.

    ``vectors`` float32 (n, dim), unit length, NaN where there is none. A passage adds nothing when its words are those
    of an earlier one, without regard to case and punctuation, or when at least 0.9 of its runs of five words are there.
    """
    known = vectors.shape[1] > 0  # an index that never had a vector does not know how long they are
    near = ~((vectors @ vectors.T < _NEAR_COSINE) & known)
    earlier, later = np.nonzero(np.triu(near, 1))
    if not len(earlier):
        return {}
    texts = texts_of([ids[row] for row in np.union1d(earlier, later).tolist()])
    words = lru_cache(maxsize=None)(lambda one: _WORD.findall(texts[one].lower()))
    shingles = lru_cache(maxsize=None)(lambda one: _shingles(words(one)))
    same: dict[int, int] = {}
    for first, second in zip(earlier.tolist(), later.tolist(), strict=True):
        one, other = ids[first], ids[second]
        if one in same or other in same or one not in texts or other not in texts:
            continue
        if words(one) == words(other) or _holds(shingles(one), shingles(other)):
            same[other] = one
    return same


def _shingles(words: Sequence[str]) -> set[tuple[str, ...]]:
    """Return all runs of five words; none of a passage that is too short or too long to be told by them."""
    if len(words) > _MOST_WORDS:
        return set()
    return set(zip(*(words[start:] for start in range(_SHINGLE_WORDS)), strict=False))


def _holds(whole: set[tuple[str, ...]], part: set[tuple[str, ...]]) -> bool:
    least = _SAME_SHARE * len(part)
    return bool(part) and len(whole) >= least and len(whole & part) >= least
