"""Texts to vectors, in steps that can be watched and stopped."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import AbstractContextManager, closing, nullcontext
from dataclasses import dataclass, field
from typing import TypeVar

from pinakes.catalog import Catalog, Connection, collections, embeddings, sources, summaries
from pinakes.catalog.collections import CollectionRecord
from pinakes.core import interrupt
from pinakes.core.errors import InvalidInput
from pinakes.core.ports import Embedder, Remote
from pinakes.core.records import Float32
from pinakes.core.wording import counted
from pinakes.ingestion.report import Event
from pinakes.platform.ctrl_c import held_back

Result = TypeVar("Result")

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
    """Embed ``texts``, shortest first so that batches need little padding; return key → float32 (dim,).

    Texts that the model refuses have no vector then; the reasons are put into ``refused`` where it is given. ``kept``
    gets each answer of a model that runs elsewhere as it comes, since it is paid for; of one that runs here it gets
    what was made until the work is stopped.

    Raises:
        ModelUnavailable: the model cannot be loaded or does not answer.
        InvalidInput: a text is longer than the model reads, and there is no ``refused``.
    """
    keys = sorted(texts, key=lambda key: len(texts[key]))
    if isinstance(embedder, Remote):
        return (yield from _asked(embedder, texts, keys, refused, kept))
    vectors: dict[bytes, Float32] = {}
    with held_back() as ctrl_c:
        try:
            for start in range(0, len(keys), _EMBEDDED_PER_EVENT):
                interrupt.check()
                part = keys[start : start + _EMBEDDED_PER_EVENT]
                vectors |= _made(embedder, {key: texts[key] for key in part}, refused)
                yield Event("embed", start + len(part), len(keys))
                ctrl_c.check()
        except BaseException:  # also where whoever asked does not go on
            if kept is not None and vectors:
                with interrupt.ignored():
                    kept(vectors)
            raise
    return vectors


def _asked(
    embedder: Remote,
    texts: Mapping[bytes, str],
    keys: Sequence[bytes],
    refused: dict[bytes, str] | None,
    kept: Callable[[Mapping[bytes, Float32]], object] | None,
) -> Generator[Event, None, dict[bytes, Float32]]:
    """As ``embed``, by a model that runs elsewhere."""
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
) -> Generator[Event, None, CollectionRecord]:
    """Embed ``texts`` of a collection and store their vectors; return it, of which ``embedder`` is the model then.

    Raises:
        ModelUnavailable: as ``embed``.
    """
    kept = keeping(catalog, collection, embedder)
    with quiet_progress(embedder):
        vectors = yield from embed(embedder, texts, refused, kept)
        if not isinstance(embedder, Remote):
            kept(vectors)
    return bind_model(catalog, collection, embedder) if collection.model_id is None else collection


def quiet_progress(embedder: Embedder) -> AbstractContextManager[object]:
    """Give a block in which vectors are made and stored before Ctrl+C is heeded.

    Not where they come from elsewhere: that may take long, and each answer is stored as it comes.
    """
    return nullcontext() if isinstance(embedder, Remote) else held_back()


def keeping(
    catalog: Catalog, collection: CollectionRecord, embedder: Embedder
) -> Callable[[Mapping[bytes, Float32]], object]:
    """Return what keeps vectors before their documents are there, so that none is made, or paid for, twice."""

    def kept(vectors: Mapping[bytes, Float32]) -> None:
        if collection.model_id is None:
            bind_model(catalog, collection, embedder)
        with catalog.write() as connection:
            keep(connection, embedder, vectors)

    return kept


def _made(embedder: Embedder, texts: Mapping[bytes, str], refused: dict[bytes, str] | None) -> dict[bytes, Float32]:
    try:
        return dict(zip(texts, embedder.embed(list(texts.values())), strict=True))
    except InvalidInput:
        if refused is None:
            raise
        return _one_by_one(embedder, texts, refused)


def _one_by_one(embedder: Embedder, texts: Mapping[bytes, str], refused: dict[bytes, str]) -> dict[bytes, Float32]:
    """Embed each text by itself, so that one the model refuses does not keep the others from their vectors."""
    vectors: dict[bytes, Float32] = {}
    for key, text in texts.items():
        try:
            vectors[key] = embedder.embed([text])[0]
        except InvalidInput as error:
            refused[key] = str(error)
    return vectors


def result_of(events: Generator[Event, None, Result]) -> Result:
    """Run a flow to its end; return what it returns."""
    while True:
        try:
            next(events)
        except StopIteration as end:
            result: Result = end.value
            return result


def readable(text: str, embedder: Embedder) -> str:
    """Return as much of a text as the model reads at once.

    Raises:
        ModelUnavailable: its tokenizer cannot be loaded.
    """
    starts = embedder.token_starts(text)
    return text[: int(starts[embedder.max_tokens])] if len(starts) > embedder.max_tokens else text


def keep(connection: Connection, embedder: Embedder, vectors: Mapping[bytes, Float32]) -> None:
    """Store what ``embedder`` made, as its own: the collection may have got another model meanwhile."""
    if vectors and (model_id := collections.model_id(connection, embedder.fingerprint)) is not None:
        embeddings.store(connection, model_id, vectors)


def bind_model(catalog: Catalog, collection: CollectionRecord, embedder: Embedder) -> CollectionRecord:
    """Make ``embedder`` the model of ``collection``, unless another generation answers by now; return it as it is."""
    fingerprint, dimension = embedder.fingerprint, embedder.dimension
    with catalog.write() as connection:
        if collections.get(connection, collection.name).line == collection.line:
            collections.bind_model(connection, collection.id, fingerprint, dimension)
        return collections.get(connection, collection.name)


def refusal(connection: Connection, collection: CollectionRecord, refused: Mapping[bytes, str]) -> InvalidInput | None:
    """Return the error that names the chunks of a collection whose texts the model ``refused``, None without any."""
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
    """Say whether any chunk has no vector by the model of ``collection``, or any summary that is to have one."""
    if collections.count(connection, collection).pending:
        return True
    of_model = collection.model_id is not None  # where there is none yet, chunks wait, too
    return of_model and bool(summaries.pending(connection, collection.id, collection.model_id, limit=1))


def tell_sources(catalog: Catalog, name: str) -> None:
    """Have the sources of a collection no longer tell why chunks wait, where none does any more."""
    with catalog.read() as connection:  # mostly there is nothing to take back, and writers wait for each other
        record = collections.get(connection, name)
        if not any(one.error for one in sources.list_all(connection, record.id)) or has_pending(connection, record):
            return
    with catalog.write() as connection:
        if not has_pending(connection, record):
            sources.none_waits(connection, record.id)


@dataclass(slots=True)
class Waiting:
    """Embeds the chunks of a collection that have no vector by its model, in rounds, document by document.

    ``first``, asked for up to so many chunks before each batch, says which are wanted most. ``follow`` is told after
    each batch how many chunks it had. ``refused`` has the reason for each text that the model does not take.
    """

    catalog: Catalog
    collection: CollectionRecord
    embedder: Embedder
    follow: Callable[[int], object]
    first: Callable[[int], Sequence[int]]
    refused: dict[bytes, str] = field(default_factory=dict)
    _after: int = 0
    _done: int = 0

    def embed(self, batch: int, batches: int) -> Generator[Event, None, bool]:
        """Embed up to ``batches`` batches of ``batch`` chunks; say whether more may wait.

        It is over, too, once the collection has got another model.

        Raises:
            ModelUnavailable: the model cannot be loaded or does not answer; what was embedded is kept.
        """
        with self.catalog.read() as connection:
            total = self._done + collections.count(connection, self.collection).pending
        for _ in range(batches):
            with self.catalog.read() as connection:
                rows = self._next(connection, batch) if self._still_wanted(connection) else []
            if not rows:
                self.embed_summaries()
                return False
            texts = {key: text for _, key, text in rows}
            given = self.catalog, self.collection, self.embedder
            self.collection = yield from embed_and_keep(*given, texts, self.refused)
            self.follow(len(rows))
            self._done += len(rows)
            yield Event("index", self._done, max(self._done, total))
        return True

    def check(self) -> None:
        """Make sure that the model took all texts.

        Raises:
            InvalidInput: it did not; their places are named.
        """
        with self.catalog.read() as connection:
            error = refusal(connection, self.collection, self.refused)
        if error is not None:
            raise error

    def embed_summaries(self) -> None:
        """Embed the summaries that have vectors of their own and wait for them, where the model still is wanted.

        Those that it does not take are ``refused``.

        Raises:
            ModelUnavailable: the model cannot be loaded or does not answer.
        """
        while texts := self._summaries():
            result_of(embed_and_keep(self.catalog, self.collection, self.embedder, texts, self.refused))

    def _summaries(self) -> dict[bytes, str]:
        collection_id, model_id = self.collection.id, self.collection.model_id
        with self.catalog.read() as connection:
            if model_id is None or not self._still_wanted(connection):
                return {}
            rows = summaries.pending(connection, collection_id, model_id, _SUMMARIES + len(self.refused))
        return {key: readable(text, self.embedder) for _, key, text in rows if key not in self.refused}

    def _still_wanted(self, connection: Connection) -> bool:
        """Say whether the collection still has the model: what answers, or what is built beside it."""
        mine, read = self.collection, collections.beside if self.collection.is_beside else collections.find
        now = read(connection, mine.name)
        return now is not None and now.model_id == mine.model_id

    def _next(self, connection: Connection, batch: int) -> list[tuple[int, bytes, str]]:
        collection_id, model_id = self.collection.id, self.collection.model_id
        if wanted := self.first(min(batch, _MOST_WANTED)):
            rows = embeddings.pending_among(connection, collection_id, model_id, wanted)
            if rows := [row for row in rows if row[1] not in self.refused]:
                return rows
        rows = embeddings.pending(connection, collection_id, model_id, batch, self._after)
        self._after = rows[-1][0] if rows else self._after
        return rows
