"""Change of the embedding model: a shadow index is built, then switched to, or back."""

from __future__ import annotations

import sys
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from shlex import quote

import numpy as np

from pinakes.app import App
from pinakes.app.collection_models import mismatch, recorded
from pinakes.catalog import collections, embeddings, generations
from pinakes.catalog.collections import CollectionRecord, State
from pinakes.core.errors import Busy, IndexCorrupt, InvalidInput, ModelUnavailable, StorageFull
from pinakes.core.ports import Embedder, Vocabulary
from pinakes.core.records import JSON
from pinakes.ingestion.embedding import Waiting, bind_model
from pinakes.ingestion.report import Event
from pinakes.platform.disk import folder_bytes
from pinakes.platform.locks import locked, try_acquire
from pinakes.services import ingestion_runs
from pinakes.settings import EmbeddingSettings

_CHECKED_AT_ONCE = 2048
_BYTES_PER_NUMBER = 2
_PROBE = "Is the model there?"
_NO_WAY_BACK = "It was not switched, or what answered before was dropped. See: pinakes status"
_NOTHING_TO_DROP = "There is nothing to drop. See: pinakes status"


@dataclass(frozen=True, slots=True)
class BesideStatus:
    """The generation beside the one that answers.

    ``state``: "embedding" and "indexing" while it is built, "ready" to be switched to, "previous" when it answered
    before the last switch. ``embedded`` of ``chunks`` chunks have a vector by its ``model``, which is the ``share``
    of 0 to 1, rounded down; the ``waiting`` others came since, or are longer than the model reads. ``bytes``: what it
    takes on the disk, vectors and index.
    """

    model: str
    state: State
    chunks: int
    embedded: int
    waiting: int
    share: float
    bytes: int


def about(app: App, name: str) -> BesideStatus | None:
    """Return how the generation beside a collection is, None where there is none."""
    with app.catalog.read() as connection:
        record = collections.beside(connection, name)
        if record is None:
            return None
        counts = collections.count(connection, record)
    embedded = counts.chunks - counts.pending
    stored = folder_bytes(app.home.index(record)) + embedded * record.dimension * _BYTES_PER_NUMBER
    share = embedded * 10_000 // counts.chunks / 10_000 if counts.chunks else 1.0
    return BesideStatus(record.fingerprint, record.state, counts.chunks, embedded, counts.pending, share, stored)


def chosen_model(app: App, name: str, model: str | None) -> EmbeddingSettings:
    """Return the settings of the model to build with.

    ``model`` is its name, as the provider of the settings knows it, or a folder with the files of a model that runs
    here; None is the one being built already, else that of the settings.
    """
    usual = app.settings.embedding
    if model is not None:
        folder = Path(model).expanduser()
        if folder.is_dir():
            return usual.model_copy(update={"provider": "onnx", "model": folder.resolve().name, "path": folder})
        path = usual.path if model == usual.model else None
        of_another = {} if model == usual.model else {"dimension": 0, "max_tokens": 0}
        return usual.model_copy(update={"model": model, "path": path, **of_another})
    with app.catalog.read() as connection:
        record = collections.beside(connection, name)
    if record is None or record.embedding is None or record.state == "previous":
        return usual
    return EmbeddingSettings.model_validate(dict(record.embedding))


def build(app: App, name: str, model: EmbeddingSettings, *, anyway: bool = False) -> Generator[Event, None, None]:
    """Build a generation by ``model`` beside the one that answers, yielding events; go on where it was stopped.

    Events "scan" tell how many chunks were measured, "embed" how many have vectors, "index" how many documents
    are in the index. The generation that answered before the last switch is dropped for it.

    Raises:
        NotFound: there is no such collection.
        InvalidInput: it has this model already, another one is being built beside it, or chunks are longer than the
            model reads; with ``anyway`` those are to be found by words only.
        ModelUnavailable: the model cannot be had. Nothing was changed.
        TooCostly: it costs more than is spent unasked. It is begun; the next call goes on.
        Busy: another process is building beside this collection.
        StorageFull: the disk is full. What answers is untouched, and the next call goes on.
    """
    embedder = app.embedder_by(recorded(model))
    embedder.embed_query(_PROBE)
    with _changing(app, app.record(name)):
        answering = app.record(name)
        _check_other(answering, embedder)
        replaced = _replaced(app, name, embedder)
        if not anyway:
            yield from _measured(app, name, embedder)
        record = _begun(app, answering, embedder, model, replaced)
        ingestion_runs.check_cost(app, record)
        yield from _completed(app, record)


def switch(app: App, name: str) -> Generator[Event, None, None]:
    """Let the generation beside answer; the one that did so is kept beside it. One transaction.

    What came since it was built is embedded before, yielding events as ``build`` does.

    Raises:
        NotFound, InvalidInput: there is no generation beside the collection that is ready.
        ModelUnavailable, ModelMismatch: its model cannot be had, or is another by now.
        Busy: another process is building it.
    """
    with _changing(app, app.record(name)):
        record = _in_state(app, name, "ready")
        _check_model(app, record)
        yield from _completed(app, record)
        _swap(app, name, "previous")


def roll_back(app: App, name: str) -> None:
    """Let the generation answer again that did before the last switch. One transaction; nothing is embedded.

    What came since waits for its vectors by that model: it is found by words until then.

    Raises:
        NotFound, InvalidInput: the collection was not switched, or that generation was dropped.
        ModelUnavailable, ModelMismatch: its model cannot be had any more, or is another by now.
        Busy: another process is building beside the collection.
    """
    with _changing(app, app.record(name)):
        _check_model(app, _in_state(app, name, "previous"))
        _swap(app, name, "ready")


def drop(app: App, name: str) -> int:
    """Give up the generation beside a collection, whatever its state; return how many bytes that frees.

    Raises:
        NotFound: there is none.
        Busy: another process is building it.
    """
    with _changing(app, app.record(name)):
        status = about(app, name)
        with app.catalog.read() as connection:
            record = generations.require(connection, name, _NOTHING_TO_DROP)
        _drop(app, record)
    return status.bytes if status else 0


def adopt_settings(app: App, record: CollectionRecord) -> None:
    """Make the model that the settings name that of a collection, unless it has one of its own.

    Raises:
        InvalidInput: that model is what stands beside the collection.
    """
    with app.catalog.read() as connection:
        other = collections.beside(connection, record.name)
    if other is not None and other.state != "previous" and other.fingerprint == app.embedder.fingerprint:
        raise InvalidInput(
            f"A generation by {other.fingerprint} stands beside collection {record.name!r} already.",
            hint=f"Have that answer: pinakes reindex --switch -c {quote(record.name)}",
        )
    if record.embedding is None:
        bind_model(app.catalog, record, app.embedder)


@contextmanager
def _changing(app: App, record: CollectionRecord) -> Iterator[None]:
    """Keep other processes from changing what stands beside a collection."""
    lock = app.home.changing(record)
    if not try_acquire(lock, "The search index", lock.timeout):
        raise Busy(
            f"Another process is working on the generation beside collection {record.name!r}.",
            hint="Wait for it, or stop it: what it did is kept. How far it is: pinakes status",
        )
    try:
        yield
    finally:
        lock.release()


def _check_other(answering: CollectionRecord, embedder: Embedder) -> None:
    if embedder.fingerprint == answering.fingerprint:
        raise InvalidInput(
            f"Collection {answering.name!r} is answered by {answering.fingerprint} already.",
            hint=f"Name another model; what waits for its vectors is embedded by: pinakes reindex --embed "
            f"-c {quote(answering.name)}",
        )


def _replaced(app: App, name: str, embedder: Embedder) -> CollectionRecord | None:
    """Return what stands beside a collection already, if that may go on or give way.

    Raises:
        InvalidInput: another model's is being built, or is ready.
    """
    with app.catalog.read() as connection:
        record = collections.beside(connection, name)
    if record is None or record.fingerprint == embedder.fingerprint or record.state == "previous":
        return record
    state = "is ready" if record.state == "ready" else "is being built"
    raise InvalidInput(
        f"A generation by {record.fingerprint} {state} beside collection {name!r}.",
        hint=f"Switch to it (pinakes reindex --switch -c {quote(name)}) or give it up (pinakes reindex --drop-beside "
        f"-c {quote(name)}) before another is built.",
    )


def _measured(app: App, name: str, embedder: Embedder) -> Generator[Event, None, None]:
    """Count the chunks that are longer than the model reads, of those that it has not embedded yet.

    Raises:
        InvalidInput: there are such.
    """
    record = app.record(name)
    most, after, measured, too_long = embedder.max_tokens, 0, 0, 0
    longest = 0
    with app.catalog.read() as connection:
        model_id = collections.model_id(connection, embedder.fingerprint)
        total = collections.count(connection, record).chunks
    while True:
        with app.catalog.read() as connection:
            rows = embeddings.pending(connection, record.id, model_id, _CHECKED_AT_ONCE, after)
        if not rows:
            break
        after = rows[-1][0]
        lengths = _lengths(embedder, [text for _, _, text in rows])
        too_long += int(np.count_nonzero(lengths > most))
        longest = max(longest, int(lengths.max()))
        measured += len(rows)
        yield Event("scan", measured, max(measured, total), "chunks measured")
    if too_long:
        raise InvalidInput(
            f"{too_long:,} of {total:,} chunks of collection {name!r} are longer than {embedder.fingerprint} reads: "
            f"up to {longest:,} tokens, it reads {most:,}.",
            hint=f"Have them cut smaller first (chunking.size = {most} or less, then pinakes sync), or build it with "
            "--anyway: these chunks are then found by words only.",
        )


def _lengths(embedder: Embedder, texts: Sequence[str]) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """Return int64 (n,): how many tokens each text has."""
    if isinstance(embedder, Vocabulary):
        return np.diff(embedder.token_ids(texts)[1])
    return np.array([len(embedder.token_starts(text)) for text in texts], np.int64)


def _begun(
    app: App,
    answering: CollectionRecord,
    embedder: Embedder,
    model: EmbeddingSettings,
    replaced: CollectionRecord | None,
) -> CollectionRecord:
    """Return the generation to build, begun where it was not; what it takes the place of is dropped.

    One that was begun goes on with the model where it is now: its files may have been moved.
    """
    if replaced is not None and replaced.fingerprint == embedder.fingerprint:
        if replaced.embedding == recorded(model):
            return replaced
        with app.catalog.write() as connection:
            return generations.renew(connection, replaced, recorded(model))
    if replaced is not None:
        _drop(app, replaced)
    fingerprint, dimension = embedder.fingerprint, embedder.dimension
    known = _own_settings(app, answering)
    numbering = locked(app.rebuilder.numbering(answering), f"The index of {answering.name!r}")
    with numbering, app.catalog.write() as connection:
        return generations.begin(connection, answering.name, fingerprint, dimension, recorded(model), known)


def _completed(app: App, record: CollectionRecord) -> Generator[Event, None, None]:
    """Embed and index what is missing in the generation beside, until it is ready."""
    if record.state == "embedding":
        yield from _embedded(app, record)
        app.home.drop_index(record)
        with app.catalog.write() as connection:
            record = generations.advance(connection, record, "indexing")
    if record.state == "indexing":
        yield from _indexed(app, record)
    yield from _embedded(app, record)
    with app.catalog.write() as connection:
        record = generations.advance(connection, record, "ready")
    app.index(record.name, beside=True)
    app.followers.forget(record)


def _indexed(app: App, record: CollectionRecord) -> Generator[Event, None, None]:
    """Build the index of the generation beside; one that a killed call left damaged is begun anew."""
    with app.catalog.read() as connection:
        total = collections.count(connection, record).documents
    try:
        yield from app.rebuilder.fill(record, total)
    except IndexCorrupt:
        app.home.drop_index(record)
        yield from app.rebuilder.fill(record, total)


def _embedded(app: App, record: CollectionRecord) -> Generator[Event, None, None]:
    """Embed all chunks that have no vector by the generation's model, less those it refuses."""
    with app.catalog.read() as connection:
        counts = collections.count(connection, record)
    before = done = counts.chunks - counts.pending
    waiting = Waiting(app.catalog, record, app.embedder_of(record), lambda _: None, lambda _: ())
    for event in waiting.embed(app.settings.ingest.batch_chunks, sys.maxsize) if counts.pending else ():
        done = before + event.done if event.stage == "index" else done
        at = done + event.done if event.stage == "embed" else done
        yield Event("embed", min(at, counts.chunks), counts.chunks, record.fingerprint)


def _in_state(app: App, name: str, state: State) -> CollectionRecord:
    with app.catalog.read() as connection:
        record = generations.require(connection, name, _NO_WAY_BACK if state == "previous" else "")
    if record.state == state:
        return record
    if state == "previous":
        raise InvalidInput(
            f"Collection {name!r} was not switched: there is nothing to go back to.",
            hint=f"What stands beside it is by {record.fingerprint}: pinakes status",
        )
    raise InvalidInput(
        f"The generation beside collection {name!r} is what answered before: it is gone back to."
        if record.state == "previous"
        else f"The generation beside collection {name!r} is not built to the end.",
        hint=f"pinakes reindex --{'rollback' if record.state == 'previous' else 'beside'} -c {quote(name)}",
    )


def _check_model(app: App, record: CollectionRecord) -> None:
    """Make sure that the model of what is to answer is still to be had, as far as its name tells.

    Raises:
        ModelUnavailable: its files are gone.
        ModelMismatch: they are those of another by now.
    """
    if record.fingerprint and (found := app.embedder_of(record).fingerprint) != record.fingerprint:
        raise mismatch(record, found)


def _swap(app: App, name: str, state: State) -> None:
    with app.catalog.write() as connection:
        now = collections.get(connection, name)
        generations.swap(connection, name, state, _own_settings(app, now))


def _own_settings(app: App, record: CollectionRecord) -> dict[str, JSON] | None:
    """Return the settings of the model of what answers, so that it can answer again whatever the settings say then."""
    if record.embedding is not None:
        return dict(record.embedding)
    return recorded(app.settings.embedding) if _usual(app) == record.fingerprint else None


def _usual(app: App) -> str | None:
    """Return the fingerprint of the settings' model, None while it is not known."""
    try:
        return app.embedder.fingerprint
    except ModelUnavailable:
        return None


def _drop(app: App, record: CollectionRecord) -> None:
    """Forget a generation, then remove what it has on the disk.

    Of what a killed call leaves, the index is removed when one is built anew; the vectors are there for another try.
    """
    usual = _usual(app)
    with app.catalog.write() as connection:
        generations.drop(connection, record, usual)
    app.followers.forget(record)
    with suppress(StorageFull):
        app.home.drop_index(record)
    app.home.map(record).unlink(missing_ok=True)
    more = 1
    while more:
        with app.catalog.write() as connection:
            more = generations.drop_vectors(connection, record.model_id)
