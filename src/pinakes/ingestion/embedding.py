"""Embeds texts in batches, reporting progress, so that the work can be watched and stopped."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import AbstractContextManager, closing, nullcontext
from dataclasses import dataclass, field

from pinakes.catalog import Catalog, Connection, collections, embedding_claims, embeddings, sources, summaries
from pinakes.catalog.collections import CollectionRecord
from pinakes.core import interrupt
from pinakes.core.errors import InvalidInput
from pinakes.core.ports import Embedder, Remote
from pinakes.core.records import Float32
from pinakes.core.wording import counted
from pinakes.ingestion.claiming import Claims
from pinakes.ingestion.report import Event
from pinakes.platform.ctrl_c import held_back

_EMBEDDED_PER_EVENT = 64
_MOST_WANTED = 64
_SUMMARIES = 500
_NAMED = 5


def embed(
    embedder: Embedder,
    texts: Mapping[bytes, str],
    refused: dict[bytes, str] | None = None,
    kept: Callable[[Mapping[bytes, Float32]], object] | None = None,
) -> Generator[Event, None, dict[bytes, Float32]]:
    """Embed ``texts``, shortest first to reduce padding; return key → float32 (dim,), unit length.

    Texts that the model refuses have no vector; if ``refused`` is given, it receives the reasons. ``kept`` receives
    each answer of a remote model at once, since it was paid for; from a local model it receives the vectors made before
    the work was stopped.

    Raises:
        ModelUnavailable: the model cannot be loaded or does not answer.
        InvalidInput: a text is longer than the model reads, and ``refused`` is not given.
    """
    keys = sorted(texts, key=lambda key: len(texts[key]))
    if isinstance(embedder, Remote):
        return (yield from _embed_remote(embedder, texts, keys, refused, kept))
    vectors: dict[bytes, Float32] = {}
    with held_back() as ctrl_c:
        try:
            for start in range(0, len(keys), _EMBEDDED_PER_EVENT):
                interrupt.check()
                part = keys[start : start + _EMBEDDED_PER_EVENT]
                vectors |= _embed_local(embedder, {key: texts[key] for key in part}, refused)
                yield Event("embed", start + len(part), len(keys))
                ctrl_c.check()
        except BaseException:  # includes GeneratorExit: the caller stopped iterating
            if kept is not None and vectors:
                with interrupt.ignored():
                    kept(vectors)
            raise
    return vectors


def _embed_remote(
    embedder: Remote,
    texts: Mapping[bytes, str],
    keys: Sequence[bytes],
    refused: dict[bytes, str] | None,
    kept: Callable[[Mapping[bytes, Float32]], object] | None,
) -> Generator[Event, None, dict[bytes, Float32]]:
    """Embed with a remote model, see ``embed``."""
    vectors: dict[bytes, Float32] = {}
    done = 0
    with closing(embedder.batches([texts[key] for key in keys])) as answers:
        for positions, found in answers:
            interrupt.check()
            part = [keys[at] for at in positions]
            if not isinstance(found, InvalidInput):
                made = dict(zip(part, found, strict=True))
                vectors |= made
                if kept is not None:
                    kept(made)
            elif refused is None:
                raise found
            else:
                refused |= dict.fromkeys(part, str(found))
            done += len(part)
            yield Event("embed", done, len(keys))
    return vectors


def embed_and_keep(
    catalog: Catalog,
    collection: CollectionRecord,
    embedder: Embedder,
    texts: Mapping[bytes, str],
    refused: dict[bytes, str],
    kept: Callable[[Mapping[bytes, Float32]], object] | None = None,
) -> Generator[Event, None, CollectionRecord]:
    """Embed ``texts`` of a collection and store the vectors. Return the collection, now bound to ``embedder``.

    ``kept``: stores the vectors in place of ``keeping``.

    Raises:
        ModelUnavailable: see ``embed``.
    """
    kept = kept or keeping(catalog, collection, embedder)
    with ctrl_c_delayed(embedder):
        vectors = yield from embed(embedder, texts, refused, kept)
        if not isinstance(embedder, Remote):
            kept(vectors)
    return bind_model(catalog, collection, embedder) if collection.model_id is None else collection


def ctrl_c_delayed(embedder: Embedder) -> AbstractContextManager[object]:
    """Return a context that delays Ctrl+C until vectors are computed and stored.

    For a remote model it does nothing: a call may take long, and each answer is stored at once.
    """
    return nullcontext() if isinstance(embedder, Remote) else held_back()


def keeping(
    catalog: Catalog, collection: CollectionRecord, embedder: Embedder
) -> Callable[[Mapping[bytes, Float32]], object]:
    """Return a function that stores vectors before their documents, so that none is computed or paid for twice."""

    def kept(vectors: Mapping[bytes, Float32]) -> None:
        if collection.model_id is None:
            bind_model(catalog, collection, embedder)
        with catalog.write() as connection:
            keep(connection, embedder, vectors)

    return kept


def _embed_local(
    embedder: Embedder, texts: Mapping[bytes, str], refused: dict[bytes, str] | None
) -> dict[bytes, Float32]:
    try:
        return dict(zip(texts, embedder.embed(list(texts.values())), strict=True))
    except InvalidInput:
        if refused is None:
            raise
        return _embed_individually(embedder, texts, refused)


def _embed_individually(
    embedder: Embedder, texts: Mapping[bytes, str], refused: dict[bytes, str]
) -> dict[bytes, Float32]:
    """Embed each text separately, so that a refused text does not affect the others."""
    vectors: dict[bytes, Float32] = {}
    for key, text in texts.items():
        try:
            vectors[key] = embedder.embed([text])[0]
        except InvalidInput as error:
            refused[key] = str(error)
    return vectors


def readable(text: str, embedder: Embedder) -> str:
    """Return the start of a text, as much as the model reads.

    Raises:
        ModelUnavailable: the tokenizer cannot be loaded.
    """
    starts = embedder.token_starts(text)
    return text[: int(starts[embedder.max_tokens])] if len(starts) > embedder.max_tokens else text


def keep(connection: Connection, embedder: Embedder, vectors: Mapping[bytes, Float32]) -> None:
    """Store vectors under the model of ``embedder``, even if the collection has changed its model since."""
    if vectors and (model_id := collections.model_id(connection, embedder.fingerprint)) is not None:
        embeddings.store(connection, model_id, vectors)
        embedding_claims.done(connection, model_id, vectors)


def bind_model(catalog: Catalog, collection: CollectionRecord, embedder: Embedder) -> CollectionRecord:
    """Bind ``collection`` to ``embedder``, unless another generation replaced it; return the current record."""
    fingerprint, dimension = embedder.fingerprint, embedder.dimension
    with catalog.write() as connection:
        if collections.get(connection, collection.name).line == collection.line:
            collections.bind_model(connection, collection.id, fingerprint, dimension)
        return collections.get(connection, collection.name)


def refusal(connection: Connection, collection: CollectionRecord, refused: Mapping[bytes, str]) -> InvalidInput | None:
    """Return an error naming the chunks whose texts the model ``refused``; None if there are none."""
    places = embeddings.places(connection, collection.id, refused)
    if not places:
        return None
    named = ", ".join(list(places.values())[:_NAMED])
    more = f" and {len(places) - _NAMED:,} more" if len(places) > _NAMED else ""
    have = counted(len(places), "chunk has", "chunks have")
    return InvalidInput(
        f"{have} no vector ({named}{more}): {refused[next(iter(places))]}",
        hint="They are found by words. Where they are too long for the model: cut them anew by pinakes sync.",
    )


def has_pending(connection: Connection, collection: CollectionRecord) -> bool:
    """Return whether a chunk, or a summary that needs one, has no vector of the collection's model."""
    if collections.count(connection, collection).pending:
        return True
    of_model = collection.model_id is not None  # without a model, chunks are pending, too
    return of_model and bool(summaries.pending(connection, collection.id, collection.model_id, limit=1))


def tell_sources(catalog: Catalog, name: str) -> None:
    """Clear the ``degraded`` reason of a collection's sources once no chunk is pending."""
    with catalog.read() as connection:  # usually there is nothing to clear, and writers block each other
        record = collections.get(connection, name)
        if not any(one.error for one in sources.list_all(connection, record.id)) or has_pending(connection, record):
            return
    with catalog.write() as connection:
        if not has_pending(connection, record):
            sources.none_waits(connection, record.id)


@dataclass(slots=True)
class Waiting:
    """Embeds the pending chunks of a collection, in rounds, document by document.

    Before each batch, ``first`` is asked for up to that many chunks to embed next; after it, ``follow`` receives the
    number of chunks embedded. ``refused``: embedding key → reason why the model refused the text.

    With ``claims``, other processes embed chunks of the same collection: each claims its batches, and ``first`` is not
    asked, since searches anywhere note what they met in the catalogue. ``only_wanted``: nothing but that is embedded.
    """

    catalog: Catalog
    collection: CollectionRecord
    embedder: Embedder
    follow: Callable[[int], object]
    first: Callable[[int], Sequence[int]]
    refused: dict[bytes, str] = field(default_factory=dict)
    claims: Claims | None = None
    only_wanted: bool = False
    _after: int = 0
    _done: int = 0

    def embed(self, batch: int, batches: int) -> Generator[Event, None, bool]:
        """Embed up to ``batches`` batches of ``batch`` chunks. Return whether more may be pending.

        Returns False if the collection has got another model.

        Raises:
            ModelUnavailable: the model cannot be loaded or does not answer; finished vectors are stored.
        """
        with self.catalog.read() as connection:
            total = self._done + collections.count(connection, self.collection).pending
        for _ in range(batches):
            rows = self._rows(batch)
            if not rows:
                self.embed_summaries()
                return False
            yield from self._embed_rows(rows)
            self.follow(len(rows))
            self._done += len(rows)
            yield Event("index", self._done, max(self._done, total))
        return True

    def check(self) -> None:
        """Check that the model accepted all texts.

        Raises:
            InvalidInput: it refused some; the error names their places.
        """
        with self.catalog.read() as connection:
            error = refusal(connection, self.collection, self.refused)
        if error is not None:
            raise error

    def embed_summaries(self) -> None:
        """Embed the pending summaries, if the collection still uses the model.

        Refused ones are added to ``refused``.

        Raises:
            ModelUnavailable: the model cannot be loaded or does not answer.
        """
        while texts := self._summaries():
            for _ in embed_and_keep(self.catalog, self.collection, self.embedder, texts, self.refused):
                pass

    def _summaries(self) -> dict[bytes, str]:
        collection_id, model_id = self.collection.id, self.collection.model_id
        with self.catalog.read() as connection:
            if model_id is None or not self._still_wanted(connection):
                return {}
            rows = summaries.pending(connection, collection_id, model_id, _SUMMARIES + len(self.refused))
        return {key: readable(text, self.embedder) for _, key, text in rows if key not in self.refused}

    def _still_wanted(self, connection: Connection) -> bool:
        """Return whether the collection, or its shadow index, still uses the model."""
        mine, read = self.collection, collections.beside if self.collection.is_beside else collections.find
        now = read(connection, mine.name)
        return now is not None and now.model_id == mine.model_id

    def embed_batch(self, batch: int) -> Generator[Event, None, None]:
        """Embed up to ``batch`` claimed chunks; the events count those done.

        Raises:
            ModelUnavailable, ModelMismatch: see ``embed`` and ``Claims.bound``.
        """
        if rows := self._rows(batch):
            yield from self._embed_rows(rows)

    def _embed_rows(self, rows: Sequence[tuple[int, bytes, str]]) -> Generator[Event, None, None]:
        texts = {key: text for _, key, text in rows}
        given = self.catalog, self.collection, self.embedder
        if self.claims is None:
            self.collection = yield from embed_and_keep(*given, texts, self.refused)
        else:
            with self.claims.stored(self.collection, texts, self.refused) as kept:
                yield from embed_and_keep(*given, texts, self.refused, kept)

    def left_to_others(self) -> bool:
        """Return whether chunks are pending that other processes embed; those that they refused are in ``refused``."""
        if self.claims is None:
            return False
        with self.catalog.read() as connection:
            if not self._still_wanted(connection):
                return False
            self.refused |= embedding_claims.refused(connection, self.collection.model_id)
            return embedding_claims.is_left(connection, self.collection.id, self.collection.model_id)

    def _rows(self, batch: int) -> list[tuple[int, bytes, str]]:
        """Return (chunk id, key, embedded text) of the next batch; with claims, of one that is claimed."""
        if self.claims is not None:
            self.collection = self.claims.bound(self.collection, self.embedder)
        with self.catalog.read() as connection:
            if not self._still_wanted(connection):
                return []
            if self.claims is None:
                return self._next(connection, batch)
        rows = self.claims.take(self.collection, batch, self._after, only_wanted=self.only_wanted)
        if not rows and self._after:  # others may have given back some
            self._after = 0
            rows = self.claims.take(self.collection, batch, only_wanted=self.only_wanted)
        self._after = max([self._after, *(chunk_id for chunk_id, _, _ in rows)])
        return rows

    def _next(self, connection: Connection, batch: int) -> list[tuple[int, bytes, str]]:
        collection_id, model_id = self.collection.id, self.collection.model_id
        if wanted := self.first(min(batch, _MOST_WANTED)):
            rows = embeddings.pending_among(connection, collection_id, model_id, wanted)
            if rows := [row for row in rows if row[1] not in self.refused]:
                return rows
        rows = embeddings.pending(connection, collection_id, model_id, batch, self._after)
        self._after = rows[-1][0] if rows else self._after
        return rows
