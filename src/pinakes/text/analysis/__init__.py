"""Text to terms: the one analysis that indexing, querying and explaining share.

A word is kept whole and, where it is an identifier or compound, also as its parts, each stemmed:
``sig-api-machinery`` gives itself, ``sig``, ``api``, ``machineri``; ``CustomResourceDefinition`` gives
itself and ``custom``, ``resourc``, ``definit``. Runs of CJK characters give overlapping pairs.

These terms, in the order of the text, are its stream; phrases are compared in it. Other forms of a word, such as that
without accents, never enter the stream: they are its *variants*, kept in a field of their own.
"""

from __future__ import annotations

import re
import threading
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import chain
from operator import itemgetter
from typing import TypeAlias, TypeVar

import numpy as np
import Stemmer

from pinakes.core.records import Int64, Span
from pinakes.text.analysis import compounds
from pinakes.text.analysis import segmentation as cut
from pinakes.text.analysis.folding import forms
from pinakes.text.analysis.languages import ENGLISH, LANGUAGES, Stems, detect
from pinakes.text.analysis.segmentation import NAMES, STOP_WORDS, UNSPACED

__all__ = [
    "ENGLISH",
    "LANGUAGES",
    "NAMES",
    "STOP_WORDS",
    "VERSION",
    "Analyzer",
    "Place",
    "QueryTerm",
    "detect",
    "estimated_token_starts",
    "is_identifier",
]

VERSION = 2
"""Another number: an index made by the one before has other terms."""

_SEPARATOR = re.compile(r"[-._'’&/]+")
_POSSESSIVE = re.compile("'[sS]$")
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_NUMBER = re.compile(r"[vV]?\d+")
_PIECE = re.compile(r"[A-Za-z]{1,4}|\w|[^\w\s]")
_CACHE_SIZE = 200_000
_QUERY_WORDS = 2_000
"""So many words of queries are remembered with all that they are searched for as."""

_LONGEST = 255
"""Of a longer word the beginning is its term; nobody writes the rest of it into a query in another way."""

_REMEMBERED_CHARS = 100
"""Longer words are not remembered: what is remembered has a bound then, too."""

_ENDINGS = ("s", "ed", "ing")
_SHORTEST_INFLECTED = 3
_SIGNS = "+#*"
_SYLLABLES = 4
"""So many characters of a script without spaces, in a row, are more than a fragment of a word."""

_PART_OF_IDENTIFIER = 0.3
"""Weight of each part of an identifier with digits in a query; the whole has 1."""

_ALONE, _ALONE_AMONG_MANY = 0.5, 0.2
_MANY_TERMS = 20
"""Weight of a single character beside a word, and in a query with more terms than so many: in a pasted log or table
characters alone say nothing."""

Place: TypeAlias = tuple[Span, frozenset[str]]
"""Where a word stands in a text, and the terms it gives."""


@dataclass(frozen=True, slots=True)
class QueryTerm:
    """A term of a query and what stands in for it.

    ``weight``: how often it stands in the query, less for the parts of an identifier. ``others``: terms of the stream
    that other forms of the word have. ``exact``: the word as it is written; ``inflected``: where it has no ending, what
    it may be with one. ``word``: lower-cased, "" where it has no stem in any language.
    ``is_name``: a word in capitals that is a name, found among variants; in small letters where it is no stop word.
    """

    text: str
    weight: float = 1.0
    others: tuple[str, ...] = ()
    exact: str = ""
    inflected: tuple[str, ...] = ()
    word: str = ""
    is_name: bool = False


_Variants: TypeAlias = tuple[tuple[str, ...], str]
"""Terms of other forms of a word; the word as it is written, "" where its term says as much."""

_NO_VARIANTS: _Variants = ((), "")
_Learned = TypeVar("_Learned")


class _Memo(dict[str, _Learned]):
    """What is known of words, learned when asked for; of long words it is not remembered. May be asked by threads."""

    def __init__(self, lock: threading.RLock, learn: Callable[[str], _Learned]) -> None:
        self._lock, self._learn = lock, learn

    def __missing__(self, word: str) -> _Learned:
        with self._lock:
            learned = self._learn(word)
            if len(word) <= _REMEMBERED_CHARS:
                if len(self) >= _CACHE_SIZE:
                    self.clear()
                self[word] = learned
        return learned


class Analyzer:
    """Turns text into terms. Remembers words it has seen; safe to share between threads.

    Without a language terms are not stemmed: words as they are written, lower-cased.
    """

    version = VERSION

    def __init__(self, language: str | None = ENGLISH) -> None:
        # Without memory of its own, which would cost more than it saves.
        self._stemmer = Stemmer.Stemmer(language, 0) if language else None
        self._lock = threading.RLock()
        self._known = _Memo(self._lock, lambda word: tuple(self._of_word(word)))
        self._variants = _Memo(self._lock, self._variants_of)
        # What stands between two spaces is found faster than words are.
        self._pieces = _Memo(self._lock, lambda piece: frozenset(self._with_forms(cut.of_text(piece))))
        self._query_terms = lru_cache(_QUERY_WORDS)(self._of_query_word)
        self.stems = Stems()

    def terms(self, text: str) -> list[str]:
        """Return the terms of ``text`` in order, repeated as often as they occur."""
        return self.terms_of(cut.of_text(text))

    def words(self, text: str, *, code: bool = False) -> list[str]:
        """Return the words of ``text`` as they are written, in order; of ``code`` none of one character."""
        return cut.of_text(text, code=code)

    def terms_of(self, words: Iterable[str]) -> list[str]:
        """Return the terms of ``words``, in their order."""
        return list(chain.from_iterable(map(self._known.__getitem__, words)))

    def variants(self, words: Sequence[str]) -> tuple[list[str], list[str]]:
        """Return what else the ``words`` of a text are found by: other forms and names, and words as they are written.

        Of the latter, each once, those with an ending, and where these stand, those without.
        """
        known, found, exact = self._variants, list[str](), list[str]()
        counts: Counter[str] | None = None
        for word in set(words):
            others, written = known[word]
            if written:
                exact.append(written)
            if others:
                counts = counts or Counter(words)
                found += others * min(counts[word], _LONGEST)
        if exact:
            exact = [*exact, *self._beside(set(words), exact)]
        return [*found, *cut.named(words if isinstance(words, list) else list(words))], exact

    def _beside(self, words: Iterable[str], inflected: Sequence[str]) -> set[str]:
        """Return the words without endings that stand beside themselves with one, lower-cased."""
        known = self._known
        stems, endings = set(self.terms_of(inflected)), set(inflected)
        found = set[str]()
        for word in words:
            terms = known[word]
            if len(terms) == 1 and terms[0] in stems and (lower := word.lower()) not in endings:
                found.add(lower)
        return found

    def foreign_stems(self, words: Iterable[str], language: str) -> list[str]:
        """Return the stems of the ``words`` of a text in another language than English, marked by it.

        German ones of long words also reversed, by which they are found as compounds.
        """
        mark, found = f"{language}:", list[str]()
        for word in words:
            for part in _SEPARATOR.split(word.lower()):
                if len(part) > 1 and part.isalpha() and len(part) <= _LONGEST:
                    stem = self.stems.stem(language, part)
                    found.append(mark + stem)
                    if language == compounds.GERMAN and len(stem) >= compounds.LEAST:
                        found.append(compounds.REVERSED + stem[::-1])
        return found

    def query(self, text: str) -> list[QueryTerm]:
        """Return the distinct terms of a query with their weights; stop words only when there is nothing else."""
        words = cut.of_query(text)
        names = cut.names_in_query(words)
        found: dict[str, QueryTerm] = {}
        for word in _content(words, names):
            for term in self._query_terms(word, word in names):
                before = found.get(term.text)
                if before is None:
                    found[term.text] = term
                else:
                    found[term.text] = _both(before, term)
        alone = _ALONE if len(found) <= _MANY_TERMS else _ALONE_AMONG_MANY
        return [replace(term, weight=term.weight * alone) if _is_alone(term.text) else term for term in found.values()]

    def query_terms(self, text: str) -> list[str]:
        """Return the distinct terms of a query; stop words only when there is nothing else."""
        return [term.text for term in self.query(text)]

    def readings(self, phrase: str) -> list[list[str]]:
        """Return the terms that a phrase may have in a text: letters that may be articles are words there, or not."""
        return [self.terms(phrase), self.terms_of(cut.of_query(phrase)), self.terms_of(cut.each(phrase))]

    def query_words(self, text: str) -> list[str]:
        """Return the words of a query that count, as they are written; stop words only when there is nothing else."""
        words = cut.of_query(text)
        return _content(words, cut.names_in_query(words))

    def word_terms(self, word: str) -> list[QueryTerm]:
        """Return the terms of one word of a query, of ``query_words``, the whole first."""
        return list(self._query_terms(word, word in NAMES))

    def all_terms(self, text: str) -> frozenset[str]:
        """Return the terms of ``text``, those of other forms of its words and the names in capitals among them."""
        words = cut.of_text(text)
        return frozenset(self._with_forms(words))

    def places(
        self,
        text: str,
        wanted: frozenset[str],
        others: Mapping[str, str] | None = None,
        runs: Collection[str] = (),
    ) -> list[Place]:
        """Return where in ``text`` the words stand that give ``wanted`` terms, and which; in order, none overlap.

        ``others``: what stands in for a wanted term → that term. ``runs``: words of scripts without spaces as a whole.
        """
        others = others or {}
        every, words, found = wanted.union(others), set[str](), list[Place]()
        pieces = list(set(text.split()))
        for piece, lacks in zip(pieces, map(every.isdisjoint, map(self._pieces.__getitem__, pieces)), strict=True):
            if not lacks:
                words.update([piece] if len(piece) > 1 and piece.isalnum() else cut.raw(piece))
        alone = dict[str, frozenset[str]]()
        for word in words:
            those = self._meant(word, every, others)
            if not those:
                continue
            if len(word) == 1 or not (word[0].isalnum() and word[-1].isalnum()):
                alone[word] = those
                if not UNSPACED.match(word):
                    continue
            spans = cut.places_of(text, word)
            if word.isascii() or not UNSPACED.search(word):
                found += [(span, those) for span in spans]
            else:
                parts = self._parts(word, wanted, runs)
                found += [((at + start, at + end), those) for at, _ in spans for (start, end), those in parts]
        if alone:
            found += [(span, alone[word]) for span, word in cut.standing_alone(text, set(alone))]
        found.sort(key=itemgetter(0))
        return found

    def _meant(self, word: str, every: frozenset[str], others: Mapping[str, str]) -> frozenset[str]:
        """Return which terms of ``every`` a word of a text gives, those of ``others`` as what they stand in for."""
        plain = len(word) > 1 and word.isalnum()
        have = self._pieces[word] if plain else frozenset(self._with_forms([cut.normal(word)]))
        those = every.intersection(have)
        return those if those.isdisjoint(others) else frozenset(others.get(term, term) for term in those)

    def _with_forms(self, words: Sequence[str]) -> set[str]:
        terms = {*self.terms_of(words), *NAMES.intersection(words)}
        return terms.union(*(self._variants[word][0] for word in words))

    def _parts(self, word: str, wanted: frozenset[str], runs: Collection[str]) -> list[Place]:
        """Return what in a word with CJK characters gives ``wanted`` terms; pairs that touch are one."""
        found: list[Place] = []
        start = 0
        for part in cut.scripts(word):
            if not UNSPACED.match(part):
                if those := wanted.intersection(self.terms(part)):
                    found.append(((start, start + len(part)), those))
            else:
                found += _runs(part, start, wanted, runs)
            start += len(part)
        return found

    def _variants_of(self, word: str) -> _Variants:
        if UNSPACED.search(word):
            runs = (run for run in UNSPACED.findall(word) if len(run) > 1)
            return tuple(char for run in runs for char in run if char.isalpha()), ""
        found = tuple(other for part in _lower_parts(word) for other in self._others(part))
        exact = self._exact(word.lower()) if word.isalpha() and not found else ""
        return (found, exact) if found or exact else _NO_VARIANTS

    def _others(self, part: str) -> list[str]:
        """Return the terms of other forms of a lower-cased part of a word."""
        return self._stems([other for other in forms(part[:_LONGEST]) if len(other) > 1 or len(part) == 1])

    def _exact(self, lower: str) -> str:
        """Return a word with an ending of English as it is written; "" of another, whose term says as much."""
        if self._stemmer is None or lower in STOP_WORDS or not lower.endswith(_ENDINGS) or len(lower) > _LONGEST:
            return ""
        return lower if self._stemmer.stemWord(lower) != lower else ""

    def _inflected(self, lower: str) -> tuple[str, ...]:
        """Return words with endings that have the term of a word without."""
        if self._stemmer is None or len(lower) < _SHORTEST_INFLECTED or not lower.isascii() or len(lower) > _LONGEST:
            return ()
        bases = (lower, lower[:-1], lower[:-1] + "i", lower + lower[-1])
        stem, found = self._stemmer.stemWord(lower), dict[str, None]()
        for word in (base + ending for base in bases for ending in ("s", "es", "ed", "ing")):
            if self._stemmer.stemWord(word) == stem:
                found[word] = None
        return tuple(found)

    def _of_query_word(self, word: str, is_name: bool) -> tuple[QueryTerm, ...]:
        if is_name:
            small = word.lower()
            others = () if small in STOP_WORDS else tuple(self.terms_of([small]))
            return (QueryTerm(word, is_name=True, others=others),)
        terms = self.terms_of([word])
        parts = _lower_parts(word)
        if len(parts) != len(terms):  # of a run of characters without spaces, or of a name with signs
            return tuple(QueryTerm(term) for term in terms)
        with self._lock:
            forms_of = [tuple(self._others(part)) for part in parts]
            plain = parts[0] if len(parts) == 1 and word.isalpha() else ""
            inflected = self._inflected(plain) if plain and not self._exact(plain) else ()
        part_weight = _PART_OF_IDENTIFIER if is_identifier(word) else 1.0
        singles = _single(word) if "/" in word else ()
        return (
            *(
                QueryTerm(term, part_weight if at else 1.0, other, plain, inflected, part if part.isalpha() else "")
                for at, (term, part, other) in enumerate(zip(terms, parts, forms_of, strict=True))
            ),
            *(QueryTerm(char, part_weight) for char in singles),
        )

    def _of_word(self, word: str) -> list[str]:
        if word.isalpha() and word.islower() and word.isascii():
            return self._stems([word[:_LONGEST]])
        if UNSPACED.search(word):
            return [
                term
                for run in cut.scripts(word)
                for term in (_pairs(run) if UNSPACED.match(run) else self._of_word(run.strip("-._'’&")))
            ]
        if word and (word[0] == "." or word[-1] in _SIGNS):
            base = word.strip(f".{_SIGNS}")
            return [word.lower()[:_LONGEST], *(self._of_word(base) if len(base) > 1 else ())]
        return self._stems(_lower_parts(word))

    def _stems(self, words: Iterable[str]) -> list[str]:
        return [self._stemmer.stemWord(word) for word in words] if self._stemmer else list(words)


def is_identifier(word: str) -> bool:
    """Say whether a word is a name with a number: RFC-0011, v1.10, CVE-2021-44228."""
    parts = _SEPARATOR.split(word)
    return len(parts) > 1 and any(map(_NUMBER.fullmatch, parts))


def _lower_parts(word: str) -> list[str]:
    """Return a word lower-cased, then its parts of two characters and more where it has several."""
    if word.isalpha() and word.islower():
        return [word[:_LONGEST]]
    if "/" in word:
        pieces = (part for piece in word.split("/") for part in _lower_parts(piece) if len(part) > 1)
        return [word.lower()[:_LONGEST], *pieces]
    word = _POSSESSIVE.sub("", word.replace("’", "'"))
    parts = [part for piece in _SEPARATOR.split(word) for part in _HUMP.split(piece) if part]
    whole = word.lower().strip("-._'")
    if not whole:
        return []
    if len(parts) < 2 or "'" in whole:
        return [whole[:_LONGEST]] if len(whole) > 1 or len(word) == 1 else []
    lower = [part.lower()[:_LONGEST] for part in parts if len(part) > 1]
    return [whole[:_LONGEST], *lower] if len(whole) > 1 else lower


def _is_alone(term: str) -> bool:
    return len(term) == 1 and term.isalnum() and not UNSPACED.match(term)


def _single(word: str) -> list[str]:
    """Return the single characters of a name with a slash, which may stand alone elsewhere; no articles."""
    return [part for part in word.lower().split("/") if len(part) == 1 and part not in "ai"]


def _content(words: list[str], names: set[str]) -> list[str]:
    """Return the words that count: all but stop words; these only where there are no others."""
    counting = [word for word in words if word in names or word.lower() not in STOP_WORDS or len(word) == 1]
    return counting or words


def _both(one: QueryTerm, other: QueryTerm) -> QueryTerm:
    """Return a term that stands twice; where its two words are written in two ways, neither counts as written."""
    same = one.exact == other.exact
    return replace(
        one,
        weight=one.weight + other.weight,
        others=tuple(dict.fromkeys([*one.others, *other.others])),
        exact=one.exact if same else "",
        inflected=one.inflected if same else (),
    )


def _runs(part: str, start: int, wanted: frozenset[str], runs: Collection[str]) -> list[Place]:
    """Return what in a run of characters gives ``wanted`` terms.

    In scripts in which two characters are a fragment of a word: only all of a run that the query has, or much of it.
    """
    found: list[Place] = []
    for at, pair in enumerate(_pairs(part), start):
        if pair in wanted:
            joined = found and found[-1][0][1] >= at
            (first, _), those = found.pop() if joined else ((at, at), frozenset[str]())
            found.append(((first, at + len(pair)), those | {pair}))
    if cut.BY_SYLLABLE.match(part):
        return [
            ((first, last), those)
            for (first, last), those in found
            if last - first >= _SYLLABLES or part[first - start : last - start] in runs
        ]
    alone = {char for char in part if char in wanted} if len(part) > 1 else set()
    if alone:
        covered = [False] * len(part)
        for (first, last), _ in found:
            covered[first - start : last - start] = [True] * (last - first)
        found += [
            ((start + at, start + at + 1), frozenset([char]))
            for at, char in enumerate(part)
            if char in alone and not covered[at]
        ]
        found.sort(key=itemgetter(0))
    return found


def estimated_token_starts(text: str) -> Int64:
    """Return int64 (n,): where tokens would start if no tokenizer is at hand.

    Counts up to four letters, a digit, a sign or a character of another script as one token each, which
    is more than a WordPiece tokenizer finds in nearly all texts.
    """
    return np.fromiter((match.start() for match in _PIECE.finditer(text)), np.int64)


def _pairs(run: str) -> list[str]:
    return [run[i : i + 2] for i in range(len(run) - 1)] or [run]
