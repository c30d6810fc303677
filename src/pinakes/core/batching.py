"""Long sequences in parts of a limited size."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import TypeVar

T = TypeVar("T")


def batches(values: Iterable[T], size: int) -> Iterator[list[T]]:
    """Yield ``values`` in lists of ``size``, in their order; the last may be shorter."""
    every = iter(values)
    while part := list(islice(every, size)):
        yield part
