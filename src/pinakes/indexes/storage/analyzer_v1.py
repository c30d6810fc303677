"""Version 1 of the analyser, frozen: for indexes that were built before indexes recorded their analyser.

Such an index is searched with these terms until it is rebuilt. This module must never change, since those indexes hold
its terms. New analysis goes into ``pinakes.text.analysis``.
"""

from __future__ import annotations

import re
import threading
import unicodedata
from collections.abc import Iterable

import Stemmer

_MARKS = (
    "\u0300-\u036f\u0483-\u0487\u0591-\u05bd\u05bf-\u05c7\u0610-\u061a\u064b-\u065f\u0670\u06d6-\u06ed"
    "\u0900-\u0963\u0966-\u0e4e\u0e50-\u109f\u1780-\u17d3"
)

_WORD = re.compile(rf"[\w{_MARKS}]+(?:[-.'’][\w{_MARKS}]+)*")
_SEPARATOR = re.compile(r"[-._'’]+")
_POSSESSIVE = re.compile("'[sS]$")
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_CJK = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17d3\u1100-\u11ff\u2e80-\u9fff\ua960-\ua97f\uac00-\ud7ff\uf900-\ufaff\uff66-\uff9f\U00020000-\U0003ffff]+"
)
_CACHE_SIZE = 200_000

_STOP_WORDS = (
    "a about above after again against all am an and any are as at be because been before being below between both "
    "but by can could did do does doing down during each few for from further had has have having he her here hers "
    "herself him himself his how i if in into is it its itself just me more most my myself no nor not now of off on "
    "once only or other our ours ourselves out over own same she should so some such than that the their theirs them "
    "themselves then there these they this those through to too under until up very was we were what when where which "
    "while who whom why will with would you your yours yourself yourselves"
)
STOP_WORDS = frozenset(_STOP_WORDS.split())


class AnalyzerV1:
    """Turns text into terms, stemmed as English. Caches the terms of words; safe to share between threads."""

    def __init__(self) -> None:
        self._stemmer = Stemmer.Stemmer("english", 0)
        self._lock = threading.Lock()
        self._known: dict[str, tuple[str, ...]] = {}

    def terms(self, text: str) -> list[str]:
        """Return the terms of ``text`` in order, with repetitions."""
        return self.terms_of(self.words(text))

    def words(self, text: str) -> list[str]:
        """Return the words of ``text`` in written form, in order."""
        return _WORD.findall(text if text.isascii() else unicodedata.normalize("NFKC", text))

    def terms_of(self, words: Iterable[str]) -> list[str]:
        """Return the terms of ``words``, in their order."""
        known = self._known
        found: list[str] = []
        for word in words:
            terms = known.get(word)
            found += self._learn(word) if terms is None else terms
        return found

    def query_terms(self, text: str) -> list[str]:
        """Return the distinct terms of a query; stop words only if there are no other words."""
        words = self.words(text)
        words = [word for word in words if word.lower() not in STOP_WORDS] or words
        return list(dict.fromkeys(self.terms_of(words)))

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
        return [self._stemmer.stemWord(word) for word in words if len(word) > 1]


def _scripts(word: str) -> list[str]:
    """Split a word where CJK characters begin and end."""
    return [part for part in re.split(f"({_CJK.pattern})", word) if part]


def _pairs(run: str) -> list[str]:
    return [run[i : i + 2] for i in range(len(run) - 1)] or [run]
