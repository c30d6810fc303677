"""Rows for long lists of values: each statement takes a part of the list, since databases limit parameters."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Final

from sqlalchemy import ColumnElement, Connection, Select

from pinakes.core.batching import batches

_AT_ONCE: Final = 1000


def rows_among(
    connection: Connection, query: Select[Any], column: ColumnElement[Any], values: Iterable[Any]
) -> Iterator[Any]:
    """Yield the rows of ``query`` whose ``column`` has one of ``values``."""
    for part in batches(values, _AT_ONCE):
        yield from connection.execute(query.where(column.in_(part)))


def rows_for(
    connection: Connection, query: Select[Any], name: str, values: Iterable[Any], **others: Any
) -> Iterator[Any]:
    """Yield the rows of ``query`` for ``values`` of its list parameter ``name``; ``others``: its other parameters."""
    for part in batches(values, _AT_ONCE):
        yield from connection.execute(query, {name: part, **others})
