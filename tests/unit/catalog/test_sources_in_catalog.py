"""What the catalogue knows of sources and their files."""

from __future__ import annotations

from catalog_making import new, put

from pinakes.catalog import Catalog, documents, sources
from pinakes.catalog.collections import CollectionRecord
from pinakes.catalog.sources import FileRecord


def test_a_source_is_remembered_once(catalog: Catalog, collection: CollectionRecord) -> None:
    with catalog.write() as connection:
        one = sources.remember(connection, collection.id, ("folder", "there", ""), {"size": 1})
        assert sources.remember(connection, collection.id, ("folder", "there", ""), {"size": 1}) == one
        two = sources.remember(connection, collection.id, ("git", "there", ""), {"size": 1})
        assert [kept.id for kept in sources.list_all(connection)] == [one.id, two.id]
        assert sources.list_all(connection, collection.id + 1) == []


def test_changed_options_make_all_files_unread(catalog: Catalog, collection: CollectionRecord) -> None:
    with catalog.write() as connection:
        kept = sources.remember(connection, collection.id, ("folder", "there", ""), {"size": 1})
        sources.note(connection, kept.id, [FileRecord("a.md", "f", "h", "indexed")])
        sources.finished(connection, kept.id, "state", None)
        same = sources.remember(connection, collection.id, ("folder", "there", ""), {"size": 1})
        assert same.state == "state"
        assert sources.manifest(connection, kept.id)["a.md"].fingerprint == "f"
        other = sources.remember(connection, collection.id, ("folder", "there", ""), {"size": 2})
        assert (other.id, other.state, other.options) == (kept.id, None, {"size": 2})
        record = sources.manifest(connection, kept.id)["a.md"]
        assert (record.fingerprint, record.content_hash, record.status) == ("", None, "indexed")


def test_a_source_may_go_on_as_a_part_of_its_place(catalog: Catalog, collection: CollectionRecord) -> None:
    with catalog.write() as connection:
        whole = sources.remember(connection, collection.id, ("git", "there", ""), {})
        first = sources.remember(connection, collection.id, ("git", "there", "first"), {}, was="")
        second = sources.remember(connection, collection.id, ("git", "there", "second"), {}, was="")
        assert (first.id, first.place) == (whole.id, ("git", "there", "first"))
        assert second.id != first.id
        assert sources.remember(connection, collection.id, ("git", "there", "first"), {}, was="") == first


def test_files_are_noted_counted_and_forgotten(catalog: Catalog, collection: CollectionRecord) -> None:
    [document_id] = put(catalog, collection, new("a.md", "1"))
    with catalog.write() as connection:
        kept = sources.remember(connection, collection.id, ("folder", "there", ""), {})
        sources.note(connection, kept.id, [])
        sources.note(
            connection,
            kept.id,
            [
                FileRecord("a.md", "1", "h", "indexed", None, document_id),
                FileRecord("b.bin", "2", None, "skipped", "binary"),
                FileRecord("c.md", "3", None, "error", "gone"),
            ],
        )
        sources.note(connection, kept.id, [FileRecord("c.md", "4", "k", "indexed")])
        assert sources.counts(connection, kept.id) == {"indexed": 2, "skipped": 1}
        assert [(p.path, p.reason) for p in sources.problems(connection, collection.id)] == [("b.bin", "binary")]
        sources.forget(connection, kept.id, ["b.bin", "unknown"])
        assert set(sources.manifest(connection, kept.id)) == {"a.md", "c.md"}
        documents.remove(connection, document_id)
        assert sources.manifest(connection, kept.id)["a.md"].document_id is None


def test_a_sync_without_a_state_keeps_the_old_one(catalog: Catalog, collection: CollectionRecord) -> None:
    with catalog.write() as connection:
        kept = sources.remember(connection, collection.id, ("git", "there", ""), {})
        sources.finished(connection, kept.id, "one", None)
        sources.finished(connection, kept.id, None, "2 files failed")
        [found] = sources.list_all(connection)
    assert (found.state, found.error) == ("one", "2 files failed")
    assert found.synced_at is not None
