"""Explains in one sentence why a hit was found."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from pinakes.core.records import ConfidenceWord, Scores
from pinakes.core.wording import first_of
from pinakes.search.query.words import QueryWords

_MOST_NAMED = 8
"""The number of words of a long query that are listed as found, and as missing."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """What explains a hit: ``words``: query word → fields that have it; its scores, and its ranks by retriever.

    Ranks count from 1. ``asked``: retriever → number of chunks it ranked; a chunk outside has no rank. ``boosts``:
    signal → share by which it changed the score. ``phrases``: the query's phrases that the chunk has.
    """

    words: Mapping[str, Sequence[str]]
    scores: Scores
    ranks: Mapping[str, int]
    asked: Mapping[str, int]
    approximate: bool = False
    boosts: Mapping[str, float] = field(default_factory=dict)
    phrases: Sequence[str] = ()


def explained(evidence: Evidence, word: ConfidenceWord) -> str:
    """Return a sentence such as 'Good match: has "rotate" (heading, text), lacks "yearly"; 1st of 40 by words …'."""
    parts = [_words(evidence.words), *_retriever_parts(evidence)]
    if evidence.phrases:
        parts.insert(0, f"has the phrase {first_of([repr(one) for one in evidence.phrases], _MOST_NAMED)}")
    if evidence.boosts:
        parts.append("boosted by " + ", ".join(f"{name} {share:+.1%}" for name, share in evidence.boosts.items()))
    if evidence.scores.rerank is not None:
        parts.append(f"reranked {evidence.scores.rerank:.2f}")
    return f"{word.capitalize()} match: {'; '.join(part for part in parts if part)}."


def terms_by_field(query: QueryWords, there: Mapping[str, frozenset[str]]) -> dict[str, list[str]]:
    """Return query word → fields that have it; a compound is matched as a whole, or by all its parts."""
    return {
        word: [name for name, terms in there.items() if whole in terms or (parts and terms.issuperset(parts))]
        for word, (whole, *parts) in query.words.items()
    }


def _words(words: Mapping[str, Sequence[str]]) -> str:
    """Return which words of the query are in which fields."""
    found = first_of([f'"{word}" ({", ".join(where)})' for word, where in words.items() if where], _MOST_NAMED)
    lacking = first_of([f'"{word}"' for word, where in words.items() if not where], _MOST_NAMED)
    if not found:
        return "has none of the query's words" if lacking else ""
    return f"has {found}, lacks {lacking}" if lacking else f"has {found}"


def _retriever_parts(evidence: Evidence) -> list[str]:
    scores, about = evidence.scores, "~" if evidence.approximate else ""
    parts_by_retriever = {
        "keyword": ("by words", "" if scores.bm25 is None else f" (BM25 {scores.bm25:.1f})"),
        "vector": ("by meaning", "" if scores.cosine is None else f" (cosine {about}{scores.cosine:.2f})"),
    }
    return [
        f"{rank_words(evidence.ranks.get(retriever), evidence.asked[retriever])} {method}{score}"
        for retriever, (method, score) in parts_by_retriever.items()
        if retriever in evidence.asked
    ]


def rank_words(place: int | None, of: int) -> str:
    """Return a rank such as "3rd of 100", or that the chunk is not among the best."""
    if place is None:
        return f"not among the {of} best" if of else "nothing is found"
    return f"{ordinal(place)} of {of}"


def ordinal(number: int) -> str:
    """Return an ordinal such as "1st"."""
    if number % 100 in (11, 12, 13):
        return f"{number}th"
    return f"{number}{({1: 'st', 2: 'nd', 3: 'rd'}).get(number % 10, 'th')}"
