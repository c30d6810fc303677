"""Federated search: each collection answers a query by itself, and their hits are merged into one ranking.

Scores are merged if all answers were scored in the same way. The BM25 part, relative to the best chunk of its
collection, is rescaled to the best of all. Cosines compare if the models are the same; a collection whose best chunks
have a lower mean cosine than another's loses a share of the difference, since the best chunks of an unrelated
collection look good within it. If scores do not compare, hits are merged by rank. Hits with quoted phrases come first
from any collection, behind the best chunks of documents that the query names; if phrases are required and some
collection has them, the others contribute nothing.
"""

from __future__ import annotations

import time
import unicodedata
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias, TypeVar

import numpy as np

from pinakes.core.errors import InvalidInput, PinakesError
from pinakes.core.late import changed
from pinakes.core.records import JSON, Duplicate, Filter, Hit, Results, SearchMode, Stage, Trace
from pinakes.core.wording import first_of
from pinakes.search.defaults import allowed, versions_named
from pinakes.search.fitting import LOOKED_AT, RANKS, SCORE, CollectionAnswer, fit_penalties
from pinakes.search.query.request import check_least
from pinakes.search.query.spelling import lacked_word
from pinakes.search.ranking.duplicates import ComparedTexts, TextComparison, comparable
from pinakes.search.ranking.rank import too_low
from pinakes.search.retrieval.constraints import raised, with_phrases
from pinakes.search.retrieval.scoring import with_score
from pinakes.search.retrieval.term_statistics import TermStatistics
from pinakes.settings import SearchSettings

T = TypeVar("T")

EVERY = "*"
"""Stands for all collections. No collection can have this name, and no name contains a comma."""

_MOST_COLLECTIONS = 1000
_MOST_NAMED = 3
_NEAREST = 5
_FARTHER = 0.5
"""The share of the gap in mean cosine of the best chunks (to the nearest collection) that a collection's scores lose.
Measured on five question sets, in pairs, all together, and each split in two: 0.25 to 0.75 hardly differ; mean nDCG@10
over all together is 0.671 without the loss and 0.681 with it."""

Evidence: TypeAlias = Literal["reranker", "words", "meaning", "words and meaning", "ranks"]


@dataclass(frozen=True, slots=True)
class CollectionModels:
    """What is known about collections besides their answers. ``model_of``: collection → fingerprint of its model.

    ``far``: names → those far from the question. ``terms``: (names, query) → statistics of the query's terms in each of
    these collections, None if unknown.
    """

    model_of: Callable[[str], str]
    far: Callable[[Sequence[str]], Sequence[str]] = lambda _: ()
    terms: Callable[[Sequence[str], str], Sequence[TermStatistics | None]] = lambda names, _: [None] * len(names)


@dataclass(frozen=True, slots=True)
class HitLimits:
    """The limits for hits of all collections together: at most ``most``, each with at least ``min_score``.

    ``fold``: return a chunk that several collections have once, naming the other places; texts of different versions
    and dates in ``named`` are not folded. ``words``: share of a hybrid score, 0 to 1, that the best chunk by BM25 gets
    from BM25.
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
        """Return the limits for a search with these ``settings``.

        Raises:
            InvalidInput: ``top_k`` is above ``search.max_top_k``.
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
        """Return the limits as ``from_settings`` does, followed by ``of_each`` for so many collections."""
        wanted = cls.from_settings(settings, query, filters, top_k, min_score)
        return wanted, *wanted.of_each(collections, settings.max_top_k)

    def of_each(self, collections: int, limit: int) -> tuple[int, float]:
        """Return how many hits, with what minimum score, to request from each of so many collections.

        From several, enough to compute their mean cosine, up to ``limit``; merging changes scores, so the minimum is 0.
        """
        if collections == 1 or self.most < 1:
            return self.most, self.min_score
        return max(self.most, min(_NEAREST, limit)), 0.0


def named(wanted: str | Sequence[str], everything: Callable[[], Sequence[str]]) -> list[str]:
    """Return the names in ``wanted``, each once: a sequence, or a string with commas; "*" means ``everything``.

    Raises:
        InvalidInput: it has no name, or too many.
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
    """Return one answer from the collections ``names``, each answered by ``ask``; a single answer is unchanged.

    Collections that are ``far`` from the question are asked only if the others do not give enough hits. ``notes`` and
    ``degraded`` name a collection that failed; the others still answer.

    Raises:
        InvalidInput: the question is invalid.
        PinakesError: no collection answered; the error is that of the first one.
    """
    if len(names) == 1:
        return ask(names[0])
    start = time.perf_counter()
    answers, failures, far = near_first(names, known.far(names), ask, lambda found: _is_enough(found, wanted))
    merging = time.perf_counter()
    answers = _required(answers)
    hits, by, notes = _merged(answers, known, wanted.words)
    if not any(answer.required for answer in answers):
        hits = _first(hits, [len(hit.phrases) for hit in hits], "phrases")
    best = _best_of_named(answers)
    hits = _first(hits, [(hit.collection, hit.chunk_id) in best for hit in hits], "named")
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
            *_notes(answers, enough[: wanted.most]),
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
    """Return whether any single answer has enough hits; hits of several answers may be duplicates."""
    return any(sum(hit.score >= wanted.min_score for hit in one.hits) >= wanted.most for one in answers)


def near_first(
    names: Sequence[str], far: Sequence[str], ask: Callable[[str], T], is_enough: Callable[[Sequence[T]], bool]
) -> tuple[list[T], dict[str, PinakesError], Sequence[str]]:
    """Return the answers of collections, the errors of those that failed, and which ``far`` ones were not asked.

    The far ones are asked only if the answers of the others are not ``is_enough``.

    Raises:
        InvalidInput: the question is invalid.
        PinakesError: no collection answered; the error is that of the first one.
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
    """Return notes on which collections did not answer, and why."""
    return [f"{name!r} did not answer: {error}" for name, error in failures.items()]


def far_note(names: Sequence[str]) -> list[str]:
    """Return the note that only the nearest chunks of these collections were searched."""
    every = ", ".join(map(repr, names))
    return [f"far from the question, so only their nearest chunks were looked at: {every}"] if names else []


def _total_found(answers: Sequence[Results], hits: Sequence[Hit], min_score: float) -> int:
    """Return how many chunks reach ``min_score``, given the merged ``hits`` of ``answers`` with their new scores.

    If a hit of a collection scores below it, so do all chunks that the collection did not return.
    """
    enough = Counter(hit.collection for hit in hits if hit.score >= min_score)
    cut = {hit.collection for hit in hits if hit.score < min_score}
    return sum(enough[one.collection] if one.collection in cut else one.total_found for one in answers)


def _required(answers: Sequence[Results]) -> list[Results]:
    """Return ``answers``; if any has all required phrases, the others lose their hits."""
    if not any(answer.required for answer in answers):
        return list(answers)
    return [
        one if one.required else replace(one, hits=(), total_found=0, notes=with_phrases(one.notes)) for one in answers
    ]


def _best_of_named(answers: Sequence[Results]) -> set[tuple[str, str]]:
    """Return collection and chunk id of the best chunk of each document that the query names."""
    best = dict[tuple[str, str], str]()
    for hit in (hit for answer in answers for hit in answer.hits if hit.named):
        best.setdefault((hit.collection, hit.document_id), hit.chunk_id)
    return {(collection, chunk) for (collection, _), chunk in best.items()}


def _first(hits: Sequence[Hit], each: Sequence[int], part: str) -> list[Hit]:
    """Return ``hits``, given best first, sorted by the numbers in ``each``; ``part`` of the score is what that adds."""
    counts = np.array(each, np.int64)
    if not counts.any():
        return list(hits)
    scores = raised(np.array([hit.score for hit in hits], np.float32), counts)
    order = np.argsort(-counts, kind="stable")
    falling = np.minimum.accumulate(scores[order]).tolist()
    return [with_score(hits[place], score, part) for place, score in zip(order.tolist(), falling, strict=True)]


def _merged(answers: Sequence[Results], known: CollectionModels, words: float) -> tuple[list[Hit], str, list[str]]:
    """Return all hits in one order, the fusion it is based on, and notes on it."""
    found = [answer for answer in answers if answer.hits]
    if len(found) <= 1:
        return [hit for answer in found for hit in answer.hits], "score", []
    evidence = {answer.collection: _evidence(answer) for answer in found}
    models = {name: known.model_of(name) for name, kind in evidence.items() if "meaning" in kind}
    if len(set(evidence.values())) > 1 or len(set(models.values())) > 1:
        why = "their models are not the same" if len(set(evidence.values())) == 1 else _evidence_by_collection(evidence)
        note = f"hits are merged by their ranks, since scores do not compare: {why}"
        return _by_rank(found, _penalties(found, known)), "rank", [note]
    kind = next(iter(evidence.values()), "ranks")
    if kind == "reranker":
        return _by_score(found, [0.0 for _ in found]), "score", []
    less = _penalties(found, known)
    if kind == "words":
        found = _rescaled(found)
    elif kind != "ranks":
        found = _with_penalties(found, words)
    return _by_score(found, less), "score", []


def _by_score(answers: Sequence[Results], penalties: Sequence[float]) -> list[Hit]:
    """Return all hits by score; each answer loses its share of ``penalties`` of the best score."""
    best = max((hit.score for answer in answers for hit in answer.hits), default=0.0)
    scored = [
        (hit, hit.score - SCORE * less * best)
        for answer, less in zip(answers, penalties, strict=True)
        for hit in answer.hits
    ]
    scored.sort(key=lambda one: -one[1])
    return [with_score(hit, max(0.0, score), "collections") if score != hit.score else hit for hit, score in scored]


def _penalties(answers: Sequence[Results], known: CollectionModels) -> list[float]:
    """Return how much less each answer fits the question than the best one."""
    terms = known.terms([answer.collection for answer in answers], answers[0].query)
    words = [[hit.words for hit in one.hits[:LOOKED_AT]] for one in answers]
    each = zip(words, answers, strict=True)
    found = [CollectionAnswer(best, one.answerable, _evidence(one) == "words") for best, one in each]
    return fit_penalties(found, terms) if found else []


def _evidence(answer: Results) -> Evidence:
    """Return what the scores of an answer with hits are made of."""
    scores = [hit.scores for hit in answer.hits]
    if any(score.rerank is not None for score in scores):
        return "reranker"
    if not any(score.cosine is not None for score in scores):
        return "words"
    if not any(score.bm25 is not None for score in scores):
        return "meaning"
    return "ranks" if answer.fusion == "rrf" else "words and meaning"


def _evidence_by_collection(evidence: Mapping[str, Evidence]) -> str:
    ways: dict[str, list[str]] = {}
    for name, kind in evidence.items():
        ways.setdefault(f"by {kind}", []).append(name)
    return ", ".join(f"{_listed(names)} {way}" for way, names in ways.items())


def _rescaled(answers: Sequence[Results]) -> list[Results]:
    """Return ``answers`` with scores relative to the best chunk of all instead of the best of each collection."""
    best = [_best_bm25(answer) for answer in answers]
    most = max(best)
    shares = [one / most if most > 0 else 1.0 for one in best]
    return [
        replace(answer, hits=tuple(with_score(hit, hit.score * share, "collections") for hit in answer.hits))
        for answer, share in zip(answers, shares, strict=True)
    ]


def _with_penalties(answers: Sequence[Results], words: float) -> list[Results]:
    """Return ``answers`` with lower scores for collections whose BM25 or cosines are below those of the best one.

    ``words``: see ``HitLimits``.
    """
    best, near = [_best_bm25(answer) for answer in answers], [_nearness(answer) for answer in answers]
    most, nearest = max(best), max(near)

    def lowered(hit: Hit, own_best: float, own_nearness: float) -> Hit:
        relative = (hit.scores.bm25 or 0.0) / own_best if own_best > 0 else 0.0
        penalty = words * relative * (1 - own_best / most) if most > 0 else 0.0
        return with_score(hit, max(0.0, hit.score - penalty - _FARTHER * (nearest - own_nearness)), "collections")

    return [
        replace(answer, hits=tuple(lowered(hit, own_best, own_nearness) for hit in answer.hits))
        for answer, own_best, own_nearness in zip(answers, best, near, strict=True)
    ]


def _best_bm25(answer: Results) -> float:
    return max(hit.scores.bm25 or 0.0 for hit in answer.hits)


def _nearness(answer: Results) -> float:
    """Return the mean cosine of the best chunks of an answer."""
    cosines = [hit.scores.cosine or 0.0 for hit in answer.hits[:_NEAREST]]
    return sum(cosines) / len(cosines)


def _by_rank(answers: Sequence[Results], penalties: Sequence[float]) -> list[Hit]:
    """Return the first hit of each answer, then the second ones, and so on; ``penalties`` lower a worse fit in rank.

    Ties go to the hit with the higher confidence.
    """
    placed = [
        (rank + RANKS * less, hit)
        for answer, less in zip(answers, penalties, strict=True)
        for rank, hit in enumerate(answer.hits)
    ]
    return [hit for _, hit in sorted(placed, key=lambda one: (one[0], -one[1].confidence))]


def _folded(hits: Sequence[Hit], wanted: HitLimits) -> list[Hit]:
    """Return ``hits`` without those that a better hit of another collection repeats; that hit lists ``duplicates``.

    Hits beyond the requested number are compared only with the requested ones, which bounds the time.
    """
    if len({hit.collection for hit in hits}) <= 1:
        return list(hits)
    kept: list[tuple[Hit, list[Duplicate]]] = []
    compared = ComparedTexts()
    for hit in hits:
        text = TextComparison(comparable(hit.text, hit, wanted.named))
        others = (kept[one] for one in compared.saying(text))
        better = next((more for one, more in others if one.collection != hit.collection), None)
        if better is not None:
            better.extend((_duplicate(hit), *hit.duplicates))
            continue
        if len(kept) < wanted.most:
            compared.add(text)
        kept.append((hit, []))
    return [changed(hit, duplicates=(*hit.duplicates, *more)) if more else hit for hit, more in kept]


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
    texts = [(answer.degraded, answer.collection) for answer in answers if answer.degraded]
    words = _grouped_by_text(texts, len(answers) if not failures else 0)
    if failures:
        words.append(f"{_listed(list(failures))} did not answer")
    return "; ".join(words) or None


def _notes(answers: Sequence[Results], hits: Sequence[Hit]) -> list[str]:
    """Return the merged notes, without those on a word or filter that matches in some other collection.

    Which documents are named, of all that were found, is said of those in ``hits``.
    """
    from pinakes.catalog.filter_notes import doubted, still_doubted
    from pinakes.search.query.named_documents import is_names_note, names_notes

    lacked = [{lacked_word(note) for note in answer.notes} for answer in answers]
    nowhere = set.intersection(*lacked) if lacked else set[str]()
    with_some = [answer for answer in answers if answer.total_candidates]
    each = [doubted(answer.notes) for answer in with_some]
    in_doubt = set.intersection(*each) if each else doubted(note for answer in answers for note in answer.notes)
    texts, words = list[tuple[str, str]](), set[str]()
    for answer in answers:
        for note in answer.notes:
            word = lacked_word(note)
            if is_names_note(note):
                continue
            if not word and (kept := still_doubted(note, in_doubt)):
                texts.append((kept, answer.collection))
            elif word and word in nowhere and word not in words:
                words.add(word)
                texts += [(note, one.collection) for one in answers]
    return [*names_notes(hit.named for hit in hits), *_grouped_by_text(texts, len(answers))]


def _grouped_by_text(words: Sequence[tuple[str, str]], of: int) -> list[str]:
    """Return (text, collection) pairs as sentences, each once, naming the collections unless all ``of`` them agree."""
    by_words: dict[str, list[str]] = {}
    for one, name in words:
        by_words.setdefault(one, []).append(name)
    return [one if len(names) == of else f"{_listed(names)}: {one}" for one, names in by_words.items()]


def _listed(names: Sequence[str]) -> str:
    return first_of([repr(name) for name in names], _MOST_NAMED)


def _answerable(answers: Sequence[Results]) -> float | None:
    """Return the highest probability of an answer; None if any collection with hits has none."""
    known = [answer.answerable for answer in answers if answer.hits]
    texts = [one for one in known if one is not None]
    return max(texts) if texts and len(texts) == len(known) else None
