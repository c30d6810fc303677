"""BM25 as sparse vectors: terms of chunks, documents and questions as dimensions with weights.

The server multiplies the weights of a question by the IDF of each dimension (``Modifier.IDF``), counted over the points
that have such a vector. What BM25 needs of a text itself, how often a term stands there and how long the text is beside
the average, is in its own values, so these are written again when the average has moved (``rescaled``).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from zlib import crc32

import numpy as np
from qdrant_client import models

from pinakes.core.records import Float32
from pinakes.indexes.keyword.clauses import (
    EXACT_ALONE,
    EXACT_SHARE,
    FOLDED,
    METADATA_BOOST,
    SMALL,
    STEMMED,
)
from pinakes.indexes.keyword.stored_terms import StoredTerms
from pinakes.settings import SearchSettings
from pinakes.text.analysis import ENGLISH, FEW_TERMS, LANGUAGES, Analyzer, QueryTerm

TEXT, TITLE, PATH, VARIANTS, EXACT, METADATA = range(6)
"""The fields of a text, as the last bits of a dimension."""

_FIELD_BITS = 7
_OF_LENGTH = (TEXT, VARIANTS)
"""The fields in which a term counts less in a long text. The others are short."""

_K1, _B = 1.2, 0.75
_MARK = "0x"


def dimension(field: int, term: str) -> int:
    """Return the number that stands for a term of a field: of two terms in 100 million have the same."""
    return crc32(term.encode("utf-8", "surrogatepass")) & ~_FIELD_BITS | field


def length(words: StoredTerms) -> int:
    """Return how many terms a text has."""
    return len(words.header.split()) + len(words.body.split())


def of_text(words: StoredTerms, average: float) -> models.SparseVector:
    """Return the terms of a chunk or document, weighted as BM25 does beside texts of an ``average`` length."""
    saturated = _saturation(length(words), average)
    found: dict[int, float] = {}
    for field, text in (
        (TEXT, f"{words.header} {words.body}"),
        (VARIANTS, words.variants),
        (TITLE, words.title),
        (PATH, words.path),
        (METADATA, words.metadata),
    ):
        divisor = saturated if field in _OF_LENGTH else _K1
        for term, times in Counter(text.split()).items():
            found[dimension(field, term)] = times * (_K1 + 1) / (times + divisor)
    found |= {dimension(EXACT, word): 1.0 for word in words.exact.split()}
    return vector_of(found)


def rescaled(vector: models.SparseVector, tokens: int, before: float, now: float) -> models.SparseVector:
    """Return what ``of_text`` gives a text of so many ``tokens`` beside an average of ``now``, not ``before``."""
    dimensions = np.array(vector.indices, np.int64)
    values: Float32 = np.array(vector.values, np.float32)
    scaled = np.isin(dimensions & _FIELD_BITS, _OF_LENGTH)
    old = values[scaled].astype(np.float64)
    times = np.maximum(1, np.rint(old * _saturation(tokens, before) / np.maximum(_K1 + 1 - old, 1e-6)))
    values[scaled] = times * (_K1 + 1) / (times + _saturation(tokens, now))
    return models.SparseVector(indices=vector.indices, values=values.tolist())


def of_query(
    terms: Iterable[QueryTerm], analyzer: Analyzer, settings: SearchSettings, languages: Iterable[str], *, written: bool
) -> dict[int, float]:
    """Return what a question is asked with: every term in every field, and other forms of its words at less weight.

    ``written``: words count more where they stand as they are written. ``languages``: whose endings are known; none =
    all there are, since what a text is not in, it has no terms of.
    """
    every = list(terms)
    found: dict[int, float] = {}

    def add(field: int, term: str, weight: float) -> None:
        if weight > 0:
            place = dimension(field, term)
            found[place] = found.get(place, 0.0) + weight

    foreign = [one for one in languages or sorted(LANGUAGES) if one != ENGLISH]
    share = EXACT_ALONE if len(every) == 1 else EXACT_SHARE / max(1, len(every))
    for term in every:
        if term.is_name:
            add(VARIANTS, term.text, term.weight)
            for other in term.others:
                add(TEXT, other, SMALL * term.weight)
            continue
        add(TEXT, term.text, term.weight)
        add(TITLE, term.text, settings.title_boost * term.weight)
        add(PATH, term.text, settings.path_boost * term.weight)
        add(METADATA, term.text, METADATA_BOOST * term.weight)
        for other in (term.text, *term.others):
            add(VARIANTS, other, FOLDED * term.weight)
        for other in term.others:
            add(TEXT, other, FOLDED * term.weight)
        for language in foreign if term.word else ():
            add(VARIANTS, f"{language}:{analyzer.stems.stem(language, term.word)}", STEMMED * term.weight)
        if written and term.exact and len(every) <= FEW_TERMS:
            add(EXACT, term.exact, share * term.weight)
    return found


def with_phrase(asked: Mapping[int, float], row: Iterable[str], boost: float) -> dict[int, float]:
    """Return the question to those texts that have the terms of ``row`` so: each counts ``boost`` more there."""
    found = dict(asked)
    for term in row:
        place = dimension(TEXT, term)
        found[place] = found.get(place, 0.0) + boost
    return found


def stream(terms: Iterable[str]) -> str:
    """Return terms in a row so that any tokenizer takes each for one word: what is not plain letters as its bytes."""
    return " ".join(map(_word, terms))


def _word(term: str) -> str:
    if term.isascii() and term.isalnum() and term.islower() and not term.startswith(_MARK):
        return term
    return _MARK + term.encode("utf-8", "surrogatepass").hex()


def _saturation(tokens: int, average: float) -> float:
    return _K1 * (1 - _B + _B * tokens / max(average, 1.0))


def vector_of(weights: Mapping[int, float]) -> models.SparseVector:
    """Return dimensions with their weights as the server takes them."""
    return models.SparseVector(indices=list(weights), values=list(weights.values()))
