"""Notes and comments of a document: a number where each belongs, and sections at the end, which are Markdown."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

_NOBODY: Final = frozenset(("", "unknown author", "author"))
_MARK: Final = re.compile("\ue0fb(\\d+)\ue0fc")
"""The converter would make notes of its own of what it takes for their marks."""


def mark(number: int) -> str:
    """Return what stands for the number of a note until a document is converted."""
    return f"\ue0fb{number}\ue0fc"


def numbered(text: str) -> str:
    """Return ``text`` with numbers where there are marks."""
    return _MARK.sub(r"[^\1]", text)


def comment(author: str, words: str) -> str:
    """Return a comment with who made it, where that is known."""
    return words if author.strip().lower() in _NOBODY else f"{author.strip()}: {words}"


def sections(notes: Iterable[str], comments: Iterable[str]) -> str:
    """Return the notes, in the order of their numbers, and the comments; "" where there are none."""
    return _section("Notes", [f"[^{number}] {note}" for number, note in enumerate(notes, 1)]) + _section(
        "Comments", list(comments)
    )


def _section(name: str, lines: list[str]) -> str:
    return "".join([f"\n## {name}\n\n", *(f"- {line}\n" for line in lines)]) if lines else ""
