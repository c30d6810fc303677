"""Counts, shares, sizes and scores as text and as rounded numbers; truncation of long texts; comma-separated lists."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

MEGABYTE = 1_000_000
_DECIMALS = 4


def counted(number: int, one: str, many: str = "") -> str:
    """Return a count with its noun, singular ``one`` or plural ``many``: "1 file", "1,200 files"."""
    return f"{number:,} {one if number == 1 else many or f'{one}s'}"


def percent(share: float) -> str:
    """Return a share from 0 to 1 as text such as "3.0 %", rounded down, so that only 1 gives 100."""
    return f"{int(share * 1000 + 1e-9) / 10:.1f} %"


def megabytes(size: float) -> str:
    """Return a size in bytes as text such as "3.0 MB"."""
    return f"{size / MEGABYTE:,.1f} MB"


def first_of(texts: Sequence[str], most: int) -> str:
    """Return the first ``most`` texts, comma-separated, and how many more there are: "a, b and 3 more"."""
    more = f" and {len(texts) - most:,} more" if len(texts) > most else ""
    return ", ".join(texts[:most]) + more


def cut(text: str, most: int) -> str:
    """Return ``text``, cut to ``most`` characters with "…" at its end if it is longer."""
    return text if len(text) <= most else text[: most - 1].rstrip() + "…"


def split_list(text: str) -> list[str]:
    """Return the items of a comma-separated list, without the blanks around them; empty ones are left out."""
    return [part.strip() for part in text.split(",") if part.strip()]


def rounded_score(score: float | None) -> float | None:
    """Return a score as it is in answers, rounded to four decimals."""
    return None if score is None else round(score, _DECIMALS)


def rounded(parts: Mapping[str, float]) -> dict[str, float]:
    """Return the parts of a score as they are in answers, rounded to four decimals, without zeros."""
    rounded_parts = {name: round(part, _DECIMALS) for name, part in parts.items()}
    return {name: part for name, part in rounded_parts.items() if part}


def as_utf8(text: str) -> str:
    r"""Return ``text`` as it can be stored: bytes of the system that are no UTF-8 as ``\xff``, else unchanged."""
    try:
        return text.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
    except UnicodeEncodeError:  # no byte was decoded to that surrogate
        return text.encode("utf-8", "backslashreplace").decode()
