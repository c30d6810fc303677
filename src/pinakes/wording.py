"""Numbers of things in words."""

from __future__ import annotations

_MOST_QUOTED = 40


def counted(number: int, one: str, many: str = "") -> str:
    """Return how many there are of a thing called ``one``, else ``many``: "1 file", "1,200 files"."""
    return f"{number:,} {one if number == 1 else many or f'{one}s'}"


def quoted(text: str) -> str:
    """Return ``text`` in quotation marks, the rest of a long one left out."""
    return repr(text if len(text) <= _MOST_QUOTED else f"{text[: _MOST_QUOTED - 1]}…")
