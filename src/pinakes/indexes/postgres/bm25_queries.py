"""Queries as the keyword engines build them, evaluated over segments: BM25 (k1 1.2, b 0.75), phrases, best forms.

BM25 as in Tantivy: idf(t) · tf · (k1 + 1) / (tf + k1 · (1 - b + b · length / average length)), with
idf(t) = ln(1 + (n - df + 0.5) / (df + 0.5)). A score of 0 means that a text does not match.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any, Protocol, TypeAlias

import numpy as np
import tantivy

from pinakes.core.records import Float32
from pinakes.indexes.postgres.segments import MEASURED, MOST_TEXTS, Postings, Segment

_K1, _B = 1.2, 0.75


class Statistics(Protocol):
    """What a score needs of all texts of a kind: how many there are, and which a term stands in."""

    num_docs: int

    def doc_freq(self, field: str, term: str) -> int:
        """Return how many texts have a term."""
        ...

    def average(self, field: str) -> float:
        """Return the average length of a field."""
        ...

    def postings(self, segment: Segment, field: str, term: str, *, positions: bool = False) -> Postings | None:
        """Return where a term stands in a segment, None where it does not."""
        ...


Query: TypeAlias = Callable[[Statistics, Segment], Float32]
"""Gives the score of each text of a segment, float32 (n,)."""


class Queries:
    """Makes queries, by the names of the functions of Tantivy's."""

    @staticmethod
    def term_query(_schema: Any, field: str, term: str, _option: str = "") -> Query:
        def score(texts: Statistics, segment: Segment) -> Float32:
            found = _nothing(segment)
            one = texts.postings(segment, field, term)
            if one is not None:
                rarity = _idf(texts.num_docs, texts.doc_freq(field, term))
                found[one.places] = rarity * _saturated(texts, segment, field, one.places, one.times)
            return found

        return score

    @staticmethod
    def phrase_query(_schema: Any, field: str, terms: Sequence[str]) -> Query:
        def score(texts: Statistics, segment: Segment) -> Float32:
            found = _nothing(segment)
            starts: Any = None
            for place, term in enumerate(terms):
                one = texts.postings(segment, field, term, positions=True)
                if one is None or one.positions is None:
                    return found
                at = np.repeat(one.places.astype(np.int64), one.times) * 2 * MOST_TEXTS + one.positions - place
                starts = at if starts is None else np.intersect1d(starts, at, assume_unique=True)
                if not len(starts):
                    return found
            places, times = np.unique((starts + MOST_TEXTS) // (2 * MOST_TEXTS), return_counts=True)
            rarity = sum(_idf(texts.num_docs, texts.doc_freq(field, term)) for term in terms)
            found[places] = rarity * _saturated(texts, segment, field, places, times)
            return found

        return score

    @staticmethod
    def boost_query(query: Query, boost: float) -> Query:
        return lambda texts, segment: query(texts, segment) * np.float32(boost)

    @staticmethod
    def const_score_query(query: Query, score: float) -> Query:
        return lambda texts, segment: np.where(query(texts, segment) > 0, np.float32(score), np.float32(0))

    @staticmethod
    def disjunction_max_query(queries: Sequence[Query]) -> Query:
        return lambda texts, segment: reduce(np.maximum, [one(texts, segment) for one in queries])

    @staticmethod
    def boolean_query(clauses: Sequence[tuple[Any, Query]]) -> Query:
        def score(texts: Statistics, segment: Segment) -> Float32:
            found, may = _nothing(segment), np.ones(len(segment), np.bool_)
            for occurs, query in clauses:
                one = query(texts, segment)
                if occurs == tantivy.Occur.MustNot:
                    may &= one <= 0
                    continue
                if occurs == tantivy.Occur.Must:
                    may &= one > 0
                found += one
            return found if may.all() else np.where(may, found, np.float32(0))

        return score


def _nothing(segment: Segment) -> Float32:
    return np.zeros(len(segment), np.float32)


def _idf(count: int, having: int) -> float:
    return math.log(1 + (count - having + 0.5) / (having + 0.5)) if having <= count else 0.0


def _saturated(texts: Statistics, segment: Segment, field: str, places: Any, times: Any) -> Any:
    if field not in MEASURED:  # it only says whether a term is there
        return np.ones(len(places), np.float32)
    often = times.astype(np.float32)
    norm = _K1 * (1 - _B + _B / max(texts.average(field), 1e-9) * segment.rows[field][places])
    return often * np.float32(_K1 + 1) / (often + norm.astype(np.float32))
