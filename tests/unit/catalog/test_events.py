"""What happens is noted with what it changes, in one transaction, once, in order."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import pytest
from catalog_making import new, put

from pinakes.catalog import Catalog, collections, copying, documents, events, sources
from pinakes.catalog.collections import CollectionRecord
from pinakes.catalog.events import Event
from pinakes.catalog.history import Retention
from pinakes.catalog.sources import FileRecord, SourceRecord
from pinakes.core.errors import InvalidInput


@contextmanager
def noted(catalog: Catalog) -> Iterator[list[Event]]:
    """Give a list that has what was noted within the block, once the block ends."""
    found: list[Event] = []
    with catalog.read() as connection:
        position = events.newest(connection)
    yield found
    with catalog.read() as connection:
        found += events.after(connection, position, 1000)


def source_of(catalog: Catalog, collection: CollectionRecord) -> SourceRecord:
    with catalog.write() as connection:
        return sources.remember(connection, collection.id, ("folder", "/docs", ""), {})


def told(found: list[Event]) -> list[tuple[str, str, str | None]]:
    return [(one.kind, one.operation, one.uri) for one in found]


def test_a_new_document_is_noted_with_what_it_is(catalog: Catalog, collection: CollectionRecord) -> None:
    source = source_of(catalog, collection)
    with noted(catalog) as found:
        [number] = put(catalog, collection, new("a.md", "words", title="A", source_id=source.id))
    with catalog.read() as connection:
        [document] = documents.of_ids(connection, [number])
    [event] = found
    assert (event.kind, event.operation, event.collection, event.document) == ("indexed", "created", "c", document.uid)
    assert (event.uri, event.title, event.version, event.source) == ("file:///a.md", "A", 1, "/docs")
    assert event.at == document.created_at
    assert "detail" not in event.as_data()


def test_a_document_that_changes_moves_and_goes_is_noted_each_time(
    catalog: Catalog, collection: CollectionRecord
) -> None:
    by = Retention(by="ada (cli)")
    [number] = put(catalog, collection, new("a.md", "words"))
    with noted(catalog) as found, catalog.write() as connection:
        documents.put(connection, collection.id, new("a.md", "other words"), by)
        documents.move(connection, collection.id, number, new("b.md", "other words"), by)
        documents.remove(connection, number, by)
    assert told(found) == [
        ("updated", "updated", "file:///a.md"),
        ("updated", "moved", "file:///b.md"),
        ("deleted", "deleted", "file:///b.md"),
    ]
    assert [one.changed for one in found] == [("text",), ("uri", "path"), ()]
    assert [one.version for one in found] == [2, 3, 3]
    assert {one.by for one in found} == {"ada (cli)"}
    assert len({one.document for one in found}) == 1


def test_a_document_that_is_read_again_as_it_was_is_no_news(catalog: Catalog, collection: CollectionRecord) -> None:
    [number] = put(catalog, collection, new("a.md", "some", "words"))
    with catalog.read() as connection:
        [before] = documents.of_ids(connection, [number])
    with noted(catalog) as found:
        put(catalog, collection, new("a.md", "some\nwords"))
    with catalog.read() as connection:
        [after] = documents.of_ids(connection, [number])
    assert found == []
    assert (after.version, after.updated_at, after.chunk_count) == (1, before.updated_at, 1), "it is cut anew"
    with noted(catalog) as found:
        put(catalog, collection, replace(new("a.md", "some\nwords"), content_hash="of other bytes"))
    assert [one.version for one in found] == [2]


def test_what_is_undone_was_never_noted(catalog: Catalog, collection: CollectionRecord) -> None:
    def fail() -> None:
        with catalog.write() as connection:
            documents.put(connection, collection.id, new("a.md", "words"))
            raise RuntimeError

    with noted(catalog) as found, pytest.raises(RuntimeError):
        fail()
    assert found == []


def test_a_deleted_document_is_noted_where_no_history_is_kept(catalog: Catalog, collection: CollectionRecord) -> None:
    [number] = put(catalog, collection, new("a.md", "words", title="A"))
    with noted(catalog) as found, catalog.write() as connection:
        documents.remove(connection, number, Retention(days=0))
        documents.remove(connection, number, Retention(days=0))
    assert [(one.kind, one.title) for one in found] == [("deleted", "A")]


def test_a_copy_and_the_end_of_a_collection_are_noted(catalog: Catalog, collection: CollectionRecord) -> None:
    put(catalog, collection, new("a.md", "words"), new("b.md", "more"))
    with noted(catalog) as found, catalog.write() as connection:
        other = copying.copy(connection, collection, "copy", Retention())
        collections.remove(connection, other)
    assert [(one.kind, one.operation, one.collection) for one in found] == [
        ("indexed", "copied", "copy"),
        ("indexed", "copied", "copy"),
        ("deleted", "collection deleted", "copy"),
    ]
    assert found[-1].detail == {"documents": 2}


def test_a_file_that_fails_is_told_once_for_each_reason(catalog: Catalog, collection: CollectionRecord) -> None:
    source = source_of(catalog, collection)

    def fail(path: str, reason: str) -> None:
        with catalog.write() as connection:
            sources.note(connection, source.id, [FileRecord(path, "f", None, "error", reason)])

    with noted(catalog) as found:
        fail("a.md", "It is locked.")
        fail("a.md", "It is locked.")
        fail("b.md", "It is locked.")
        fail("a.md", "It is gone.")
        with catalog.write() as connection:
            sources.note(connection, source.id, [FileRecord("c.md", "f", None, "skipped", "It is empty.")])
    assert [(one.uri, one.detail) for one in found] == [
        ("a.md", {"reason": "It is locked."}),
        ("b.md", {"reason": "It is locked."}),
        ("a.md", {"reason": "It is gone."}),
    ]
    assert {(one.kind, one.collection, one.source) for one in found} == {("failed", "c", "/docs")}


def test_the_end_of_a_run_is_noted_with_what_came_of_it(catalog: Catalog, collection: CollectionRecord) -> None:
    source = source_of(catalog, collection)
    with noted(catalog) as found, catalog.write() as connection:
        sources.save_report(connection, source.id, {"added": 3})
        sources.save_report(connection, source.id, {"error": "It is not there."})
    assert [(one.kind, one.operation, one.source) for one in found] == [
        ("sync_finished", "finished", "/docs"),
        ("sync_finished", "unreachable", "/docs"),
    ]
    assert found[0].detail == {"added": 3}


def test_events_are_asked_for_by_kind_and_collection(catalog: Catalog, collection: CollectionRecord) -> None:
    with catalog.write() as connection:
        other = collections.ensure(connection, "other")
    put(catalog, collection, new("a.md", "words"))
    put(catalog, other, new("a.md", "words"))
    put(catalog, other, new("a.md", "more"))
    with catalog.read() as connection:
        assert len(events.after(connection, 0, 10)) == 3
        assert [one.kind for one in events.after(connection, 0, 10, ["updated"])] == ["updated"]
        assert [one.collection for one in events.after(connection, 0, 10, (), ["c"])] == ["c"]
        assert events.after(connection, 0, 10, (), ["c"], ["other"]) == []
        assert events.after(connection, 0, 10, (), None, []) == []
        assert [one.id for one in events.after(connection, 1, 1)] == [2]
        assert [one.id for one in events.latest(connection, 2)] == [2, 3]


def test_only_the_latest_are_kept_and_no_number_is_given_twice(catalog: Catalog, collection: CollectionRecord) -> None:
    put(catalog, collection, *(new(f"{n}.md", "words") for n in range(5)))
    with catalog.write() as connection:
        events.prune(connection, 2)
        assert (events.oldest(connection), events.newest(connection)) == (4, 5)
        events.prune(connection, 0)
        assert (events.oldest(connection), events.newest(connection)) == (0, 0)
    put(catalog, collection, new("6.md", "words"))
    with catalog.read() as connection:
        assert [one.id for one in events.after(connection, 0, 10)] == [6]


def test_the_oldest_are_dropped_also_where_no_source_is_read(
    catalog: Catalog, collection: CollectionRecord, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(events, "_PRUNED_EVERY", 10)
    monkeypatch.setattr(events.prune, "__defaults__", (4,))
    for n in range(25):
        put(catalog, collection, new(f"{n}.md", "words"))
    with catalog.read() as connection:  # in PostgreSQL the twentieth has no number yet when it has the others dropped
        assert (events.oldest(connection) in (16, 17), events.newest(connection)) == (True, 25)


def test_a_leap_loses_nothing_and_its_numbers_count_neither_as_kept_nor_as_dropped(
    catalog: Catalog, collection: CollectionRecord
) -> None:
    put(catalog, collection, *(new(f"{n}.md", "words") for n in range(3)))
    with catalog.write() as connection:
        events.skip_numbers(connection, 1000)
        assert events.newest(connection) == 3
        events.skip_numbers(connection, 2)
    put(catalog, collection, *(new(f"{n}.md", "words") for n in range(3, 5)))
    with catalog.write() as connection:
        assert [one.id for one in events.after(connection, 0, 10)] == [1, 2, 3, 1001, 1002]
        events.prune(connection, 4)
        assert [one.id for one in events.after(connection, 0, 10)] == [2, 3, 1001, 1002]
        assert [events.missed(connection, position) for position in (0, 1, 3, 700)] == [1, 0, 0, 0]
        events.prune(connection, 1)
        assert [one.id for one in events.after(connection, 0, 10)] == [1002]
        assert [events.missed(connection, position) for position in (0, 1, 3, 700, 1001)] == [4, 3, 1, 1, 0]


def test_numbers_that_leap_again_before_an_event_came_are_counted_once(
    catalog: Catalog, collection: CollectionRecord
) -> None:
    put(catalog, collection, *(new(f"{n}.md", "words") for n in range(3)))
    with catalog.write() as connection:
        events.skip_numbers(connection, 1000)
        events.skip_numbers(connection, 2000)
    put(catalog, collection, *(new(f"{n}.md", "words") for n in range(3, 6)))
    with catalog.write() as connection:
        events.prune(connection, 4)
        assert [one.id for one in events.after(connection, 0, 10)] == [3, 2001, 2002, 2003]
        events.prune(connection, 1)
        assert [events.missed(connection, position) for position in (1, 3, 1500, 2002)] == [4, 2, 2, 0]


def test_before_the_first_event_a_leap_counts_as_nothing_dropped(
    catalog: Catalog, collection: CollectionRecord
) -> None:
    with catalog.write() as connection:
        events.skip_numbers(connection, 1000)
    put(catalog, collection, new("a.md", "words"))
    with catalog.read() as connection:
        assert (events.oldest(connection), events.missed(connection, 0)) == (1001, 0)


def test_an_unknown_kind_is_refused() -> None:
    assert events.kinds_of(["deleted", "indexed", "deleted"]) == ("indexed", "deleted")
    with pytest.raises(InvalidInput, match="'eaten'"):
        events.kinds_of(["indexed", "eaten"])
