"""Numbers of things, shares, sizes and scores, in words and as programs are told them; texts that are too long."""

from __future__ import annotations

from collections.abc import Mapping

MEGABYTE = 1_000_000
_DECIMALS = 4


def counted(number: int, one: str, many: str = "") -> str:
    """Return how many there are of a thing called ``one``, else ``many``: "1 file", "1,200 files"."""
    return f"{number:,} {one if number == 1 else many or f'{one}s'}"


def percent(share: float) -> str:
    """Return a share of 0 to 1 as such as "3.0 %", rounded down: 100 only when it is all."""
    return f"{int(share * 1000 + 1e-9) / 10:.1f} %"


def megabytes(size: float) -> str:
    """Return a size in bytes as such as "3.0 MB"."""
    return f"{size / MEGABYTE:,.1f} MB"


def cut(text: str, most: int) -> str:
    """Return ``text``, with "…" at its end where it has more than ``most`` characters."""
    return text if len(text) <= most else text[: most - 1].rstrip() + "…"


def rounded_score(score: float | None) -> float | None:
    """Return a score as answers have it: four decimals."""
    return None if score is None else round(score, _DECIMALS)


def rounded(parts: Mapping[str, float]) -> dict[str, float]:
    """Return the parts of a score as answers have them: four decimals, less those that are nothing then."""
    told = {name: round(part, _DECIMALS) for name, part in parts.items()}
    return {name: part for name, part in told.items() if part}
