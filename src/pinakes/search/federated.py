"""One question to several collections: each answers by itself, and their hits become one ranking.

Scores compare where they were made alike. Of each, the part that comes from words is relative to the best chunk of a
collection; it is made relative to the best of all. Vectors compare where they are of the same model; a collection
whose nearest chunks are less near than those of another loses a share of the difference, since what fits best in a
collection that is about something else looks good there. Where scores do not compare, ranks do. What has the quoted
phrases of the question comes first, whichever collection has it; where they are required and some collection has them,
the others add nothing.
"""

from __future__ import annotations

import time
import unicodedata
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias, TypeVar

import numpy as np

from pinakes.catalog.selection import DOUBT
from pinakes.core.errors import InvalidInput, PinakesError
from pinakes.core.late import changed
from pinakes.core.records import JSON, Duplicate, Filter, Hit, Results, SearchMode, Stage, Trace
from pinakes.search.defaults import allowed, versions_named
from pinakes.search.fitting import LOOKED_AT, RANKS, SCORE, CollectionAnswer, lost
from pinakes.search.query.request import check_least
from pinakes.search.query.spelling import lacked_word
from pinakes.search.ranking.duplicates import TextComparison, comparable
from pinakes.search.ranking.rank import too_low
from pinakes.search.retrieval.constraints import with_phrases
from pinakes.search.retrieval.phrases import raised
from pinakes.search.retrieval.scoring import with_score
from pinakes.search.retrieval.term_statistics import TermStatistics
from pinakes.settings import SearchSettings

T = TypeVar("T")

EVERY = "*"
"""Stands for all collections; none can be called so, and no name has a comma."""

_MOST_COLLECTIONS = 1000
_MOST_NAMED = 3
_NEAREST = 5
_FARTHER = 0.5
"""What a collection loses: this share of what the mean cosine of its so many best chunks lacks to that of the one
where they are nearest. Measured on five question sets, by twos, all together, and each cut in two: 0.25 to 0.75 hardly
differ; the mean nDCG@10 of all together is 0.671 without it, 0.681 with it."""

Evidence: TypeAlias = Literal["reranker", "words", "meaning", "words and meaning", "ranks"]


@dataclass(frozen=True, slots=True)
class CollectionModels:
    """What is known of collections beside their answers: the fingerprint of the model of one (``model_of``).

    ``far``: which are far from the question. ``terms``: how rare its words are in those of these names together, None
    where that is not known.
    """

    model_of: Callable[[str], str]
    far: Callable[[Sequence[str]], Sequence[str]] = lambda _: ()
    terms: Callable[[Sequence[str], str], TermStatistics | None] = lambda _names, _query: None


@dataclass(frozen=True, slots=True)
class HitLimits:
    """What is wanted of all collections together: so many hits, with at least this score.

    ``fold``: a chunk that another collection has as well is told once, with the other place named; versions and
    dates that are ``named`` are told apart. ``words``: how much of a hybrid score the best chunk by words has from
    that, 0 to 1.
    """

    most: int
    min_score: float = 0.0
    fold: bool = True
    words: float = 0.0
    named: frozenset[str] = frozenset()

    @classmethod
    def from_settings(
        cls,
        settings: SearchSettings,
        query: str,
        filters: Mapping[str, JSON] | Filter | None,
        top_k: int | None,
        min_score: float,
    ) -> HitLimits:
        """Return what is wanted where searches are made by these ``settings``.

        Raises:
            InvalidInput: more hits than ``search.max_top_k``.
        """
        check_least(min_score=min_score)
        weights = settings.semantic_weight + settings.keyword_weight
        words = settings.keyword_weight / weights if weights else 0.5
        words /= 1 + settings.feedback_weight
        most, named = allowed(top_k, settings), versions_named(query, filters)
        return cls(most, min_score, settings.fold_duplicates, words, named)

    @classmethod
    def among(
        cls,
        collections: int,
        settings: SearchSettings,
        query: str,
        filters: Mapping[str, JSON] | Filter | None,
        top_k: int | None,
        min_score: float,
    ) -> tuple[HitLimits, int, float]:
        """Return what ``of`` returns, and what ``of_each`` of so many collections does."""
        wanted = cls.from_settings(settings, query, filters, top_k, min_score)
        return wanted, *wanted.of_each(collections, settings.max_top_k)

    def of_each(self, collections: int, limit: int) -> tuple[int, float]:
        """Return how many hits, with what score, each of so many collections is asked for.

        Of several enough to see how near they are, if not more than ``limit``; their scores may change yet.
        """
        if collections == 1 or self.most < 1:
            return self.most, self.min_score
        return max(self.most, min(_NEAREST, limit)), 0.0


def named(wanted: str | Sequence[str], everything: Callable[[], Sequence[str]]) -> list[str]:
    """Return the names in ``wanted``, each once: names, or several with commas between them; "*" is ``everything``.

    Raises:
        InvalidInput: it has none, or very many.
    """
    words = [wanted] if isinstance(wanted, str) else wanted
    parts = list(dict.fromkeys(part.strip() for word in words for part in word.split(",")))
    if len(parts) > _MOST_COLLECTIONS:
        raise InvalidInput(f"{len(parts)} collections are named.", hint=f'At most {_MOST_COLLECTIONS}, or "{EVERY}".')
    names = [name for part in parts if part for name in (everything() if part == EVERY else [part])]
    if not names:
        raise InvalidInput("No collection is named.", hint=f'Give names, with commas between them, or "{EVERY}".')
    return list(dict.fromkeys(unicodedata.normalize("NFC", name) for name in names))


def ask_all(
    names: Sequence[str],
    ask: Callable[[str], Results],
    known: CollectionModels,
    wanted: HitLimits,
) -> Results:
    """Return one answer of the collections ``names``, which ``ask`` gives one by one; that of a single one as it is.

    Those that are ``far`` from the question are asked where the others do not give enough.

    One that cannot answer is told of in ``notes`` and
    ``degraded``; the others answer all the same.

    Raises:
        InvalidInput: the question cannot be asked.
        PinakesError: no collection answers; it is the first one's error.
    """
    if len(names) == 1:
        return ask(names[0])
    start = time.perf_counter()
    answers, failures, far = near_first(names, known.far(names), ask, lambda found: _is_enough(found, wanted))
    merging = time.perf_counter()
    answers = _required(answers)
    hits, by, notes = _merged(answers, known, wanted.words)
    hits = _phrases_first(hits) if not any(answer.required for answer in answers) else hits
    every = hits
    hits = _folded(hits, wanted) if wanted.fold else hits
    enough = [hit for hit in hits if hit.score >= wanted.min_score]
    if hits and not enough:
        notes.append(too_low(max(hit.score for hit in hits), wanted.min_score))
    now = time.perf_counter()
    merge = Stage("merge", (now - merging) * 1000, {"collections": len(answers), "by": by})
    return Results(
        query=answers[0].query,
        collection=", ".join(names),
        mode=_mode(answers),
        fusion=answers[0].fusion,
        hits=tuple(enough[: wanted.most]),
        total_candidates=sum(answer.total_candidates for answer in answers),
        trace=Trace((*_stages(answers), merge), (now - start) * 1000),
        degraded=_degraded(answers, failures),
        notes=(
            *_notes(answers),
            *notes,
            *far_note(far),
            *unanswered(failures),
        ),
        answerable=_answerable(answers),
        required=next((answer.required for answer in answers if answer.required), ()),
        query_id=answers[0].query_id,
        total_found=_total_found(answers, every, wanted.min_score) - (len(every) - len(hits)),
    )


def _is_enough(answers: Sequence[Results], wanted: HitLimits) -> bool:
    """Say whether some answer has enough hits; several may have the same."""
    return any(sum(hit.score >= wanted.min_score for hit in one.hits) >= wanted.most for one in answers)


def near_first(
    names: Sequence[str], far: Sequence[str], ask: Callable[[str], T], is_enough: Callable[[Sequence[T]], bool]
) -> tuple[list[T], dict[str, PinakesError], Sequence[str]]:
    """Return the answers of collections, why others do not answer, and which of the ``far`` ones were not asked.

    These are asked only where the answers of the others are not ``is_enough``.

    Raises:
        InvalidInput: the question cannot be asked.
        PinakesError: no collection answers; it is the first one's error.
    """
    answers: list[T] = []
    failures: dict[str, PinakesError] = {}

    def each(some: Sequence[str]) -> None:
        for name in some:
            try:
                answers.append(ask(name))
            except InvalidInput:
                raise
            except PinakesError as error:
                failures[name] = error

    each([name for name in names if name not in far])
    if far and not is_enough(answers):
        each(far)
        far = ()
    if failures and not answers:
        raise next(iter(failures.values()))
    return answers, failures, far


def unanswered(failures: Mapping[str, PinakesError]) -> list[str]:
    """Say which collections did not answer, and why."""
    return [f"{name!r} did not answer: {error}" for name, error in failures.items()]


def far_note(names: Sequence[str]) -> list[str]:
    """Say that these collections were only looked at."""
    every = ", ".join(map(repr, names))
    return [f"far from the question, so only their nearest chunks were looked at: {every}"] if names else []


def _total_found(answers: Sequence[Results], hits: Sequence[Hit], min_score: float) -> int:
    """Return how many chunks were found that score enough, all ``hits`` of ``answers`` being scored for that.

    Where one hit of a collection scores too little, so do those that it did not return.
    """
    enough = Counter(hit.collection for hit in hits if hit.score >= min_score)
    cut = {hit.collection for hit in hits if hit.score < min_score}
    return sum(enough[one.collection] if one.collection in cut else one.total_found for one in answers)


def _required(answers: Sequence[Results]) -> list[Results]:
    """Return ``answers``; where one has all required phrases, the others without their hits."""
    if not any(answer.required for answer in answers):
        return list(answers)
    return [
        one if one.required else replace(one, hits=(), total_found=0, notes=with_phrases(one.notes)) for one in answers
    ]


def _phrases_first(hits: Sequence[Hit]) -> list[Hit]:
    """Return ``hits``, best first, with those first that have more phrases, and scores that say so."""
    counts = np.array([len(hit.phrases) for hit in hits], np.int64)
    if not counts.any():
        return list(hits)
    scores = raised(np.array([hit.score for hit in hits], np.float32), counts)
    order = np.argsort(-counts, kind="stable")
    falling = np.minimum.accumulate(scores[order]).tolist()
    return [with_score(hits[place], score, "phrases") for place, score in zip(order.tolist(), falling, strict=True)]


def _merged(answers: Sequence[Results], known: CollectionModels, words: float) -> tuple[list[Hit], str, list[str]]:
    """Return all hits in one order, what it goes by, and what there is to say of that."""
    found = [answer for answer in answers if answer.hits]
    evidence = {answer.collection: _evidence(answer) for answer in found}
    models = {name: known.model_of(name) for name, kind in evidence.items() if "meaning" in kind}
    if len(set(evidence.values())) > 1 or len(set(models.values())) > 1:
        why = "their models are not the same" if len(set(evidence.values())) == 1 else _ways(evidence)
        note = f"hits are merged by their ranks, since scores do not compare: {why}"
        return _by_rank(found, _lost(found, known)), "rank", [note]
    kind = next(iter(evidence.values()), "ranks")
    if kind == "reranker":
        return _by_score(found, [0.0 for _ in found]), "score", []
    less = _lost(found, known)
    if kind == "words":
        found = _relative(found)
    elif kind != "ranks":
        found = _lowered(found, words)
    return _by_score(found, less), "score", []


def _by_score(answers: Sequence[Results], lost: Sequence[float]) -> list[Hit]:
    """Return all hits, best first; each answer's lose what it has ``lost``, a share of the best score."""
    best = max((hit.score for answer in answers for hit in answer.hits), default=0.0)
    scored = [
        (hit, hit.score - SCORE * less * best)
        for answer, less in zip(answers, lost, strict=True)
        for hit in answer.hits
    ]
    scored.sort(key=lambda one: -one[1])
    return [with_score(hit, max(0.0, score), "collections") if score != hit.score else hit for hit, score in scored]


def _lost(answers: Sequence[Results], known: CollectionModels) -> list[float]:
    """Return by how much each answer fits the question less than the best."""
    terms = known.terms([answer.collection for answer in answers], answers[0].query) if answers else None
    words = [[hit.words for hit in one.hits[:LOOKED_AT]] for one in answers]
    each = zip(words, answers, strict=True)
    found = [CollectionAnswer(best, one.answerable, _evidence(one) == "words") for best, one in each]
    return lost(found, terms) if found else []


def _evidence(answer: Results) -> Evidence:
    """Say what the scores of an answer with hits were made of."""
    scores = [hit.scores for hit in answer.hits]
    if any(score.rerank is not None for score in scores):
        return "reranker"
    if not any(score.cosine is not None for score in scores):
        return "words"
    if not any(score.bm25 is not None for score in scores):
        return "meaning"
    return "ranks" if answer.fusion == "rrf" else "words and meaning"


def _ways(evidence: Mapping[str, Evidence]) -> str:
    ways: dict[str, list[str]] = {}
    for name, kind in evidence.items():
        ways.setdefault(f"by {kind}", []).append(name)
    return ", ".join(f"{_listed(names)} {way}" for way, names in ways.items())


def _relative(answers: Sequence[Results]) -> list[Results]:
    """Return ``answers`` with scores relative to the best chunk of all, which were so to that of each collection."""
    best = [_best_bm25(answer) for answer in answers]
    most = max(best)
    shares = [one / most if most > 0 else 1.0 for one in best]
    return [
        replace(answer, hits=tuple(with_score(hit, hit.score * share, "collections") for hit in answer.hits))
        for answer, share in zip(answers, shares, strict=True)
    ]


def _lowered(answers: Sequence[Results], words: float) -> list[Results]:
    """Return ``answers`` with lower scores where words, or vectors, fit less than in the collection they fit best.

    ``words`` as in ``HitLimits``.
    """
    best, near = [_best_bm25(answer) for answer in answers], [_nearness(answer) for answer in answers]
    most, nearest = max(best), max(near)

    def lowered(hit: Hit, its_best: float, its_near: float) -> Hit:
        relative = (hit.scores.bm25 or 0.0) / its_best if its_best > 0 else 0.0
        lost = words * relative * (1 - its_best / most) if most > 0 else 0.0
        return with_score(hit, max(0.0, hit.score - lost - _FARTHER * (nearest - its_near)), "collections")

    return [
        replace(answer, hits=tuple(lowered(hit, its_best, its_near) for hit in answer.hits))
        for answer, its_best, its_near in zip(answers, best, near, strict=True)
    ]


def _best_bm25(answer: Results) -> float:
    return max(hit.scores.bm25 or 0.0 for hit in answer.hits)


def _nearness(answer: Results) -> float:
    """Return the mean cosine of the best chunks of an answer."""
    cosines = [hit.scores.cosine or 0.0 for hit in answer.hits[:_NEAREST]]
    return sum(cosines) / len(cosines)


def _by_rank(answers: Sequence[Results], lost: Sequence[float]) -> list[Hit]:
    """Return the first hits of all, then the second ones, those of a collection that fits less so many ranks behind.

    Of equal ranks the one that is surer by itself is first.
    """
    placed = [
        (rank + RANKS * less, hit)
        for answer, less in zip(answers, lost, strict=True)
        for rank, hit in enumerate(answer.hits)
    ]
    return [hit for _, hit in sorted(placed, key=lambda one: (one[0], -one[1].confidence))]


def _folded(hits: Sequence[Hit], wanted: HitLimits) -> list[Hit]:
    """Return ``hits`` without those of which a better one of another collection says all (``duplicates``).

    Those behind the ones that are wanted are compared with these only, so that many take no long time.
    """
    kept: list[tuple[Hit, TextComparison, list[Duplicate]]] = []
    for hit in hits:
        text = TextComparison(comparable(hit.text, hit, wanted.named))
        others = (one for one in kept[: wanted.most] if one[0].collection != hit.collection)
        better = next((one for one in others if one[1].says(text)), None)
        if better is not None:
            better[2].extend((_duplicate(hit), *hit.duplicates))
        else:
            kept.append((hit, text, []))
    return [changed(hit, duplicates=(*hit.duplicates, *more)) if more else hit for hit, _, more in kept]


def _duplicate(hit: Hit) -> Duplicate:
    place = {name: getattr(hit, name) for name in ("chunk_id", "document_id", "uri", "path", "start_line", "end_line")}
    return Duplicate(**place, score=hit.score, collection=hit.collection)


def _mode(answers: Sequence[Results]) -> SearchMode:
    modes = {answer.mode for answer in answers}
    return modes.pop() if len(modes) == 1 else "hybrid"


def _stages(answers: Sequence[Results]) -> list[Stage]:
    return [
        replace(stage, detail={"collection": answer.collection, **stage.detail})
        for answer in answers
        for stage in answer.trace.stages
    ]


def _degraded(answers: Sequence[Results], failures: Mapping[str, PinakesError]) -> str | None:
    told = [(answer.degraded, answer.collection) for answer in answers if answer.degraded]
    words = _told(told, len(answers) if not failures else 0)
    if failures:
        words.append(f"{_listed(list(failures))} did not answer")
    return "; ".join(words) or None


def _notes(answers: Sequence[Results]) -> list[str]:
    """Return the notes of all, but none on a word that some collection has, or on a filter that lets something pass."""
    lacked = [{lacked_word(note) for note in answer.notes} for answer in answers]
    nowhere = set.intersection(*lacked) if lacked else set[str]()
    passed = any(answer.total_candidates for answer in answers)
    told, words = list[tuple[str, str]](), set[str]()
    for answer in answers:
        for note in answer.notes:
            word = lacked_word(note)
            if not word and (answer.total_candidates or not (passed and note.startswith(DOUBT))):
                told.append((note, answer.collection))
            elif word in nowhere and word not in words:
                words.add(word)
                told += [(note, one.collection) for one in answers]
    return _told(told, len(answers))


def _told(words: Sequence[tuple[str, str]], of: int) -> list[str]:
    """Return (words, collection) pairs as sentences, each once: with the names, unless all ``of`` them say it."""
    by_words: dict[str, list[str]] = {}
    for one, name in words:
        by_words.setdefault(one, []).append(name)
    return [one if len(names) == of else f"{_listed(names)}: {one}" for one, names in by_words.items()]


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(repr(name) for name in names[:_MOST_NAMED])
    return shown if len(names) <= _MOST_NAMED else f"{shown} and {len(names) - _MOST_NAMED} more"


def _answerable(answers: Sequence[Results]) -> float | None:
    """Return how probable an answer is where it is most so; None where a collection that has hits cannot say."""
    known = [answer.answerable for answer in answers if answer.hits]
    told = [one for one in known if one is not None]
    return max(told) if told and len(told) == len(known) else None
