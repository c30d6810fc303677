"""German compounds by their parts: ``Schiff`` finds ``Dampfschiff`` and ``Dampfschifffahrt``, and vice versa.

The corpus determines what is a part: the rest of a word before and after it must consist of words in the corpus, or
begin another word; linking elements are considered. Stems are without accents, as from ``languages.Stems``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property, lru_cache
from itertools import chain, islice, zip_longest

from pinakes.text.analysis.folding import folded
from pinakes.text.analysis.languages import Stems

GERMAN = "german"
MARK = f"{GERMAN}:"
REVERSED = f"{GERMAN}<"
"""Prefix of reversed stems, which find words by their ends."""

LEAST = 7
"""Minimum length of a compound."""

_LEAST_PART = 4
_LEAST_OF_THREE = 3 * _LEAST_PART
_LONGEST = 60
"""Maximum length of a compound; longer ones do not occur, and take long to split."""

_JOINTS = ("", "s", "es", "n", "en", "er", "e")
"""Linking elements between two parts."""

_JOINED = re.compile("(?:ung|heit|keit|schaft|taet|tat|ion|ling)s$")
"""After these endings an "s" is always a linking element, without evidence from the corpus."""

_ENDINGS = ("", "ung", "heit", "keit", "lich", "isch", "ig")
"""What the stem of a long word lacks, that of a short one may have: *Rechnung*, *Krankenhausrechn*."""

_LONG = "kranken"
"""Before a word it makes a compound, by which the stem is told that the word has at the end of one."""

_MOST = 30
_MOST_LOOKED_AT = 1000
_MOST_SEARCHED = 300_000
"""Maximum number of long words in an index for which parts in the middle of words are searched."""


class Compounds:
    """Finds compounds among the stems of an index.

    ``beginning``: returns the terms of the index with a prefix. ``is_word``: whether a stem is in the index.
    """

    def __init__(self, beginning: Callable[[str], Sequence[str]], is_word: Callable[[str], bool], stems: Stems) -> None:
        self._beginning, self._is_word, self._stems = beginning, is_word, stems
        self.of = lru_cache(2000)(self._of)
        self._is_first = lru_cache(20_000)(self._is_a_beginning)
        self._is_end = lru_cache(20_000)(self._is_an_end)

    def _of(self, word: str) -> tuple[str, ...]:
        """Return the stems of compounds that contain a lower-cased ``word``, and the stems of its own parts."""
        stem = self._stems.stem(GERMAN, word)
        if len(stem) < _LEAST_PART:
            return ()
        found = dict[str, None]()
        sources = (
            self._ending_in(stem),
            self._ending_in(self._stems.stem(GERMAN, f"{_LONG}{word}").removeprefix(_LONG)),
            self._beginning_with(word, stem),
            self._with_in_the_middle(stem),
            self._parts(stem),
        )
        for whole in chain.from_iterable(zip_longest(*sources)):  # interleaved, so that no source takes all the room
            if whole is not None:
                found[whole] = None
            if len(found) == _MOST:
                break
        return tuple(found)

    def _ending_in(self, stem: str) -> Iterator[str]:
        for term in self._beginning(REVERSED + stem[::-1])[:_MOST_LOOKED_AT]:
            whole = term[len(REVERSED) :][::-1]
            if self._is_first(whole[: -len(stem)]):
                yield whole

    def _beginning_with(self, word: str, stem: str) -> Iterator[str]:
        """Yield compounds that begin with a word, by its stem or whole, such as *Kündigung* in *Kündigungsfrist*."""
        whole_word = folded(word)
        firsts = {stem, whole_word, whole_word.removesuffix("en")}
        for term in self._beginning(MARK + stem)[:_MOST_LOOKED_AT]:
            whole = term[len(MARK) :]
            if len(whole) >= LEAST and any(self._goes_on(whole, first) for first in firsts if whole.startswith(first)):
                yield whole

    def _with_in_the_middle(self, stem: str) -> Iterator[str]:
        """Yield compounds that have a word in the middle, such as *Zeit* in *Arbeitszeiterfassung*."""
        literal = re.escape(stem)
        inside = f"{literal}(?<=\\S{literal})(?=\\S)"  # the stem first: so it is found fast
        for found in islice(re.finditer(inside, self._long), _MOST_LOOKED_AT):
            start, end = self._long.rfind(" ", 0, found.start()) + 1, self._long.find(" ", found.end())
            whole, at = self._long[start:end], found.start() - start
            if self._is_first(whole[:at]) and self._goes_on(whole[at:], stem):
                yield whole

    @cached_property
    def _long(self) -> str:
        """All possible compounds of the index."""
        found = self._beginning(REVERSED)
        words = (term[len(REVERSED) :][::-1] for term in found) if len(found) <= _MOST_SEARCHED else ()
        return "".join(f"{word} " for word in words if _LEAST_OF_THREE <= len(word) <= _LONGEST)

    def _goes_on(self, whole: str, first: str) -> bool:
        """Return whether a compound has another word after its ``first`` part."""
        rest = whole[len(first) :]
        if _JOINED.search(f"{first}{rest[:1]}") and len(rest) > _LEAST_PART:
            return True
        return self._is_end(rest)

    def _parts(self, stem: str) -> Iterator[str]:
        if not LEAST <= len(stem) <= _LONGEST:
            return
        for at in range(_LEAST_PART, len(stem) - _LEAST_PART + 1):
            first, last = stem[:at], stem[at:]
            words = list(self._whole_words(last))
            if words and self._is_first(first):
                yield from words
                yield from filter(self._is_word, self._firsts(first))

    def _is_a_beginning(self, part: str) -> bool:
        """Return whether a part is one or more words (without a linking element), or the beginning of a word."""
        if not _LEAST_PART - 1 <= len(part) <= _LONGEST:
            return False
        if _JOINED.search(part) or any(map(self._is_word, self._firsts(part))):
            return True
        if len(part) >= _LEAST_PART and len(self._beginning(MARK + part)) > 1:
            return True
        cuts = range(_LEAST_PART, len(part) - _LEAST_PART + 1)
        return any(any(map(self._is_word, self._firsts(part[at:]))) and self._is_first(part[:at]) for at in cuts)

    def _firsts(self, part: str) -> Iterator[str]:
        for joint in _JOINTS:
            if part.endswith(joint) and len(part) - len(joint) >= _LEAST_PART - 1:
                yield self._stems.stem(GERMAN, part[: len(part) - len(joint)])

    def _is_an_end(self, rest: str) -> bool:
        """Return whether the rest after a part is one or more words, without a linking element."""
        if len(rest) > _LONGEST:
            return False
        lasts = [rest[len(joint) :] for joint in _JOINTS if rest.startswith(joint)]
        if any(any(self._whole_words(last)) for last in lasts):
            return True
        cuts = ((last[:at], last[at:]) for last in lasts for at in range(_LEAST_PART, len(last) - _LEAST_PART + 1))
        return any(any(map(self._is_word, self._firsts(part))) and self._is_end(last) for part, last in cuts)

    def _whole_words(self, last: str) -> Iterator[str]:
        """Yield the possible words of the last part of a long word."""
        if len(last) >= _LEAST_PART:
            yield from filter(self._is_word, (f"{last}{ending}" for ending in _ENDINGS))
