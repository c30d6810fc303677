"""Documents, their chunks, versions, groups and changes."""

from __future__ import annotations

import pytest
from catalog_making import bind, new, put, vector
from sqlalchemy import func, select
from sqlalchemy.dialects import sqlite

from pinakes.catalog import (
    Catalog,
    changes,
    collections,
    document_fields,
    document_queries,
    documents,
    embeddings,
    schema,
    selection,
    sources,
)
from pinakes.catalog.collections import CollectionRecord
from pinakes.catalog.document_queries import DocumentRecord
from pinakes.catalog.documents import embedding_key
from pinakes.core.filters import parse
from pinakes.core.records import Chunk


def get(catalog: Catalog, document_id: int) -> DocumentRecord:
    with catalog.read() as connection:
        [uid, collection_id] = connection.execute(
            select(schema.documents.c.uid, schema.documents.c.collection_id).filter_by(id=document_id)
        ).one()
        [record] = documents.find(connection, collection_id, uid)
        return record


def found(catalog: Catalog, collection: CollectionRecord, **where: object) -> list[int]:
    with catalog.read() as connection:
        return [int(found_id) for found_id in selection.matching(connection, collection.id, parse(where))]


def changed(catalog: Catalog, collection: CollectionRecord) -> list[tuple[int, str]]:
    with catalog.read() as connection:
        rows = connection.execute(
            select(schema.changes.c.document_id, schema.changes.c.op)
            .where(schema.changes.c.collection_id == collection.id)
            .order_by(schema.changes.c.seq)
        )
        return [(row.document_id, row.op) for row in rows]


def test_what_is_put_is_there(catalog: Catalog, collection: CollectionRecord) -> None:
    [document_id] = put(catalog, collection, new("d/a.md", "one two", "three", metadata={"status": "beta"}, group="g"))
    record = get(catalog, document_id)
    assert (record.path, record.title, record.version, record.chunk_count) == ("d/a.md", "T", 1, 2)
    assert (record.metadata, record.group_key, record.token_count) == ({"status": "beta"}, "g", 3)
    with catalog.read() as connection:
        assert documents.text(connection, document_id) == "one two\nthree"
        [one, two] = changes.entries(connection, [document_id], None)
    assert (one.text, two.text, one.path, one.vector) == ("one two", "three", "d/a.md", None)


def test_put_again_replaces_chunks_and_counts_versions(catalog: Catalog, collection: CollectionRecord) -> None:
    [first] = put(catalog, collection, new("a.md", "one", "two"))
    uid = get(catalog, first).uid
    [second] = put(catalog, collection, new("a.md", "three", metadata={"x": 1}))
    record = get(catalog, second)
    assert (second, record.uid, record.version, record.chunk_count) == (first, uid, 2, 1)
    with catalog.read() as connection:
        assert connection.execute(select(func.count()).select_from(schema.chunks)).scalar() == 1
        numbers = connection.scalars(select(schema.versions.c.number).order_by(schema.versions.c.number)).all()
    assert numbers == [1, 2]


class TestSeveralAtOnce:
    def test_new_ones_and_those_that_are_there_get_their_own_ids_in_order(
        self, catalog: Catalog, collection: CollectionRecord
    ) -> None:
        [old] = put(catalog, collection, new("b.md", "was"))
        several = [new(f"{name}.md", name, "and more\0", metadata={"x": name}) for name in ("a", "b", "c")]
        with catalog.write() as connection:
            ids = documents.put_all(connection, collection.id, several)
            assert [documents.text(connection, one) for one in ids] == [f"{one}\nand more\0" for one in "abc"]
        assert ids[1] == old
        assert [get(catalog, one).version for one in ids] == [1, 2, 1]
        assert [found(catalog, collection, x=one) for one in "abc"] == [[one] for one in ids]
        assert sorted(changed(catalog, collection)) == sorted((one, "put") for one in ids)

    def test_many_chunks_and_fields_are_kept_as_few_are(self, catalog: Catalog, collection: CollectionRecord) -> None:
        odd = ["tab\t", "back\\slash", "\\N", "line\r\nbreak", "nul\0", "\ufdd0", "é", '"quoted"']
        many = [new(f"{number}.md", *odd, metadata={"odd": [*odd, number, None, 1.5]}) for number in range(20)]
        with catalog.write() as connection:
            ids = documents.put_all(connection, collection.id, many)
        with catalog.read() as connection:
            entries = changes.entries(connection, ids, None)
        assert [one.text for one in entries] == odd * 20
        for value in ("back\\slash", "\\n", "nul\0", "1.5", '"quoted"'):
            assert found(catalog, collection, odd=value) == ids
        assert found(catalog, collection, odd={"gte": 19}) == [ids[-1]]

    def test_one_replaces_another_at_its_uri_or_path(self, catalog: Catalog, collection: CollectionRecord) -> None:
        same = [new("a.md", "one", uri="file:///x"), new("b.md", "two", uri="file:///x")]
        with catalog.write() as connection:
            first, second = documents.put_all(connection, collection.id, same)
        assert first == second
        assert (get(catalog, first).path, get(catalog, first).version) == ("b.md", 2)

    def test_none_are_none(self, catalog: Catalog, collection: CollectionRecord) -> None:
        with catalog.write() as connection:
            assert documents.put_all(connection, collection.id, []) == []


def test_chunk_ids_are_never_used_again(catalog: Catalog, collection: CollectionRecord) -> None:
    seen: set[int] = set()
    for text in ("one", "two", "three"):
        [document_id] = put(catalog, collection, new("a.md", text))
        with catalog.write() as connection:
            [entry] = changes.entries(connection, [document_id], None)
            documents.remove(connection, document_id)
        assert entry.chunk_id not in seen
        seen.add(entry.chunk_id)


def test_a_document_without_chunks_is_kept(catalog: Catalog, collection: CollectionRecord) -> None:
    [document_id] = put(catalog, collection, new("a.md"))
    assert get(catalog, document_id).chunk_count == 0


def test_a_move_keeps_document_and_chunks(catalog: Catalog, collection: CollectionRecord) -> None:
    [document_id] = put(catalog, collection, new("old.md", "one", "two", metadata={"at": "old"}, group="g"))
    with catalog.write() as connection:
        before = [entry.chunk_id for entry in changes.entries(connection, [document_id], None)]
        moved = new("new.md", "one", "two", metadata={"at": "new"}, group="h")
        assert documents.same_content(connection, document_id, moved)
        assert documents.move(connection, collection.id, document_id, moved) == "g"
        assert [entry.chunk_id for entry in changes.entries(connection, [document_id], None)] == before
    record = get(catalog, document_id)
    assert (record.path, record.metadata, record.version, record.group_key) == ("new.md", {"at": "new"}, 2, "h")
    assert found(catalog, collection, path="new.md", at="new") == [document_id]
    assert found(catalog, collection, path="old.md") == []


def test_a_move_onto_another_document_removes_that(catalog: Catalog, collection: CollectionRecord) -> None:
    one, two = put(catalog, collection, new("old.md", "one"), new("new.md", "two"))
    with catalog.write() as connection:
        documents.move(connection, collection.id, one, new("new.md", "one"))
        assert documents.paths(connection, collection.id) == ["new.md"]
    assert sorted(changed(catalog, collection)) == [(one, "put"), (two, "remove")]


def test_other_text_kind_or_chunks_are_not_the_same_content(catalog: Catalog, collection: CollectionRecord) -> None:
    [document_id] = put(catalog, collection, new("a.md", "one two"))
    with catalog.read() as connection:
        assert not documents.same_content(connection, document_id, new("b.md", "one three"))
        assert not documents.same_content(connection, 999, new("b.md", "one two"))
        other = new("b.md", "one two")
        cut = [Chunk(0, "one", 0, 3, 1, 1, 1), Chunk(1, "two", 4, 7, 1, 1, 1)]
        assert not documents.same_content(connection, document_id, _with(other, chunks=cut))


def _with(made: documents.NewDocument, **values: object) -> documents.NewDocument:
    import dataclasses

    return dataclasses.replace(made, **values)  # type: ignore[arg-type]


def test_remove_leaves_the_history_alone_and_may_be_repeated(catalog: Catalog, collection: CollectionRecord) -> None:
    [document_id] = put(catalog, collection, new("a.md", "one", metadata={"x": 1}, group="g"))
    with catalog.write() as connection:
        assert documents.remove(connection, document_id) == "g"
        assert documents.remove(connection, document_id) == ""
        for table in (schema.documents, schema.chunks, schema.fields):
            assert connection.execute(select(func.count()).select_from(table)).scalar() == 0
        ops = connection.scalars(select(schema.versions.c.op).order_by(schema.versions.c.number)).all()
        assert ops == ["created", "deleted"]
    assert changed(catalog, collection) == [(document_id, "remove")]


def test_only_the_latest_change_of_a_document_is_kept(catalog: Catalog, collection: CollectionRecord) -> None:
    one, two = put(catalog, collection, new("a.md", "1"), new("b.md", "2"))
    with catalog.read() as connection:
        position = changes.head(connection, collection.id)
    put(catalog, collection, new("a.md", "3"))
    assert changed(catalog, collection) == [(two, "put"), (one, "put")]
    with catalog.read() as connection:
        assert [change.document_id for change in changes.since(connection, collection.id, position, 10)] == [one]
        assert [change.document_id for change in changes.since(connection, collection.id, 0, 1)] == [two]
        assert changes.since(connection, collection.id + 1, 0, 10) == []


def test_changes_are_taken_up_to_so_much_text_but_one_at_least(catalog: Catalog, collection: CollectionRecord) -> None:
    gone, *ids = put(catalog, collection, *(new(f"{name}.md", "ä" * 4) for name in "abcd"))
    with catalog.write() as connection:
        documents.remove(connection, gone)
    with catalog.read() as connection:
        for most, expected in ((1, ids[:1]), (8, ids[:2]), (11, ids[:2]), (99, [*ids, gone])):
            found = changes.since(connection, collection.id, 0, 10, most)
            assert [change.document_id for change in found] == expected
        assert len(changes.since(connection, collection.id, 0, 3, 99)) == 3


def test_changes_of_collections_do_not_mix(catalog: Catalog, collection: CollectionRecord) -> None:
    with catalog.write() as connection:
        other = collections.ensure(connection, "other")
    [mine] = put(catalog, collection, new("a.md", "1"))
    [theirs] = put(catalog, other, new("a.md", "1"))
    assert changed(catalog, collection) == [(mine, "put")]
    assert changed(catalog, other) == [(theirs, "put")]
    with catalog.read() as connection:
        assert changes.head(connection, other.id) > changes.head(connection, collection.id) > 0


class TestGroups:
    def test_a_group_inherits_the_metadata_of_its_file(self, catalog: Catalog, collection: CollectionRecord) -> None:
        readme, _, other = put(
            catalog,
            collection,
            new("g/README.md", "text", metadata={"status": "own", "file": "README.md"}, group="g"),
            new("g/kep.yaml", "yaml", metadata={"status": "beta", "owner": "x"}, group="g"),
            new("h/README.md", "text", group="h"),
        )
        self._inherit(catalog, collection)
        assert get(catalog, readme).metadata == {"status": "own", "owner": "x", "file": "README.md"}
        assert found(catalog, collection, owner="x", path="*.md") == [readme]
        assert found(catalog, collection, status="own") == [readme]
        assert get(catalog, other).metadata == {}

    def test_updates_and_removal_reach_the_group(self, catalog: Catalog, collection: CollectionRecord) -> None:
        readme, giver = put(
            catalog,
            collection,
            new("g/README.md", "text", group="g"),
            new("g/kep.yaml", "yaml", metadata={"status": "beta"}, group="g"),
        )
        self._inherit(catalog, collection)
        put(catalog, collection, new("g/kep.yaml", "yaml 2", metadata={"status": "stable"}, group="g"))
        self._inherit(catalog, collection)
        assert found(catalog, collection, status="stable") == [readme, giver]
        with catalog.write() as connection:
            documents.remove(connection, giver)
        self._inherit(catalog, collection)
        assert get(catalog, readme).metadata == {}
        assert found(catalog, collection, status="stable") == []

    def test_chunks_of_a_group_are_counted_in_order_of_path(
        self, catalog: Catalog, collection: CollectionRecord
    ) -> None:
        b, a, _ = put(
            catalog,
            collection,
            new("g/b.md", "1", "2", group="g"),
            new("g/a.md", "3", "4", "5", group="g"),
            new("x.md", "6"),
        )
        with catalog.read() as connection:
            assert document_queries.preceding_chunks(connection, collection.id, "g") == {"g": {a: 0, b: 3}}

    def _inherit(self, catalog: Catalog, collection: CollectionRecord) -> None:
        with catalog.write() as connection:
            document_fields.inherit(connection, collection.id, ["g"], "kep.yaml")


class TestFinding:
    @pytest.mark.parametrize(
        ("reference", "paths"),
        [
            ("file:///docs/a.md", ["docs/a.md"]),
            ("docs/a.md", ["docs/a.md"]),
            ("a.md", ["docs/a.md", "docs/sub/a.md"]),
            ("sub/a.md", ["docs/sub/a.md"]),
            ("/sub/a.md", ["docs/sub/a.md"]),
            ("group/1", ["docs/b_c.md", "docs/bxc.md"]),
            ("b_c.md", ["docs/b_c.md"]),
            ("%.md", []),
            (".md", []),
            ("", []),
            ("nothing", []),
        ],
    )
    def test_by(self, reference: str, paths: list[str], catalog: Catalog, collection: CollectionRecord) -> None:
        made = [new(path, path) for path in ("docs/a.md", "docs/sub/a.md")]
        made += [new(path, path, group="group/1") for path in ("docs/b_c.md", "docs/bxc.md")]
        put(catalog, collection, *made)
        with catalog.read() as connection:
            assert [record.path for record in documents.find(connection, collection.id, reference)] == paths

    def test_by_id_in_its_own_collection(self, catalog: Catalog, collection: CollectionRecord) -> None:
        [document_id] = put(catalog, collection, new("a.md", "1"))
        uid = get(catalog, document_id).uid
        with catalog.write() as connection:
            other = collections.ensure(connection, "other")
            assert [record.id for record in documents.find(connection, collection.id, uid)] == [document_id]
            assert documents.find(connection, other.id, uid) == []


def test_entries_bring_their_vectors(catalog: Catalog, collection: CollectionRecord) -> None:
    document = new("a.md", "one", "two")
    [document_id] = put(catalog, collection, document)
    model = bind(catalog, collection)
    with catalog.write() as connection:
        embeddings.store(connection, model, {embedding_key(document.chunks[1]): vector(1)})
        one, two = changes.entries(connection, [document_id], model)
    assert one.vector is None
    assert two.vector == pytest.approx(vector(1), abs=1e-3)


def test_a_file_whose_uri_changes_stays_the_same_document(catalog: Catalog, collection: CollectionRecord) -> None:
    with catalog.write() as connection:
        source = sources.remember(connection, collection.id, ("git", "there", ""), {}).id
    [first] = put(catalog, collection, new("a.md", "one", uri="git:v1/a.md", source_id=source))
    [other] = put(catalog, collection, new("b.md", "two", uri="git:v2/a.md"))
    [second] = put(catalog, collection, new("a.md", "three", uri="git:v2/a.md", source_id=source))
    assert second == first
    assert (get(catalog, first).uri, get(catalog, first).version) == ("git:v2/a.md", 2)
    assert sorted(changed(catalog, collection)) == [(first, "put"), (other, "remove")]


def test_equal_paths_in_two_sources_are_two_documents(catalog: Catalog, collection: CollectionRecord) -> None:
    with catalog.write() as connection:
        one, two = (sources.remember(connection, collection.id, ("folder", place, ""), {}).id for place in ("/x", "/y"))
    first = new("a.md", "one", uri="file:///x/a.md", source_id=one)
    second = new("a.md", "one", uri="file:///y/a.md", source_id=two)
    unowned = new("a.md", "one", uri="file:///z/a.md")
    assert len(set(put(catalog, collection, first, second, unowned, unowned))) == 3


def test_putting_a_document_does_not_look_through_all_others(in_file: Catalog) -> None:
    statement = str(documents._AT_PLACE.compile(dialect=sqlite.dialect()))
    with in_file.read() as connection:
        plan = connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {statement}", (1,) * statement.count("?")).all()
    searched = [row.detail for row in plan if "documents" in row.detail]
    assert len(searched) == 2
    assert all("(collection_id=? AND " in detail for detail in searched), "found by uri and by path"


def test_what_one_part_of_a_site_leaves_out_is_still_the_file_of_another(
    catalog: Catalog, collection: CollectionRecord
) -> None:
    site = "https://example.org"
    with catalog.write() as connection:
        one, two = (
            sources.remember(connection, collection.id, ("http", *place), {}).id
            for place in ((site, "one"), (site, "two"))
        )
    [page] = put(catalog, collection, new("guide/a.md", "a", uri=f"{site}/guide/a.md", source_id=two))
    with catalog.read() as connection:
        assert documents.is_file_at(connection, page, two, "guide/a.md")
        assert not documents.is_file_at(connection, page, one, "guide/a.md")
        assert not documents.is_file_at(connection, page, two, "a.md")


def test_documents_of_a_long_list_of_ids_come_in_one_order(catalog: Catalog, collection: CollectionRecord) -> None:
    ids = put(catalog, collection, *(new(path, "text") for path in ("02.md", "04.md", "01.md", "03.md", "a.md")))
    unknown = range(max(ids) + 1, max(ids) + 2000)
    with catalog.read() as connection:
        found = [one.path for one in documents.of_ids(connection, [*ids[:2], *unknown, *ids[2:]])]
    assert found == ["a.md", "01.md", "02.md", "03.md", "04.md"]
