"""The documents that several collections found, in one order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from pinakes.catalog.collections import CollectionRecord
from pinakes.search.documents import FoundDocument, in_order, named_first
from pinakes.search.fitting import LOOKED_AT, RANKS, SCORE, CollectionAnswer, fit_penalties
from pinakes.search.query.words import query_words
from pinakes.search.results.chunk_texts import ChunkTexts
from pinakes.search.results.explanation import terms_by_field
from pinakes.search.retrieval.scoring import plus
from pinakes.search.retrieval.term_statistics import TermStatistics


@dataclass(frozen=True, slots=True)
class CollectionDocuments:
    """What one collection says, not yet looked up; ``required``: the quoted phrases that all it found has."""

    record: CollectionRecord
    found: Sequence[FoundDocument]
    total: int
    degraded: str | None = None
    notes: tuple[str, ...] = ()
    required: tuple[str, ...] = ()

    @property
    def by_words(self) -> bool:
        """Whether no chunk was found by meaning."""
        return all(one.cosine is None for one in self.found)


def merge_collections(
    answers: Sequence[CollectionDocuments], chunks: ChunkTexts, terms: Sequence[TermStatistics | None]
) -> list[FoundDocument]:
    """Return the documents of all collections: by score, or by rank where these do not compare.

    Those of a collection that fits the question less lose by that (``fitting``). ``terms``: one for each of
    ``answers``.
    """
    found = [answer for answer in answers if answer.found]
    if len(found) < 2:
        return in_order([one for answer in found for one in answer.found])
    theirs = [one for one, answer in zip(terms, answers, strict=True) if answer.found]
    behind = fit_penalties([_answered(answer, chunks) for answer in found], theirs)
    if len({(answer.record.fingerprint, answer.by_words) for answer in found}) == 1:
        best = max(one.score for answer in found for one in answer.found)
        scored = zip(found, behind, strict=True)
        lowered = in_order([_less(one, SCORE * less * best) for answer, less in scored for one in answer.found])
        return [_less(one, min(0.0, one.score)) for one in lowered]
    ranked = [
        (rank + RANKS * less, one)
        for answer, less in zip(found, behind, strict=True)
        for rank, one in enumerate(in_order(answer.found))
    ]
    ranked.sort(key=lambda pair: (-pair[1].phrases, pair[0], -pair[1].score))
    return named_first([one for _, one in ranked])


def _answered(answer: CollectionDocuments, chunks: ChunkTexts) -> CollectionAnswer:
    best = [one.chunk_id for one in in_order(answer.found)[:LOOKED_AT] if one.chunk_id is not None]
    query = query_words(chunks.query)
    words = [{word for word, where in terms_by_field(query, there).items() if where} for there in chunks.terms(best)]
    return CollectionAnswer(words, None, answer.by_words)


def _less(one: FoundDocument, penalty: float) -> FoundDocument:
    if not penalty:
        return one
    parts = plus(one.parts, "collections", -penalty) if one.parts else {}
    return replace(one, score=one.score - penalty, parts=parts)
