"""Constraints from phrases and excluded words: which chunks may be ranked, and which rank first."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from itertools import pairwise
from typing import TypeVar

import numpy as np

from pinakes.core.ports import Index, KeywordQuery, VectorQuery
from pinakes.core.records import Bool, Float32, Int64, Ranking
from pinakes.search.query.syntax import preferred_note, quoted, required_note
from pinakes.search.query.understanding import ParsedRequest

Query = TypeVar("Query", KeywordQuery, VectorQuery)

NO_CHUNK = "no chunk"
"""The beginning of the notes on phrases that no chunk has."""

_EVERY = 2**31 - 1
_FEW = 2000
"""Up to this many allowed chunks are all ranked; above, rankings are filtered until enough chunks are allowed."""

_NOTHING = Ranking(np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0, np.float32))


@dataclass(frozen=True, slots=True)
class Constraints:
    """``required``: ids, one of which each chunk must have; None: any. ``excluded``: excluded chunk ids. Both sorted.

    ``having``: which chunks have which phrases. ``first``: chunks with preferred phrases, which are always candidates.
    ``is_all`` False: too many chunks have phrases, so ``split`` takes those among the best.
    """

    required: Int64 | None = None
    excluded: Int64 | None = None
    having: PhraseMatches = field(default_factory=lambda: PhraseMatches({}))
    first: Ranking = _NOTHING
    is_all: bool = True

    def best(self, ask: Callable[[Sequence[Query]], Sequence[Ranking]], queries: Sequence[Query]) -> list[Ranking]:
        """Return for each query the best allowed chunks that ``ask`` ranks, up to the query's limit."""
        if self.required is None and self.excluded is None:
            return list(ask(queries))
        if self.required is not None and len(self.required) <= _FEW:
            return list(ask([replace(query, among=self.required) for query in queries]))
        return [self._allowed_of(ask, query) for query in queries]

    def _allowed_of(self, ask: Callable[[Sequence[Query]], Sequence[Ranking]], query: Query) -> Ranking:
        most = 2 * query.limit
        while True:
            [found] = ask([replace(query, limit=most)])
            kept = np.flatnonzero(self._allow(found.ids))[: query.limit]
            if len(kept) == query.limit or len(found) < most:
                return _rows(found, kept)
            most *= 4

    def asked_for(self, limit: int) -> int:
        """Return how many chunks to request from a retriever, so that ``split`` can return ``limit``."""
        return limit if self.is_all else max(limit, MOST_ADDED)

    def split(self, found: Ranking, limit: int) -> tuple[Ranking, Ranking]:
        """Return the best ``limit`` chunks, and the best with preferred phrases unless ``first`` has all of these."""
        if self.is_all:
            return found, _NOTHING
        there = np.flatnonzero(self.having.matrix(found.ids).any(axis=1))[:limit]
        return _rows(found, np.arange(min(limit, len(found)))), _rows(found, there)

    def phrases(self, ids: Int64) -> Phrases | None:
        """Return which phrases the candidates ``ids`` have; None if the query has no phrases."""
        if not self.having.ids:
            return None
        return Phrases(tuple(self.having.ids), self.having.matrix(ids), self.required is not None)

    def _allow(self, ids: Int64) -> Bool:
        if self.required is not None:
            return np.isin(ids, self.required)
        assert self.excluded is not None
        return np.isin(ids, self.excluded, invert=True)


def constrained(asked: ParsedRequest, index: Index) -> tuple[ParsedRequest, Constraints]:
    """Look up the phrases and excluded words of ``asked``. Return the resulting request and constraints.

    If no chunk has all required phrases, they become preferred; notes say so, and list phrases that no chunk has.
    """
    excluded, wanted = list(dict.fromkeys(asked.excluded)), list(dict.fromkeys(asked.phrases or asked.preferred))
    if not (excluded or wanted):
        return asked, Constraints()
    where = asked.request.where
    rankings = index.keyword(*(KeywordQuery(words, _EVERY, where, None, "phrases") for words in (*excluded, *wanted)))
    without = [ranking.ids for ranking in rankings[: len(excluded)]]
    excluded_ids = np.unique(np.concatenate(without)) if without else None
    found = dict(zip(wanted, rankings[len(excluded) :], strict=True))
    if not found:
        return asked, Constraints(excluded=excluded_ids)
    having = PhraseMatches({phrase: _allowed(ranking.ids, excluded_ids) for phrase, ranking in found.items()})
    if asked.phrases:
        required = reduce(lambda one, other: np.intersect1d(one, other, assume_unique=True), having.ids.values())
        if len(required):
            return asked, Constraints(required, having=having)
    first, is_all = with_phrase_matches(list(found.values()), excluded_ids)
    return _preferring(asked, having), Constraints(None, excluded_ids, having, first, is_all)


def _preferring(asked: ParsedRequest, having: PhraseMatches) -> ParsedRequest:
    """Return ``asked`` with its phrases preferred, and with notes on which of them some chunk has."""
    there = [phrase for phrase, ids in having.ids.items() if len(ids)]
    nowhere = [phrase for phrase, ids in having.ids.items() if not len(ids)]
    passing = f"{NO_CHUNK} that passes the filters" if asked.request.where else NO_CHUNK
    notes = []
    if asked.phrases and not nowhere:
        notes.append(f"{passing} has all of {quoted(there)} together: they are not required")
    notes += [preferred_note(there)] if there else []
    if nowhere:
        instead = "" if there else ": the answer is that of the words without quotation marks"
        notes.append(f"{passing} has {quoted(nowhere, 'or')}{instead}")
    before = {required_note(asked.phrases), preferred_note(asked.preferred)}
    others = tuple(note for note in asked.notes if note not in before)
    return replace(asked, phrases=(), preferred=tuple(having.ids), notes=(*notes, *others))


def with_phrases(notes: Sequence[str]) -> tuple[str, ...]:
    """Return ``notes`` of a collection without those on phrases it lacks, for when another collection has them."""
    return tuple(note for note in notes if not note.startswith(NO_CHUNK))


def _allowed(ids: Int64, excluded_ids: Int64 | None) -> Int64:
    ids = np.sort(ids)
    return ids if excluded_ids is None else np.setdiff1d(ids, excluded_ids, assume_unique=True)


def _rows(found: Ranking, rows: Int64) -> Ranking:
    exact = None if found.exact is None else found.exact[rows]
    return Ranking(found.ids[rows], found.documents[rows], found.scores[rows], exact)


MOST_ADDED = 2000
"""The maximum number of candidates added because they have phrases."""

_CEILING = 0.99
"""The base to which scores of chunks with phrases are raised is capped here, so that they still differ."""


@dataclass(frozen=True, slots=True)
class PhraseMatches:
    """The chunks that have each phrase of a query: phrase → chunk ids, int64, sorted."""

    ids: Mapping[str, Int64]

    def matrix(self, ids: Int64) -> Bool:
        """Return bool (n, phrases): which of the chunks ``ids`` int64 (n,) have which phrase."""
        if not self.ids:
            return np.zeros((len(ids), 0), np.bool_)
        return np.stack([np.isin(ids, those) for those in self.ids.values()], axis=1)


@dataclass(frozen=True, slots=True)
class Phrases:
    """The ``phrases`` of a query, and ``there`` bool (n, phrases): which of n candidates have which.

    ``required``: all candidates have all phrases, so phrases do not affect the order.
    """

    phrases: tuple[str, ...]
    there: Bool
    required: bool = False

    def counts(self) -> Int64:
        """Return int64 (n,): the number of phrases each candidate has; all 0 if phrases do not affect the order."""
        if self.required:
            return np.zeros(len(self.there), np.int64)
        counts: Int64 = np.count_nonzero(self.there, axis=1).astype(np.int64)
        return counts

    def phrases_in(self, row: int) -> tuple[str, ...]:
        """Return the phrases that the candidate in this row has."""
        return tuple(phrase for phrase, there in zip(self.phrases, self.there[row].tolist(), strict=True) if there)


def raised(scores: Float32, counts: Int64) -> Float32:
    """Return scores (n,), 0 to 1, that rank chunks with more phrases before those with fewer.

    ``counts``: int64 (n,), the number of phrases of each. Chunks with the fewest keep their scores. The others get
    best + (1 - best) * score, where best is the highest score among chunks with fewer phrases.
    """
    found = np.clip(scores, 0, 1).astype(np.float64)
    levels = np.unique(counts)
    for fewer, more in pairwise(levels.tolist()):
        best = min(float(found[counts == fewer].max()), _CEILING)
        found[counts == more] = best + (1 - best) * found[counts == more]
    return found.astype(np.float32)


def with_phrase_matches(rankings: Sequence[Ranking], excluded: Int64 | None) -> tuple[Ranking, bool]:
    """Return chunks of ``rankings`` (one per phrase), those with the most phrases, and whether these are all.

    At most ``MOST_ADDED``; all or none of the chunks with an equal number of phrases; none of ``excluded``.
    """
    ids = np.concatenate([one.ids for one in rankings])
    owners = np.concatenate([one.documents for one in rankings])
    ids, first, counts = np.unique(ids, return_index=True, return_counts=True)
    owners = owners[first]
    if excluded is not None:
        allowed = np.isin(ids, excluded, invert=True)
        ids, owners, counts = ids[allowed], owners[allowed], counts[allowed]
    level = next((one for one in np.unique(counts) if np.count_nonzero(counts >= one) <= MOST_ADDED), len(rankings) + 1)
    kept = counts >= level
    return Ranking(ids[kept], owners[kept], np.zeros(np.count_nonzero(kept), np.float32)), bool(kept.all())
