"""Text to terms: the one analysis that indexing, querying and explaining share.

A word is kept whole and, where it is an identifier or compound, also as its parts, each stemmed:
``sig-api-machinery`` gives itself, ``sig``, ``api``, ``machineri``; ``CustomResourceDefinition`` gives
itself and ``custom``, ``resourc``, ``definit``. Runs of CJK characters give overlapping pairs.
"""

from __future__ import annotations

import re
import threading
import unicodedata
from collections.abc import Iterable
from operator import itemgetter
from typing import TypeAlias

import numpy as np
import Stemmer

from pinakes.types import Int64, Span

_MARKS = (
    "\u0300-\u036f\u0483-\u0487\u0591-\u05bd\u05bf-\u05c7\u0610-\u061a\u064b-\u065f\u0670\u06d6-\u06ed"
    "\u0900-\u0963\u0966-\u0e4e\u0e50-\u109f\u1780-\u17d3"
)
"""Vowel and tone signs, which belong to a word but are not letters; the blocks from Devanagari on as a whole."""

_WORD = re.compile(rf"[\w{_MARKS}]+(?:[-.'’][\w{_MARKS}]+)*")
_BEFORE = re.compile(rf"[\w{_MARKS}][-.'’]?\Z")
_AFTER = re.compile(rf"[-.'’]?[\w{_MARKS}]")
"""What stands before or after a part of a longer word."""

_GAPS = frozenset(("", *' \n\t/,:;()[]{}"`*=<>|'))
"""What stands between words, mostly; the other checks take longer."""

_SEPARATOR = re.compile(r"[-._'’]+")
_POSSESSIVE = re.compile("'[sS]$")
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_CJK = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17d3\u1100-\u11ff\u2e80-\u9fff\ua960-\ua97f\uac00-\ud7ff\uf900-\ufaff\uff66-\uff9f\U00020000-\U0003ffff]+"
)
_PIECE = re.compile(r"[A-Za-z]{1,4}|\w|[^\w\s]")
_CACHE_SIZE = 200_000

VERSION = 1
"""Raise it when terms change: keyword indexes of other versions are then built again beside those that answer."""

_STOP_WORDS = (
    "a about above after again against all am an and any are as at be because been before being below between both "
    "but by can could did do does doing down during each few for from further had has have having he her here hers "
    "herself him himself his how i if in into is it its itself just me more most my myself no nor not now of off on "
    "once only or other our ours ourselves out over own same she should so some such than that the their theirs them "
    "themselves then there these they this those through to too under until up very was we were what when where which "
    "while who whom why will with would you your yours yourself yourselves"
)
STOP_WORDS = frozenset(_STOP_WORDS.split())

Place: TypeAlias = tuple[Span, frozenset[str]]
"""Where a word stands in a text, and the terms it gives."""


class Analyzer:
    """Turns text into terms. Remembers words it has seen; safe to share between threads.

    Without a language terms are not stemmed: words as they are written, lower-cased.
    """

    def __init__(self, language: str | None = "english") -> None:
        # Without memory of its own, which would cost more than it saves.
        self._stemmer = Stemmer.Stemmer(language, 0) if language else None
        self._lock = threading.Lock()
        self._known: dict[str, tuple[str, ...]] = {}
        self._pieces: dict[str, frozenset[str]] = {}

    def terms(self, text: str) -> list[str]:
        """Return the terms of ``text`` in order, repeated as often as they occur."""
        return self.terms_of(_words(text))

    def words(self, text: str) -> list[str]:
        """Return the words of ``text`` as they are written, in order."""
        return _words(text)

    def terms_of(self, words: Iterable[str]) -> list[str]:
        """Return the terms of ``words``, in their order."""
        known = self._known
        found: list[str] = []
        for word in words:
            terms = known.get(word)
            found += self._learn(word) if terms is None else terms
        return found

    def query_terms(self, text: str) -> list[str]:
        """Return the distinct terms of a query; stop words only when there is nothing else."""
        return list(dict.fromkeys(self.terms(" ".join(self.query_words(text)))))

    def query_words(self, text: str) -> list[str]:
        """Return the words of a query that count, as they are written; stop words only when there is nothing else."""
        words = _words(text)
        return [word for word in words if word.lower() not in STOP_WORDS] or words

    def places(self, text: str, wanted: frozenset[str]) -> list[Place]:
        """Return where in ``text`` the words stand that give ``wanted`` terms, and which; in order, none overlap."""
        known, words, found = self._pieces, set[str](), list[Place]()
        for piece in set(text.split()):
            terms = known.get(piece)
            if not wanted.isdisjoint(self._learn_piece(piece) if terms is None else terms):
                words.update(_WORD.findall(piece))
        for word in words:
            those = wanted.intersection(self._known.get(word) or self.terms(word))
            spans = _standing(text, word) if those else []
            if word.isascii() or not _CJK.search(word):
                found += [(span, those) for span in spans]
            else:
                parts = self._parts(word, wanted)
                found += [((at + start, at + end), those) for at, _ in spans for (start, end), those in parts]
        found.sort(key=itemgetter(0))
        return found

    def _learn_piece(self, piece: str) -> frozenset[str]:
        """Remember what stands between two spaces, which is found faster than words are."""
        terms = frozenset(self.terms(piece))
        with self._lock:
            if len(self._pieces) >= _CACHE_SIZE:
                self._pieces.clear()
            self._pieces[piece] = terms
        return terms

    def _parts(self, word: str, wanted: frozenset[str]) -> list[Place]:
        """Return what in a word with CJK characters gives ``wanted`` terms; pairs that touch are one."""
        found: list[Place] = []
        start = 0
        for part in _scripts(word):
            if not _CJK.match(part):
                if those := wanted.intersection(self.terms(part)):
                    found.append(((start, start + len(part)), those))
            else:
                for at, pair in enumerate(_pairs(part), start):
                    if pair in wanted:
                        joined = found and found[-1][0][1] >= at
                        (first, _), those = found.pop() if joined else ((at, at), frozenset[str]())
                        found.append(((first, at + len(pair)), those | {pair}))
            start += len(part)
        return found

    def _learn(self, word: str) -> tuple[str, ...]:
        with self._lock:
            if len(self._known) >= _CACHE_SIZE:
                self._known.clear()
            terms = self._known[word] = tuple(self._of_word(word))
        return terms

    def _of_word(self, word: str) -> list[str]:
        if word.isalpha() and word.islower() and word.isascii():
            return self._stems([word])
        if _CJK.search(word):
            return [term for run in _scripts(word) for term in (_pairs(run) if _CJK.match(run) else self._of_word(run))]
        word = _POSSESSIVE.sub("", word.replace("’", "'"))
        parts = [part for piece in _SEPARATOR.split(word) for part in _HUMP.split(piece) if part]
        whole = word.lower().strip("-._'")
        if len(parts) < 2 or "'" in whole:
            return self._stems([whole])
        return self._stems([whole, *(part.lower() for part in parts)])

    def _stems(self, words: list[str]) -> list[str]:
        longer = [word for word in words if len(word) > 1]
        return [self._stemmer.stemWord(word) for word in longer] if self._stemmer else longer


def _words(text: str) -> list[str]:
    return _WORD.findall(text if text.isascii() else unicodedata.normalize("NFKC", text))


def estimated_token_starts(text: str) -> Int64:
    """Return int64 (n,): where tokens would start if no tokenizer is at hand.

    Counts up to four letters, a digit, a sign or a character of another script as one token each, which
    is more than a WordPiece tokenizer finds in nearly all texts.
    """
    return np.fromiter((match.start() for match in _PIECE.finditer(text)), np.int64)


def _standing(text: str, word: str) -> list[Span]:
    """Return where a word stands in a text by itself, not as a part of a longer one."""
    found: list[Span] = []
    at = text.find(word)
    while at >= 0:
        end = at + len(word)
        if (text[at - 1 : at] in _GAPS or not _BEFORE.search(text[max(0, at - 2) : at])) and (
            text[end : end + 1] in _GAPS or not _AFTER.match(text, end, end + 2)
        ):
            found.append((at, end))
        at = text.find(word, end)
    return found


def _scripts(word: str) -> list[str]:
    """Cut a word where CJK characters begin and end."""
    return [part for part in re.split(f"({_CJK.pattern})", word) if part]


def _pairs(run: str) -> list[str]:
    return [run[i : i + 2] for i in range(len(run) - 1)] or [run]
