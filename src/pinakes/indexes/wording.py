"""Passages and whole documents as the keyword index stores them: analysed once, for both."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache

from pinakes.analysis import Analyzer
from pinakes.types import IndexEntry

_NAMES_AT_HAND = 64
_LONGEST_SPELLED = 40
"""Longer words are hashes and encoded data; nobody means them."""


@dataclass(frozen=True, slots=True)
class Words:
    """A passage, or a document under its own number: terms separated by blanks.

    ``header`` and ``body`` together are its text. ``symbols`` as they are written. ``spelled``: the distinct words,
    of a passage as they are written, of a document lower-cased, compounds also by their parts.
    """

    chunk_id: int
    document_id: int
    header: str
    body: str
    title: str
    path: str
    symbols: str
    spelled: frozenset[str]


class Wording:
    """Analyses entries. Thread-safe; remembers names that the chunks of a document share."""

    def __init__(self, analyzer: Analyzer) -> None:
        self._analyzer = analyzer
        self._spelled = Analyzer(None)
        self._named = lru_cache(_NAMES_AT_HAND)(self._terms)

    def passages(self, entries: Iterable[IndexEntry]) -> list[Words]:
        """Return the words of each entry."""
        return [self._passage(entry) for entry in entries]

    def documents(self, passages: Sequence[Words]) -> list[Words]:
        """Return the words of each document, of all whose passages these are, under the number of the document."""
        owned: dict[int, list[Words]] = {}
        for passage in passages:
            owned.setdefault(passage.document_id, []).append(passage)
        return [self._document(number, chunks) for number, chunks in owned.items()]

    def _passage(self, entry: IndexEntry) -> Words:
        words = self._analyzer.words(f"{entry.text}\n{entry.summary}" if entry.summary else entry.text)
        return Words(
            entry.chunk_id,
            entry.document_id,
            header=self._named(entry.header),
            body=" ".join(self._analyzer.terms_of(words)),
            title=self._named(entry.title),
            path=self._named(entry.path.replace("/", " ")),
            symbols=" ".join(entry.symbols),
            spelled=frozenset(words),
        )

    def _document(self, number: int, chunks: Sequence[Words]) -> Words:
        first = chunks[0]
        body = " ".join(chunk.body for chunk in chunks)
        written = frozenset[str]().union(*(chunk.spelled for chunk in chunks))
        spelled = frozenset(word for word in self._spelled.terms_of(written) if _is_spelled(word))
        return Words(number, number, first.title, body, first.title, first.path, "", spelled)

    def _terms(self, text: str) -> str:
        return " ".join(self._analyzer.terms(text))


def _is_spelled(word: str) -> bool:
    return len(word) <= _LONGEST_SPELLED and not word.isdigit()
