"""Notes of changed entities in PostgreSQL, where a writer may commit a lower id after another one's higher one."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from threading import Event, Thread

from sqlalchemy import select

from pinakes.catalog import Catalog, collections, entity_changes
from pinakes.catalog.schema import entity_changes as notes_table
from pinakes.settings import CatalogSettings, Settings


def test_a_note_that_is_committed_late_is_not_forgotten(new_database: Callable[[], str]) -> None:
    with closing(Catalog.of(Settings(catalog=CatalogSettings(url=new_database())))) as catalog:
        with catalog.write() as connection:
            record = collections.ensure(connection, "kept", "")
        is_noted, may_commit = Event(), Event()

        def slow() -> None:
            with catalog.write() as connection:
                entity_changes.note(connection, record.id, [1, 2])
                is_noted.set()
                assert may_commit.wait(30)

        writer = Thread(target=slow)
        writer.start()
        assert is_noted.wait(30)
        with catalog.write() as connection:
            entity_changes.note(connection, record.id, range(3, 40))
        with catalog.read() as connection:
            seen = entity_changes.since(connection, record.id, 0, 0)
        may_commit.set()
        writer.join(30)
        with catalog.write() as connection:
            entity_changes.forget(connection, seen)
        with catalog.read() as connection:
            left = connection.scalars(select(notes_table.c.entity_id).order_by(notes_table.c.id)).all()
            assert left == [1, 2]
            assert entity_changes.is_any(connection, record.id)
