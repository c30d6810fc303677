"""The form in which the keyword index stores chunks and documents, analysed once for both."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain, groupby
from operator import attrgetter

from pinakes.core.records import IndexEntry
from pinakes.indexes.storage.versions import Analysis
from pinakes.text.analysis import ENGLISH, LANGUAGES, Analyzer, detect

_NAMES_AT_HAND = 64
_LONGEST_SPELLED = 40
"""Longer words are hashes or encoded data and get no spelling suggestions."""

LANGUAGE = "@"
"""Prefix of the entry among the variants that names the language of a document, if it is not English."""


@dataclass(frozen=True, slots=True)
class StoredTerms:
    """The stored terms of a chunk, or of a document (whose id is used for both ids), separated by spaces.

    ``header`` and ``body`` together are the text. ``symbols``: in written form. ``spelled``: the distinct words, of a
    chunk in written form, of a document lower-cased, compounds also by their parts. ``variants``: other forms that
    match. ``exact``: the written form of a chunk's words that their terms shorten. ``metadata``: terms of metadata
    values.
    """

    chunk_id: int
    document_id: int
    header: str
    body: str
    title: str
    path: str
    symbols: str
    spelled: frozenset[str]
    variants: str = ""
    exact: str = ""
    metadata: str = ""


class TermWriter:
    """Analyses entries. Thread-safe; caches the terms of names that the chunks of a document share.

    ``languages``: languages besides English to stem; () means the language detected in each document.
    """

    def __init__(self, analyzer: Analysis, languages: Sequence[str] = ()) -> None:
        self._analyzer = analyzer
        self._present = analyzer if isinstance(analyzer, Analyzer) else None
        self._languages = languages
        self._spelled = Analyzer(None)
        self._named = lru_cache(_NAMES_AT_HAND)(self._terms)
        self._varied = lru_cache(_NAMES_AT_HAND)(self._variants_of_name)

    def chunks(self, entries: Iterable[IndexEntry]) -> list[StoredTerms]:
        """Return the terms of each entry. Entries of a document must be adjacent, since they share one language."""
        by_document = groupby(entries, key=attrgetter("document_id"))
        return [words for _, those in by_document for words in self._of_document(list(those))]

    def documents(self, chunks: Sequence[StoredTerms]) -> list[StoredTerms]:
        """Return the terms of each document; ``chunks`` must contain all chunks of each document."""
        owned: dict[int, list[StoredTerms]] = {}
        for chunk in chunks:
            owned.setdefault(chunk.document_id, []).append(chunk)
        return [self._document(number, chunks) for number, chunks in owned.items()]

    def _of_document(self, entries: Sequence[IndexEntry]) -> list[StoredTerms]:
        given = [(entry, self._words(entry)) for entry in entries]
        prose = [words for entry, words in given if not entry.is_code]
        language = self._language(prose) if prose else None
        return [self._chunk(entry, words, language) for entry, words in given]

    def _words(self, entry: IndexEntry) -> list[str]:
        text = f"{entry.text}\n{entry.summary}" if entry.summary else entry.text
        return self._analyzer.words(text) if self._present is None else self._present.words(text, code=entry.is_code)

    def _language(self, chunks: Collection[list[str]]) -> str | None:
        """Return the language besides English in which to stem a document; None if there is none."""
        language: str | None
        if self._present is None:
            return None
        if len(self._languages) == 1:
            [language] = self._languages
        else:
            language = detect(chain.from_iterable(chunks), self._languages or LANGUAGES) or ENGLISH
        return None if language == ENGLISH else language

    def _chunk(self, entry: IndexEntry, words: list[str], language: str | None) -> StoredTerms:
        others, exact = self._variants(words, language)
        if language:
            others.append(LANGUAGE + language)
        named = [self._varied(name, language) for name in (entry.header, entry.path.replace("/", " "))]
        return StoredTerms(
            entry.chunk_id,
            entry.document_id,
            header=self._named(entry.header),
            body=" ".join(self._analyzer.terms_of(words)),
            title=self._named(entry.title),
            path=self._named(entry.path.replace("/", " ")),
            symbols=" ".join(entry.symbols),
            spelled=frozenset(words),
            variants=" ".join([*others, *filter(None, named)]),
            exact="" if entry.is_code or language else " ".join(exact),
            metadata=self._named(entry.metadata),
        )

    def _document(self, number: int, chunks: Sequence[StoredTerms]) -> StoredTerms:
        first = chunks[0]
        body = " ".join(chunk.body for chunk in chunks)
        written = frozenset[str]().union(*(chunk.spelled for chunk in chunks))
        spelled = frozenset(word for word in self._spelled.terms_of(written) if _is_spelled(word))
        variants = " ".join(filter(None, (chunk.variants for chunk in chunks)))
        return StoredTerms(
            number, number, first.title, body, first.title, first.path, "", spelled, variants, "", first.metadata
        )

    def _terms(self, text: str) -> str:
        return " ".join(self._analyzer.terms(text))

    def _variants_of_name(self, text: str, language: str | None) -> str:
        return " ".join(self._variants(self._analyzer.words(text), language)[0])

    def _variants(self, words: list[str], language: str | None) -> tuple[list[str], list[str]]:
        """Return the other forms under which words match, and the words to store in written form."""
        if self._present is None:
            return [], []
        others, exact = self._present.variants(words)
        if language:
            others += self._present.foreign_stems(words, language)
        return others, exact


def _is_spelled(word: str) -> bool:
    return 1 < len(word) <= _LONGEST_SPELLED and not word.isdigit() and word[-1].isalnum()
