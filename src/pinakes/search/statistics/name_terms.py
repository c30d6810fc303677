"""Terms of names, compounds split: as a set, and in order."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

from pinakes.text.analysis import STOP_WORDS, english

_ANALYZER: Final = english()
_PIECE: Final = re.compile(r"[^\W_]+")
_HUMP: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")


def words_in(name: str) -> list[str]:
    """Return the words of a name as they are written: ``tcp_HTTPServer`` has three."""
    return [part for piece in _PIECE.findall(name) for part in _HUMP.split(piece)]


def name_terms(text: str) -> frozenset[str]:
    """Return the terms of a name: compounds split into parts, without stop words and single letters."""
    return frozenset(_ANALYZER.terms(" ".join(one for one in words_in(text) if one.lower() not in STOP_WORDS)))


@lru_cache(maxsize=50_000)
def terms_in_order(text: str) -> str:
    """Return the terms of ``text`` in order, each with a space before and after.

    Compounds are split; ``OpenAI`` stays whole, as metadata is case-folded.
    """
    return _terms_in_order(text, whole=True)


def query_terms_in_order(text: str) -> str:
    """Return the text to search for names: the terms of a query in order, then again with ``OpenAI`` split."""
    return f"{_terms_in_order(text, whole=True)}|{_terms_in_order(text, whole=False)}"


def _terms_in_order(text: str, *, whole: bool) -> str:
    """Return terms in order. Scripts without spaces yield all pairs of characters, so names inside a run are found."""
    words: list[str] = []
    for piece in _PIECE.findall(text):
        terms = _ANALYZER.terms(piece) or [piece.lower()]
        words += terms[:1] if whole and piece.isascii() else terms
    return f" {' '.join(words)} "
