"""Superscripts and subscripts as plain text: Unicode characters if they exist, else ``^`` and ``_``."""

from __future__ import annotations

import re
from typing import Final, Literal, TypeAlias

Script: TypeAlias = Literal["", "super", "sub"]

_SUPER: Final = str.maketrans("0123456789+-\u2212–=()ni", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁻⁻⁼⁽⁾ⁿⁱ")
_SUB: Final = str.maketrans("0123456789+-\u2212–=()", "₀₁₂₃₄₅₆₇₈₉₊₋₋₋₌₍₎")
_HAS_SUPER: Final = re.compile("[0-9+\\-\u2212–=()ni]+")
_HAS_SUB: Final = re.compile("[0-9+\\-\u2212–=()]+")
_REFERENCE: Final = re.compile(r"\[?\s*\d{1,3}(?:\s*[,;–-]\s*\d{1,3})*\s*\]?|[*†‡§¶]+")
_ENDING: Final = re.compile("st|nd|rd|th|er|re|e|ère|ème|eme|o|a|os|as|TM|®|™|℠", re.IGNORECASE)
_BARE: Final = re.compile(r"[\w.]{1,20}")
_WORD: Final = re.compile(r"[^\W\d_]*\Z")
_UNITS: Final = frozenset(
    ("mile", "miles", "inch", "inches", "feet", "foot", "yard", "yards", "sec", "mol", "log", "meter", "metre")
)
_LONGEST_SYMBOL: Final = 2
"""Maximum letters of a unit or quantity (``km``, ``mc``); a raised number after a longer word refers to a note."""


def scripted(text: str, script: Script, before: str, *, reference: bool = False) -> str:
    """Return ``text``, raised or lowered after the text ``before``, as plain text.

    Numbers after a word, and anything that is a ``reference``, are written apart from the word: ``word[1]``.
    """
    inner = text.strip()
    if not script or not inner:
        return text
    left, right = text[: len(text) - len(text.lstrip())], text[len(text.rstrip()) :]
    return left + _scripted(inner, script, left or before, reference=reference) + right


def _scripted(text: str, script: Script, before: str, *, reference: bool) -> str:
    if script == "sub":
        return text.translate(_SUB) if _HAS_SUB.fullmatch(text) else _marked(text, "_", before)
    if _REFERENCE.fullmatch(text) and (reference or text.startswith("[") or _is_word(before)):
        return text if text.startswith("[") or not text[0].isdigit() else f"[{text}]"
    if _ENDING.fullmatch(text) and before[-1:].isalnum():
        return {"tm": "™"}.get(text.lower(), text)
    if text.startswith("(") and text.endswith(")") and not _HAS_SUPER.fullmatch(text):
        return text
    return text.translate(_SUPER) if _HAS_SUPER.fullmatch(text) else _marked(text, "^", before)


def _is_word(before: str) -> bool:
    """Return whether a number raised after ``before`` is a note reference rather than a power."""
    if before[-1:] in tuple(".,;:!?\"'”’"):
        return True
    word = _WORD.search(before[-40:])
    letters = word[0] if word else ""
    return len(letters) > _LONGEST_SYMBOL and letters.lower() not in _UNITS


def _marked(text: str, sign: str, before: str) -> str:
    """Return text with a sign before it if it is attached to ``before``; long text is unchanged."""
    if not before or before[-1].isspace() or len(text) > 40:
        return text
    return f"{sign}{text}" if _BARE.fullmatch(text) else f"{sign}({text})"
