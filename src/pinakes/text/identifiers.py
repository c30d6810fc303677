"""Words that must be left as they are written: identifiers of code, paths, versions, addresses.

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

A word in capitals without an underscore (``ERROR``, ``TCP``) is no identifier: people shout, and acronyms mean the
same in small letters.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
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
_END = ".,;:!?"
_WORDS = re.compile(_NAME)
_NAMED: frozenset[Kind] = frozenset(("scoped", "call", "constant", "snake", "camel"))
_FEW = 2


@dataclass(frozen=True, slots=True)
class Identifier:
    """Something in a text that is to stay as written: ``text[start:end] == name``."""

    name: str
    kind: Kind
    start: int
    end: int


def find(text: str) -> Iterator[Identifier]:
    """Yield the identifiers of ``text`` from left to right; they do not overlap."""
    for match in _ALL.finditer(text):
        name = match.group().rstrip(_END)
        if name:
            yield Identifier(name, cast("Kind", match.lastgroup), match.start(), match.start() + len(name))


def names(text: str) -> list[str]:
    """Return what ``text`` may name that code defines: its identifiers, and all words where they are two or fewer."""
    words = _WORDS.findall(text)
    parts = [_WORDS.findall(found.name.partition("(")[0]) for found in find(text) if found.kind in _NAMED]
    return list(dict.fromkeys([*(name for part in parts for name in part), *(words if len(words) <= _FEW else ())]))
