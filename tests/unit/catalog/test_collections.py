"""Collections: names, models, counts."""

from __future__ import annotations

import subprocess
import sys
import time
import unicodedata
from pathlib import Path

import pytest
from catalog_making import bind, new, put, vector
from hypothesis import given
from hypothesis import strategies as st
from waiting import until

from pinakes.catalog import Catalog, changes, collections, embeddings, index_numbers
from pinakes.catalog.collections import CollectionRecord, check_name
from pinakes.catalog.documents import embedding_key
from pinakes.core.caller import Caller, calling
from pinakes.core.errors import InvalidName, NotFound


@pytest.mark.parametrize("name", ["a", "KEPs 1.2", "über_alles-3", "日本語", "x" * 100, "0", "a.b"])
def test_a_name_that_may_be(name: str) -> None:
    assert check_name(name) == name


@pytest.mark.parametrize(
    "name",
    [
        "",
        " ",
        "a/b",
        "..",
        "a..b",
        ".hidden",
        "-x",
        "x" * 300,
        "🦡",
        "a\nb",
        "a\0b",
        " a",
        "a ",
        "a\\b",
        "a:b",
        "a*",
        "~",
    ],
)
def test_a_name_that_may_not_be(name: str) -> None:
    with pytest.raises(InvalidName) as caught:
        check_name(name)
    assert caught.value.hint


def test_names_are_composed(catalog: Catalog) -> None:
    decomposed = unicodedata.normalize("NFD", "é")
    assert check_name(decomposed) == "é"
    with catalog.write() as connection:
        one = collections.ensure(connection, decomposed)
        assert collections.ensure(connection, "é") == one
        assert collections.get(connection, decomposed) == one


@given(st.text(max_size=120))
def test_a_name_never_leaves_its_folder(name: str) -> None:
    try:
        checked = check_name(name)
    except InvalidName:
        return
    assert not set('/\\\0:*?"<>|\n\r\t') & set(checked)
    assert checked not in (".", "..")
    assert check_name(checked) == checked


def test_a_collection_is_made_once(catalog: Catalog) -> None:
    with catalog.write() as connection:
        one = collections.ensure(connection, "a", "first")
        assert collections.ensure(connection, "a") == one
        assert collections.ensure(connection, "a", "second").description == "second"
        assert [record.name for record in collections.list_all(connection)] == ["a"]


def test_a_missing_collection_is_reported_with_those_there_are(catalog: Catalog) -> None:
    with catalog.write() as connection:
        with pytest.raises(NotFound, match="'b'") as caught:
            collections.get(connection, "b")
        assert "pinakes add" in caught.value.hint
        collections.ensure(connection, "a")
        with pytest.raises(NotFound) as caught:
            collections.get(connection, "b")
        assert "a" in caught.value.hint
        assert collections.find(connection, "b") is None


def test_a_model_is_bound_and_every_document_counts_as_changed(catalog: Catalog, collection: CollectionRecord) -> None:
    ids = put(catalog, collection, new("a.md", "one"), new("b.md", "two"))
    assert collection.dimension == 0
    with catalog.read() as connection:
        before = changes.head(connection, collection.id)
    bind(catalog, collection, "model/4", 4)
    with catalog.read() as connection:
        found = collections.get(connection, "c")
        assert (found.fingerprint, found.dimension) == ("model/4", 4)
        assert [change.document_id for change in changes.since(connection, collection.id, before, 10)] == ids
        head = changes.head(connection, collection.id)
    bind(catalog, collection, "model/4", 4)
    with catalog.read() as connection:
        assert changes.head(connection, collection.id) == head, "the same model changes nothing"
    bind(catalog, collection, "model/8", 8)
    with catalog.read() as connection:
        assert collections.get(connection, "c").dimension == 8
        assert changes.head(connection, collection.id) > head


def test_counts(catalog: Catalog, collection: CollectionRecord) -> None:
    document = new("a.md", "one two", "three", group="g")
    put(catalog, collection, document, new("b.md", "four", group="g"), new("c.md", "five"))
    with catalog.read() as connection:
        found = collections.count(connection, collection)
    assert (found.documents, found.groups, found.chunks, found.tokens, found.pending) == (3, 1, 4, 5, 4)
    model = bind(catalog, collection)
    with catalog.write() as connection:
        embeddings.store(connection, model, {embedding_key(document.chunks[0]): vector(1)})
        assert collections.count(connection, collections.get(connection, "c")).pending == 3


def test_an_empty_collection_counts_zeros(catalog: Catalog, collection: CollectionRecord) -> None:
    with catalog.read() as connection:
        assert collections.count(connection, collection) == collections.CollectionCounts(0, 0, 0, 0, 0)


def test_generations_go_up(catalog: Catalog, collection: CollectionRecord) -> None:
    assert collection.generation == 1
    with catalog.write() as connection:
        assert index_numbers.reserve(connection, collection.id, 0, 1) == 2
        assert collections.get(connection, "c").generation == 1
        assert index_numbers.take(connection, collection.id, 0) == 2
        assert collections.get(connection, "c").generation == 2


class TestKnown:
    def test_a_commit_of_another_process_is_seen(
        self, catalog: Catalog, collection: CollectionRecord, tmp_path: Path
    ) -> None:
        known = collections.CollectionCache(catalog)
        while known.get(collection.name) is not known.get(collection.name):
            time.sleep(0.01)  # a server tells of commits once it is listened to
        script = (
            "import sys, pathlib\n"
            "from pinakes.catalog import Catalog, collections, index_numbers\n"
            "from pinakes.settings import CatalogSettings, Settings\n"
            "catalog = Catalog.of(Settings(home=pathlib.Path(sys.argv[1]), catalog=CatalogSettings(url=sys.argv[2])))\n"
            "with catalog.write() as connection:\n"
            "    collections.ensure(connection, 'c', 'of birds')\n"
            "catalog.close()"
        )
        url = catalog.engine.url.render_as_string(hide_password=False)
        place = [str(tmp_path / "home"), "" if url.startswith("sqlite") else url]
        subprocess.run([sys.executable, "-c", script, *place], check=True, timeout=60)
        until(lambda: known.get(collection.name).description == "of birds")

    def test_a_caller_finds_only_what_it_may_use(self, catalog: Catalog, collection: CollectionRecord) -> None:
        known = collections.CollectionCache(catalog)
        known.get(collection.name)
        with calling(Caller("guest", collections=("other",))), pytest.raises(NotFound):
            known.get(collection.name)
        assert known.get(collection.name).id == collection.id

    def test_one_that_was_deleted_is_gone(self, catalog: Catalog, collection: CollectionRecord) -> None:
        known = collections.CollectionCache(catalog)
        known.get(collection.name)
        with catalog.write() as connection:
            collections.remove(connection, collection)
        with pytest.raises(NotFound):
            known.get(collection.name)
