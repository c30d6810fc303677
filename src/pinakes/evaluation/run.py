"""An evaluation run: ask every question, compare the rankings with the judgements, and explain each miss."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Protocol, TypeAlias

from pinakes.catalog import Catalog, selection
from pinakes.catalog.collections import CollectionRecord
from pinakes.core.errors import ModelUnavailable
from pinakes.core.records import Filter, Results, SearchMode
from pinakes.evaluation.figures import HEAD, Figures, Miss, ModeFigures, Reason, Row, figures, summarise
from pinakes.evaluation.metrics import DEFAULT, Grades, first_relevant, metric
from pinakes.evaluation.names import DocumentNames
from pinakes.evaluation.questions import Question

Ask: TypeAlias = Callable[[Question], Sequence[str]]
"""Takes a question and returns distinct document names, best first."""

OnQuestion: TypeAlias = Callable[[int], object]
"""Called after each question with the number of questions asked."""

DEPTH = 300
"""Number of requested chunks, so that some hundred documents are ranked."""

RETRIEVERS: tuple[SearchMode, SearchMode] = ("keyword", "vector")
_NOWHERE = 1_000_000


class SearchFunction(Protocol):
    """What ``Library.search`` is, as far as it is used here."""

    def __call__(
        self, query: str, collection: str | None = None, *, mode: SearchMode, top_k: int, filters: Filter
    ) -> Results:
        """Answer a question."""
        ...


class Rank(Protocol):
    """What ``Library.rank`` is, as far as it is used here."""

    def __call__(
        self, query: str, collection: str | None = None, *, mode: SearchMode, depth: int, filters: Filter
    ) -> Results:
        """Rank chunks up to the requested depth."""
        ...


@dataclass(frozen=True, slots=True)
class RankedAnswer:
    """The result of a question: document names with the score of the best chunk, best first."""

    ranking: tuple[str, ...]
    scores: tuple[float, ...]
    milliseconds: float = 0.0
    refused: bool = False
    answerable: float | None = None
    degraded: str | None = None


@dataclass(frozen=True, slots=True)
class Subject:
    """A collection to measure: how to search it, and the golden names of its documents.

    ``search`` is asked for ``top_k`` chunks, as a user does, and timed; ``rank`` for ``depth``, to be measured.
    """

    catalog: Catalog
    search: SearchFunction
    rank: Rank
    collection: CollectionRecord
    names: DocumentNames
    top_k: int = 10
    depth: int = DEPTH


def evaluate(ask: Ask, questions: Sequence[Question], metrics: Sequence[str] = DEFAULT) -> Figures:
    """Return the metrics of ``ask`` over the questions that have an answer."""
    answerable = [question for question in questions if question.answerable]
    return figures([scored(ask(question), question.relevant, metrics) for question in answerable])


def measure(
    subject: Subject,
    questions: Sequence[Question],
    mode: SearchMode,
    metrics: Sequence[str] = DEFAULT,
    on_question: OnQuestion | None = None,
) -> tuple[ModeFigures, list[RankedAnswer]]:
    """Ask every question in one mode; return the metrics, and the answers in the order of the questions.

    Raises:
        ModelUnavailable: mode "vector" without a model.
    """
    subject.search("warm up", subject.collection.name, mode=mode, top_k=1, filters=())
    answers, rows = [], []
    for number, question in enumerate(questions, start=1):
        answer = ask(subject, question, mode)
        answers.append(answer)
        rows.append(row_of(question, answer, metrics, partial(explain, subject, question, answer, mode)))
        if on_question is not None:
            on_question(number)
    return summarise(mode, rows), answers


def measure_run(
    rankings: Mapping[str, Sequence[str]], questions: Sequence[Question], tag: str, metrics: Sequence[str] = DEFAULT
) -> ModeFigures:
    """Return the metrics of existing rankings: query id → document names, best first."""
    rows = []
    for question in questions:
        ranking = tuple(rankings.get(question.id, ()))
        answer = RankedAnswer(ranking, (), refused=not ranking)
        rows.append(row_of(question, answer, metrics, partial(_explain_run, question, answer)))
    return summarise(tag, rows)


def ask(subject: Subject, question: Question, mode: SearchMode) -> RankedAnswer:
    """Ask as a user does, with the time measured, then at the full ranking depth."""
    start = time.perf_counter()
    results = subject.search(
        question.text, subject.collection.name, mode=mode, top_k=subject.top_k, filters=question.where
    )
    passed = (time.perf_counter() - start) * 1000
    found = _ranked(subject, question, mode)
    return RankedAnswer(
        ranking=tuple(found),
        scores=tuple(found.values()),
        milliseconds=passed,
        refused=results.doubtful,
        answerable=results.answerable,
        degraded=missing_retriever(results),
    )


def missing_retriever(results: Results) -> str | None:
    """Return the retrievers that did not contribute to an answer as requested, as text; None if all did."""
    reranks = (stage.detail.get("note") for stage in results.trace.stages if stage.name == "rerank")
    return results.degraded or next((str(note) for note in reranks if note), None)


def scored(ranking: Sequence[str], relevant: Grades, metrics: Sequence[str] = DEFAULT) -> dict[str, float]:
    """Return metric → value of one ranking."""
    return {one.name: one(ranking, relevant) for one in map(metric, metrics)}


def row_of(question: Question, answer: RankedAnswer, metrics: Sequence[str], why: Callable[[], Miss]) -> Row:
    """Return the row of a question; ``why`` is called for a miss."""
    rank = first_relevant(answer.ranking, question.relevant)
    missed = rank is None or rank > HEAD if question.answerable else not answer.refused
    return Row(
        id=question.id,
        kind=question.kind,
        query=question.text,
        answer_exists=question.answerable,
        scores=scored(answer.ranking, question.relevant, metrics) if question.answerable else {},
        milliseconds=answer.milliseconds,
        ranking=answer.ranking[:HEAD],
        rank=rank,
        refused=answer.refused,
        answerable=answer.answerable,
        degraded=answer.degraded,
        miss=why() if missed else None,
    )


def explain(subject: Subject, question: Question, answer: RankedAnswer, mode: SearchMode) -> Miss:
    """Return why no relevant document is among the first, by asking each retriever separately."""
    if not question.answerable:
        return Miss("answered", document=answer.ranking[0] if answer.ranking else "")
    there = [name for name in _relevant_names(question) if name in subject.names.members]
    if not there:
        return Miss("not in the collection", document=_relevant_names(question)[0])
    passing = _passing(subject, question.where, there)
    if not passing:
        return Miss("lost by filter", document=there[0])
    alone = {one: _places(_of_retriever(subject, question, one, answer, mode)) for one in RETRIEVERS}
    fused = _places(answer.ranking)
    name = min(
        passing, key=lambda one: (fused.get(one, _NOWHERE), *sorted(a.get(one, _NOWHERE) for a in alone.values()))
    )
    reason: Reason = "ranked low" if name in fused else "not retrieved"
    return Miss(reason, name, fused.get(name), alone["keyword"].get(name), alone["vector"].get(name))


def _explain_run(question: Question, answer: RankedAnswer) -> Miss:
    if not question.answerable:
        return Miss("answered", document=answer.ranking[0])
    rank = first_relevant(answer.ranking, question.relevant)
    return (
        Miss("ranked low", answer.ranking[rank - 1], rank)
        if rank
        else Miss("not retrieved", _relevant_names(question)[0])
    )


def _relevant_names(question: Question) -> list[str]:
    """Return the relevant names, the best first."""
    relevant = question.relevant
    return sorted((name for name, grade in relevant.items() if grade > 0), key=lambda name: -relevant[name])


def _passing(subject: Subject, where: Filter, names: Sequence[str]) -> list[str]:
    """Return the ``names`` with a document that matches the filter."""
    if not where:
        return list(names)
    with subject.catalog.read() as connection:
        ids = set(selection.matching(connection, subject.collection.id, where).tolist())
    return [name for name in names if any(one.id in ids for one in subject.names.members[name])]


def _of_retriever(
    subject: Subject, question: Question, retriever: SearchMode, answer: RankedAnswer, mode: SearchMode
) -> tuple[str, ...]:
    """Return the ranking of one retriever alone; empty if it is unavailable."""
    if retriever == mode:
        return answer.ranking
    try:
        return tuple(_ranked(subject, question, retriever))
    except ModelUnavailable:
        return ()


def ranked(results: Results, names: DocumentNames, relevant: Grades) -> dict[str, float]:
    """Return the documents of ``results`` by name, best first, with the score of the best chunk of each.

    ``relevant`` decides where a document has several names.
    """
    found: dict[str, float] = {}
    for hit in results.hits:
        found.setdefault(names.name_of(hit.document_id, relevant), hit.score)
    return found


def _ranked(subject: Subject, question: Question, mode: SearchMode) -> dict[str, float]:
    results = subject.rank(
        question.text, subject.collection.name, mode=mode, depth=subject.depth, filters=question.where
    )
    return ranked(results, subject.names, question.relevant)


def _places(ranking: Sequence[str]) -> dict[str, int]:
    return {name: rank for rank, name in enumerate(ranking, start=1)}
