"""Notes and comments of a document: a number where each belongs, and sections at the end, which are Markdown."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

_NOBODY: Final = frozenset(("", "unknown author", "author"))
_TIME: Final = re.compile(r"(\d{4}-\d\d-\d\d)(?:T(\d\d:\d\d))?")


def comment(author: str, words: str, made: str = "") -> str:
    """Return a comment with who made it and when (a moment in ISO 8601), where known: ``Ada (2024-05-06 07:08): …``."""
    moment = _TIME.match(made.strip())
    when = " ".join(filter(None, moment.groups())) if moment else ""
    who = "" if author.strip().lower() in _NOBODY else author.strip()
    said = f"{who} ({when})" if who and when else who or when
    return f"{said}: {words}" if said else words


def sections(notes: Iterable[str], comments: Iterable[str]) -> str:
    """Return the notes, in the order of their numbers, and the comments; "" where there are none."""
    return _section("Notes", [f"[^{number}] {note}" for number, note in enumerate(notes, 1)]) + _section(
        "Comments", list(comments)
    )


def _section(name: str, lines: list[str]) -> str:
    return "".join([f"\n## {name}\n\n", *(f"- {line}\n" for line in lines)]) if lines else ""
