"""The words of a query as the keyword retriever analyses them, and their places in texts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final

from pinakes.text.analysis import Place, english

MOST_CHARS: Final = 50_000
"""Characters of a chunk that are examined, so that very long chunks do not cost more."""

_REMEMBERED = 256
_REMEMBERED_PLACES = 64
"""Texts whose places are cached: more than one answer shows."""

_ANALYZER = english()


@dataclass(frozen=True, slots=True)
class QueryWords:
    """The words of a query in their written form, each with its terms, and the set of all terms.

    ``counts``: how often each word occurs in the query, in any form. ``others``: terms of other forms of the words →
    the terms that they stand for.
    """

    words: Mapping[str, tuple[str, ...]]
    terms: frozenset[str]
    counts: Mapping[str, int] = field(default_factory=dict)
    others: Mapping[str, str] = field(default_factory=dict)


@lru_cache(maxsize=_REMEMBERED)
def query_words(query: str) -> QueryWords:
    """Analyse a query as the keyword search does."""
    words: dict[tuple[str, ...], str] = {}
    counts = Counter[str]()
    others: dict[str, str] = {}
    for word in _ANALYZER.query_words(query):
        found = _ANALYZER.word_terms(word)
        if found:
            counts[words.setdefault(tuple(one.text for one in found), word)] += 1
            others |= {other: one.text for one in found for other in one.others}
    terms = frozenset(term for terms in words for term in terms)
    others = {other: term for other, term in others.items() if other not in terms}
    return QueryWords({word: terms for terms, word in words.items()}, terms, counts, others)


@lru_cache(maxsize=16 * _REMEMBERED)
def terms_of(text: str) -> frozenset[str]:
    """Return the terms of a short, recurring text such as a title or a path; results are cached."""
    return _ANALYZER.all_terms(text)


@lru_cache(maxsize=_REMEMBERED_PLACES)
def places_in(text: str, query: str) -> Sequence[Place]:
    """Return the places of the words of ``query`` in ``text``."""
    words = query_words(query)
    return _ANALYZER.places(text[:MOST_CHARS], words.terms, words.others, words.words) if words.terms else ()
