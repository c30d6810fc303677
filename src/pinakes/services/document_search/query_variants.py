"""Questions in several wordings, to be merged into one ranking."""

from __future__ import annotations

from collections.abc import Sequence

from pinakes.core.errors import InvalidInput

MOST_QUERIES = 20


def check_merge(queries: Sequence[str]) -> list[str]:
    """Return the questions that are there to be merged, without blank ones.

    Raises:
        InvalidInput: there are fewer than two, or more than ``MOST_QUERIES``.
    """
    asked = [query for query in queries if query.strip()]
    if len(asked) < 2:
        raise InvalidInput("Provide at least 2 queries", hint="Ask the same in other words.")
    if len(asked) > MOST_QUERIES:
        raise InvalidInput(f"{len(asked)} queries are too many to be merged.", hint=f"At most {MOST_QUERIES}.")
    return asked
