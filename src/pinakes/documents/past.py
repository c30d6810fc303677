"""Collections as they were: questions to the documents of a past day.

What has not changed since then is found in the index of today, by a filter. What documents were that are another
version by now, or gone, is put together in an index of its own, from their histories, in a temporary folder; their
vectors are in the catalogue still. The hits of both become one ranking.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime, time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Protocol, TypeAlias

from pinakes.catalog import collections, documents, embeddings, history
from pinakes.catalog.collections import CollectionRecord
from pinakes.catalog.documents import NewDocument, embedding_key
from pinakes.catalog.history import State
from pinakes.catalog.selection import UPDATED_AT
from pinakes.documents.drafting import state_as_new, title_to_cut
from pinakes.errors import InvalidInput, ModelUnavailable
from pinakes.ingest import drained, embed
from pinakes.search import Request, several
from pinakes.shelves import Shelves
from pinakes.types import Condition, Float32, Results

_REMEMBERED = 2

Asked: TypeAlias = Request | Callable[[CollectionRecord], Request]


class Ask(Protocol):
    """Answers a question from one collection of a home."""

    def __call__(self, shelves: Shelves, asked: Asked, name: str, *, beside: bool) -> Results: ...


def moment(words: str) -> str:
    """Return a day (its end) or a time, UTC where it says nothing else, as the catalogue writes times.

    Raises:
        InvalidInput: it is neither.
    """
    try:
        at = datetime.fromisoformat(words.strip())
    except ValueError as error:
        raise InvalidInput(
            f"{words!r} is no day or time.", hint="Write 2026-01-31 or 2026-01-31T18:00, in UTC."
        ) from error
    if len(words.strip()) <= len("2026-01-31"):
        at = datetime.combine(at.date(), time.max)
    at = at.replace(tzinfo=UTC) if at.tzinfo is None else at.astimezone(UTC)
    return at.isoformat(timespec="milliseconds")


@dataclass(slots=True)
class _Past:
    """What was otherwise at a time. ``lost``: so many documents were, but it is not kept what they were."""

    count: int
    lost: int
    shelves: Shelves | None = None
    folder: TemporaryDirectory[str] | None = None

    def close(self) -> None:
        if self.shelves is not None:
            self.shelves.reranking = None  # it belongs to the home of today
            self.shelves.close()
        if self.folder is not None:
            self.folder.cleanup()


class Pasts:
    """Answers questions as of a time. Remembers the last few. Thread-safe."""

    def __init__(self, shelves: Shelves) -> None:
        self._shelves = shelves
        self._lock = threading.Lock()
        self._known: OrderedDict[tuple[int, int, str, int], _Past] = OrderedDict()

    def answer(self, as_of: str, ask: Ask, asked: Asked, name: str) -> Results:
        """Return the answer that the documents of a collection give as they were then.

        Raises:
            as ``Library.search``, and InvalidInput: ``as_of`` is no day or time.
        """
        at = moment(as_of)
        record = self._shelves.record(name)
        request = asked(record) if callable(asked) else asked
        unchanged = Condition(UPDATED_AT, high=at)
        now = ask(self._shelves, replace(request, where=(*request.where, unchanged)), name, beside=False)
        with self._lock:  # also while the other answers: what is remembered may be dropped by the next question
            past = self._past(record, at)
            if past.shelves is None:
                return _noted(now, past, at)
            then = ask(past.shelves, request, name, beside=False)
        answers = {"now": now, "then": then}
        wanted = several.Wanted(request.top_k, request.min_score, fold=False)
        both = several.asked(list(answers), answers.__getitem__, lambda _: record.fingerprint, wanted)
        return _noted(replace(both, collection=name, query=now.query), past, at)

    def close(self) -> None:
        """Drop what is remembered."""
        with self._lock:
            while self._known:
                self._known.popitem()[1].close()

    def _past(self, record: CollectionRecord, at: str) -> _Past:
        key = record.id, record.line, at, record.written
        known = self._known.get(key)
        if known is None:
            known = self._known[key] = self._made(record, at)
            while len(self._known) > _REMEMBERED:
                self._known.popitem(last=False)[1].close()
        self._known.move_to_end(key)
        return known

    def _made(self, record: CollectionRecord, at: str) -> _Past:
        with self._shelves.catalog.read() as connection:
            states = history.states_at(connection, record.id, at)
            lost = history.lost_at(connection, record.id, at)
        if not states:
            return _Past(0, lost)
        folder = TemporaryDirectory(prefix="pinakes-past-")
        shelves = Shelves(self._shelves.settings.model_copy(update={"home": Path(folder.name)}))
        shelves.embedder = self._shelves.embedder_of(record)
        shelves.query_vectors = self._shelves.query_vectors_of(record)
        shelves.reranking = self._shelves.reranking
        past = _Past(len(states), lost, shelves, folder)
        try:
            self._fill(shelves, record, states)
        except BaseException:
            past.close()
            raise
        return past

    def _fill(self, shelves: Shelves, record: CollectionRecord, states: list[State]) -> None:
        """Write ``states`` into the collection of that name in another home, with the vectors that are known."""
        with self._shelves.tools(record).cutting(()) as cutter:
            made = [
                replace(
                    state_as_new(state),
                    source_id=None,
                    chunks=cutter.chunks(replace(state_as_new(state).document, title=title_to_cut(state))),
                )
                for state in states
            ]
        vectors = self._vectors(record, made)
        with shelves.catalog.write() as connection:
            there = collections.ensure(connection, record.name)
            if record.model_id is not None:
                model = collections.bind_model(connection, there.id, record.fingerprint, record.dimension)
                embeddings.store(connection, model, vectors)
            for new in made:
                documents.add(connection, there.id, new)

    def _vectors(self, record: CollectionRecord, made: list[NewDocument]) -> dict[bytes, Float32]:
        """Return the vectors of all passages; such as are not in the catalogue are made, where there is a model."""
        texts = {embedding_key(chunk): chunk.embedded_text for new in made for chunk in new.chunks}
        with self._shelves.catalog.read() as connection:
            known = embeddings.of_keys(connection, record.model_id, list(texts))
        missing = {key: text for key, text in texts.items() if key not in known}
        if missing and record.model_id is not None:
            with suppress(ModelUnavailable):
                known |= drained(embed(self._shelves.embedder_of(record), missing, {}))
        return known


def _noted(answer: Results, past: _Past, at: str) -> Results:
    notes = [f"as of {at[:19]}Z" + (f", with {past.count} documents as they were then" if past.count else "")]
    if past.lost:
        notes.append(f"of {past.lost} documents it is not kept what they were then (history.days, history.versions)")
    return replace(answer, notes=(*answer.notes, *notes))
