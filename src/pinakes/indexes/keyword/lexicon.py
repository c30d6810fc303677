"""The words of an index, for spelling suggestions and the frequencies of words.

The keyword index holds stems, but a suggestion must be a word. So each document has its distinct words in an extra
field, ``SPELLED``, without positions or frequencies.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import tantivy

from pinakes.indexes.keyword.clauses import SPELLED, QueryVocabulary
from pinakes.indexes.storage.versions import Analysis
from pinakes.text.analysis import NAMES, Analyzer, QueryTerm


class VocabularyLexicon:
    """The part of ``ports.Lexicon`` that the vocabulary of one state of an index answers, whatever the engine."""

    def __init__(self, vocabulary: QueryVocabulary, analyzer: Analysis) -> None:
        self._vocabulary, self._analyzer = vocabulary, analyzer

    def holds_any(self) -> bool:
        return bool(self._vocabulary.total)

    def has(self, word: str) -> bool:
        if isinstance(self._analyzer, Analyzer):
            whole = self._analyzer.word_terms(word)[:1]
        else:
            whole = list(map(QueryTerm, self._analyzer.terms(word)[:1]))
        return not whole or self._vocabulary.counts(whole[0]) > 0

    def documents(self) -> int:
        return self._vocabulary.total

    def frequency(self, term: str) -> int:
        return self._vocabulary.counts(QueryTerm(term, is_name=term in NAMES))


class TantivyLexicon(VocabularyLexicon):
    """Implements ``ports.Lexicon`` for one searcher: the state of the index when the searcher was opened."""

    def __init__(self, searcher: Any, schema: Any, analyzer: Analysis, vocabulary: QueryVocabulary) -> None:
        super().__init__(vocabulary, analyzer)
        self._searcher, self._schema = searcher, schema

    def counts(self, words: Sequence[str]) -> list[int]:
        queries = [tantivy.Query.term_query(self._schema, SPELLED, word, "basic") for word in words]
        return [int(self._searcher.search(query, limit=1, count=True).count) for query in queries]

    def prepare(self, text: str, words: Sequence[str] = ()) -> None:
        """Do nothing: every word is at hand."""

    def prepare_near(self, words: Sequence[str], prefixes: Sequence[str]) -> None:
        """Do nothing: every word is at hand."""

    def beginning(self, prefix: str) -> list[tuple[str, int]]:
        found: list[tuple[str, int]] = self._searcher.terms_with_prefix(SPELLED, prefix)
        return found
