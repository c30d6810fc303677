"""A home that lies elsewhere now: what was read inside of it counts as read where it lies."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import Any

from sqlalchemy import ColumnElement, Connection, Table, func, select, update

from pinakes.catalog.schema import documents, fields, sources, versions
from pinakes.core.filters import normal_text


def relocate_sources(connection: Connection, old: Path, new: Path, kept: Collection[str] = ()) -> None:
    """Have sources that lie in the home ``old`` lie in ``new``, with their documents; not those at places ``kept``.

    They stay the same sources and documents, so that the next sync finds them as they are.
    """
    columns = (sources.c[name] for name in ("id", "collection_id", "kind", "location", "part"))
    found = connection.execute(select(*columns)).all()
    taken = {(row.collection_id, row.kind, row.location, row.part) for row in found}
    for row in found:
        place = Path(row.location)
        if row.location in kept or not place.is_relative_to(old):
            continue
        location = str(new / place.relative_to(old))
        if (row.collection_id, row.kind, location, row.part) not in taken:
            connection.execute(update(sources).where(sources.c.id == row.id).values(location=location))
            _move_uris(connection, row.id, f"{old.as_uri()}/", f"{new.as_uri()}/")


def _move_uris(connection: Connection, source_id: int, old: str, new: str) -> None:
    of_source = select(documents.c.id).where(documents.c.source_id == source_id)
    of_uris = fields.c.name == "uri", fields.c.document_id.in_(of_source)
    _replace(connection, fields, fields.c.value, normal_text(old), normal_text(new), *of_uris)
    for table in (documents, versions):
        _replace(connection, table, table.c.uri, old, new, table.c.source_id == source_id)


def _replace(
    connection: Connection, table: Table, column: ColumnElement[Any], old: str, new: str, *which: ColumnElement[bool]
) -> None:
    """Put ``new`` for the beginning ``old`` of a column in some rows; one whose place is taken stays as it is."""
    begins = func.substr(column, 1, len(old)) == old
    statement = update(table).where(*which, begins).values({column: new + func.substr(column, len(old) + 1)})
    connection.execute(statement.prefix_with("OR IGNORE"))
