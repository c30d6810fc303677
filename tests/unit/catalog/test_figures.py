"""What collections hold, in figures."""

from __future__ import annotations

from catalog_making import new, put

from pinakes.catalog import Catalog, collections, contents, document_fields, sources
from pinakes.catalog.collections import CollectionRecord


def test_what_each_collection_holds(catalog: Catalog, collection: CollectionRecord) -> None:
    put(catalog, collection, new("a.md", "one two", "three"), new("b.md", "four"))
    with catalog.write() as connection:
        collections.ensure(connection, "b", "Empty.")
    with catalog.read() as connection:
        empty, full = contents.collection_totals(connection)
        assert contents.collection_totals(connection, collection.id) == [full]
    assert (full.name, full.documents, full.tokens, full.chunks) == ("c", 2, 4, 3)
    assert full.oldest <= full.newest
    assert empty == contents.CollectionTotals("b", "Empty.", 0, 0, 0, "", "")


def test_values_are_counted_as_they_are_written_whether_alone_or_in_lists(
    catalog: Catalog, collection: CollectionRecord
) -> None:
    put(
        catalog,
        collection,
        new("a.md", "a", metadata={"tags": ["Go", "api"]}),
        new("b.md", "b", metadata={"tags": "Go"}),
        new("c.md", "c", metadata={"tags": ["Go", "Go", 7, None]}),
        new("d.md", "d"),
        new("e.md", "e", metadata={"tags": None}),
        new("f.md", "f", metadata={"tags": []}),
    )
    with catalog.read() as connection:
        found = contents.values_of_field(connection, collection.id, "tags")
    assert list(found.items()) == [("Go", 3), ("7", 1), ("api", 1)]


def test_a_field_may_be_called_anything(catalog: Catalog, collection: CollectionRecord) -> None:
    names = ("a b", "a.b", "a'b", "$", "[0]")
    put(catalog, collection, new("a.md", "a", metadata=dict.fromkeys(names, "x")))
    with catalog.read() as connection:
        for name in names:
            assert contents.values_of_field(connection, collection.id, name) == {"x": 1}


def test_what_a_group_gives_counts_unless_the_document_says_otherwise(
    catalog: Catalog, collection: CollectionRecord
) -> None:
    put(
        catalog,
        collection,
        new("g/group.yaml", "g", metadata={"tags": ["group"], "source": "given"}, group="g"),
        new("g/a.md", "a", group="g"),
        new("g/b.md", "b", metadata={"tags": ["own"]}, group="g"),
    )
    with catalog.write() as connection:
        document_fields.inherit(connection, collection.id, ["g"], "group.yaml")
        assert contents.values_of_field(connection, collection.id, "tags") == {"group": 2, "own": 1}
        assert contents.origins(connection, collection.id) == {"given": 3}


def test_where_documents_come_from(catalog: Catalog, collection: CollectionRecord) -> None:
    with catalog.write() as connection:
        source = sources.remember(connection, collection.id, ("folder", "notes", ""), {})
    put(
        catalog,
        collection,
        new("a.md", "a", source_id=source.id),
        new("b.md", "b", source_id=source.id),
        new("c.md", "c", source_id=source.id, metadata={"source": "wiki"}),
        new("d.md", "d", metadata={"source": ""}),
    )
    with catalog.read() as connection:
        found = contents.origins(connection, collection.id)
    assert list(found.items()) == [("notes", 2), ("file:///d.md", 1), ("wiki", 1)]
