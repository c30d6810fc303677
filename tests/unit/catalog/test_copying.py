"""A copy of a collection holds the same under ids of its own, and the two go their own ways."""

from __future__ import annotations

from typing import Any

import pytest
from catalog_making import bind, new, put, vector
from sqlalchemy import Table, select

from pinakes.catalog import Catalog, changes, collections, copying, documents, embeddings, history, sources
from pinakes.catalog.collections import CollectionRecord
from pinakes.catalog.documents import embedding_key
from pinakes.catalog.history import Retention
from pinakes.catalog.schema import chunks, fields, files
from pinakes.catalog.schema import documents as rows_of_documents
from pinakes.catalog.schema import sources as rows_of_sources
from pinakes.catalog.sources import FileRecord
from pinakes.core.errors import InvalidName

OWN = {"id", "uid", "collection_id", "document_id", "source_id", "version"}
KEEPING = Retention(by="me")


def copy(catalog: Catalog, record: CollectionRecord, name: str = "copy") -> CollectionRecord:
    with catalog.write() as connection:
        return copying.copy(connection, collections.get(connection, record.name), name, KEEPING)


def contents(catalog: Catalog, record: CollectionRecord, table: Table) -> list[dict[str, Any]]:
    """Return what a collection has in ``table``, less its own ids."""
    of = {
        "documents": rows_of_documents.c.collection_id == record.id,
        "chunks": rows_of_documents.c.collection_id == record.id,
        "fields": fields.c.collection_id == record.id,
        "sources": rows_of_sources.c.collection_id == record.id,
        "files": rows_of_sources.c.collection_id == record.id,
    }[table.name]
    joined = {"chunks": chunks.join(rows_of_documents), "files": files.join(rows_of_sources)}.get(table.name, table)
    with catalog.read() as connection:
        found = connection.execute(select(table).select_from(joined).where(of).order_by(table.c.id)).mappings().all()
    return [{name: value for name, value in row.items() if name not in OWN} for row in found]


@pytest.fixture
def filled(catalog: Catalog, collection: CollectionRecord) -> CollectionRecord:
    """Two documents of a source, one without; one chunk has its vector; one file was left out."""
    with catalog.write() as connection:
        source = sources.remember(connection, collection.id, ("folder", "notes", ""), {"ref": None})
    first = new("a.md", "one two", "three", metadata={"tags": ["x"]}, group="g", source_id=source.id)
    ids = put(catalog, collection, first, new("b.md", "four", source_id=source.id), new("c.md", "five"))
    model = bind(catalog, collection)
    with catalog.write() as connection:
        embeddings.store(connection, model, {embedding_key(first.chunks[0]): vector(1)})
        known = [
            FileRecord(name, "f", "h", "indexed", None, one) for name, one in zip(("a.md", "b.md"), ids, strict=False)
        ]
        sources.note(connection, source.id, [*known, FileRecord("d.bin", "f", None, "skipped", "no text")])
        sources.finished(connection, source.id, "state", None)
        return collections.get(connection, collection.name)


@pytest.mark.parametrize("table", [rows_of_documents, chunks, fields, rows_of_sources, files], ids=str)
def test_everything_is_copied_in_its_order(catalog: Catalog, filled: CollectionRecord, table: Table) -> None:
    made = copy(catalog, filled)
    assert contents(catalog, filled, table)
    assert contents(catalog, made, table) == contents(catalog, filled, table)


def test_documents_have_ids_of_their_own_and_belong_together(catalog: Catalog, filled: CollectionRecord) -> None:
    made = copy(catalog, filled)
    with catalog.read() as connection:
        (old,), (new_one,) = (documents.find(connection, record.id, "a.md") for record in (filled, made))
        assert old.uid != new_one.uid
        assert (new_one.version, new_one.created_at) == (1, old.created_at)
        assert documents.text(connection, new_one.id) == documents.text(connection, old.id)
        [source] = sources.list_all(connection, made.id)
        manifest = sources.manifest(connection, source.id)
        assert manifest["a.md"].document_id == new_one.id
        assert manifest["a.md"].uri == new_one.uri
        assert (manifest["d.bin"].document_id, manifest["d.bin"].reason) == (None, "no text")
        assert sorted(sources.documents_of(connection, source.id, 10)) == sorted(
            one.id for name in ("a.md", "b.md") for one in documents.find(connection, made.id, name)
        )
        [version] = history.list_versions(connection, made.id, new_one.uid)
        assert (version.number, version.op, version.by, version.readable) == (1, "created", "me", True)


def test_vectors_and_the_model_are_shared(catalog: Catalog, filled: CollectionRecord) -> None:
    made = copy(catalog, filled)
    assert (made.fingerprint, made.dimension) == (filled.fingerprint, filled.dimension)
    with catalog.read() as connection:
        assert collections.count(connection, made) == collections.count(connection, filled)
        assert collections.count(connection, made).pending == 3


def test_an_index_of_the_copy_has_everything_to_follow(catalog: Catalog, filled: CollectionRecord) -> None:
    made = copy(catalog, filled)
    with catalog.read() as connection:
        found = changes.since(connection, made.id, 0, 10)
    assert [change.op for change in found] == ["put"] * 3


def test_settings_and_description_come_along(catalog: Catalog) -> None:
    with catalog.write() as connection:
        record = collections.create(connection, "kept", "Words.", {"retrieval": "vector"})
        collections.bind_model(connection, record.id, "m", 4)
        made = copying.copy(connection, collections.get(connection, "kept"), "copy", KEEPING)
    assert (made.description, made.kept, made.generation, made.line) == ("Words.", {"retrieval": "vector"}, 1, 0)


@pytest.mark.parametrize("name", ["c", "../x", "", "*", "a,b", "c@beside"])
def test_a_name_that_cannot_be_leaves_everything_as_it_was(
    catalog: Catalog, filled: CollectionRecord, name: str
) -> None:
    with pytest.raises(InvalidName):
        copy(catalog, filled, name)
    with catalog.read() as connection:
        assert [one.name for one in collections.list_all(connection)] == ["c"]
        assert len(sources.list_all(connection)) == 1


def test_what_happens_to_one_does_not_happen_to_the_other(catalog: Catalog, filled: CollectionRecord) -> None:
    made = copy(catalog, filled)
    put(catalog, made, new("c.md", "another text"))
    with catalog.write() as connection:
        [gone] = documents.find(connection, filled.id, "b.md")
        documents.remove(connection, gone.id)
    with catalog.read() as connection:
        texts = {
            record.name: {
                one: documents.text(connection, found.id)
                for one in ("a.md", "b.md", "c.md")
                for found in documents.find(connection, record.id, one)
            }
            for record in (filled, made)
        }
    assert texts == {
        "c": {"a.md": "one two\nthree", "c.md": "five"},
        "copy": {"a.md": "one two\nthree", "b.md": "four", "c.md": "another text"},
    }


def test_an_empty_collection_can_be_copied(catalog: Catalog, collection: CollectionRecord) -> None:
    made = copy(catalog, collection)
    assert (made.head, made.model_id) == (0, None)


def test_more_documents_than_go_at_once(
    catalog: Catalog, collection: CollectionRecord, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(copying, "_BATCH", 2)
    put(catalog, collection, *(new(f"{number}.md", f"text {number}") for number in range(5)))
    made = copy(catalog, collection)
    assert contents(catalog, made, chunks) == contents(catalog, collection, chunks)
    assert [row["path"] for row in contents(catalog, made, rows_of_documents)] == [f"{n}.md" for n in range(5)]
