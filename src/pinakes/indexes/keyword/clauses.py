"""Builds the Tantivy query from the terms of a query: each word scores by its best form, the exact one first.

Also the words of an index, for spelling suggestions and their frequencies. The keyword index holds stems, but a
suggestion must be a word. So each document has its distinct words in an extra field, ``SPELLED``, without positions or
frequencies.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Any

import tantivy

from pinakes.indexes.keyword.stored_terms import LANGUAGE
from pinakes.indexes.storage.versions import Analysis
from pinakes.settings import SearchSettings
from pinakes.text.analysis import ENGLISH, FEW_TERMS, LANGUAGES, NAMES, Analyzer, QueryTerm
from pinakes.text.analysis.compounds import GERMAN, Compounds
from pinakes.text.analysis.folding import folded
from pinakes.text.analysis.languages import Stems

TEXT, VARIANTS, EXACT, METADATA = "text", "variants", "exact", "metadata"
FOLDED = 0.8
"""What another form of a word counts beside the word as it is written: without accents, or an irregular plural."""

SMALL = 0.5
"""What a name in capitals (US) counts in small letters, which are another word mostly."""

STEMMED = 0.8
TURKISH = "turkish"
_LEAST_NAME, _MOST_ENDINGS = 3, 10
"""Names with ``İ`` keep their endings in Turkish texts: ``İstanbul'da`` has no stem, since that is no letter there."""

_COMPOUND = 0.5
EXACT_SHARE = 1.0
"""What a word as it is written counts besides its stem, divided by the number of words."""

EXACT_ALONE = 3.0
"""The same where nothing else is asked for, so that the meaning of another form does not outweigh it."""

SPELLED = "word"
"""The field of documents with their words in written form."""

METADATA_BOOST = 0.1
"""Weight of the values of metadata beside the text (1.0): they find what says it nowhere else, and hardly rank."""

MOST_PHRASE_TERMS = 8


class QueryVocabulary:
    """The forms under which query words occur in one state of an index.

    ``fields``: the fields of the index; an index of an older version has no variants. ``languages``: languages besides
    English that occur in it.
    """

    def __init__(self, searcher: Any, fields: Collection[str], stems: Stems) -> None:
        self._searcher, self._fields, self.stem = searcher, fields, stems.stem
        self.total = int(searcher.num_docs)
        self.has_variants = VARIANTS in fields
        self.frequency, self.counts = lru_cache(20_000)(self._frequency), lru_cache(2_000)(self._counts)
        self._compounds = Compounds(self._beginning, self._is_word, stems) if self.has_variants else None
        self.languages = tuple(
            one
            for one in sorted(LANGUAGES - {ENGLISH})
            if self.has_variants and self.frequency(VARIANTS, LANGUAGE + one)
        )

    def forms(self, term: QueryTerm) -> Iterator[tuple[str, str, float]]:
        """Yield (field, term, weight) of each other form of a query term that occurs in the index."""
        if not self.has_variants:
            return
        if term.is_name:
            yield from self._if_present(VARIANTS, term.text, 1.0)
            for other in term.others:
                yield from self._if_present(TEXT, other, SMALL)
            return
        for other in (term.text, *term.others):
            yield from self._if_present(VARIANTS, other, FOLDED)
        for other in term.others:
            yield from self._if_present(TEXT, other, FOLDED)
        if not term.word:
            return
        for language in self.languages:
            yield from self._forms_in(language, term.word)

    def _forms_in(self, language: str, word: str) -> Iterator[tuple[str, str, float]]:
        yield from self._if_present(VARIANTS, f"{language}:{self.stem(language, word)}", STEMMED)
        if language == GERMAN and self._compounds is not None:
            for stem in self._compounds.of(word):
                yield from self._if_present(VARIANTS, f"{language}:{stem}", _COMPOUND)
        if language == TURKISH and len(word) >= _LEAST_NAME:
            for name in self._beginning(f"{folded(word)}'")[:_MOST_ENDINGS]:
                yield VARIANTS, name, STEMMED

    def phrases(self, term: QueryTerm) -> list[tuple[str, ...]]:
        """Return the phrases of a query term of which all terms occur in the index."""
        return [one for one in term.phrases if len(one) > 1 and all(self.frequency(TEXT, name) for name in one)]

    def is_spelled_otherwise(self, term: QueryTerm) -> bool:
        """Return whether another form of a query term occurs, or the form that the term itself derives from."""
        if not self.has_variants:
            return False
        names = (term.text, *term.others)
        return any(self.frequency(VARIANTS, name) for name in names) or any(
            self.frequency(TEXT, other) for other in term.others
        )

    def _counts(self, term: QueryTerm) -> int:
        """Return the approximate number of entries with a term or one of its forms."""
        there = max(self.frequency(field, term.text) for field in (TEXT, "title", "path"))
        others = [self.frequency(field, name) for field, name, _ in self.forms(term)]
        if METADATA in self._fields:
            others.append(self.frequency(METADATA, term.text))
        return max([there, *others])

    def idf(self, count: int) -> float:
        return math.log(1 + (self.total - count + 0.5) / (count + 0.5)) if count <= self.total else 0.0

    def _if_present(self, field: str, term: str, weight: float) -> Iterator[tuple[str, str, float]]:
        if self.frequency(field, term):
            yield field, term, weight

    def _frequency(self, field: str, term: str) -> int:
        return int(self._searcher.doc_freq(field, term))

    def _beginning(self, prefix: str) -> list[str]:
        return [term for term, _ in self._searcher.terms_with_prefix(VARIANTS, prefix)]

    def _is_word(self, stem: str) -> bool:
        return bool(self.frequency(VARIANTS, f"{GERMAN}:{stem}"))


def query_of(
    terms: Sequence[QueryTerm],
    schema: Any,
    vocabulary: QueryVocabulary,
    settings: SearchSettings,
    fields: Collection[str],
    make: Any = tantivy.Query,
) -> Any:
    """Return a query that matches any term in any field; adjacent words and exact forms score extra.

    Of the forms of a word, only the best one counts per text, and never more than the exact form would. ``make`` has
    the functions of Tantivy's queries, or those of another engine by the same names.
    """
    wanted = []
    in_rows = "symbols" in fields
    option = "position" if in_rows else "freq"
    for term in terms:
        found = _in_text(term, schema, vocabulary, option, make)
        if found is not None:
            wanted.append(_weighted(found, term.weight, make))
        if term.is_name:
            continue
        for field, boost in (
            ("title", settings.title_boost),
            ("path", settings.path_boost),
            (METADATA, METADATA_BOOST),
        ):
            if boost > 0 and field in fields and (field != METADATA or vocabulary.frequency(METADATA, term.text)):
                one = make.term_query(schema, field, term.text, "freq")
                wanted.append(make.boost_query(one, boost * term.weight))
        as_written = None
        if len(terms) <= FEW_TERMS:
            as_written = _as_written(term, schema, vocabulary, EXACT if in_rows else SPELLED, option, make)
        if as_written is not None:
            share = EXACT_ALONE if len(terms) == 1 else EXACT_SHARE / len(terms)
            score = share * term.weight * vocabulary.idf(vocabulary.frequency(TEXT, term.text))
            wanted.append(make.const_score_query(as_written, score))
    stream = stream_of(terms)
    if 1 < len(stream) <= MOST_PHRASE_TERMS and in_rows and settings.phrase_boost > 0:
        phrase = make.phrase_query(schema, TEXT, list(stream))
        wanted.append(make.boost_query(phrase, settings.phrase_boost))
    return make.boolean_query([(tantivy.Occur.Should, query) for query in wanted])


def _in_text(term: QueryTerm, schema: Any, vocabulary: QueryVocabulary, option: str, make: Any) -> Any:
    """Return a query for the best form of a term; None if it has no form in the index."""
    forms = {(field, name): weight for field, name, weight in reversed(list(vocabulary.forms(term)))}
    written = None if term.is_name else make.term_query(schema, TEXT, term.text, option)
    phrases = vocabulary.phrases(term) if option == "position" else []
    if not forms and not phrases:
        return written
    own = vocabulary.frequency(TEXT, term.text)
    most = vocabulary.idf(own) if own and not term.is_name else math.inf
    every = [] if written is None else [written]
    for (field, name), weight in forms.items():
        rarity = vocabulary.idf(vocabulary.frequency(field, name))
        share = min(1.0, most / rarity) if rarity > 0 else 1.0
        one = make.term_query(schema, field, name, option if field == TEXT else "freq")
        every.append(_weighted(one, weight * share, make))
    there = [vocabulary.idf(count) for count in (own, *(vocabulary.frequency(*one) for one in forms)) if count]
    for phrase in phrases:
        rarity = sum(vocabulary.idf(vocabulary.frequency(TEXT, name)) for name in phrase)
        if term.is_added:  # the words as the query has them count as much as what is added for them
            share = max(there, default=0.0) / max(rarity, 1e-9)
        else:
            cap = most if own else vocabulary.idf(1) * (SMALL if all(map(str.isdecimal, phrase)) else 1.0)
            share = FOLDED * min(1.0, cap / max(rarity, 1e-9))
        if share > 0:
            every.append(_weighted(make.phrase_query(schema, TEXT, list(phrase)), share, make))
    return every[0] if len(every) == 1 else make.disjunction_max_query(every)


def stream_of(terms: Sequence[QueryTerm]) -> list[str]:
    """Return the terms that follow each other in the query, of which a text in a row counts more."""
    return [term.text for term in terms if not (term.is_name or term.is_added)]


def _as_written(term: QueryTerm, schema: Any, vocabulary: QueryVocabulary, field: str, option: str, make: Any) -> Any:
    """Return a query for the exact form of a word; None if it occurs everywhere, or the index cannot tell.

    For chunks, the index stores inflected words, and base forms only if an inflected form is in the same chunk. So a
    base form occurs where it is stored, or where its stem occurs without any inflected form. Words with and without
    accents have different stems; so do an irregular plural and its singular.
    """
    if not vocabulary.has_variants or not term.exact:
        return None
    stem, count = vocabulary.frequency(TEXT, term.text), vocabulary.frequency(field, term.exact)
    written = make.term_query(schema, field, term.exact, "basic")
    has_stem = make.term_query(schema, TEXT, term.text, option)
    otherwise = has_stem if stem and vocabulary.is_spelled_otherwise(term) else None
    if not term.inflected or field == SPELLED:
        return written if 0 < count < stem or (count and otherwise) else otherwise
    others = [word for word in term.inflected if vocabulary.frequency(field, word)]
    if not others or stem <= max(vocabulary.frequency(field, word) for word in others) - count:
        return otherwise
    inflected = [(tantivy.Occur.MustNot, make.term_query(schema, field, word, "basic")) for word in others]
    alone = make.boolean_query([(tantivy.Occur.Must, has_stem), *inflected])
    return make.boolean_query([(tantivy.Occur.Should, alone), (tantivy.Occur.Should, written)])


def _weighted(query: Any, weight: float, make: Any) -> Any:
    return query if weight == 1 else make.boost_query(query, weight)


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
        return [self._count(word) if self._searcher.doc_freq(SPELLED, word) else 0 for word in words]

    def _count(self, word: str) -> int:
        """Return how many entries have a word; the frequency, which takes less time, counts removed entries, too."""
        query = tantivy.Query.term_query(self._schema, SPELLED, word, "basic")
        return int(self._searcher.search(query, limit=1, count=True).count)

    def prepare(self, text: str, words: Iterable[str] = ()) -> None:
        """Do nothing: every word is at hand."""

    def prepare_near(self, words: Sequence[str], prefixes: Sequence[str]) -> None:
        """Do nothing: every word is at hand."""

    def beginning(self, prefix: str) -> list[tuple[str, int]]:
        found: list[tuple[str, int]] = self._searcher.terms_with_prefix(SPELLED, prefix)
        return found
