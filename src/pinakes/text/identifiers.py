"""Words that must not be stemmed or changed: identifiers of code, paths, versions, addresses.

===========  ======================================================================
``url``      ``https://example.org/a``
``path``     ``mm/page_alloc.c``, ``/proc/meminfo``, ``./configure``, ``README.md``
``flag``     ``--no-index``
``hex``      ``0x1f``
``version``  ``5.4.0``, ``v1.22``, ``6.1-rc3``
``scoped``   ``std::string``, ``page->lru``, ``os.path.join``
``call``     ``kfree()``, ``alloc_pages(gfp, order)``
``constant`` ``CONFIG_NUMA``, ``GFP_KERNEL``
``snake``    ``tcp_rcv_established``, ``__init__``
``camel``    ``CustomResourceDefinition``, ``getName``
===========  ======================================================================

A word in capitals without an underscore (``ERROR``, ``TCP``) is not an identifier: capitals are used for emphasis, and
acronyms mean the same in lower case.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal, TypeAlias, cast

Kind: TypeAlias = Literal["url", "path", "flag", "hex", "version", "scoped", "call", "constant", "snake", "camel"]

_NAME = r"[^\W\d]\w*"

# None of them may read a long text again from each of its places: what may be long begins where a run of its letters
# does, or has a most, and is possessive.
_PATTERNS = {
    "url": r"[a-zA-Z][a-zA-Z0-9+.-]{0,63}+://[^\s<>\"]+",
    "path": r"(?:~|\.{1,2})?/[\w.+-]+(?:/[\w.+-]*)*"
    r"|(?<![\w.+-])(?:(?:[\w.+-]++/)+[\w+-][\w.+-]*\.\w+|(?:[\w.+-]++/){2,}[\w.+-]*)"
    r"|[\w-]{2,255}+\.(?:[a-z]{1,4}|yaml)\b(?![.(\w])",
    "flag": r"--[a-zA-Z][\w-]*",
    "hex": r"0[xX][0-9a-fA-F]+\b",
    "version": r"[vV]?\d+(?:\.\d+)+(?:[-.]?(?:alpha|beta|rc)\.?\d*)?\b",
    "scoped": rf"{_NAME}(?:(?:::|->)~?{_NAME})+|{_NAME}(?:\.{_NAME}){{2,}}",
    "call": rf"{_NAME}\((?!e?s\))(?:[^()\s]|(?<=,) )*\)",
    "constant": r"_*[A-Z][A-Z0-9]*(?:_+[A-Z0-9]+)+_*\b|[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)*_\*",
    "snake": r"_+[^\W\d_]\w*|[^\W_]+_\w*\w",
    "camel": r"(?=[^\W\d])\w*?[a-z][A-Z]\w*|[A-Z]{2,}[a-z]{2,}\w*",
}
_ALL = re.compile("(?<![\\w$])(?:" + "|".join(f"(?P<{kind}>{pattern})" for kind, pattern in _PATTERNS.items()) + ")")
_CAMEL = re.compile(_PATTERNS["camel"])
_END = ".,;:!?"
_AROUND = ".,;:!?()[]{}<>\"'`“”„«»‘’|*"
_JOINED = re.compile(r"[^\W_]+(?:[-._:/'’&@+=#~>]{1,2}[^\W_]+)+")
_PART = re.compile(r"[^\W_]+")
_NUMBER = re.compile(r"[vV]?\d+")
_LONGEST_WHOLE = 100
_SHORTEST_PART = 3
_SEVERAL = 3
"""Minimum parts of a hyphenated name without digits and with short parts: ``one-by-one`` is not a name."""

_WORDS = re.compile(_NAME)
_NAMED: frozenset[Kind] = frozenset(("scoped", "call", "constant", "snake", "camel"))
_WRITTEN: frozenset[Kind] = frozenset(("flag", "scoped", "constant", "snake", "camel"))
_FEW = 2
_QUERIES = 64
"""Size of the cache of queries: each step of a search needs the identifiers of the same query."""


@dataclass(frozen=True, slots=True)
class Identifier:
    """An identifier in a text: ``text[start:end] == name``."""

    name: str
    kind: Kind
    start: int
    end: int


@lru_cache(_QUERIES)
def find(text: str) -> tuple[Identifier, ...]:
    """Return the identifiers of a query from left to right, without overlaps."""
    found = ((match, match.group().rstrip(_END)) for match in _ALL.finditer(text))
    return tuple(
        Identifier(name, cast("Kind", match.lastgroup), match.start(), match.start() + len(name))
        for match, name in found
        if name
    )


def names(text: str) -> list[str]:
    """Return possible names of definitions in ``text``: its identifiers, and all its words if there are at most two."""
    words = _WORDS.findall(text)
    parts = [_WORDS.findall(found.name.partition("(")[0]) for found in find(text) if found.kind in _NAMED]
    return list(dict.fromkeys([*(name for part in parts for name in part), *(words if len(words) <= _FEW else ())]))


def numbered(text: str) -> list[str]:
    """Return names with numbers in ``text``: ``RFC-0011``, ``2024-03-17T08:15Z``, ``00:1A:2B``. None has blanks."""
    return [piece for piece in _pieces(text) if any(char.isdigit() for char in piece) and _is_joined_name(piece)]


def wholes(text: str) -> list[str]:
    """Return compound names in ``text`` without blanks: of code, of flags, with hyphens or numbers."""
    written = (one.name.lstrip("-") for one in find(text) if one.kind in _WRITTEN)
    return [*filter(_is_joined_name, _pieces(text)), *filter(has_parts, written)]


def _pieces(text: str) -> Iterator[str]:
    """Yield candidates for compound names."""
    pieces = (piece.strip(_AROUND) for piece in text.split() if not piece.isalnum())
    return (piece for piece in pieces if len(piece) <= _LONGEST_WHOLE)


def has_parts(name: str) -> bool:
    """Return whether a name without blanks consists of several words."""
    return _JOINED.fullmatch(name.strip("_")) is not None or _CAMEL.fullmatch(name) is not None


def _is_joined_name(piece: str) -> bool:
    if not _JOINED.fullmatch(piece):
        return False
    parts = _PART.findall(piece)
    if len(parts) < _SEVERAL:
        return any(map(_NUMBER.fullmatch, parts))
    return any(char.isdigit() for char in piece) or min(map(len, parts)) >= _SHORTEST_PART
