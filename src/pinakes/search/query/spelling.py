"""Words of a query that no chunk has, and the nearest that some chunk has.

Nearness is the number of edits: a letter too many, missing or wrong, or two neighbours swapped (optimal string
alignment distance). Nothing is said of a word that stands anywhere in the corpus, in any of its forms.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import islice
from string import ascii_lowercase

from pinakes.core.ports import Lexicon
from pinakes.text import identifiers
from pinakes.text.analysis import NAMES, STOP_WORDS, Analyzer
from pinakes.text.analysis.segmentation import UNSPACED

_WORD = re.compile(r"\w+(?:[-.'’]\w+)*")
_LACKED = "no chunk has "
_NOTE = re.compile(rf"{_LACKED}('[^']*'|\"[^\"]*\")(?=:|$| in capitals| as a word)")
_ASCII_LETTER = re.compile("[A-Za-z]")
_JOINT = re.compile(r"[-._'’]+|(?<=[a-z0-9])(?=[A-Z])")
_NEVER: tuple[identifiers.Kind, ...] = ("url", "hex", "version")
_ADDRESSES: tuple[identifiers.Kind, ...] = ("url", "hex")
_SHORTEST = 4
_TWO_EDITS_FROM = 8
_BEGINNING = 3
"""A mistake is looked for behind so many letters by going through the words that begin with these."""

_MOST_NEAR = 3
_MOST_COUNTED = 10
_MOST_MISSING = 5
_MOST_UNLIKE = 2
"""So many unknown words of a query are looked into, and of those that resemble nothing: it is in another language."""

_SURE_LETTERS, _SURE_DOCUMENTS, _DOMINANCE = 5, 3, 10
"""A word of so many letters is replaced by one in so many documents, and in so many times those of any other as near.

Shorter words have too many others one edit away, and rarer ones are often misspelt themselves.
"""

_MOST_WORDS = 20
"""Of a longer query it is not said which short words are nowhere: it is a text, and none of them matters much."""


@dataclass(frozen=True, slots=True)
class NearWord:
    """A word of the corpus, lower-cased: how many edits away it is, and in how many documents it stands."""

    word: str
    distance: int
    documents: int


@dataclass(frozen=True, slots=True)
class MissingWord:
    """A word of the query that no chunk has, with up to three that are near, the likeliest first.

    ``sure``: the first of them may stand in for the word without asking.
    """

    word: str
    near: tuple[NearWord, ...] = ()
    sure: bool = False

    @property
    def note(self) -> str:
        """The same in words."""
        said = f"{_LACKED}{self.word!r}"
        if self.word in NAMES:
            return f"{said} in capitals"
        if len(self.word) == 1:
            return f"{said} as a word by itself"
        return f"{said}: did you mean {' or '.join(repr(near.word) for near in self.near)}?" if self.near else said


def lacked_word(note: str) -> str:
    """Return which word a ``MissingWord.note`` is about, quoted; "" for a note of another kind."""
    found = _NOTE.match(note)
    return found[1] if found else ""


def missing(text: str, lexicon: Lexicon) -> tuple[MissingWord, ...]:
    """Return the words of ``text`` that no chunk has, each once, at most five, and two that nothing resembles.

    A compound or identifier counts as missing when something near to the whole of it is there, or none of its parts.
    """
    found: list[MissingWord] = []
    for word in dict.fromkeys(_words(text)):
        if len(found) == _MOST_MISSING or sum(not one.near for one in found) == _MOST_UNLIKE:
            break
        if lexicon.has(word):
            continue
        near = _near(word.lower(), lexicon)
        if near or not any(map(lexicon.has, _parts(word))):
            found.append(MissingWord(word, near[:_MOST_NEAR], _is_sure(word, near)))
    return tuple(found)


def absent(text: str, lexicon: Lexicon) -> tuple[MissingWord, ...]:
    """Return the words of ``text`` that are too short to be misspelt and that no chunk has, each once, at most five.

    These are letters, digits and names with signs, too: Z, 7, C++, IT, RFC-9. Addresses and hex numbers are left alone,
    and so are all of a text of more than 20 words.
    """
    words = _analyzer().query_words(" ".join(_between(text, _ADDRESSES)))
    if len(words) > _MOST_WORDS:
        return ()
    short = (word for word in dict.fromkeys(words) if _is_short(word) and not lexicon.has(word))
    return tuple(map(MissingWord, islice(short, _MOST_MISSING)))


def corrected(text: str, found: Iterable[MissingWord]) -> str:
    """Return ``text`` with every word replaced whose replacement is sure, a capital at its beginning kept."""
    for one in found:
        if one.sure:
            right = one.near[0].word
            right = right.capitalize() if one.word[0].isupper() else right
            text = re.sub(rf"(?<!\w){re.escape(one.word)}(?!\w)", right, text)
    return text


def _words(text: str) -> Iterator[str]:
    for part in _between(text, _NEVER):
        for word in _WORD.findall(part):
            if _letters(word) >= _SHORTEST and word.lower() not in STOP_WORDS:
                yield word


def _between(text: str, kinds: Collection[identifiers.Kind]) -> Iterator[str]:
    """Yield what of a text stands between identifiers of these kinds."""
    end = 0
    for kept in (one for one in identifiers.find(text) if one.kind in kinds):
        yield text[end : kept.start]
        end = kept.end
    yield text[end:]


def _letters(word: str) -> int:
    if word.isascii():
        return len(_ASCII_LETTER.findall(word))
    return sum(letter.lower() != letter.upper() for letter in word)


def _is_short(word: str) -> bool:
    """Say whether a word that counts in a query is not one of those that ``missing`` looks into."""
    if len(word) > 1 and (UNSPACED.search(word) or (word.lower() in STOP_WORDS and word not in NAMES)):
        return False
    return _letters(word) < _SHORTEST


def _parts(word: str) -> list[str]:
    parts = [part for part in _JOINT.split(word) if part]
    return parts if len(parts) > 1 else []


def _near(word: str, lexicon: Lexicon) -> tuple[NearWord, ...]:
    """Return the words at most one edit away, two for long ones: the nearest first, the more frequent before others."""
    edits = 2 if len(word) >= _TWO_EDITS_FROM else 1
    found = _among(word, lexicon.beginning(word[:_BEGINNING]), edits)
    for other in _edited_in_the_beginning(word):
        found += [NearWord(name, 1, documents) for name, documents in lexicon.beginning(other) if name == other]
    best = sorted(set(found), key=_order)[:_MOST_COUNTED]
    counted = [replace(near, documents=lexicon.count(near.word)) for near in best]
    return tuple(sorted((near for near in counted if near.documents), key=_order))


def _order(near: NearWord) -> tuple[int, int, str]:
    return near.distance, -near.documents, near.word


def _among(word: str, words: Sequence[tuple[str, int]], edits: int) -> list[NearWord]:
    names = [name for name, _ in words]
    from rapidfuzz import process
    from rapidfuzz.distance import OSA

    close = process.extract(word, names, scorer=OSA.distance, score_cutoff=edits, limit=None)
    return [NearWord(name, int(distance), words[at][1]) for name, distance, at in close if distance]


def _edited_in_the_beginning(word: str) -> set[str]:
    """Return all words that one edit in the first letters makes of this one; others begin as it does."""
    letters, found = {*ascii_lowercase, *word}, set[str]()
    for at in range(_BEGINNING):
        before, here, after = word[:at], word[at], word[at + 1 :]
        found |= {before + after, before + after[:1] + here + after[1:]}
        found |= {before + letter + after for letter in letters}
        found |= {before + letter + here + after for letter in letters}
    return found - {word}


def _is_sure(word: str, near: Sequence[NearWord]) -> bool:
    plain = word.isalpha() and word[1:].islower()
    if not near or not plain or len(word) < _SURE_LETTERS:
        return False
    best = near[0]
    if best.distance > 1 or not best.word.isalpha():
        return False
    stem = _stem(best.word)
    same = sum(one.documents for one in near if one.distance == 1 and _stem(one.word) == stem)
    others = [one.documents for one in near if one.distance == 1 and _stem(one.word) != stem]
    return same >= max(_SURE_DOCUMENTS, _DOMINANCE * max(others, default=0))


def _stem(word: str) -> str:
    terms = _analyzer().terms(word)
    return terms[0] if terms else word


@cache
def _analyzer() -> Analyzer:
    return Analyzer()
