"""Numbers of things, and shares, in words."""

from __future__ import annotations


def counted(number: int, one: str, many: str = "") -> str:
    """Return how many there are of a thing called ``one``, else ``many``: "1 file", "1,200 files"."""
    return f"{number:,} {one if number == 1 else many or f'{one}s'}"


def percent(share: float) -> str:
    """Return a share of 0 to 1 as such as "3.0 %", rounded down: 100 only when it is all."""
    return f"{int(share * 1000 + 1e-9) / 10:.1f} %"
