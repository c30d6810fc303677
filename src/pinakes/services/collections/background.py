"""What a server does beside its answers: models and indexes are loaded; what can wait is done, and searches go first.

What older versions of Pinakes made is made again. What waits for a vector is embedded, one chunk a core at a time;
summaries are made before somebody looks at them.
"""

from __future__ import annotations

import logging
import os
import sys
import threading
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager, suppress
from functools import partial
from typing import cast

import numpy as np

from pinakes.app import App
from pinakes.catalog.collections import CollectionRecord
from pinakes.catalog.jobs import Job, job_key
from pinakes.core.errors import IndexUnavailable, InvalidInput, ModelMismatch, NotFound, PinakesError
from pinakes.core.ports import Embedder, Remote, VectorQuery, Vocabulary
from pinakes.core.records import Float32, Int64, Spent
from pinakes.jobs.worker import Running, Task
from pinakes.models.runtime import cores
from pinakes.services import ingestion_runs
from pinakes.services.collections import upgrading
from pinakes.services.summaries import Summaries

_log = logging.getLogger(__name__)

_LEFT_ALONE_S = 10.0
"""So long a collection that another process embeds is left to it."""

_MOST_MET = 256
_NICENESS = 10
_WARMING_TEXT = "warm up"


class Loading:
    """Loads the models of a home, then its indexes one by one."""

    def __init__(self, app: App) -> None:
        self._app = app
        self._queries: dict[Embedder, Float32] = {}

    def load_models(self, records: Sequence[CollectionRecord], *, usual: bool) -> None:
        """Load the models of these collections; ``usual``: also the one that the settings name.

        Raises:
            ModelUnavailable: one cannot be had.
        """
        wanted = [self._app.embedder_of(record) for record in records]
        for embedder in dict.fromkeys([*wanted, self._app.embedder] if usual else wanted):
            self._queries[embedder] = embedder.embed_query(_WARMING_TEXT)

    @contextmanager
    def answering(self) -> Iterator[None]:
        """Have searches take indexes as they are within the block, which has them all follow the catalogue.

        Only where servers share the catalogue: a home of its own is not left behind by others.
        """
        self._app.followers.starting = self._app.catalog.is_shared
        try:
            yield
        finally:
            self._app.followers.starting = False

    def heads(self) -> dict[int, int]:
        """Return id of a collection → number of its newest change; empty where no other home changes the catalogue."""
        return {record.id: record.head for record in self._app.records()} if self._app.catalog.is_shared else {}

    def behind(self, heads: Mapping[int, int]) -> int:
        """Return how many indexes of these collections have not reached these numbers yet."""
        there, positions = {record.id for record in self._app.records()}, self._app.followers.positions()
        return sum(number in there and positions.get(number, 0) < head for number, head in heads.items())

    def load_index(self, name: str) -> None:
        """Load the index of a collection, and search it where its model is there: its first search takes longer."""
        found, index = self._app.index(name)
        query = self._queries.get(self._app.embedder_of(found))
        if query is not None:
            with suppress(IndexUnavailable, ModelMismatch):  # whoever asks is told
                self._app.check_model(found)
                index.vector(VectorQuery(query, 1))

    def has_words(self, name: str) -> bool:
        """Say whether the keyword index of a collection has chunks."""
        return bool(self._app.index(name)[1].describe().get("keyword_chunks"))

    def check_writable(self) -> None:
        """Make sure that something can be read into the home.

        Raises:
            StorageFull: it cannot be written.
        """
        with self._app.catalog.write():
            pass

    def on_replaced(self, tell: Callable[[], object]) -> None:
        """Call ``tell`` once the catalogue is another one, as after a restore; then open the library anew."""
        self._app.catalog.on_replaced(tell)


class Background(Task):
    """Working on every collection of a home behind its searches.

    ``longest_pause_s``: work waits no longer for searches to end, so that a busy server gets it done too.
    """

    kind = "background"
    look_every_s = 2.0
    pauses = (60.0, 60.0)
    longest_pause_s = 0.5

    def __init__(self, app: App, summaries: Summaries) -> None:
        self._app, self._summaries = app, summaries
        self._there: set[int] = set()
        self._written: dict[int, int] = {}
        self._done: dict[int, tuple[int, int]] = {}
        self._summarized: dict[int, int] = {}
        self._elsewhere: dict[int, float] = {}

    def due_jobs(self) -> Iterable[Job]:
        """Return a job for each collection in which something changed; large runs leave the rest to it from now on."""
        self._app.embeds_later = True
        records = self._app.records()
        self._forget_gone(records)
        self._note_met(records)
        changed = [record for record in records if self._done.get(record.id) != (record.line, record.written)]
        for record in changed:  # another process may hold the job for hours; this one answers by an index of its own
            with suppress(PinakesError):
                self._app.index(record.name, wait=False)
        mine = [record for record in changed if self._elsewhere.get(record.id, 0.0) <= time.monotonic()]
        return [Job(job_key(self.kind, record.name), self.kind, {"collection": record.name}) for record in mine]

    def _note_met(self, records: Sequence[CollectionRecord]) -> None:
        """Tell the others that share the catalogue which chunks searches met here that wait for their vectors."""
        claims = self._app.claims
        for record in records:
            if claims is None:
                return
            with suppress(PinakesError):  # what is met next is told
                claims.prioritise(record, self._app.refiner_of(record).take_recorded(record, _MOST_MET))

    def _forget_gone(self, records: Sequence[CollectionRecord]) -> None:
        """Drop what is in memory of collections that were there before and are not any more."""
        before, self._there = self._there, {record.id for record in records}
        gone = before - self._there
        if gone:
            self._app.drop_gone()
        for known in (self._written, self._done, self._summarized, self._elsewhere):
            for number in gone:
                known.pop(number, None)

    def run(self, running: Running) -> None:
        """Have the index follow, then do what waits; not while somebody is adding to the collection.

        A run that is not over yet knows best what to embed first.
        """
        with suppress(NotFound):
            record = self._app.record(str(running.job.arguments["collection"]))
            before, self._written[record.id] = self._written.get(record.id), record.written
            state = record.line, record.written  # after a switch what waits is another model's
            self._app.index(record.name)
            if before != record.written:
                return
            try:
                if self._upgrade(record, running) and self._embed(record.name, running):
                    self._summarize(record, running)
                    self._done[record.id] = state
                else:
                    self._elsewhere[record.id] = time.monotonic() + _LEFT_ALONE_S
            except InvalidInput as error:  # refused chunks stay so until the documents are others
                self._done[record.id] = state
                _log.warning("collection %r: %s", record.name, error)

    def report_failure(self, job: Job, words: str) -> None:
        """Say why a collection waits."""
        _log.warning("collection %r waits for its vectors: %s", job.arguments["collection"], words)

    def _upgrade(self, record: CollectionRecord, running: Running) -> bool:
        """Make again what older versions made; say whether that was done, and not left to another process."""
        app, mine = self._app, True
        with closing(upgrading.upgrade(app, record)) as events:
            for event in events:
                mine = mine and event.stage != "elsewhere"
                self._let_searches_pass(running)
        return mine

    def _embed(self, name: str, running: Running) -> bool:
        """Embed what waits, letting searches go first; say whether that was done, and not left to another process."""
        app, mine = self._app, True
        with ExitStack() as opened:

            def pausing(embedder: Embedder) -> Embedder:
                of = _PausingRemoteEmbedder if isinstance(embedder, Remote) else _PausingEmbedder
                paused = of(embedder, partial(self._let_searches_pass, running), app.settings.embedding.threads)
                return opened.enter_context(closing(paused))

            for event in opened.enter_context(closing(ingestion_runs.embed_waiting(app, name, through=pausing))):
                mine = mine and event.stage != "elsewhere"
                running.note(event.stage, event.done, event.total)
        return mine

    def _summarize(self, record: CollectionRecord, running: Running) -> None:
        """Make the summaries of new documents, so that the first search that shows one need not."""
        for last in self._summaries.ahead(record.name, self._summarized.get(record.id, 0)):
            self._summarized[record.id] = last
            self._let_searches_pass(running)

    def _let_searches_pass(self, running: Running) -> None:
        """Wait while a search runs, at most ``longest_pause_s``; raise ``Stopped`` once the server ends."""
        self._app.traffic.wait_for_none(self.longest_pause_s)
        running.check()


class _PausingEmbedder:
    """An embedder that lets searches go first: single chunks, in threads of low priority."""

    def __init__(self, embedder: Embedder, let_searches_pass: Callable[[], object], threads: int) -> None:
        """Call ``let_searches_pass`` before each text; use so many ``threads``, 0 = one per core."""
        self._embedder = embedder
        self._wanted = threads
        self._let_searches_pass = let_searches_pass
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
            self._let_searches_pass()
            return self._embedder.embed(texts)
        if self._threads is None:
            self._threads = ThreadPoolExecutor(self._wanted or cores(), "pinakes-gentle", initializer=_lower_priority)
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
        self._let_searches_pass()
        row: Float32 = self._embedder.embed([text])[0]
        return row


class _PausingRemoteEmbedder(_PausingEmbedder):
    """The same for a model that runs elsewhere: between its answers it looks whether the server ends."""

    @property
    def _remote(self) -> Remote:
        return cast("Remote", self._embedder)

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
                self._let_searches_pass()

    def spent(self) -> Spent:
        return self._remote.spent()


def _lower_priority() -> None:
    """Give the calling thread less of the processor than the others get; only Linux has priorities of threads."""
    if sys.platform == "linux":
        with suppress(OSError):
            thread = threading.get_native_id()
            os.setpriority(os.PRIO_PROCESS, thread, os.getpriority(os.PRIO_PROCESS, thread) + _NICENESS)
