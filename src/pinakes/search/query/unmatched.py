"""Notes on signs of a query that the keyword index lacks, and on query words that are metadata values."""

from __future__ import annotations

import unicodedata

from pinakes.catalog import Connection, selection
from pinakes.catalog.collections import CollectionRecord
from pinakes.core.filters import normal_text
from pinakes.core.records import SearchMode
from pinakes.core.wording import first_of
from pinakes.search.query.words import query_words
from pinakes.search.statistics.caches import CollectionStatistics

_MOST_NAMED = 5
_SAYING = "@#$%&+"
"""ASCII signs that carry meaning by themselves; other signs separate words."""

_MOST_WORDS = 3
"""Longer queries get no notes on metadata values: they are sentences."""

_MOST_VALUES = 2
_MOST_FIELDS = 100
"""In a collection with more fields, only the most common ones are examined."""

_PLACE = frozenset(("uri", "path", "title", "kind", "language", "content_type"))
"""Fields that every document has; their values are found by keyword search."""


def unsearchable_signs(text: str, mode: SearchMode) -> list[str]:
    """Return a note on signs of a query that are not words, and whether the query has no word at all."""
    if not text or (mode == "vector" and query_words(text).words):
        return []
    if not query_words(text).words:
        how = "nothing can be found by words" if mode == "keyword" else "searched by meaning alone"
        return [f"{_quoted(text.split())} is no word, signs and emoji are not in the index: {how}"]
    signs = [one for one in dict.fromkeys(text.split()) if all(map(_is_sign, one))]
    return [f"not searched for by words: {_quoted(signs)}, signs and emoji are not in the index"] if signs else []


def _quoted(words: list[str]) -> str:
    return first_of([repr(word[:20]) for word in words], _MOST_NAMED)


def _is_sign(char: str) -> bool:
    if char.isascii():
        return char in _SAYING
    return unicodedata.category(char) in ("So", "Sm", "Sc", "Sk", "Po", "Cf", "Mn") and char not in "…·•"


def values(
    connection: Connection, collection: CollectionRecord, statistics: CollectionStatistics, text: str
) -> list[str]:
    """Return notes on words of a short query that are metadata values, each with the filter to write."""
    words = text.split()
    if not 0 < len(words) <= _MOST_WORDS:
        return []
    names = sorted({*statistics.common_fields(connection, collection, _MOST_FIELDS)} - _PLACE)
    wanted = list(dict.fromkeys(normal_text(one) for one in (text, *words)))
    found = selection.fields_with(connection, collection.id, names, wanted, _MOST_VALUES) if names else []
    return [
        f"`{name}: {value}` is a value of the field {name}: write {_filter(name, value)} to filter"
        for name, value in found
    ]


def _filter(name: str, value: str) -> str:
    return f'{name}:"{value}"' if " " in value or "," in value else f"{name}:{value}"
