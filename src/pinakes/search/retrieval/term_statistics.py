"""The IDF of a query's words in a collection, and the highest BM25 that a chunk could reach."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from pinakes.core.ports import Index, Lexicon, lexicon_of
from pinakes.search.query.words import QueryWords, query_words

_CEILING = 2.2
"""Upper bound of a term's BM25 divided by its IDF: k1 + 1, with k1 = 1.2."""


@dataclass(frozen=True)
class TermStatistics:
    """Document frequencies of a query's words (``counts``) among ``documents``. There is at least one word."""

    words: QueryWords
    documents: int
    counts: Mapping[str, int]

    @classmethod
    def from_query(cls, query: str, index: Index) -> TermStatistics | None:
        """Return the statistics; None if the query has no words, or the index has no document frequencies."""
        words = query_words(query)
        lexicon = lexicon_of(index) if words.words else None
        if lexicon is None:
            return None
        every = lexicon.documents()
        counts = {word: min(_count(terms, lexicon), every) for word, terms in words.words.items()}
        return cls(words, every, counts)

    @classmethod
    def together(cls, every: Sequence[TermStatistics]) -> TermStatistics:
        """Return the statistics of one query over several collections together."""
        counts = {word: sum(one.counts[word] for one in every) for word in every[0].counts}
        return cls(every[0].words, sum(one.documents for one in every), counts)

    @cached_property
    def idf(self) -> dict[str, float]:
        """Word → IDF."""
        return {
            word: math.log(1 + (self.documents - count + 0.5) / (count + 0.5)) for word, count in self.counts.items()
        }

    def of_words(self, words: Collection[str]) -> float:
        """Return the summed IDF of ``words``."""
        return sum(idf for word, idf in self.idf.items() if word in words)

    @property
    def attainable(self) -> float:
        """Return an upper bound of BM25 with document IDF; a chunk's BM25 uses chunk IDF and may exceed it."""
        return _CEILING * sum(idf * self.words.counts.get(word, 1) for word, idf in self.idf.items())

    def missing(self, there: frozenset[str]) -> float:
        """Return the largest IDF of a word that is not ``there``, as a share of the sum over all words.

        A compound is there as a whole, or by all of its parts.
        """
        lacking = [
            self.idf[word]
            for word, (whole, *parts) in self.words.words.items()
            if not (whole in there or (parts and there.issuperset(parts)))
        ]
        return max(lacking, default=0.0) / sum(self.idf.values())


def _count(terms: Sequence[str], lexicon: Lexicon) -> int:
    """Return the document frequency of a word; that of its rarest part for a compound that never occurs as a whole."""
    whole, *parts = terms
    return lexicon.frequency(whole) or min((lexicon.frequency(part) for part in parts), default=0)
