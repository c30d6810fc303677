"""``verify``: compares the catalogue with its hashes, and the index of a collection with the catalogue."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial

import numpy as np

from pinakes.catalog import Catalog, changes, embeddings, integrity
from pinakes.catalog.collections import CollectionRecord
from pinakes.core.batching import batches
from pinakes.core.errors import Busy, IndexCorrupt
from pinakes.core.ports import Checkable, Embedder, Index
from pinakes.core.records import Float32, Int64
from pinakes.indexes.updater import Fill, catch_up

_COMPARISONS = 5
_COMPARED_PER_STEP = 2000
_DOCUMENTS_PER_STEP = 50
_EXAMPLES = 10
_LARGEST_DIFFERENCE = 2e-3
"""Tolerance of vector components: stored vectors are float16, an index may be a little less exact."""

_LENGTH_MARGIN = 0.01
"""Tolerance of a vector's length: rounding to float16 changes it by less than a thousandth."""

_SAMPLE = 64
_LEAST_COSINE = 0.98
"""Minimum cosine of two embeddings of one text: batches and processors differ, by at most 0.005 when measured."""


@dataclass(frozen=True, slots=True)
class Difference:
    """One kind of difference, with up to ten of the chunks concerned.

    ``part``: "content", "embeddings" or "graph" of the catalogue; "keyword", "documents" or "vector" of the index. For
    "documents", the ids are those of documents. A damaged file has no ids.
    """

    part: str
    problem: str
    count: int
    examples: tuple[int, ...] = ()


def compare(
    catalog: Catalog,
    collection: CollectionRecord,
    index: Index,
    fill: Fill | None = None,
    *,
    deep_content: bool = False,
) -> list[Difference]:
    """Compare every id and vector of the index, after it caught up, with the catalogue and with what ``fill`` gives.

    All files of the index are read. ``deep_content``: search for every chunk by its own words.

    Raises:
        Busy: the collection changed during every comparison.
    """
    damaged: list[Difference] = []
    try:
        for _ in range(_COMPARISONS):
            for _ in catch_up(catalog, collection, index, fill):
                pass
            position = index.position()
            damaged = _damaged(index)
            found = [*damaged, *_compared(catalog, collection, index, fill)]
            found += _unfindable(catalog, collection, index) if deep_content else []
            with catalog.read() as connection:
                if index.position() == position == changes.head(connection, collection.id):
                    return found
    except IndexCorrupt as error:
        with catalog.read() as connection:
            every, _ = embeddings.chunk_ids(connection, collection.id, collection.model_id)
        return [*damaged, Difference("keyword", error.message, len(every))]
    raise Busy(
        f"Collection {collection.name!r} changed each of the {_COMPARISONS} times its index was compared.",
        hint="Verify it when nothing is being added.",
    )


def check_catalogue(
    catalog: Catalog, collection: CollectionRecord, embed: Callable[[], Embedder] | None = None
) -> list[Difference]:
    """Compare every chunk of a collection with the hash of its text, and check that each vector is valid.

    With ``embed``, which returns the collection's model, a sample of chunks is embedded again and compared.

    Raises:
        CatalogueCorrupt: the database itself is damaged.
    """
    wrong: list[int] = []
    bad: list[int] = []
    after = 0
    while True:
        with catalog.read() as connection:
            found = integrity.chunks_after(connection, collection, after, _COMPARED_PER_STEP)
        if not found:
            break
        after = found[-1].chunk_id
        wrong += [one.chunk_id for one in found if not one.is_as_embedded]
        bad += [one.chunk_id for one in found if one.vector is not None and not _is_vector(one.vector, collection)]
    differences = _differences("content", "text differs from what was read", wrong)
    differences += _differences("embeddings", "vector is damaged", bad)
    if embed is not None and not differences:
        differences += _differing_embeddings(catalog, collection, embed())
    return differences


def _is_vector(data: bytes, collection: CollectionRecord) -> bool:
    if len(data) != 2 * collection.dimension:
        return False
    vector = np.frombuffer(data, np.float16).astype(np.float32)
    length = float(np.linalg.norm(vector))
    return bool(np.isfinite(length)) and abs(length - 1) <= _LENGTH_MARGIN


def _differing_embeddings(catalog: Catalog, collection: CollectionRecord, embedder: Embedder) -> list[Difference]:
    """Embed a sample of chunks again; return those whose stored vector differs."""
    with catalog.read() as connection:
        _, embedded = embeddings.chunk_ids(connection, collection.id, collection.model_id)
        places = np.unique(np.linspace(0, len(embedded) - 1, min(_SAMPLE, len(embedded))).astype(np.int64))
        wanted = embedded[places].tolist()
        texts = embeddings.embedded(connection, wanted)
        stored = embeddings.of_chunks(connection, collection.model_id, wanted)
    if not texts:
        return []
    fresh = embedder.embed([text for _, _, text in texts])
    cosines = [float(stored[number] @ vector) for (number, _, _), vector in zip(texts, fresh, strict=True)]
    wrong = [number for (number, _, _), cosine in zip(texts, cosines, strict=True) if cosine < _LEAST_COSINE]
    return _differences("embeddings", f"of a sample of {len(texts)} have another vector than the model gives", wrong)


def _damaged(index: Index) -> list[Difference]:
    """Return the damaged files of an index."""
    if not isinstance(index, Checkable):
        return []
    return [
        Difference(part, f"damaged file: {name}, {problem}", 1)
        for part, files in index.damaged().items()
        for name, problem in files
    ]


def _unfindable(catalog: Catalog, collection: CollectionRecord, index: Index) -> list[Difference]:
    """Return the chunks that the index does not find by their own words."""
    if not isinstance(index, Checkable):
        return []
    with catalog.read() as connection:
        owners = embeddings.document_ids(connection, collection.id).tolist()
    lacking: list[int] = []
    for part in batches(owners, _DOCUMENTS_PER_STEP):
        with catalog.read() as connection:
            entries = changes.entries(connection, part, None)
        lacking += index.lacking(entries)
    return _differences("keyword", "not found by their own words", lacking)


def _compared(catalog: Catalog, collection: CollectionRecord, index: Index, fill: Fill | None) -> list[Difference]:
    with catalog.read() as connection:
        every, embedded = embeddings.chunk_ids(connection, collection.id, collection.model_id)
        owners = embeddings.document_ids(connection, collection.id)
    contents = index.contents()
    held = contents["vector"]
    waiting = np.setdiff1d(every, embedded)
    wrong = _differing_vectors(index, embedded, held, partial(_stored, catalog, collection))
    with_vector = embedded
    if fill is not None and len(np.intersect1d(waiting, held)):
        wrong += _differing_vectors(index, waiting, held, partial(_filled, catalog, fill))
        with_vector = every
    found = []
    for part, expected in (("keyword", every), ("documents", owners), ("vector", with_vector)):
        found += _differences(part, "missing from the index", np.setdiff1d(expected, contents[part]))
        found += _differences(part, "not in the catalogue", np.setdiff1d(contents[part], expected))
        values, times = np.unique(contents[part], return_counts=True)
        found += _differences(part, "in the index more than once", values[times > 1])
    found += _differences("vector", "vector differs", sorted(wrong))
    taken = np.setxor1d(np.intersect1d(embedded, held), contents["exact"])
    return found + _differences("vector", "exact and approximate are confused", taken)


def _stored(catalog: Catalog, collection: CollectionRecord, chunk_ids: Int64) -> Mapping[int, Float32]:
    with catalog.read() as connection:
        return embeddings.of_chunks(connection, collection.model_id, chunk_ids.tolist())


def _filled(catalog: Catalog, fill: Fill, chunk_ids: Int64) -> Mapping[int, Float32]:
    with catalog.read() as connection:
        entries = changes.entries_of(connection, chunk_ids.tolist())
    return {entry.chunk_id: entry.vector for entry in fill(entries) if entry.vector is not None}


def _differing_vectors(
    index: Index, expected: Int64, held: Int64, right: Callable[[Int64], Mapping[int, Float32]]
) -> list[int]:
    """Return the ``expected`` chunks whose vector in the index differs from that of ``right``."""
    common = np.intersect1d(expected, held)
    found: list[int] = []
    for start in range(0, len(common), _COMPARED_PER_STEP):
        chunk_ids = common[start : start + _COMPARED_PER_STEP]
        vectors, stored = index.vectors(chunk_ids).own, right(chunk_ids)
        nothing = np.full(vectors.shape[1], np.nan, np.float32)
        found += [
            chunk_id
            for chunk_id, vector in zip(chunk_ids.tolist(), vectors, strict=True)
            if not _is_near(stored.get(chunk_id, nothing), vector)
        ]
    return found


def _is_near(one: Float32, other: Float32) -> bool:
    return one.shape == other.shape and bool(np.abs(one - other).max() <= _LARGEST_DIFFERENCE)


def _differences(part: str, problem: str, ids: Int64 | list[int]) -> list[Difference]:
    if not len(ids):
        return []
    return [Difference(part, problem, len(ids), tuple(map(int, ids[:_EXAMPLES])))]
