"""Comparison of two systems on the same questions: agreement of rankings, latency, and quality."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from statistics import fmean
from typing import TypeAlias

from pinakes.core.errors import InvalidInput, NotFound, PinakesError
from pinakes.evaluation import agreement, document_matching
from pinakes.evaluation.caveats import cautions, settings
from pinakes.evaluation.document_matching import DocumentMatches, GoldenNames, KnownDocuments
from pinakes.evaluation.pairs import ComparisonReport, Mean, Pair, PairedDifference, SystemReport
from pinakes.evaluation.querying import SystemAnswer, SystemQuerier
from pinakes.evaluation.questions import GoldenSet, Question
from pinakes.evaluation.resampling import intervals, latency, paired_p
from pinakes.evaluation.run import scored
from pinakes.evaluation.systems import Named, SystemInfo, SystemReply, differences

OnQuestion: TypeAlias = Callable[[int], object]

METRICS = ("ndcg@10", "mrr@10", "precision@5", "recall@20", "hit@5")
HEAD, DEEP = 5, 20
FLAGGED_BELOW = 0.8
"""Questions with an overlap@5 below this are listed."""

MEASURES = ("overlap_5", "overlap_20", "tau", "rbo")
_ROUNDING = 1e-9


@dataclass(frozen=True, slots=True)
class AskedSystem:
    """A side after the questions: one answer per question, its documents, and their golden names."""

    querier: SystemQuerier
    answers: Sequence[SystemAnswer]
    known: KnownDocuments
    golden_names: GoldenNames | None


def check_corpora(a: SystemInfo, b: SystemInfo, *, anyway: bool) -> None:
    """Check that two collections hold the same documents.

    Raises:
        InvalidInput: they do, and not ``anyway``.
    """
    different = differences(a, b)
    if different and not anyway:
        raise InvalidInput(
            f"{a.label} (A) and {b.label} (B) hold different documents: {'; '.join(different)}.",
            hint="To compare them all the same: --anyway",
        )


def compare(
    a: SystemQuerier,
    b: SystemQuerier,
    golden: GoldenSet,
    *,
    metrics: Sequence[str] = METRICS,
    by_field: bool = False,
    anyway: bool = False,
    on_question: OnQuestion | None = None,
) -> ComparisonReport:
    """Ask both sides every question, alternating which is first, and report their agreement.

    ``by_field``: the keys of documents are values of a field, by which they are compared.

    Raises:
        PinakesError: the reason why a side has no answer to any question, neither now nor kept.
        NotFound: there is no question to which both have one.
        InvalidInput: their answers have no document in common, and not ``anyway``.
    """
    answers: tuple[list[SystemAnswer], list[SystemAnswer]] = ([], [])
    for number, question in enumerate(golden.questions, start=1):
        for side in (0, 1) if number % 2 else (1, 0):
            answers[side].append((a, b)[side].ask(question))
        if on_question is not None:
            on_question(number)
    sides = [_compared(querier, mine, golden, by_field) for querier, mine in zip((a, b), answers, strict=True)]
    grouped = by_field or all(side.golden_names is not None and side.golden_names.names.units for side in sides)
    links = document_matching.link(sides[0].known, sides[1].known, grouped=grouped)
    if not links.share and sides[0].known.answered and sides[1].known.answered and not anyway:
        raise _no_common_document(sides)
    return _report(sides[0], sides[1], golden, links, metrics)


def unanswered(querier: SystemQuerier, side: SystemReport) -> PinakesError | None:
    """Return the error of a side that left questions without an answer, None if it answered all."""
    if querier.error is None or not side.unanswered:
        return None
    total = side.asked + side.kept + side.unanswered
    return type(querier.error)(
        f"{side.label} has no answer to {side.unanswered} of {total} questions: {side.failure}", hint=querier.error.hint
    )


def _compared(
    querier: SystemQuerier, answers: Sequence[SystemAnswer], golden: GoldenSet, by_field: bool
) -> AskedSystem:
    if querier.error is not None and all(one.origin == "none" for one in answers):
        raise querier.error
    known = _known(querier.about, [one.reply for one in answers])
    wanted = list(dict.fromkeys(name for question in golden.questions for name in question.relevant))
    return AskedSystem(
        querier, answers, known, document_matching.golden_names(wanted, known, by_field=by_field) if wanted else None
    )


def _known(about: SystemInfo, replies: Sequence[SystemReply]) -> KnownDocuments:
    answered = list(dict.fromkeys(one for reply in replies for one in reply.documents))
    return KnownDocuments(answered, list(dict.fromkeys([*(about.documents or ()), *answered])))


def _no_common_document(sides: Sequence[AskedSystem]) -> InvalidInput:
    a, b = sides
    return InvalidInput(
        f"No document that {a.querier.about.label} (A) answers with is known to {b.querier.about.label} (B): "
        f"A has for instance {a.known.answered[0].label!r}, B {b.known.answered[0].label!r}.",
        hint="Compare by a metadata field with --by FIELD, or all the same with --anyway.",
    )


def _report(
    a: AskedSystem, b: AskedSystem, golden: GoldenSet, links: DocumentMatches, metrics: Sequence[str]
) -> ComparisonReport:
    pairs = [
        _pair(
            question,
            (of_a, of_b),
            (_view(of_a.reply, links.a), _view(of_b.reply, links.b)),
            (_scores(a, of_a, question, metrics), _scores(b, of_b, question, metrics)),
            links.shown,
        )
        for question, of_a, of_b in zip(golden.questions, a.answers, b.answers, strict=True)
    ]
    both = [pair for pair in pairs if pair.overlap_5 is not None]
    if not both:
        raise NotFound("There is no question to which both sides have an answer.", hint="Ask again when both answer.")
    judged = [pair for pair in both if pair.scores_a and pair.scores_b]
    sides = (
        _side(a, {name for pair in both for name in pair.only_a}),
        _side(b, {name for pair in both for name in pair.only_b}),
    )
    return ComparisonReport(
        created_at=datetime.now(UTC).isoformat(timespec="seconds"),
        golden=golden.name,
        questions=len(pairs),
        compared=len(both),
        flagged=sum(pair.flagged for pair in pairs),
        judged=len(judged),
        linked_by=links.by,
        a=sides[0],
        b=sides[1],
        agreement={name: mean for name in MEASURES if (mean := _mean(both, name)) is not None},
        metrics={name: _change(judged, name) for name in metrics} if judged else {},
        differences=tuple(settings(a.querier.about, b.querier.about)),
        cautions=tuple(cautions(a.querier.about, b.querier.about, sides, links, golden, len(judged))),
        pairs=tuple(pairs),
    )


def _view(reply: SystemReply, names: Mapping[Named, str]) -> dict[str, float]:
    """Return document → place for a reply, by the common names of both sides, in order."""
    best: dict[str, float] = {}
    scores = reply.scores or [-float(place) for place in range(len(reply.documents))]
    for document, score in zip(reply.documents, scores, strict=True):
        best.setdefault(names[document], score)
    return agreement.places(list(best), list(best.values()))


def _pair(
    question: Question,
    answers: tuple[SystemAnswer, SystemAnswer],
    views: tuple[Mapping[str, float], Mapping[str, float]],
    scores: tuple[Mapping[str, float], Mapping[str, float]],
    shown: Mapping[str, str],
) -> Pair:
    a, b = (list(view) for view in views)
    there = all(answer.origin != "none" for answer in answers)
    overlap = agreement.overlap(a, b, HEAD) if there else None
    heads = [dict(list(view.items())[:DEEP]) for view in views]
    only_a, only_b = (agreement.unique(*order, DEEP) if there else () for order in ((a, b), (b, a)))
    return Pair(
        id=question.id,
        kind=question.kind,
        query=question.text,
        a=tuple(shown[name] for name in a[:DEEP]),
        b=tuple(shown[name] for name in b[:DEEP]),
        only_a=tuple(shown[name] for name in only_a),
        only_b=tuple(shown[name] for name in only_b),
        overlap_5=overlap,
        overlap_20=agreement.overlap(a, b, DEEP) if there else None,
        tau=agreement.kendall_tau(*heads) if there else None,
        rbo=agreement.rank_biased_overlap(a, b) if there else None,
        milliseconds_a=_asked_ms(answers[0]),
        milliseconds_b=_asked_ms(answers[1]),
        origin_a=answers[0].origin,
        origin_b=answers[1].origin,
        flagged=overlap is not None and overlap < FLAGGED_BELOW - _ROUNDING,
        why="; ".join(f"{side}: {one.why}" for side, one in zip("AB", answers, strict=True) if one.why),
        scores_a=scores[0],
        scores_b=scores[1],
    )


def _asked_ms(answer: SystemAnswer) -> float | None:
    return answer.reply.milliseconds if answer.origin == "asked" else None


def _scores(side: AskedSystem, answer: SystemAnswer, question: Question, metrics: Sequence[str]) -> dict[str, float]:
    if side.golden_names is None or not question.answerable or answer.origin == "none":
        return {}
    return scored(side.golden_names.ranking(answer.reply.documents, question.relevant), question.relevant, metrics)


def _side(side: AskedSystem, unique: set[str]) -> SystemReport:
    about, answers = side.querier.about, side.answers
    times = [time for answer in answers if (time := _asked_ms(answer)) is not None]
    kept = sorted(answer.at for answer in answers if answer.at is not None)
    return SystemReport(
        label=about.label,
        kind=about.kind,
        mode=about.mode,
        passages=about.chunks,
        collection=about.corpus.collection if about.corpus else "",
        documents=about.corpus.documents if about.corpus else None,
        model=about.corpus.model if about.corpus else "",
        asked=sum(answer.origin == "asked" for answer in answers),
        kept=len(kept),
        unanswered=sum(answer.origin == "none" for answer in answers),
        degraded=sum(answer.reply.degraded is not None for answer in answers),
        latency=latency(times) if times else None,
        kept_since=kept[0].isoformat() if kept else "",
        kept_until=kept[-1].isoformat() if kept else "",
        failure=side.querier.error.message if side.querier.error else "",
        unique=len(unique),
    )


def _mean(pairs: Sequence[Pair], name: str) -> Mean | None:
    values = [[float(value)] for pair in pairs if (value := getattr(pair, name)) is not None]
    if not values:
        return None
    [(low, high)] = intervals(values)
    return Mean(fmean(value for [value] in values), low, high, len(values))


def _change(judged: Sequence[Pair], name: str) -> PairedDifference:
    a, b = fmean(pair.scores_a[name] for pair in judged), fmean(pair.scores_b[name] for pair in judged)
    return PairedDifference(a, b, b - a, paired_p([pair.scores_b[name] - pair.scores_a[name] for pair in judged]))
