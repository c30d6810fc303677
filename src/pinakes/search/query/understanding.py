"""Parses a request: query operators, spelling, expansion, search mode; and notes on what words cannot find."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from pinakes.catalog import Connection, selection
from pinakes.catalog.collections import CollectionRecord
from pinakes.core.filters import normal_text
from pinakes.core.ports import Index, lexicon_of
from pinakes.core.records import SearchMode
from pinakes.core.wording import first_of
from pinakes.search.query.expansion import expand
from pinakes.search.query.request import Request, cleaned
from pinakes.search.query.spelling import (
    MissingWord,
    absent,
    corrected,
    is_whole_of,
    missing,
    other_words,
    parts_asked_for,
)
from pinakes.search.query.syntax import parse_query
from pinakes.search.query.words import query_words
from pinakes.search.statistics.collection_statistics import CollectionStatistics
from pinakes.settings import Settings
from pinakes.text.analysis.segmentation import normal
from pinakes.text.analysis.spellings import other_groups

if TYPE_CHECKING:
    from pinakes.search.query.routing import Route


@dataclass(frozen=True, slots=True)
class ParsedRequest:
    """A parsed request.

    ``request``: with the filters of its query added, and a mode other than "auto". ``text`` is searched by keyword and
    vector; ``added``, the expansions, by keyword alone with less weight. A chunk must have all of ``phrases`` and none
    of ``excluded``; those with more of ``preferred`` rank first. ``named``: id of each document that the query names →
    its name there; the best chunk of each comes first; ``openings``: ids of their first chunks if it says nothing else.
    ``route``: why the mode was chosen; None if the request gave it. ``notes``: how the query was understood, for the
    reader.
    """

    request: Request
    text: str
    added: str = ""
    phrases: tuple[str, ...] = ()
    preferred: tuple[str, ...] = ()
    excluded: tuple[str, ...] = ()
    named: Mapping[int, str] = field(default_factory=dict)
    openings: tuple[int, ...] = ()
    route: Route | None = None
    notes: tuple[str, ...] = ()


def understand(request: Request, fields: Collection[str], index: Index, settings: Settings) -> ParsedRequest:
    """Parse ``request``; ``fields`` are the metadata fields that its query may filter by."""
    notes: list[str] = []
    query = parse_query(cleaned(request.query, settings.search.max_query_chars, notes), fields, request.phrases)
    text, notes = query.text, [*notes, *query.notes]
    request = replace(request, where=request.where + query.where)
    route_taken, others = None, ""
    if request.mode == "auto":
        from pinakes.search.query.routing import route

        route_taken = route(text, query.phrases)
        request = replace(request, mode=route_taken.mode)
        notes.append(f"searched by {_NAMES[route_taken.mode]}: {route_taken.reason}")
    notes += unsearchable_signs(text, request.mode)
    if request.mode != "vector":
        text, others, spelling_notes = _corrected(text, index, settings)
        notes += spelling_notes
    expansion = expand(text, settings.expansion)
    return ParsedRequest(
        request,
        text,
        added=" ".join(filter(None, [*expansion.terms, others])),
        phrases=query.phrases,
        preferred=query.preferred,
        excluded=query.excluded,
        route=route_taken,
        notes=(*notes, *expansion.notes),
    )


_NAMES = {"keyword": "words", "vector": "meaning", "hybrid": "words and meaning"}


def _corrected(text: str, index: Index, settings: Settings) -> tuple[str, str, list[str]]:
    """Return ``text`` with sure corrections, if these are enabled, what else to search for, and notes on unknown words.

    What else is searched for stands for unknown words that nothing resembles; the beginning of a hash becomes the hash.
    """
    spelling = settings.spelling
    lexicon = lexicon_of(index) if (spelling.suggest or spelling.correct) and text else None
    if lexicon is None or not lexicon.holds_any():
        return text, "", []
    lexicon.prepare(text, parts_asked_for(text))
    unknown, short = missing(text, lexicon), absent(text, lexicon)
    others = other_words([one.word for one in (*unknown, *short) if not one.near], lexicon)
    whole = {word: other for word, other in others.items() if is_whole_of(other, word)}
    added = " ".join(other for word, other in others.items() if word not in whole)
    mended = {one.word for one in unknown if one.sure and spelling.correct}
    notes = [f"searched for {one.near[0].word!r} instead of {one.word!r}" for one in unknown if one.word in mended]
    told = [one for one in (*unknown, *short) if one.word not in mended and (spelling.suggest or one.word in others)]
    notes += [_note(one, others) for one in told]
    text = _with_whole(text, whole)
    return corrected(text, unknown) if spelling.correct else text, added, notes


def _with_whole(text: str, whole: Mapping[str, str]) -> str:
    """Return ``text`` with each word that is a key of ``whole`` replaced, where it is not a part of another word."""
    return re.sub(r"\w+", lambda found: whole.get(found[0], found[0]), text) if whole else text


def _note(missing_word: MissingWord, others: Mapping[str, str]) -> str:
    other = others.get(missing_word.word)
    if not other:
        return missing_word.note
    how = "instead" if is_whole_of(other, missing_word.word) else "too"
    return f"{missing_word.note}: searched for {other!r}, {how}"


_MOST_NAMED = 5
_PUNCTUATION = re.compile(
    r"[:/|\\]|[-\u2010-\u2015.,;!?'\"`()\[\]{}\u2018-\u201f\u2039\u203a«»…·•、。「」『』《》？！，：；（）]+"
)
"""What separates words and is no sign by itself; two colons or slashes are one."""

_DEGREES = re.compile(r"°[^\W\d_]?")
_OF_NUMBER = re.compile(r"(?<=\d)\s?%|[$£€¥](?=\s?\d)")

_MOST_WORDS = 3
"""Longer queries get no notes on metadata metadata_values: they are sentences."""

_MOST_VALUES = 2
_MOST_FIELDS = 100
"""In a collection with more fields, only the most common ones are examined."""

_PLACE = frozenset(("uri", "path", "title", "kind", "language", "content_type"))
"""Fields that every document has; their metadata_values are found by keyword search."""


def unsearchable_signs(text: str, mode: SearchMode) -> list[str]:
    """Return a note on signs of a query that are not words, and whether the query has no word at all."""
    if not text or (mode == "vector" and query_words(text).words):
        return []
    if not query_words(text).words:
        how = "nothing can be found by words" if mode == "keyword" else "searched by meaning alone"
        return [f"{_quoted(text.split())} is no word, signs and emoji are not in the index: {how}"]
    signs = [sign for one in dict.fromkeys(text.split()) for sign in _signs_of(one)]
    if not signs:
        return []
    joined = {char for group in other_groups((), normal(text)) for other in group.others for char in other}
    signs = [one for one in dict.fromkeys(signs) if one not in joined]
    return [f"not searched for by words: {_quoted(signs)}, signs and emoji are not in the index"] if signs else []


def _quoted(words: list[str]) -> str:
    return first_of([repr(word[:20]) for word in words], _MOST_NAMED)


def _signs_of(word: str) -> list[str]:
    """Return what of a word between blanks no text is found by: all of it, or signs and emoji beside letters."""
    if not any(map(str.isalnum, word)):
        return [] if _PUNCTUATION.fullmatch(word) else [word]
    if word.isascii():
        return [found.strip() for found in _OF_NUMBER.findall(word)]
    signs = [char for char in word if not char.isascii() and unicodedata.category(char) in ("So", "Sm", "Sc")]
    degrees = _DEGREES.findall(word) if "°" in signs else []
    return [*degrees, *(sign for sign in signs if sign != "°" and not any(map(str.isalnum, normal(sign))))]


def metadata_values(
    connection: Connection, collection: CollectionRecord, statistics: CollectionStatistics, text: str
) -> list[str]:
    """Return notes on words of a short query that are metadata metadata_values, each with the filter to write."""
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
