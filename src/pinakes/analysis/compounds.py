"""German compounds by their parts: ``Schiff`` finds ``Dampfschiff``, and the other way round.

What is a part is told by the corpus itself: both halves of a word must stand somewhere as words, or the half that is
left begin another word; or what joins them tells. Stems are in plain letters, as ``languages.Stems`` gives them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache

from pinakes.analysis.folding import folded
from pinakes.analysis.languages import Stems

GERMAN = "german"
MARK = f"{GERMAN}:"
REVERSED = f"{GERMAN}<"
"""Before a stem with its letters in reverse, by which words that end in another are found."""

LEAST = 7
"""A shorter word is taken for no compound."""

_LEAST_PART = 4
_JOINTS = ("", "s", "es", "n", "en", "er", "e")
"""What may stand between two parts."""

_JOINED = re.compile("(?:ung|heit|keit|schaft|taet|tat|ion|ling)s$")
"""Behind these endings an "s" only joins another part: it needs no proof from the corpus."""

_MOST = 30
_MOST_LOOKED_AT = 1000


class Compounds:
    """Finds compounds among the stems of an index.

    ``beginning``: the terms of the index that begin with a text, ``is_word``: whether a stem stands there.
    """

    def __init__(self, beginning: Callable[[str], Sequence[str]], is_word: Callable[[str], bool], stems: Stems) -> None:
        self._beginning, self._is_word, self._stems = beginning, is_word, stems
        self.of = lru_cache(2000)(self._of)

    def _of(self, word: str) -> tuple[str, ...]:
        """Return the stems of compounds that a lower-cased ``word`` is a part of, and of the parts that it has."""
        stem = self._stems.of(GERMAN, word)
        if len(stem) < _LEAST_PART:
            return ()
        found = [*self._ending_in(stem), *self._beginning_with(word, stem), *self._parts(stem)]
        return tuple(dict.fromkeys(found))[:_MOST]

    def _ending_in(self, stem: str) -> Iterator[str]:
        for term in self._beginning(REVERSED + stem[::-1])[:_MOST_LOOKED_AT]:
            whole = term[len(REVERSED) :][::-1]
            if self._is_first(whole[: -len(stem)]):
                yield whole

    def _beginning_with(self, word: str, stem: str) -> Iterator[str]:
        """Yield compounds that begin with a word: by its stem, or whole, as *Kündigung* is in *Kündigungsfrist*."""
        whole_word = folded(word)
        firsts = {stem, whole_word, whole_word.removesuffix("en")}
        for term in self._beginning(MARK + stem)[:_MOST_LOOKED_AT]:
            whole = term[len(MARK) :]
            if len(whole) >= LEAST and any(self._goes_on(whole, first) for first in firsts if whole.startswith(first)):
                yield whole

    def _goes_on(self, whole: str, first: str) -> bool:
        """Say whether a compound has another word behind its ``first`` part."""
        rest = whole[len(first) :]
        if _JOINED.search(f"{first}{rest[:1]}") and len(rest) > _LEAST_PART:
            return True
        return any(self._is_last(rest, joint) for joint in _JOINTS)

    def _parts(self, stem: str) -> Iterator[str]:
        if len(stem) < LEAST:
            return
        for at in range(_LEAST_PART, len(stem) - _LEAST_PART + 1):
            first, last = stem[:at], stem[at:]
            if self._is_word(last) and self._is_first(first):
                yield last
                yield from filter(self._is_word, self._firsts(first))

    def _is_first(self, part: str) -> bool:
        """Say whether a part is a word by itself, less what joins it to the next, or begins another word, too."""
        if len(part) < _LEAST_PART - 1:
            return False
        if _JOINED.search(part) or any(map(self._is_word, self._firsts(part))):
            return True
        return len(part) >= _LEAST_PART and len(self._beginning(MARK + part)) > 1

    def _firsts(self, part: str) -> Iterator[str]:
        for joint in _JOINTS:
            if part.endswith(joint) and len(part) - len(joint) >= _LEAST_PART - 1:
                yield self._stems.of(GERMAN, part[: len(part) - len(joint)])

    def _is_last(self, rest: str, joint: str) -> bool:
        if not rest.startswith(joint) or len(rest) - len(joint) < _LEAST_PART:
            return False
        return self._is_word(rest[len(joint) :])
