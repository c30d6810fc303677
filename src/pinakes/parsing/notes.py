"""Footnotes and comments of a document: numbered marks in the text, and Markdown sections at its end."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

_NOBODY: Final = frozenset(("", "unknown author", "author"))
_TIME: Final = re.compile(r"(\d{4}-\d\d-\d\d)(?:T(\d\d:\d\d))?")


def comment(author: str, words: str, made: str = "") -> str:
    """Return a comment with its author and time (``made``, ISO 8601), if known: ``Ada (2024-05-06 07:08): …``."""
    moment = _TIME.match(made.strip())
    when = " ".join(filter(None, moment.groups())) if moment else ""
    who = "" if author.strip().lower() in _NOBODY else author.strip()
    origin = f"{who} ({when})" if who and when else who or when
    return f"{origin}: {words}" if origin else words


def sections(notes: Iterable[str], comments: Iterable[str]) -> str:
    """Return the sections of notes, in order of their numbers, and of comments; "" if there are none."""
    return _section("Notes", [f"[^{number}] {note}" for number, note in enumerate(notes, 1)]) + _section(
        "Comments", list(comments)
    )


def _section(name: str, lines: list[str]) -> str:
    return "".join([f"\n## {name}\n\n", *(f"- {line}\n" for line in lines)]) if lines else ""
