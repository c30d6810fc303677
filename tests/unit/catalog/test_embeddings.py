"""Embeddings: kept once, half precision, found by text and model."""

from __future__ import annotations

import numpy as np
import pytest
from catalog_making import bind, new, put, vector
from sqlalchemy import select

from pinakes.catalog import Catalog, changes, collections, embeddings, schema, summaries
from pinakes.catalog.collections import CollectionRecord
from pinakes.catalog.documents import embedding_key, summary_key
from pinakes.core.records import Chunk


def test_vectors_are_kept_as_float16(catalog: Catalog, collection: CollectionRecord) -> None:
    document = new("a.md", "one")
    put(catalog, collection, document)
    model = bind(catalog, collection)
    with catalog.write() as connection:
        embeddings.store(connection, model, {embedding_key(document.chunks[0]): vector(1)})
        stored = connection.execute(select(schema.embeddings.c.vector)).scalar_one()
        assert stored == vector(1).astype(np.float16).tobytes()
        found = embeddings.of_chunks(connection, model, [1, 2])
    assert list(found) == [1]
    assert found[1].dtype == np.float32
    assert found[1] == pytest.approx(vector(1), abs=1e-3)


def test_the_first_vector_of_a_text_stays(catalog: Catalog, collection: CollectionRecord) -> None:
    model = bind(catalog, collection)
    with catalog.write() as connection:
        embeddings.store(connection, model, {b"k" * 16: vector(1)})
        embeddings.store(connection, model, {b"k" * 16: vector(2), b"l" * 16: vector(3)})
        stored = dict(connection.execute(select(schema.embeddings.c.key, schema.embeddings.c.vector)).all())
    assert stored[b"k" * 16] == vector(1).astype(np.float16).tobytes()
    assert len(stored) == 2


def test_models_do_not_share_vectors(catalog: Catalog, collection: CollectionRecord) -> None:
    one, two = bind(catalog, collection, "one"), bind(catalog, collection, "two")
    keys = [bytes([number]) * 16 for number in range(3)]
    with catalog.write() as connection:
        embeddings.store(connection, one, {keys[0]: vector(1), keys[1]: vector(2)})
        embeddings.store(connection, two, {keys[1]: vector(3)})
        assert embeddings.known_keys(connection, one, keys) == set(keys[:2])
        assert embeddings.known_keys(connection, two, keys) == {keys[1]}
        assert embeddings.known_keys(connection, None, keys) == set()


def test_many_keys_are_looked_up_in_parts(
    catalog: Catalog, collection: CollectionRecord, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(embeddings, "_BATCH", 3)
    monkeypatch.setattr(changes, "_BATCH", 3)
    texts = [f"text {number}" for number in range(8)]
    document = new("a.md", *texts)
    [document_id] = put(catalog, collection, document)
    model = bind(catalog, collection)
    keys = [embedding_key(chunk) for chunk in document.chunks]
    with catalog.write() as connection:
        embeddings.store(connection, model, {key: vector(number) for number, key in enumerate(keys)})
        assert embeddings.known_keys(connection, model, keys) == set(keys)
        assert len(embeddings.of_chunks(connection, model, range(1, 9))) == 8
        assert [entry.vector is None for entry in changes.entries(connection, [document_id], model)] == [False] * 8


def test_the_key_is_made_of_what_is_embedded() -> None:
    plain = Chunk(0, "text", 0, 4, 1, 1, 1)
    elsewhere = Chunk(7, "text", 9, 13, 3, 3, 1, symbols=("f",))
    headed = Chunk(0, "text", 0, 4, 1, 1, 1, header="Title")
    assert embedding_key(plain) == embedding_key(elsewhere)
    assert embedding_key(plain) != embedding_key(headed)
    assert len(embedding_key(plain)) == 16


def test_pending_are_the_texts_without_a_vector_in_order(catalog: Catalog, collection: CollectionRecord) -> None:
    document = new("a.md", "🦡 one", "two", "three")
    put(catalog, collection, document)
    with catalog.read() as connection:
        assert [text for _, _, text in embeddings.pending(connection, collection.id, None, 10)] == [
            "🦡 one",
            "two",
            "three",
        ]
    model = bind(catalog, collection)
    with catalog.write() as connection:
        embeddings.store(connection, model, {embedding_key(document.chunks[1]): vector(1)})
        left = embeddings.pending(connection, collection.id, model, 10)
        waiting = [(number + 1, document.chunks[number]) for number in (0, 2)]
        assert left == [(chunk_id, embedding_key(chunk), chunk.text) for chunk_id, chunk in waiting]
        assert embeddings.pending(connection, collection.id, model, 10, after=1) == left[1:]
        assert embeddings.pending_among(connection, collection.id, model, [3, 2, 9]) == left[1:]
        assert len(embeddings.pending(connection, collection.id, model, 1)) == 1
        all_ids, embedded = embeddings.chunk_ids(connection, collection.id, model)
    assert (all_ids.tolist(), embedded.tolist()) == ([1, 2, 3], [2])


def test_documents_that_waited_for_a_vector_count_as_changed(catalog: Catalog, collection: CollectionRecord) -> None:
    """The same text may stand in another document, in another collection: their indexes must hear of it."""
    with catalog.write() as connection:
        other = collections.ensure(connection, "other")
        third = collections.ensure(connection, "third")
    twin = new("a.md", "the same")
    [_, mine] = put(catalog, collection, new("x.md", "else"), twin)
    [theirs] = put(catalog, other, twin)
    put(catalog, third, twin)
    model = bind(catalog, collection)
    bind(catalog, other)
    with catalog.read() as connection:
        before = changes.head(connection, other.id), changes.head(connection, third.id)
        mine_before = changes.head(connection, collection.id)
    with catalog.write() as connection:
        embeddings.store(connection, model, {embedding_key(twin.chunks[0]): vector(1)})
    with catalog.read() as connection:
        assert [change.document_id for change in changes.since(connection, collection.id, mine_before, 9)] == [mine]
        assert [change.document_id for change in changes.since(connection, other.id, before[0], 9)] == [theirs]
        assert changes.since(connection, third.id, before[1], 9) == [], "it has no model yet"


def test_nothing_stores_nothing(catalog: Catalog, collection: CollectionRecord) -> None:
    model = bind(catalog, collection)
    with catalog.write() as connection:
        embeddings.store(connection, model, {})
        assert embeddings.known_keys(connection, model, []) == set()
        assert embeddings.of_chunks(connection, model, []) == {}


def test_summaries_written_since_a_change_are_told(catalog: Catalog, collection: CollectionRecord) -> None:
    first, second = put(catalog, collection, new("a.md", "one"), new("b.md", "two"))
    with catalog.write() as connection:
        summaries.write(connection, first, "First.", "given")
    with catalog.write() as connection:
        keys, seen = embeddings.of_summaries(connection)
        assert keys == {summary_key("First.")}
        assert embeddings.of_summaries(connection, seen) == (set(), seen)
        summaries.write(connection, second, "Second.", "chat")
    with catalog.read() as connection:
        keys, newer = embeddings.of_summaries(connection, seen)
        assert (keys, newer > seen) == ({summary_key("Second.")}, True)
