"""Counts of collections and the exactness of their vectors, in the same words everywhere."""

from __future__ import annotations

from collections.abc import Sequence

from pinakes.core.wording import percent
from pinakes.library import Library
from pinakes.services.collections.status import CollectionStatus


def exactness(status: CollectionStatus) -> str:
    """Return such as "1,009 of 33,195 exact (3.0 %), the others approximate", "all exact" where none waits."""
    if not status.pending:
        return "all exact"
    words = f"{status.exact:,} of {status.chunks:,} exact ({percent(status.exact_share)})"
    if not status.waiting:
        return f"{words}, the others approximate"
    approximate = f", {status.approximate:,} approximate" if status.approximate else ""
    return f"{words}{approximate}, {status.waiting:,} found by words only"


def counted(library: Library) -> list[CollectionStatus]:
    """Return how the collections are that count where none is named; none where there is none yet."""
    names = set(library.named())
    return [status for name in library.naming.visible() if name in names for status in library.status(name)]


def exact_share(every: Sequence[CollectionStatus]) -> float:
    """Return the share of all chunks that is exact, as ``CollectionStatus.exact_share``."""
    chunks, exact = sum(status.chunks for status in every), sum(status.exact for status in every)
    return exact * 10_000 // chunks / 10_000 if chunks else 1.0


def distinct(status: CollectionStatus) -> int:
    """Return how many things a collection holds: its groups, or its documents where it has none."""
    return status.groups or status.documents
