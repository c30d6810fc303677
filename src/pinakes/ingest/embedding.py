"""Texts to vectors, in steps that can be watched and stopped."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Mapping, Sequence

from sqlalchemy import Connection

from pinakes.catalog import Catalog, collections, embeddings
from pinakes.catalog.collections import CollectionRecord
from pinakes.errors import InvalidInput
from pinakes.ingest.report import Event
from pinakes.ports import Embedder
from pinakes.types import Float32

_EMBEDDED_PER_EVENT = 64
_MOST_WANTED = 64


def embed(
    embedder: Embedder, texts: Mapping[bytes, str], refused: dict[bytes, str] | None = None
) -> Generator[Event, None, dict[bytes, Float32]]:
    """Embed ``texts``, shortest first so that batches need little padding; return key → float32 (dim,).

    Texts that the model refuses have no vector then; the reasons are put into ``refused`` where it is given.

    Raises:
        ModelUnavailable: the model cannot be loaded or does not answer.
        InvalidInput: a text is longer than the model reads, and there is no ``refused``.
    """
    keys = sorted(texts, key=lambda key: len(texts[key]))
    vectors: dict[bytes, Float32] = {}
    for start in range(0, len(keys), _EMBEDDED_PER_EVENT):
        part = keys[start : start + _EMBEDDED_PER_EVENT]
        try:
            vectors |= zip(part, embedder.embed([texts[key] for key in part]), strict=True)
        except InvalidInput:
            if refused is None:
                raise
            vectors |= _one_by_one(embedder, {key: texts[key] for key in part}, refused)
        yield Event("embed", start + len(part), len(keys))
    return vectors


def _one_by_one(embedder: Embedder, texts: Mapping[bytes, str], refused: dict[bytes, str]) -> dict[bytes, Float32]:
    """Embed each text by itself, so that one the model refuses does not keep the others from their vectors."""
    vectors: dict[bytes, Float32] = {}
    for key, text in texts.items():
        try:
            vectors[key] = embedder.embed([text])[0]
        except InvalidInput as error:
            refused[key] = str(error)
    return vectors


def keep(connection: Connection, embedder: Embedder, vectors: Mapping[bytes, Float32]) -> None:
    """Store what ``embedder`` made, as its own: the collection may have got another model meanwhile."""
    model_id = collections.model_id(connection, embedder.fingerprint)
    if vectors and model_id is not None:
        embeddings.store(connection, model_id, vectors)


def bind(catalog: Catalog, collection: CollectionRecord, embedder: Embedder) -> CollectionRecord:
    """Make ``embedder`` the model of ``collection``; return the collection as it is then."""
    with catalog.write() as connection:
        collections.bind_model(connection, collection.id, embedder.fingerprint, embedder.dimension)
        return collections.get(connection, collection.name)


def embed_pending(
    catalog: Catalog,
    collection: CollectionRecord,
    embedder: Embedder,
    follow: Callable[[int], object],
    batch: int,
    first: Callable[[int], Sequence[int]] | None = None,
) -> Iterator[Event]:
    """Embed every chunk that still has no vector; ``follow`` is told after each batch how many chunks it had.

    ``first``, asked for up to so many chunks before each batch, says which are wanted most; the others come document
    by document.

    Raises:
        ModelUnavailable: the model cannot be loaded or does not answer; what was embedded is kept.
        InvalidInput: passages are longer than the model reads; all others are embedded.
    """
    with catalog.read() as connection:
        collection = collections.get(connection, collection.name)
        total, done = collections.count(connection, collection).pending, 0
    after, refused = 0, dict[bytes, str]()
    while True:
        with catalog.read() as connection:
            wanted = first(min(batch, _MOST_WANTED)) if first else ()
            rows = embeddings.pending_among(connection, collection.id, collection.model_id, wanted) if wanted else []
            if not rows:
                rows = embeddings.pending(connection, collection.id, collection.model_id, batch, after)
                if not rows:
                    break
                after = rows[-1][0]
        vectors = yield from embed(embedder, {key: text for _, key, text in rows}, refused)
        collection = bind(catalog, collection, embedder) if collection.model_id is None else collection
        with catalog.write() as connection:
            keep(connection, embedder, vectors)
        follow(len(rows))
        done += len(rows)
        yield Event("index", done, max(done, total))
    if refused:
        raise InvalidInput(
            f"{len(refused)} passages have no vector: {next(iter(refused.values()))}",
            hint="They were cut before this model was there. Cut them anew: pinakes sync",
        )
