"""Numbers of things, shares and scores, in words and as programs are told them."""

from __future__ import annotations

from collections.abc import Mapping

_DECIMALS = 4


def counted(number: int, one: str, many: str = "") -> str:
    """Return how many there are of a thing called ``one``, else ``many``: "1 file", "1,200 files"."""
    return f"{number:,} {one if number == 1 else many or f'{one}s'}"


def percent(share: float) -> str:
    """Return a share of 0 to 1 as such as "3.0 %", rounded down: 100 only when it is all."""
    return f"{int(share * 1000 + 1e-9) / 10:.1f} %"


def rounded(parts: Mapping[str, float]) -> dict[str, float]:
    """Return the parts of a score as answers have them: four decimals, less those that are nothing then."""
    told = {name: round(part, _DECIMALS) for name, part in parts.items()}
    return {name: part for name, part in told.items() if part}
