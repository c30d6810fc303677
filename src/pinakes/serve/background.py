"""Does behind a server's back what can wait, and lets searches go first.

What older versions of Pinakes made is made again. What waits for a vector is embedded, one passage a core at a time;
summaries are made before somebody looks at them.
"""

from __future__ import annotations

import logging
import os
import sys
import threading
import time
from collections.abc import Generator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, suppress
from typing import cast

import numpy as np

from pinakes.calls.traffic import Traffic
from pinakes.catalog.collections import CollectionRecord
from pinakes.errors import InvalidInput, PinakesError
from pinakes.library import Library
from pinakes.ports import Embedder, Remote, Vocabulary
from pinakes.serve.startup import Stopped
from pinakes.stock import upgrading
from pinakes.types import Float32, Int64, Spent

_log = logging.getLogger(__name__)

_LOOK_EVERY_S = 2.0
_AFTER_FAILURE_S = 60.0
_LONGEST_PAUSE_S = 0.5
"""Work waits no longer for searches to end, so that a server without a quiet moment gets done too."""

_STOP_TIMEOUT_S = 8.0
_NICENESS = 10


class Background:
    """The thread of one server that works on every collection of its library. Thread-safe."""

    def __init__(self, library: Library) -> None:
        self._library = library
        self._stop = threading.Event()
        self._gentle: dict[Embedder, _Gentle] = {}
        self._open = ExitStack()
        self._thread = threading.Thread(target=self._run, name="pinakes-background", daemon=True)
        self._written: dict[int, int] = {}
        self._done: dict[int, tuple[int, int]] = {}
        self._retry_at: dict[int, float] = {}
        self._told: dict[int, str] = {}
        self._summarized: dict[int, int] = {}

    def start(self) -> None:
        """Begin, in a thread of its own; from now on large runs of this process leave the rest to it."""
        self._library.shelves.embeds_later = True
        self._thread.start()

    def end(self) -> None:
        """Ask the work to end."""
        self._stop.set()

    def stop(self) -> bool:
        """Ask the work to end and wait a little; say whether it did."""
        self.end()
        if self._thread.is_alive():
            self._thread.join(_STOP_TIMEOUT_S)
        return not self._thread.is_alive()

    def _run(self) -> None:
        with ExitStack() as self._open:
            while not self._stop.wait(_LOOK_EVERY_S):
                try:
                    records = self._collections()
                    self._forget_gone(records)
                    for record in records:
                        self._look_at(record)
                except Stopped:
                    return

    def _collections(self) -> list[CollectionRecord]:
        try:
            return self._library.collections()
        except PinakesError as error:
            _log.warning("embedding in the background waits: %s", error)
            return []

    def _forget_gone(self, records: Sequence[CollectionRecord]) -> None:
        """Have the library drop what it holds of collections that were there before and are not any more."""
        gone = self._written.keys() - {record.id for record in records}
        with suppress(PinakesError):
            if gone:
                self._library.shelves.drop_gone()
            for known in (self._written, self._done, self._retry_at, self._told, self._summarized):
                for number in gone:
                    known.pop(number, None)

    def _look_at(self, record: CollectionRecord) -> None:
        """Have the index follow, then do what waits; not while somebody is adding to the collection.

        A run that is not over yet knows best what to embed first.
        """
        before, self._written[record.id] = self._written.get(record.id), record.written
        state = record.line, record.written  # after a switch what waits is another model's
        if self._done.get(record.id) == state or time.monotonic() < self._retry_at.get(record.id, 0):
            return
        try:
            self._library.shelves.index(record.name)
            if before == record.written and self._upgrade(record) and self._embed(record.name):
                self._summarize(record)
                self._done[record.id] = state
            self._told.pop(record.id, None)
        except Stopped:
            raise
        except InvalidInput as error:  # refused passages stay so until the documents are others
            self._done[record.id] = state
            _log.warning("collection %r: %s", record.name, error)
        except Exception as error:  # noqa: BLE001 - the thread's last door: the other collections must go on
            self._retry_at[record.id] = time.monotonic() + _AFTER_FAILURE_S
            if self._told.get(record.id) != str(error):
                self._told[record.id] = str(error)
                known = isinstance(error, PinakesError)
                _log.warning("collection %r waits for its vectors: %s", record.name, error, exc_info=not known)

    def _upgrade(self, record: CollectionRecord) -> bool:
        """Make again what older versions made; say whether that was done, and not left to another process."""
        shelves, mine = self._library.shelves, True
        with closing(upgrading.upgrade(shelves, record)) as events:
            for event in events:
                mine = mine and event.stage != "elsewhere"
                _let_pass(shelves.traffic, self._stop)
        return mine

    def _embed(self, name: str) -> bool:
        """Embed what waits; say whether that was done, and not left to another process."""
        with closing(self._library.shelves.embed_waiting(name, through=self._gently)) as events:
            return all(event.stage != "elsewhere" for event in events)

    def _summarize(self, record: CollectionRecord) -> None:
        """Make the summaries of new documents, so that the first search that shows one need not."""
        for last in self._library.staged.texts.ahead(record.name, self._summarized.get(record.id, 0)):
            self._summarized[record.id] = last
            _let_pass(self._library.shelves.traffic, self._stop)

    def _gently(self, embedder: Embedder) -> Embedder:
        """Return what embeds by the model of a collection, letting searches go first."""
        if embedder not in self._gentle:
            library = self._library
            threads = library.settings.embedding.threads
            gentle: _Gentle = (
                _GentleRemote(embedder, library.shelves.traffic, self._stop)
                if isinstance(embedder, Remote)
                else _Gentle(embedder, library.shelves.traffic, self._stop, threads)
            )
            self._gentle[embedder] = self._open.enter_context(closing(gentle))
        return self._gentle[embedder]


class _Gentle:
    """An embedder that lets searches go first: single passages, in threads of low priority."""

    def __init__(self, embedder: Embedder, traffic: Traffic, stop: threading.Event, threads: int) -> None:
        """Use so many ``threads``, 0 = one per core."""
        self._embedder = embedder
        self._wanted = threads
        self._traffic = traffic
        self._stop = stop
        self._threads: ThreadPoolExecutor | None = None

    @property
    def fingerprint(self) -> str:
        return self._embedder.fingerprint

    @property
    def dimension(self) -> int:
        return self._embedder.dimension

    @property
    def max_tokens(self) -> int:
        return self._embedder.max_tokens

    def embed(self, texts: Sequence[str]) -> Float32:
        """As the embedder does; raises ``Stopped`` once the server ends."""
        if not isinstance(self._embedder, Vocabulary):  # it runs elsewhere
            _let_pass(self._traffic, self._stop)
            return self._embedder.embed(texts)
        if self._threads is None:
            cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
            self._threads = ThreadPoolExecutor(self._wanted or cores, "pinakes-gentle", initializer=_lower_priority)
        rows = list(self._threads.map(self._one, texts))
        return np.stack(rows) if rows else self._embedder.embed(texts)

    def embed_query(self, text: str) -> Float32:
        return self._embedder.embed_query(text)

    def token_starts(self, text: str) -> Int64:
        return self._embedder.token_starts(text)

    def close(self) -> None:
        if self._threads is not None:
            self._threads.shutdown(wait=True, cancel_futures=True)

    def _one(self, text: str) -> Float32:
        _let_pass(self._traffic, self._stop)
        row: Float32 = self._embedder.embed([text])[0]
        return row


class _GentleRemote(_Gentle):
    """The same for a model that runs elsewhere: between its answers it looks whether the server ends."""

    def __init__(self, embedder: Remote, traffic: Traffic, stop: threading.Event) -> None:
        super().__init__(cast("Embedder", embedder), traffic, stop, 1)
        self._remote = embedder

    @property
    def price_per_million(self) -> float | None:
        return self._remote.price_per_million

    @property
    def hosted(self) -> bool:
        return self._remote.hosted

    def batches(self, texts: Sequence[str]) -> Generator[tuple[Sequence[int], Float32 | InvalidInput], None, None]:
        """As the embedder gives them; raises ``Stopped`` once the server ends, and what was answered is kept."""
        with closing(self._remote.batches(texts)) as answers:
            for answer in answers:
                yield answer
                _let_pass(self._traffic, self._stop)

    def spent(self) -> Spent:
        return self._remote.spent()


def _let_pass(traffic: Traffic, stop: threading.Event) -> None:
    """Wait while somebody searches, though not for long; raises ``Stopped`` once the server ends."""
    traffic.wait_for_none(_LONGEST_PAUSE_S)
    if stop.is_set():
        raise Stopped


def _lower_priority() -> None:
    """Give the calling thread less of the processor than the others get; only Linux has priorities of threads."""
    if sys.platform == "linux":
        with suppress(OSError):
            thread = threading.get_native_id()
            os.setpriority(os.PRIO_PROCESS, thread, os.getpriority(os.PRIO_PROCESS, thread) + _NICENESS)
