"""Numbers of things in words."""

from __future__ import annotations


def counted(number: int, one: str, many: str = "") -> str:
    """Return how many there are of a thing called ``one``, else ``many``: "1 file", "1,200 files"."""
    return f"{number:,} {one if number == 1 else many or f'{one}s'}"
