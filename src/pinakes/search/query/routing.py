"""Routing: which search mode suits a query (keyword, vector or hybrid), and whether it names a symbol of code."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Literal, TypeAlias

from pinakes.core.records import SearchMode
from pinakes.text import identifiers
from pinakes.text.analysis import STOP_WORDS

KEYWORD_ABOVE = 0.7
VECTOR_BELOW = 0.3
_CONTENT, _FUNCTION = 0.5, 0.2
_SHOWN = 3
_WORD = re.compile(r"\w+(?:[-.'’]\w+)*")
_NUMBER = re.compile(r"\d[\d.,-]*")
_BARE = re.compile(r"[^\W\d]\w{2,}")

_FRAME_WORDS = (
    "a an the of for in is are at where what which how does do "
    "class const constant declaration declared define defined defines definition enum field file func function "
    "implementation implemented interface macro member method module option parameter signature source struct "
    "structure symbol type typedef union usage used uses variable"
)
_FRAME = frozenset(_FRAME_WORDS.split())
"""Words around an identifier that only say what kind of thing it is, or what the reader wants to know of it."""

SymbolKind: TypeAlias = Literal["path", "scoped", "call", "constant", "snake", "camel", "word"]


@dataclass(frozen=True, slots=True)
class Features:
    """The features that decide a route: word counts, and the keyword ``density``, 0 to 1."""

    words: int
    function_words: int
    exact_terms: tuple[str, ...]
    density: float


@dataclass(frozen=True, slots=True)
class Route:
    """The chosen mode, the confidence in it (0.5 to 1), and the reason in words."""

    mode: SearchMode
    confidence: float
    reason: str
    features: Features


@dataclass(frozen=True, slots=True)
class QuerySymbol:
    """The symbol of code, or the path of a file, that a query names.

    ``name``: what to look up, without the parentheses of a call; of a scoped name, the last part. ``written``: its form
    in the query. ``kind`` "word": it looks like an ordinary word and may or may not be a symbol. ``alone``: the query
    has no other words; otherwise its other words are only such as "definition of" or "struct".
    """

    name: str
    kind: SymbolKind
    written: str
    alone: bool


def route(
    text: str,
    phrases: Sequence[str] = (),
    *,
    keyword_above: float = KEYWORD_ABOVE,
    vector_below: float = VECTOR_BELOW,
) -> Route:
    """Choose a search mode (keyword, vector, hybrid) from the keyword density of ``text``.

    The density is the mean over the words: 1 for an exact term (identifier, number, word of a quoted phrase),
    0.2 for a function word ("how", "the"), 0.5 for any other. So vector search alone is chosen when less than a third
    of the words carry meaning. Above ``keyword_above`` the mode is keyword, below ``vector_below`` it is vector,
    otherwise hybrid. The confidence grows from 0.5 at the nearest limit to 1 at the farthest distance from it. A blank
    query is hybrid, 0.5.
    """
    features = _features(text, phrases)
    density, words = features.density, features.words
    if not words:
        return Route("hybrid", 0.5, "there is no word in the query", features)
    if density > keyword_above:
        reason = (
            f"{len(features.exact_terms)} of {words} words stand for nothing but themselves: {_first_terms(features)}"
        )
        return Route("keyword", _confidence_at(density - keyword_above, 1 - keyword_above), reason, features)
    if density < vector_below:
        reason = f"{features.function_words} of {words} words are in every text"
        return Route("vector", _confidence_at(vector_below - density, vector_below), reason, features)
    span = (keyword_above - vector_below) / 2
    nearest = min(keyword_above - density, density - vector_below)
    reason = f"exact words and meaning both count: the keyword density is {density:.2f}"
    return Route("hybrid", _confidence_at(nearest, span), reason, features)


def looks_like_symbol(text: str) -> QuerySymbol | None:
    """Return the only symbol or path that a query asks for; None if it asks for several, or for anything else."""
    text = text.strip().strip("`'\"").strip()
    found = [one for one in identifiers.find(text) if one.kind not in ("url", "flag", "hex", "version")]
    if len({one.name for one in found}) > 1:
        return None
    if not found:
        return QuerySymbol(text, "word", text, True) if _BARE.fullmatch(text) and _is_content(text) else None
    one = found[0]
    rest = _WORD.findall(text[: one.start] + " " + text[one.end :])
    if not all(word.lower() in _FRAME for word in rest):
        return None
    return QuerySymbol(_looked_up(one), one.kind, one.name, not rest)  # type: ignore[arg-type]


def _looked_up(one: identifiers.Identifier) -> str:
    name = one.name.partition("(")[0] if one.kind == "call" else one.name
    return re.split(r"::~?|->|\.", name)[-1] if one.kind == "scoped" else name


def _features(text: str, phrases: Sequence[str]) -> Features:
    quoted = {word.lower() for phrase in phrases for word in _WORD.findall(phrase)}
    names, ordinary, end = [], [], 0
    for found in identifiers.find(text):
        ordinary += _WORD.findall(text[end : found.start])
        names.append(found.name)
        end = found.end
    ordinary += _WORD.findall(text[end:])
    exact = names + [word for word in ordinary if word.lower() in quoted or _NUMBER.fullmatch(word)]
    others = [word for word in ordinary if word.lower() not in quoted and not _NUMBER.fullmatch(word)]
    content = sum(map(_is_content, others))
    weights = [1.0] * len(exact) + [_CONTENT] * content + [_FUNCTION] * (len(others) - content)
    return Features(len(weights), len(others) - content, tuple(exact), fmean(weights) if weights else 0.0)


def _is_content(word: str) -> bool:
    return word.lower() not in STOP_WORDS


def _first_terms(features: Features) -> str:
    terms = list(dict.fromkeys(features.exact_terms))
    return ", ".join([*terms[:_SHOWN], *(["…"] if len(terms) > _SHOWN else [])])


def _confidence_at(distance: float, span: float) -> float:
    return 0.5 + 0.5 * min(1.0, distance / span) if span > 0 else 1.0
