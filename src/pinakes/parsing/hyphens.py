"""Restores words that line breaks of a printed page split or joined."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import Final

_BREAK: Final = "(?:[\x02\ufffe]\n?|[-‐]\n)"
"""A hyphen at the end of a line: as a control character, or as printed."""
_BREAKS: Final = ("\x02", "\ufffe", "-\n", "‐\n")
_BROKEN: Final = re.compile(
    rf"(?<![^\W\d_])(?P<head>[^\W\d_]{{2,}}|[^\W\d_](?=[\x02\ufffe]|[-‐]\n[^\W\d_A-Z]{{2}})){_BREAK}(?P<tail>\w+)"
)
"""Single letters with a printed hyphen at the end of a line may be grades, one below the other: ``A-``, ``B-``."""
_MARKS: Final = re.compile("[\x02\ufffe]\n?")
_SOFT_HYPHEN: Final = re.compile("\u00ad\n?")
_LIGATURES: Final = {0xFB00: "ff", 0xFB01: "fi", 0xFB02: "fl", 0xFB03: "ffi", 0xFB04: "ffl", 0xFB05: "st", 0xFB06: "st"}
_UNSEEN: Final = dict.fromkeys((0x200B, 0x200E, 0x200F, *range(0x202A, 0x202F), 0x2060, *range(0x2066, 0x206A), 0xFEFF))
_CUT: Final = {**_LIGATURES, **_UNSEEN}
_WORD: Final = re.compile(r"[^\W\d_]{2,}(?:[-‐]\w{2,})*")
_SUSPENDED: Final = frozenset(("and", "bzw", "eller", "och", "oder", "og", "sowie", "und"))
"""Conjunctions, which end no word at a syllable: the hyphen before one stands for the rest of the next word."""
_JOINED: Final = re.compile(r"(?<![\w/.:@#`-])(?P<left>[a-zà-ÿ]{3,})(?P<right>[A-ZÀ-Þ][a-zà-ÿ]{2,})(?![\w/(@`])")


def mended(pages: Sequence[str]) -> list[str]:
    """Return pages in which split words are joined, and joined words (``endStart``) are split.

    Other occurrences in the pages decide: ``well-known`` keeps its hyphen if it is written so elsewhere. Hyphens are
    also kept before a capital or a number, after single letters (``d-dimensional``), and in words with several
    (``state-of-the-art``), since these are not hyphenated at syllables; before a conjunction (``pre-and postfix``) a
    space follows them. Two words are split only if both occur separately elsewhere and the joined form occurs once, so
    that names such as ``eBay`` and ``camelCase`` stay.
    """
    pages = [page if page.isascii() else _SOFT_HYPHEN.sub("", page).translate(_CUT) for page in pages]
    if not any((_may_break(page) and _BROKEN.search(page)) or _JOINED.search(page) for page in pages):
        return [_MARKS.sub("-", page) for page in pages]
    words: Counter[str] = Counter()
    for page in pages:
        words.update(_WORD.findall((_BROKEN.sub(" ", page) if _may_break(page) else page).lower()))

    def whole(match: re.Match[str]) -> str:
        head, tail = match["head"], match["tail"]
        if words[(head + tail).lower()]:
            return head + tail
        if tail in _SUSPENDED:
            return f"{head}- {tail}"
        hyphened = match.start() > 0 and match.string[match.start() - 1] in "-‐"
        compound = hyphened or len(head) == 1 or not tail[0].islower() or words[f"{head}-{tail}".lower()]
        return f"{head}-{tail}" if compound else head + tail

    def apart(match: re.Match[str]) -> str:
        left, right = match["left"], match["right"]
        known = words[left] and words[right.lower()] and words[match[0].lower()] == 1
        return f"{left} {right}" if known else match[0]

    whole_words = (_MARKS.sub("-", _BROKEN.sub(whole, page)) if _may_break(page) else page for page in pages)
    return [_JOINED.sub(apart, page) for page in whole_words]


def _may_break(page: str) -> bool:
    """Return whether a page may have a split word: much faster than looking for one."""
    return any(mark in page for mark in _BREAKS)
