"""Spelling: words of a query that no chunk has, and the nearest words that some chunk has.

The distance counts insertions, deletions, substitutions and swaps of neighbouring letters (optimal string alignment
distance). A word that occurs anywhere in the corpus, in any of its forms, is never reported.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import chain, islice, pairwise
from string import ascii_lowercase

from pinakes.core.ports import Lexicon
from pinakes.core.regexes import lazy
from pinakes.text import identifiers
from pinakes.text.analysis import NAMES, STOP_WORDS, english
from pinakes.text.analysis.segmentation import normal, unspaced
from pinakes.text.analysis.spellings import other_groups

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
"""Edits after this many letters are found by scanning the corpus words that share these first letters."""

_MOST_NEAR = 3
_MOST_COUNTED = 10
_MOST_MISSING = 5
_MOST_UNLIKE = 2
"""Unknown words examined per query that have no near word: more of them mean that the query is in another language."""

_SURE_LETTERS, _SURE_DOCUMENTS, _DOMINANCE = 5, 3, 10
"""Letters, documents and dominance that make a correction sure.

A word of so many letters is replaced by a word that is in so many documents, and in so many times the documents of any
other word at the same distance. Shorter words have too many neighbours, and rare words are often misspelt themselves.
"""

_SHORTEST_PART, _LONGEST_SPLIT = 4, 24
"""Letters of each of two words that an unknown word may be, and of that word."""

_ABBREVIATED = lazy(r"(?=[a-f]*\d)(?=\d*[a-f])[0-9a-f]{7,39}")
_HASH = lazy("[0-9a-f]{32,64}")

_MOST_WORDS = 20
"""Short words are not reported missing in a query of more words: it is a text, in which no short word matters much."""


@dataclass(frozen=True, slots=True)
class NearWord:
    """A lower-cased word of the corpus, its edit distance from the query's word, and its document frequency."""

    word: str
    distance: int
    documents: int


@dataclass(frozen=True, slots=True)
class MissingWord:
    """A word of the query that no chunk has, and up to three near words, the most likely first.

    ``sure``: the first near word may replace it without asking.
    """

    word: str
    near: tuple[NearWord, ...] = ()
    sure: bool = False

    @property
    def note(self) -> str:
        """The note for the reader."""
        text = f"{_LACKED}{self.word!r}"
        if self.word in NAMES:
            return f"{text} in capitals"
        if len(self.word) == 1:
            return f"{text} as a word by itself"
        return f"{text}: did you mean {' or '.join(repr(near.word) for near in self.near)}?" if self.near else text


def lacked_word(note: str) -> str:
    """Return the word, in quotes, that a ``MissingWord.note`` is about; "" for any other note."""
    found = _NOTE.match(note)
    return found[1] if found else ""


def missing(text: str, lexicon: Lexicon) -> tuple[MissingWord, ...]:
    """Return the words of ``text`` that no chunk has, each once: at most five, and at most two without a near word.

    A compound or identifier is missing if a near form of the whole exists, or if none of its parts exist.
    """
    found: list[MissingWord] = []
    lacking = (word for word in dict.fromkeys(_words(text)) if not lexicon.has(word))
    first = list(islice(lacking, _MOST_MISSING))
    _prepare_near(first, lexicon)
    for word in chain(first, lacking):
        if len(found) == _MOST_MISSING or sum(not one.near for one in found) == _MOST_UNLIKE:
            break
        near = _near(word.lower(), lexicon)
        if near or not any(map(lexicon.has, _parts(word))):
            found.append(MissingWord(word, near[:_MOST_NEAR], _is_sure(word, near)))
    return tuple(found)


def parts_asked_for(text: str) -> Iterator[str]:
    """Yield what ``missing`` and ``absent`` may ask for beside the words of ``text``: parts of words, pairs in one."""
    for word in _words(text):
        yield from _parts(word)
    words = _content_words(text)
    pairs = pairwise(words) if len(words) <= _MOST_WORDS else ()
    yield from ("".join(pair) for pair in pairs if any(map(_is_short, pair)))


def absent(text: str, lexicon: Lexicon) -> tuple[MissingWord, ...]:
    """Return the words of ``text`` that no chunk has and that are too short to be misspelt, each once, at most five.

    These are letters, digits and names with signs: Z, 7, C++, IT, RFC-9. Addresses and hex numbers are ignored, and so
    is a text of more than 20 words, and what is one word with that beside it: utf 8.
    """
    words = _content_words(text)
    if len(words) > _MOST_WORDS:
        return ()
    lacking = [word for word in dict.fromkeys(words) if _is_short(word) and not lexicon.has(word)]
    pairs = (pair for pair in pairwise(words) if not set(pair).isdisjoint(lacking))
    joined = {word for pair in pairs if lexicon.has("".join(pair)) for word in pair}
    for number in other_groups(words, normal(text)):
        if all(map(lexicon.has, number.others)):
            joined.update(number.words)
    return tuple(map(MissingWord, islice((word for word in lacking if word not in joined), _MOST_MISSING)))


def other_words(lacking: Iterable[str], lexicon: Lexicon) -> dict[str, str]:
    """Return lacking word → the words of the collection to search for as well: ``datacenter`` → ``data center``.

    These are its two parts, or the whole hash that it is the beginning of.
    """
    found: dict[str, str] = {}
    for word in lacking:
        splits = _splits(word)
        counts = lexicon.counts([part for pair in splits for part in pair])
        rarer = [min(counts[at : at + 2]) for at in range(0, len(counts), 2)]
        if best := max(rarer, default=0):
            found[word] = " ".join(splits[rarer.index(best)])
        elif _ABBREVIATED.fullmatch(word.lower()) and (whole := _whole(word.lower(), lexicon)):
            found[word] = whole
    return found


def is_whole_of(word: str, beginning: str) -> bool:
    """Return whether what stands for a word is a hash that begins with it."""
    return word.startswith(beginning.lower())


def corrected(text: str, found: Iterable[MissingWord]) -> str:
    """Return ``text`` with every word replaced whose correction is sure; an initial capital is kept."""
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


def _content_words(text: str) -> list[str]:
    return english().query_words(" ".join(_between(text, _ADDRESSES)))


def _between(text: str, kinds: Collection[identifiers.Kind]) -> Iterator[str]:
    """Yield the parts of a text between identifiers of these kinds."""
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
    """Return whether a content word is too short for ``missing`` to examine."""
    if len(word) > 1 and (unspaced(word) or (word.lower() in STOP_WORDS and word not in NAMES)):
        return False
    return _letters(word) < _SHORTEST


def _parts(word: str) -> list[str]:
    parts = [part for part in _JOINT.split(word) if part]
    return parts if len(parts) > 1 else []


def _prepare_near(words: Sequence[str], lexicon: Lexicon) -> None:
    """Expect ``_near`` of all these words."""
    if lower := [word.lower() for word in words]:
        edited = {edited for word in lower for edited in _edited_in_the_beginning(word)}
        edited.update(part for word in lower for pair in _splits(word) for part in pair)
        lexicon.prepare_near(sorted(edited), sorted({word[:_BEGINNING] for word in lower}))


def _splits(word: str) -> list[tuple[str, str]]:
    """Return the ways to part a word into two that may stand alone."""
    if not (word.isascii() and word.isalpha() and len(word) <= _LONGEST_SPLIT):
        return []
    lower = word.lower()
    pairs = ((lower[:at], lower[at:]) for at in range(_SHORTEST_PART, len(word) - _SHORTEST_PART + 1))
    return [pair for pair in pairs if STOP_WORDS.isdisjoint(pair)]


def _whole(beginning: str, lexicon: Lexicon) -> str:
    """Return the hash that begins so; "" if there are several."""
    lexicon.prepare_near((), [beginning])
    whole = [word for word, _ in lexicon.beginning(beginning) if _HASH.fullmatch(word)]
    return whole[0] if len(whole) == 1 else ""


def _near(word: str, lexicon: Lexicon) -> tuple[NearWord, ...]:
    """Return words within one edit, or two for long words, sorted by distance, then by document frequency."""
    edits = 2 if len(word) >= _TWO_EDITS_FROM else 1
    found = _among(word, lexicon.beginning(word[:_BEGINNING]), edits)
    edited = sorted(_edited_in_the_beginning(word))
    found += [NearWord(one, 1, documents) for one, documents in _counted(edited, lexicon)]
    best = sorted(set(found), key=_order)[:_MOST_COUNTED]
    documents = dict(_counted([near.word for near in best], lexicon))
    counted = [replace(near, documents=documents.get(near.word, 0)) for near in best]
    return tuple(sorted((near for near in counted if near.documents), key=_order))


def _counted(words: Sequence[str], lexicon: Lexicon) -> list[tuple[str, int]]:
    """Return those of ``words`` that documents contain, each with how many do."""
    return [(word, count) for word, count in zip(words, lexicon.counts(words), strict=True) if count]


def _order(near: NearWord) -> tuple[int, int, str]:
    return near.distance, -near.documents, near.word


def _among(word: str, words: Sequence[tuple[str, int]], edits: int) -> list[NearWord]:
    names = [name for name, _ in words]
    from rapidfuzz import process
    from rapidfuzz.distance import OSA

    close = process.extract(word, names, scorer=OSA.distance, score_cutoff=edits, limit=None)
    return [NearWord(name, int(distance), words[at][1]) for name, distance, at in close if distance]


@lru_cache(maxsize=64)
def _edited_in_the_beginning(word: str) -> frozenset[str]:
    """Return all words that differ by one edit in the first letters, which a scan by prefix cannot find."""
    letters, found = {*ascii_lowercase, *word}, set[str]()
    for at in range(_BEGINNING):
        before, here, after = word[:at], word[at], word[at + 1 :]
        found |= {before + after, before + after[:1] + here + after[1:]}
        found |= {before + letter + after for letter in letters}
        found |= {before + letter + here + after for letter in letters}
    return frozenset(found - {word})


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
    terms = english().terms(word)
    return terms[0] if terms else word
