"""Snapshots of collections as of a time, to search documents of the past.

What has not changed since then is found in the index of today, by a filter. What documents were that are another
version by now, or gone, is put together in an index of its own, from their histories, in a temporary folder; their
vectors are in the catalogue still. The hits of both become one ranking.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Protocol, TypeAlias

from pinakes.app import App
from pinakes.catalog import collections, documents, embeddings, full_documents, history
from pinakes.catalog.collections import CollectionRecord
from pinakes.catalog.documents import NewDocument, embedding_key
from pinakes.catalog.history import Retention, State
from pinakes.catalog.selection import UPDATED_AT
from pinakes.core.errors import ModelUnavailable
from pinakes.core.generators import result_of
from pinakes.core.late import changed
from pinakes.core.records import Condition, Float32, Results
from pinakes.ingestion.embedding import embed
from pinakes.search import Request, federated
from pinakes.search.as_of import held_at, in_words, moment
from pinakes.search.retrieval.term_statistics import TermStatistics
from pinakes.services import ingestion_runs
from pinakes.services.documents.planned_changes import chunk_title_of, state_as_new

_REMEMBERED = 2

_Key: TypeAlias = tuple[int, int, str, str, str]

Asked: TypeAlias = Request | Callable[[CollectionRecord], Request]


class AskFunction(Protocol):
    """Answers a question from one collection of a home."""

    def __call__(self, app: App, asked: Asked, name: str, *, beside: bool) -> Results: ...


@dataclass(slots=True)
class _Past:
    """What documents were at a time that are otherwise now or gone, in a home of its own as soon as there are any.

    ``numbers`` has their ids and versions, ``lost`` counts those of which it is not kept what they were; so it stood
    at the change ``written`` of the collection. ``users`` counts the questions under way. Who changes the rest holds
    ``lock``.
    """

    lock: threading.Lock = field(default_factory=threading.Lock)
    numbers: Mapping[str, int] = field(default_factory=dict)
    lost: int = 0
    written: int = -1
    app: App | None = None
    folder: TemporaryDirectory[str] | None = None
    users: int = 0

    def close(self) -> None:
        if self.app is not None:
            self.app.reranking = None  # it belongs to the home of today
            self.app.close()
        if self.folder is not None:
            self.folder.cleanup()


class Snapshots:
    """Answers questions as of a time. Remembers the last few. Thread-safe."""

    def __init__(self, app: App) -> None:
        self._app = app
        self._lock = threading.Lock()
        self._known: OrderedDict[_Key, _Past] = OrderedDict()

    def answer(self, as_of: str | None, ask: AskFunction, asked: Asked, name: str, *, beside: bool = False) -> Results:
        """Return the answer that the documents of a collection give as they were then; None = as they are.

        ``as_of`` a branch, tag or commit asks the collection that holds its repository as it was there (``held_at``).

        Raises:
            as ``Library.search``, and InvalidInput: ``as_of`` is no day or time, and nothing holds such a tag.
        """
        if not as_of:
            return ask(self._app, asked, name, beside=beside)
        record = self._app.record(name)
        with self._app.catalog.read() as connection:
            there = held_at(connection, record, as_of)
        if there is not None:
            found = ask(self._app, asked, there.name, beside=False)
            return replace(found, notes=(*found.notes, f"as of {as_of.strip()}, from collection {there.name!r}"))
        at = moment(as_of)
        request = asked(record) if callable(asked) else asked
        unchanged = Condition(UPDATED_AT, high=at)
        now = ask(self._app, replace(request, where=(*request.where, unchanged)), name, beside=False)
        with self._borrowed(record, at) as past:
            count, lost = self._follow(past, record, at)
            if past.app is None or not count:
                return _noted(now, 0, lost, in_words(at, record.created_at))
            then = _of_then(ask(past.app, request, name, beside=False))
        answers = {"now": now, "then": then}
        wanted = federated.HitLimits(request.top_k, request.min_score, fold=False)
        index = self._app.index(name, wait=False)[1]
        known = federated.CollectionModels(
            lambda _: record.fingerprint,
            terms=lambda names, query: [TermStatistics.from_query(query, index)] * len(names),
        )
        both = federated.ask_all(list(answers), answers.__getitem__, known, wanted)
        return _noted(replace(both, collection=name, query=now.query), count, lost, in_words(at, record.created_at))

    def close(self) -> None:
        """Drop what is remembered; what a question still needs goes with the end of that."""
        with self._lock:
            self._evict(0)

    @contextmanager
    def _borrowed(self, record: CollectionRecord, at: str) -> Iterator[_Past]:
        """Give the past of a collection, which stays open as long as somebody has it."""
        key = record.id, record.line, record.name, record.fingerprint, at
        with self._lock:
            past = self._known.setdefault(key, _Past())
            self._known.move_to_end(key)
            past.users += 1
            self._evict(_REMEMBERED)
        try:
            yield past
        finally:
            with self._lock:
                past.users -= 1
                if not past.users and self._known.get(key) is not past:
                    past.close()

    def _evict(self, most: int) -> None:
        """Forget all but the last few; those that nobody has are closed. The lock is held."""
        while len(self._known) > most:
            _, past = self._known.popitem(last=False)
            if not past.users:
                past.close()

    def _follow(self, past: _Past, record: CollectionRecord, at: str) -> tuple[int, int]:
        """Take into ``past`` what was replaced or deleted since it was last asked, drop what is not kept any more.

        Return how many documents it has, and of how many it is not kept what they were.
        """
        with past.lock:
            if past.written == record.written:
                return len(past.numbers), past.lost
            had = past.numbers
            with self._app.catalog.read() as connection:
                there = history.numbers_at(connection, record.id, at)
                past.lost = history.lost_at(connection, record.id, at)
                new = [number for number in there.items() if number not in had.items()]
                states = [state for one in new if (state := history.state(connection, record.id, *one))]
            gone = [uid for uid, number in had.items() if there.get(uid) != number]
            if states or gone:
                self._write(past, record, states, gone)
            past.written = record.written
            return len(past.numbers), past.lost

    def _write(self, past: _Past, record: CollectionRecord, states: list[State], gone: list[str]) -> None:
        """Write ``states`` into the home of a past, with the vectors that are known; remove what is ``gone``."""
        app = past.app or self._opened(past, record)
        with ingestion_runs.tools(self._app, record).open_parser(()) as parser:
            made = [
                replace(
                    state_as_new(state),
                    source_id=None,
                    chunks=parser.chunks(replace(state_as_new(state).document, title=chunk_title_of(state))),
                )
                for state in states
            ]
        vectors = self._vectors(record, made)
        with app.catalog.write() as connection:
            there = collections.ensure(connection, record.name)
            if record.model_id is not None:
                model = collections.bind_model(connection, there.id, record.fingerprint, record.dimension)
                embeddings.store(connection, model, vectors)
            for content in full_documents.of_uids(connection, there.id, gone).values():
                documents.remove(connection, content.id, Retention(days=0))
            for new in made:
                documents.add(connection, there.id, new)
        kept = {uid: number for uid, number in past.numbers.items() if uid not in gone}
        past.numbers = kept | {state.uid: state.number for state in states}

    def _opened(self, past: _Past, record: CollectionRecord) -> App:
        past.folder = TemporaryDirectory(prefix="pinakes-past-")
        past.app = App(self._app.settings.model_copy(update={"home": Path(past.folder.name)}))
        past.app.embedder = self._app.embedder_of(record)
        past.app.query_vectors = self._app.query_vectors_of(record)
        past.app.reranking = self._app.reranking
        return past.app

    def _vectors(self, record: CollectionRecord, made: list[NewDocument]) -> dict[bytes, Float32]:
        """Return the vectors of all chunks; such as are not in the catalogue are made, where there is a model."""
        texts = {embedding_key(chunk): chunk.embedded_text for new in made for chunk in new.chunks}
        with self._app.catalog.read() as connection:
            known = embeddings.of_keys(connection, record.model_id, list(texts))
        missing = {key: text for key, text in texts.items() if key not in known}
        if missing and record.model_id is not None:
            with suppress(ModelUnavailable):
                known |= result_of(embed(self._app.embedder_of(record), missing, {}))
        return known


def _of_then(answer: Results) -> Results:
    """Return an answer of old versions: nothing is said of what stands in their places now."""
    return replace(answer, hits=tuple(changed(hit, source_state="unknown", changed=None) for hit in answer.hits))


def _noted(answer: Results, count: int, lost: int, time_in_words: str) -> Results:
    notes = [time_in_words + (f", with {count} documents as they were then" if count else "")]
    if lost:
        notes.append(f"of {lost} documents it is not kept what they were then (history.days, history.versions)")
    return replace(answer, notes=(*answer.notes, *notes))
