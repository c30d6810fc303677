"""How exact the vectors of a collection are, in the same words everywhere."""

from __future__ import annotations

from pinakes.library import CollectionStatus
from pinakes.wording import percent


def exactness(status: CollectionStatus) -> str:
    """Return such as "1,009 of 33,195 exact (3.0 %), the others approximate", "all exact" where none waits."""
    if not status.pending:
        return "all exact"
    words = f"{status.exact:,} of {status.chunks:,} exact ({percent(status.exact_share)})"
    if not status.waiting:
        return f"{words}, the others approximate"
    approximate = f", {status.approximate:,} approximate" if status.approximate else ""
    return f"{words}{approximate}, {status.waiting:,} found by words only"
