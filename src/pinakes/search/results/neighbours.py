"""Adds the neighbouring chunks of hits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pinakes.catalog import Connection, document_queries, selection
from pinakes.core.late import changed
from pinakes.core.records import Hit, Neighbour
from pinakes.text.injection import is_injection


def surrounded(connection: Connection, hits: Sequence[Hit], rows: Sequence[Any], count: int) -> list[Hit]:
    """Return ``hits`` with up to ``count`` chunks before and after each; ``rows`` are their chunk rows.

    A chunk that is itself a hit, or already a neighbour of a better hit, is not repeated.
    """
    taken = {(row.document_id, row.ordinal) for row in rows}
    wanted: list[list[tuple[int, int]]] = []
    for row in rows:
        around = range(max(0, row.ordinal - count), row.ordinal + count + 1)
        wanted.append([place for at in around if (place := (row.document_id, at)) not in taken])
        taken.update(wanted[-1])
    found = selection.hit_rows_at(connection, [place for places in wanted for place in places])
    numbers = document_queries.lines_of_chunks(connection, found.values())
    return [
        _beside(hit, tuple(_neighbour(found[at], hit, row, numbers) for at in places if at in found))
        for hit, row, places in zip(hits, rows, wanted, strict=True)
    ]


def _beside(hit: Hit, neighbours: tuple[Neighbour, ...]) -> Hit:
    suspicious = hit.suspicious or any(is_injection(one.text) for one in neighbours)
    return changed(hit, neighbours=neighbours, suspicious=suspicious)


def _neighbour(row: Any, hit: Hit, own: Any, numbers: Mapping[int, tuple[int, ...]]) -> Neighbour:
    return Neighbour(
        chunk_index=hit.chunk_index - own.ordinal + row.ordinal,
        start_line=row.start_line,
        end_line=row.end_line,
        heading_path=tuple(row.heading_path),
        text=row.text,
        numbers=numbers.get(row.id, ()),
    )
