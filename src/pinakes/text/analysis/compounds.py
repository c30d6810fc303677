"""German compounds by their parts: ``Schiff`` finds ``Dampfschiff`` and ``Dampfschifffahrt``, and the other way round.

What is a part is told by the corpus itself: what is left of a word before and behind it must be words that stand
somewhere, or begin another word; or what joins them tells. Stems are in plain letters, as ``languages.Stems`` gives
them.
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
"""Before a stem with its letters in reverse, by which words that end in another are found."""

LEAST = 7
"""A shorter word is taken for no compound."""

_LEAST_PART = 4
_LEAST_OF_THREE = 3 * _LEAST_PART
_LONGEST = 60
"""A longer word is none that anybody wrote, and cutting it takes long."""

_JOINTS = ("", "s", "es", "n", "en", "er", "e")
"""What may stand between two parts."""

_JOINED = re.compile("(?:ung|heit|keit|schaft|taet|tat|ion|ling)s$")
"""Behind these endings an "s" only joins another part: it needs no proof from the corpus."""

_ENDINGS = ("", "ung", "heit", "keit", "lich", "isch", "ig")
"""What the stem of a long word lacks, that of a short one may have: *Rechnung*, *Krankenhausrechn*."""

_LONG = "kranken"
"""Before a word it makes a compound, by which the stem is told that the word has at the end of one."""

_MOST = 30
_MOST_LOOKED_AT = 1000
_MOST_SEARCHED = 300_000
"""In an index with more long words than these, parts are not looked for in the middle of them."""


class Compounds:
    """Finds compounds among the stems of an index.

    ``beginning``: the terms of the index that begin with a text, ``is_word``: whether a stem stands there.
    """

    def __init__(self, beginning: Callable[[str], Sequence[str]], is_word: Callable[[str], bool], stems: Stems) -> None:
        self._beginning, self._is_word, self._stems = beginning, is_word, stems
        self.of = lru_cache(2000)(self._of)
        self._is_first = lru_cache(20_000)(self._is_a_beginning)
        self._is_end = lru_cache(20_000)(self._is_an_end)

    def _of(self, word: str) -> tuple[str, ...]:
        """Return the stems of compounds that a lower-cased ``word`` is a part of, and of the parts that it has."""
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
        for whole in chain.from_iterable(zip_longest(*sources)):  # in turn: none leaves no room for the others
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
        """Yield compounds that begin with a word: by its stem, or whole, as *Kündigung* is in *Kündigungsfrist*."""
        whole_word = folded(word)
        firsts = {stem, whole_word, whole_word.removesuffix("en")}
        for term in self._beginning(MARK + stem)[:_MOST_LOOKED_AT]:
            whole = term[len(MARK) :]
            if len(whole) >= LEAST and any(self._goes_on(whole, first) for first in firsts if whole.startswith(first)):
                yield whole

    def _with_in_the_middle(self, stem: str) -> Iterator[str]:
        """Yield compounds with other words before and behind one, as *Zeit* has in *Arbeitszeiterfassung*."""
        literal = re.escape(stem)
        inside = f"{literal}(?<=\\S{literal})(?=\\S)"  # the stem first: so it is found fast
        for found in islice(re.finditer(inside, self._long), _MOST_LOOKED_AT):
            start, end = self._long.rfind(" ", 0, found.start()) + 1, self._long.find(" ", found.end())
            whole, at = self._long[start:end], found.start() - start
            if self._is_first(whole[:at]) and self._goes_on(whole[at:], stem):
                yield whole

    @cached_property
    def _long(self) -> str:
        """All words of the index that may be compounds."""
        found = self._beginning(REVERSED)
        words = (term[len(REVERSED) :][::-1] for term in found) if len(found) <= _MOST_SEARCHED else ()
        return "".join(f"{word} " for word in words if _LEAST_OF_THREE <= len(word) <= _LONGEST)

    def _goes_on(self, whole: str, first: str) -> bool:
        """Say whether a compound has another word behind its ``first`` part."""
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
        """Say whether a part is a word by itself or several, less what joins it to the next, or begins another word."""
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
        """Say whether what is left behind a part is a word by itself or several, after what joins it."""
        if len(rest) > _LONGEST:
            return False
        lasts = [rest[len(joint) :] for joint in _JOINTS if rest.startswith(joint)]
        if any(any(self._whole_words(last)) for last in lasts):
            return True
        cuts = ((last[:at], last[at:]) for last in lasts for at in range(_LEAST_PART, len(last) - _LEAST_PART + 1))
        return any(any(map(self._is_word, self._firsts(part))) and self._is_end(last) for part, last in cuts)

    def _whole_words(self, last: str) -> Iterator[str]:
        """Yield the words that the last part of a long word is."""
        if len(last) >= _LEAST_PART:
            yield from filter(self._is_word, (f"{last}{ending}" for ending in _ENDINGS))
