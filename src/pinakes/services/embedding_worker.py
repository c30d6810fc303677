"""Embeds waiting texts of a shared catalogue, batch by batch, on a machine that need not answer searches."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from typing import Final

from pinakes.app import App
from pinakes.catalog.collections import CollectionRecord
from pinakes.core.errors import Busy, ModelMismatch, ModelUnavailable, NotFound, Refused, TooCostly
from pinakes.ingestion.embedding import Waiting, has_pending
from pinakes.services import ingestion_runs

_log = logging.getLogger(__name__)

_STEP_S: Final = 0.1
_LOOK_S: Final = 2.0
"""So often a worker that has nothing to do looks, also where nobody told of a change: a lease may have ended."""

_AFTER_FAILURE_S: Final = 5.0


@dataclass(frozen=True, slots=True)
class Embedded:
    """A batch of one worker: how many ``chunks`` of a ``collection`` it embedded, and how many it has in all."""

    collection: str
    chunks: int
    total: int


class EmbeddingWorker:
    """Takes batches of pending chunks from all collections of a shared catalogue in turn, and embeds them.

    It holds one batch at a time, so that a process that is killed leaves one, which others take over when its lease has
    ended. Other processes may do the same; each batch is claimed by one.
    """

    def __init__(
        self,
        app: App,
        *,
        batch: int,
        on_batch: Callable[[Embedded], object],
        say: Callable[[str], object],
        agreed: bool = False,
    ) -> None:
        """``batch``: most chunks that are claimed at once. ``on_batch`` is told of each, ``say`` of what is left out.

        ``agreed``: to whatever it costs to have a provider embed.

        Raises:
            Refused: the catalogue belongs to one home.
        """
        if app.claims is None:
            raise Refused(
                "A worker needs a catalogue that several homes share; this home has one of its own.",
                hint="Set catalog.url to that of the servers. A server of this home embeds by itself.",
            )
        app.agreed = app.agreed or agreed
        self._app, self._batch, self._on_batch, self._say = app, batch, on_batch, say
        self._waiting: dict[tuple[int, int], Waiting] = {}
        self._said: dict[str, str] = {}
        self._total = 0

    def check_models(self) -> None:
        """Make sure that the models of this worker are those of the collections.

        Raises:
            ModelMismatch: no collection has the model of this worker.
            ModelUnavailable: the model cannot be loaded.
        """
        errors = list(self._mismatches())
        if errors and len(errors) == len(self._app.records()):
            raise errors[0]

    def run(self, ending: threading.Event) -> None:
        """Embed what waits, and what comes to wait, until ``ending`` is set; the texts under way are stored then."""
        version = -1
        quiet_s = 0.0
        while not ending.is_set():
            now = self._app.catalog.version()
            if now == version and quiet_s < _LOOK_S:
                ending.wait(_STEP_S)
                quiet_s += _STEP_S
                continue
            version, quiet_s = now, 0.0
            try:
                while self._round(ending):
                    pass
            except Busy as error:
                _log.warning("the catalogue is asked again in %.0f s: %s", _AFTER_FAILURE_S, error)
                ending.wait(_AFTER_FAILURE_S)
                version = -1

    def _round(self, ending: threading.Event) -> int:
        """Embed a batch of each collection; return how many chunks that were."""
        records = self._app.records()
        self._waiting = {key: one for key, one in self._waiting.items() if key in {_key(record) for record in records}}
        return sum(0 if ending.is_set() else self._attempt(record, ending) for record in records)

    def _attempt(self, record: CollectionRecord, ending: threading.Event) -> int:
        try:
            chunks = self._embed(record, ending)
            self._said.pop(record.name, None)
        except NotFound:  # it was deleted meanwhile
            return 0
        except (ModelMismatch, ModelUnavailable, TooCostly) as error:
            self._say_once(record.name, str(error))
            return 0
        if chunks:
            self._total += chunks
            self._on_batch(Embedded(record.name, chunks, self._total))
        return chunks

    def _embed(self, record: CollectionRecord, ending: threading.Event) -> int:
        app, done = self._app, 0
        app.check_model(record)
        if record.model_id is None:  # one that holds nothing yet is not bound to a model
            with app.catalog.read() as connection:
                if not has_pending(connection, record):
                    return 0
        waiting = self._waiting.get(_key(record))
        if waiting is None:
            lazy = app.settings.embedding.mode == "lazy"
            embedder, none = app.embedder_of(record), lambda _: ()
            waiting = Waiting(app.catalog, record, embedder, none, none, claims=app.claims, only_wanted=lazy)
            self._waiting[_key(record)] = waiting
            ingestion_runs.check_cost(app, record)
        with closing(waiting.embed_batch(self._batch)) as events:
            for event in events:
                done = max(done, event.done)
                if ending.is_set():
                    break
        return done

    def _mismatches(self) -> Iterator[ModelMismatch]:
        for record in self._app.records():
            try:
                self._app.check_model(record)
            except ModelMismatch as error:
                self._say_once(record.name, str(error))
                yield error

    def _say_once(self, collection: str, words: str) -> None:
        if self._said.get(collection) != words:
            self._said[collection] = words
            self._say(f"{collection!r} is left to others: {words}")


def _key(record: CollectionRecord) -> tuple[int, int]:
    return record.id, record.line
