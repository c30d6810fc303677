"""Scoring of settings on questions. The candidates of a question are gathered once, then ranked for each try."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from statistics import median
from typing import TypeAlias

import numpy as np

from pinakes.catalog import document_queries
from pinakes.core.errors import InvalidInput
from pinakes.core.ports import Index
from pinakes.core.records import JSON, SearchMode
from pinakes.evaluation.metrics import Metric
from pinakes.evaluation.names import DocumentNames
from pinakes.evaluation.questions import Question
from pinakes.evaluation.resampling import paired_p
from pinakes.evaluation.tuning.ascent import Scores
from pinakes.evaluation.tuning.findings import Speed
from pinakes.evaluation.tuning.knobs import Point, applied, setting_words
from pinakes.indexes.opening import Tunable
from pinakes.search import Request, Retrieved, SearchContext, Tracer, rank, retrieve, search
from pinakes.search.ranking.boosts import boosted
from pinakes.settings import Settings

_MOST_KEPT_BYTES = 400_000_000
"""Candidates that are kept for further tries; where more are needed at once, they are kept all the same."""

_RANK_ONLY = frozenset(
    (
        "semantic_weight",
        "keyword_weight",
        "document_cosine_share",
        "document_bm25_share",
        "bm25_attained",
        "feedback_weight",
        "rrf_k",
    )
)
"""Settings of a search that decide on the ranking, not on what is known of the candidates."""

_OF_INDEX = frozenset(("search.title_boost", "search.path_boost", "search.phrase_boost"))
"""Settings of a search that the index itself looks at."""

_ASKED_AGAIN = 5
_MOST_TIMED = 100

_Key: TypeAlias = tuple[tuple[str, JSON], ...]


@dataclass(frozen=True, slots=True)
class TuningSubject:
    """A collection to tune: the context of its searches, and the golden names of its documents.

    ``asked``: document id → uid, by which it has its name.
    """

    parts: SearchContext
    names: DocumentNames
    mode: SearchMode
    asked: Mapping[int, str] = field(repr=False)

    @classmethod
    def from_context(cls, context: SearchContext, names: DocumentNames, mode: SearchMode) -> TuningSubject:
        """Return the subject, with the current documents of the collection."""
        with context.catalog.read() as connection:
            every = document_queries.list_all(connection, context.collection.id)
        return cls(context, names, mode, {one.id: one.uid for one in every})


class Trials:
    """Scores points on ``questions`` by ``metric``.

    ``milliseconds``: of each point scored, the median time for a question's candidates and their ranking.
    """

    def __init__(self, subject: TuningSubject, questions: Sequence[Question], metric: Metric) -> None:
        self.subject = subject
        self.questions = questions
        self.milliseconds: dict[Point, float] = {}
        self._metric = metric
        self._kept: OrderedDict[_Key, list[tuple[Retrieved, float]]] = OrderedDict()

    def on_subject(self, subject: TuningSubject) -> Trials:
        """Return trials of the same questions on another subject; both record latencies in the same place."""
        other = Trials(subject, self.questions, self._metric)
        other.milliseconds = self.milliseconds
        return other

    def score(self, point: Point) -> Scores:
        """Return the metric of every question with the settings of ``point``."""
        parts = self.parts(point)
        every = self._gathered(point, parts)
        found, times = [], []
        for question, (known, gathering_ms) in zip(self.questions, every, strict=True):
            start = time.perf_counter()
            names = self._ranking(known, question, parts)
            times.append(gathering_ms + (time.perf_counter() - start) * 1000)
            found.append(self._metric(names, question.relevant))
        self.milliseconds[point] = median(times)
        return np.array(found, np.float64)

    def parts(self, point: Point) -> SearchContext:
        """Return the search context with the settings of ``point``."""
        parts = self.subject.parts
        settings = applied(parts.settings, point)
        return replace(parts, settings=settings, index=_under(parts, settings, point), tracer=Tracer())

    def speed(self, point: Point) -> Speed:
        """Measure latencies with the current settings and with ``point``, alternating: the best times."""
        contexts = [self.parts(()), self.parts(point)]
        times = [self._best_ms(contexts, question) for question in self.questions[:_MOST_TIMED]]
        differences = [other - one for one, other in times]
        return Speed(median(one for one, _ in times), median(other for _, other in times), paired_p(differences))

    def answer_ms(self) -> float:
        """Return the median latency with the current settings: of the best time of each question."""
        contexts = [self.parts(())]
        return median(self._best_ms(contexts, question)[0] for question in self.questions[:_MOST_TIMED])

    def _best_ms(self, contexts: Sequence[SearchContext], question: Question) -> list[float]:
        """Return for each context the best time of an answer; they take turns."""
        each = [self._search_ms(parts, question) for _ in range(_ASKED_AGAIN) for parts in contexts]
        return [min(each[place :: len(contexts)]) for place in range(len(contexts))]

    def _search_ms(self, context: SearchContext, question: Question) -> float:
        start = time.perf_counter()
        search(self.request(question, context.settings), replace(context, tracer=Tracer()))
        return (time.perf_counter() - start) * 1000

    def request(self, question: Question, settings: Settings) -> Request:
        """Return the request: as many chunks as a user gets."""
        asked = settings.search
        return Request(
            query=question.text,
            mode=self.subject.mode,
            top_k=asked.top_k,
            where=question.where,
            fusion=asked.fusion,
            semantic_weight=asked.semantic_weight,
            keyword_weight=asked.keyword_weight,
        )

    def _gathered(self, point: Point, context: SearchContext) -> list[tuple[Retrieved, float]]:
        """Return what is known of each question's candidates, and how many milliseconds that took to find out."""
        key = _key(point, self.subject.parts.settings)
        known = self._kept.get(key)
        if known is None:
            if not self._kept and self.subject.mode != "keyword":
                for one in self.questions:  # so that the first try is not the one that pays for it
                    context.vectors.vector_of(one.text)
            known = [_timed(partial(retrieve, self.request(one, context.settings), context)) for one in self.questions]
            self._kept[key] = known
        self._kept.move_to_end(key)
        while len(self._kept) > 1 and sum(map(_size, self._kept.values())) > _MOST_KEPT_BYTES:
            self._kept.popitem(last=False)
        return known

    def _ranking(self, known: Retrieved, question: Question, context: SearchContext) -> list[str]:
        """Return the documents of the candidates, best first, by their golden names."""
        settings = context.settings.search
        asked = replace(
            known.asked.request,
            fusion=settings.fusion,
            semantic_weight=settings.semantic_weight,
            keyword_weight=settings.keyword_weight,
        )
        found = boosted(known.asked, replace(known.found, adjustments=None), context)
        ranked = rank(asked, found, settings)
        subject = self.subject
        owners = dict.fromkeys(ranked.candidates.documents[ranked.rows].tolist())
        uids = (subject.asked.get(one, str(one)) for one in owners)
        return list(dict.fromkeys(subject.names.name_of(uid, question.relevant) for uid in uids))


def _under(context: SearchContext, settings: Settings, point: Point) -> Index:
    """Return the index for other ``settings``; itself if they do not affect it."""
    if (settings.index, settings.search) == (context.settings.index, context.settings.search):
        return context.index
    if isinstance(context.index, Tunable):
        return context.index.with_settings(settings.index, settings.search)
    if not any(name.startswith("index.") or name in _OF_INDEX for name, _ in point):
        return context.index
    raise InvalidInput(
        f"The engine {settings.index.engine!r} cannot try other settings: {setting_words(point)}.",
        hint="Tune what does not concern the index: --what fusion",
    )


def _key(point: Point, current: Settings) -> _Key:
    """Return what of ``point`` decides on the candidates and on what is known of them."""
    key = []
    for name, value in point:
        section, _, setting = name.rpartition(".")
        if section == "search" and setting in _RANK_ONLY:
            continue
        if name == "search.definition_boost":  # definitions are looked for where they weigh anything
            if bool(value) != bool(current.search.definition_boost):
                key.append((name, bool(value)))
        elif section != "boosts":
            key.append((name, value))
    return tuple(key)


def _timed(ask: Callable[[], Retrieved]) -> tuple[Retrieved, float]:
    start = time.perf_counter()
    known = ask()
    return known, (time.perf_counter() - start) * 1000


def _size(known: Sequence[tuple[Retrieved, float]]) -> int:
    return sum(one.found.vectors.nbytes for one, _ in known if one.found.vectors is not None)
