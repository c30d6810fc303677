"""How rare the words of a query are in a collection, and about what a passage could score for them at most."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pinakes.ports import Index, Lexical, Lexicon
from pinakes.search.excerpts import Asked, asked

_CEILING = 2.2
"""BM25 of a term in units of its IDF is less than this: k1 + 1, with k1 = 1.2."""


@dataclass(frozen=True, slots=True)
class Rarity:
    """``idf``: the weight of each word of a query, by how many documents have it. There is at least one word."""

    words: Asked
    idf: Mapping[str, float]

    @classmethod
    def of(cls, query: str, index: Index) -> Rarity | None:
        """Return it; None where the query has no words, or the index cannot tell how rare they are."""
        words = asked(query)
        if not words.words or not isinstance(index, Lexical):
            return None
        lexicon = index.lexicon()
        every = lexicon.documents()
        counts = {word: min(_count(terms, lexicon), every) for word, terms in words.words.items()}
        return cls(words, {word: math.log(1 + (every - count + 0.5) / (count + 0.5)) for word, count in counts.items()})

    @property
    def attainable(self) -> float:
        """What BM25 could be at most if passages were as rare as documents are; that of a passage may exceed it."""
        return _CEILING * sum(idf * self.words.counts.get(word, 1) for word, idf in self.idf.items())

    def missing(self, there: frozenset[str]) -> float:
        """Return the largest weight of a word that is not ``there``, as a share of all.

        A compound is there as a whole or by all of its parts.
        """
        lacking = [
            self.idf[word]
            for word, (whole, *parts) in self.words.words.items()
            if not (whole in there or (parts and there.issuperset(parts)))
        ]
        return max(lacking, default=0.0) / sum(self.idf.values())


def _count(terms: Sequence[str], lexicon: Lexicon) -> int:
    """Return in how many documents a word of these terms stands; of a compound nobody wrote, its rarest part."""
    whole, *parts = terms
    return lexicon.frequency(whole) or min((lexicon.frequency(part) for part in parts), default=0)
