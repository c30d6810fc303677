"""Another model without fear: its vectors and index are built beside those that answer, then either may answer."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from pinakes.catalog import collections, embeddings, generations
from pinakes.catalog.collections import CollectionRecord, State
from pinakes.embedding.own_models import mismatch, recorded
from pinakes.errors import Busy, IndexCorrupt, InvalidInput, ModelUnavailable, storing
from pinakes.ingest import Event, Waiting, bind
from pinakes.machine.disk import folder_bytes
from pinakes.machine.locks import held, taken
from pinakes.ports import Embedder, Vocabulary
from pinakes.settings import EmbeddingSettings
from pinakes.shelves import Shelves
from pinakes.types import JSON

_CHECKED_AT_ONCE = 2048
_BYTES_PER_NUMBER = 2
_PROBE = "Is the model there?"
_NO_WAY_BACK = "It was not switched, or what answered before was dropped. See: pinakes status"
_NOTHING_TO_DROP = "There is nothing to drop. See: pinakes status"


@dataclass(frozen=True, slots=True)
class BesideStatus:
    """The generation beside the one that answers.

    ``state``: "embedding" and "indexing" while it is built, "ready" to be switched to, "previous" when it answered
    before the last switch. ``embedded`` of ``chunks`` passages have a vector by its ``model``, which is the ``share``
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


def about(shelves: Shelves, name: str) -> BesideStatus | None:
    """Return how the generation beside a collection is, None where there is none."""
    with shelves.catalog.read() as connection:
        record = collections.beside(connection, name)
        if record is None:
            return None
        counts = collections.count(connection, record)
    embedded = counts.chunks - counts.pending
    stored = folder_bytes(shelves.home.index(record)) + embedded * record.dimension * _BYTES_PER_NUMBER
    share = embedded * 10_000 // counts.chunks / 10_000 if counts.chunks else 1.0
    return BesideStatus(record.fingerprint, record.state, counts.chunks, embedded, counts.pending, share, stored)


def chosen_model(shelves: Shelves, name: str, model: str | None) -> EmbeddingSettings:
    """Return the settings of the model to build with.

    ``model`` is its name, as the provider of the settings knows it, or a folder with the files of a model that runs
    here; None is the one being built already, else that of the settings.
    """
    usual = shelves.settings.embedding
    if model is not None:
        folder = Path(model).expanduser()
        if folder.is_dir():
            return usual.model_copy(update={"provider": "onnx", "model": folder.resolve().name, "path": folder})
        path = usual.path if model == usual.model else None
        of_another = {} if model == usual.model else {"dimension": 0, "max_tokens": 0}
        return usual.model_copy(update={"model": model, "path": path, **of_another})
    with shelves.catalog.read() as connection:
        record = collections.beside(connection, name)
    if record is None or record.embedding is None or record.state == "previous":
        return usual
    return EmbeddingSettings.model_validate(dict(record.embedding))


def build(
    shelves: Shelves, name: str, model: EmbeddingSettings, *, anyway: bool = False
) -> Generator[Event, None, None]:
    """Build a generation by ``model`` beside the one that answers, yielding events; go on where it was stopped.

    Events "scan" tell how many passages were measured, "embed" how many have vectors, "index" how many documents
    are in the index. The generation that answered before the last switch is dropped for it.

    Raises:
        NotFound: there is no such collection.
        InvalidInput: it has this model already, another one is being built beside it, or passages are longer than the
            model reads; with ``anyway`` those are to be found by words only.
        ModelUnavailable: the model cannot be had. Nothing was changed.
        TooCostly: it costs more than is spent unasked. It is begun; the next call goes on.
        Busy: another process is building beside this collection.
        StorageFull: the disk is full. What answers is untouched, and the next call goes on.
    """
    embedder = shelves.embedder_by(recorded(model))
    embedder.embed_query(_PROBE)
    with _changing(shelves, shelves.record(name)):
        answering = shelves.record(name)
        _check_other(answering, embedder)
        replaced = _replaced(shelves, name, embedder)
        if not anyway:
            yield from _measured(shelves, name, embedder)
        record = _begun(shelves, answering, embedder, model, replaced)
        shelves.check_cost(record)
        yield from _completed(shelves, record)


def switch(shelves: Shelves, name: str) -> Generator[Event, None, None]:
    """Let the generation beside answer; the one that did so is kept beside it. One transaction.

    What came since it was built is embedded before, yielding events as ``build`` does.

    Raises:
        NotFound, InvalidInput: there is no generation beside the collection that is ready.
        ModelUnavailable, ModelMismatch: its model cannot be had, or is another by now.
        Busy: another process is building it.
    """
    with _changing(shelves, shelves.record(name)):
        record = _in_state(shelves, name, "ready")
        _check_model(shelves, record)
        yield from _completed(shelves, record)
        _swap(shelves, name, "previous")


def roll_back(shelves: Shelves, name: str) -> None:
    """Let the generation answer again that did before the last switch. One transaction; nothing is embedded.

    What came since waits for its vectors by that model: it is found by words until then.

    Raises:
        NotFound, InvalidInput: the collection was not switched, or that generation was dropped.
        ModelUnavailable, ModelMismatch: its model cannot be had any more, or is another by now.
        Busy: another process is building beside the collection.
    """
    with _changing(shelves, shelves.record(name)):
        _check_model(shelves, _in_state(shelves, name, "previous"))
        _swap(shelves, name, "ready")


def drop(shelves: Shelves, name: str) -> int:
    """Give up the generation beside a collection, whatever its state; return how many bytes that frees.

    Raises:
        NotFound: there is none.
        Busy: another process is building it.
    """
    with _changing(shelves, shelves.record(name)):
        status = about(shelves, name)
        with shelves.catalog.read() as connection:
            record = generations.existing(connection, name, _NOTHING_TO_DROP)
        _drop(shelves, record)
    return status.bytes if status else 0


def adopt_settings(shelves: Shelves, record: CollectionRecord) -> None:
    """Make the model that the settings name that of a collection, unless it has one of its own.

    Raises:
        InvalidInput: that model is what stands beside the collection.
    """
    with shelves.catalog.read() as connection:
        other = collections.beside(connection, record.name)
    if other is not None and other.state != "previous" and other.fingerprint == shelves.embedder.fingerprint:
        raise InvalidInput(
            f"A generation by {other.fingerprint} stands beside collection {record.name!r} already.",
            hint=f"Have that answer: pinakes reindex --switch -c {record.name}",
        )
    if record.embedding is None:
        bind(shelves.catalog, record, shelves.embedder)


@contextmanager
def _changing(shelves: Shelves, record: CollectionRecord) -> Iterator[None]:
    """Keep other processes from changing what stands beside a collection."""
    lock = shelves.home.changing(record)
    if not taken(lock, "The search index", lock.timeout):
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
            f"-c {answering.name}",
        )


def _replaced(shelves: Shelves, name: str, embedder: Embedder) -> CollectionRecord | None:
    """Return what stands beside a collection already, if that may go on or give way.

    Raises:
        InvalidInput: another model's is being built, or is ready.
    """
    with shelves.catalog.read() as connection:
        record = collections.beside(connection, name)
    if record is None or record.fingerprint == embedder.fingerprint or record.state == "previous":
        return record
    state = "is ready" if record.state == "ready" else "is being built"
    raise InvalidInput(
        f"A generation by {record.fingerprint} {state} beside collection {name!r}.",
        hint=f"Switch to it (pinakes reindex --switch -c {name}) or give it up (pinakes reindex --drop-beside "
        f"-c {name}) before another is built.",
    )


def _measured(shelves: Shelves, name: str, embedder: Embedder) -> Generator[Event, None, None]:
    """Count the passages that are longer than the model reads, of those that it has not embedded yet.

    Raises:
        InvalidInput: there are such.
    """
    record = shelves.record(name)
    most, after, measured, too_long = embedder.max_tokens, 0, 0, 0
    longest = 0
    with shelves.catalog.read() as connection:
        model_id = collections.model_id(connection, embedder.fingerprint)
        total = collections.count(connection, record).chunks
    while True:
        with shelves.catalog.read() as connection:
            rows = embeddings.pending(connection, record.id, model_id, _CHECKED_AT_ONCE, after)
        if not rows:
            break
        after = rows[-1][0]
        lengths = _lengths(embedder, [text for _, _, text in rows])
        too_long += int(np.count_nonzero(lengths > most))
        longest = max(longest, int(lengths.max()))
        measured += len(rows)
        yield Event("scan", measured, max(measured, total), "passages measured")
    if too_long:
        raise InvalidInput(
            f"{too_long:,} of {total:,} passages of collection {name!r} are longer than {embedder.fingerprint} reads: "
            f"up to {longest:,} tokens, it reads {most:,}.",
            hint=f"Have them cut smaller first (chunking.size = {most} or less, then pinakes sync), or build it with "
            "--anyway: these passages are then found by words only.",
        )


def _lengths(embedder: Embedder, texts: Sequence[str]) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """Return int64 (n,): how many tokens each text has."""
    if isinstance(embedder, Vocabulary):
        return np.diff(embedder.token_ids(texts)[1])
    return np.array([len(embedder.token_starts(text)) for text in texts], np.int64)


def _begun(
    shelves: Shelves,
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
        with shelves.catalog.write() as connection:
            return generations.renew(connection, replaced, recorded(model))
    if replaced is not None:
        _drop(shelves, replaced)
    fingerprint, dimension = embedder.fingerprint, embedder.dimension
    known = _own_settings(shelves, answering)
    numbering = held(shelves.rebuilder.numbering(answering), f"The index of {answering.name!r}")
    with numbering, shelves.catalog.write() as connection:
        return generations.begin(connection, answering.name, fingerprint, dimension, recorded(model), known)


def _completed(shelves: Shelves, record: CollectionRecord) -> Generator[Event, None, None]:
    """Embed and index what is missing in the generation beside, until it is ready."""
    if record.state == "embedding":
        yield from _embedded(shelves, record)
        _remove_index(shelves, record)
        with shelves.catalog.write() as connection:
            record = generations.advance(connection, record, "indexing")
    if record.state == "indexing":
        yield from _indexed(shelves, record)
    yield from _embedded(shelves, record)
    with shelves.catalog.write() as connection:
        record = generations.advance(connection, record, "ready")
    shelves.index(record.name, beside=True)
    shelves.followers.forget(record)


def _indexed(shelves: Shelves, record: CollectionRecord) -> Generator[Event, None, None]:
    """Build the index of the generation beside; one that a killed call left damaged is begun anew."""
    with shelves.catalog.read() as connection:
        total = collections.count(connection, record).documents
    try:
        yield from shelves.rebuilder.fill(record, total)
    except IndexCorrupt:
        _remove_index(shelves, record)
        yield from shelves.rebuilder.fill(record, total)


def _remove_index(shelves: Shelves, record: CollectionRecord) -> None:
    with storing("The search index"), suppress(FileNotFoundError):
        shutil.rmtree(shelves.home.index(record))


def _embedded(shelves: Shelves, record: CollectionRecord) -> Generator[Event, None, None]:
    """Embed all passages that have no vector by the generation's model, less those it refuses."""
    with shelves.catalog.read() as connection:
        counts = collections.count(connection, record)
    before = done = counts.chunks - counts.pending
    waiting = Waiting(shelves.catalog, record, shelves.embedder_of(record), lambda _: None, lambda _: ())
    for event in waiting.embed(shelves.settings.ingest.batch_chunks, sys.maxsize) if counts.pending else ():
        done = before + event.done if event.stage == "index" else done
        at = done + event.done if event.stage == "embed" else done
        yield Event("embed", min(at, counts.chunks), counts.chunks, record.fingerprint)


def _in_state(shelves: Shelves, name: str, state: State) -> CollectionRecord:
    with shelves.catalog.read() as connection:
        record = generations.existing(connection, name, _NO_WAY_BACK if state == "previous" else "")
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
        hint=f"pinakes reindex --{'rollback' if record.state == 'previous' else 'beside'} -c {name}",
    )


def _check_model(shelves: Shelves, record: CollectionRecord) -> None:
    """Make sure that the model of what is to answer is still to be had, as far as its name tells.

    Raises:
        ModelUnavailable: its files are gone.
        ModelMismatch: they are those of another by now.
    """
    if record.fingerprint and (found := shelves.embedder_of(record).fingerprint) != record.fingerprint:
        raise mismatch(record, found)


def _swap(shelves: Shelves, name: str, state: State) -> None:
    with shelves.catalog.write() as connection:
        now = collections.get(connection, name)
        generations.swap(connection, name, state, _own_settings(shelves, now))


def _own_settings(shelves: Shelves, record: CollectionRecord) -> dict[str, JSON] | None:
    """Return the settings of the model of what answers, so that it can answer again whatever the settings say then."""
    if record.embedding is not None:
        return dict(record.embedding)
    return recorded(shelves.settings.embedding) if _usual(shelves) == record.fingerprint else None


def _usual(shelves: Shelves) -> str | None:
    """Return the fingerprint of the settings' model, None while it is not known."""
    try:
        return shelves.embedder.fingerprint
    except ModelUnavailable:
        return None


def _drop(shelves: Shelves, record: CollectionRecord) -> None:
    """Forget a generation, then remove what it has on the disk.

    Of what a killed call leaves, the index is removed when one is built anew; the vectors are there for another try.
    """
    usual = _usual(shelves)
    with shelves.catalog.write() as connection:
        generations.drop(connection, record, usual)
    shelves.followers.forget(record)
    shutil.rmtree(shelves.home.index(record), ignore_errors=True)
    shelves.home.map(record).unlink(missing_ok=True)
    more = 1
    while more:
        with shelves.catalog.write() as connection:
            more = generations.drop_vectors(connection, record.model_id)
