"""Days and times as callers write them."""

from __future__ import annotations

from contextlib import suppress
from datetime import UTC, datetime, time

from pinakes.errors import InvalidInput


def moment(words: str) -> str:
    """Return a day (its end) or a time, UTC where it says nothing else, as the catalogue writes times.

    Raises:
        InvalidInput: it is neither.
    """
    try:
        at = datetime.fromisoformat(words.strip())
        if len(words.strip()) <= len("2026-01-31"):
            at = datetime.combine(at.date(), time.max)
        at = at.replace(tzinfo=UTC) if at.tzinfo is None else at.astimezone(UTC)
    except (ValueError, OverflowError) as error:
        raise InvalidInput(
            f"{words!r} is no day or time.", hint="Write 2026-01-31 or 2026-01-31T18:00, in UTC."
        ) from error
    return at.isoformat(timespec="milliseconds")


def is_moment(words: str) -> bool:
    """Say whether ``words`` are a day or time."""
    with suppress(InvalidInput):
        return bool(moment(words))
    return False
