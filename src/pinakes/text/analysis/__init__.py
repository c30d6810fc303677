"""Analysis of text into terms, shared by indexing, queries and explanations.

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
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from itertools import chain
from operator import itemgetter
from typing import TypeAlias, TypeVar

import numpy as np
import Stemmer

from pinakes.core.records import Int64
from pinakes.text.analysis import compounds
from pinakes.text.analysis import segmentation as cut
from pinakes.text.analysis.folding import forms, letters_of
from pinakes.text.analysis.languages import ENGLISH, LANGUAGES, Stems, detect
from pinakes.text.analysis.segmentation import NAMES, STOP_WORDS, UNSPACED, Place, unspaced
from pinakes.text.analysis.spellings import other_groups, phrases, spellings

__all__ = [
    "ENGLISH",
    "FEW_TERMS",
    "LANGUAGES",
    "NAMES",
    "STOP_WORDS",
    "VERSION",
    "Analyzer",
    "Place",
    "QueryTerm",
    "detect",
    "english",
    "estimated_token_starts",
    "is_identifier",
]

VERSION = 4
"""The version of the analysis; it must change whenever the terms change, since older indexes are then invalid."""

_SEPARATOR = re.compile(rf"[-._'’&/{cut.POWER}]+")
_POSSESSIVE = re.compile("'[sS]$")
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_NUMBER = re.compile(r"[vV]?\d+")
_PIECE = re.compile(r"[A-Za-z]{1,4}|\w|[^\w\s]")
_CACHE_SIZE = 200_000
_QUERY_WORDS, _QUERIES = 2_000, 32
"""Number of query words in the cache of expansions, and of queries: each is analysed for several indexes."""

_LONGEST = 255
"""Maximum length of a term; of a longer word only the beginning is its term."""

_REMEMBERED_CHARS = 100
"""Maximum length of cached words, to bound the cache."""

FEW_TERMS = 3
"""With more of them a query is a sentence, and the endings in it are those of its grammar."""

_ENDINGS = ("s", "ed", "ing")
_SHORTEST_INFLECTED = 3
_SIGNS = "+#*"
_BEGINNING = re.compile(r"(?<![^\W_])[^\W_]|[A-Z]")
_AROUND = ',:;!?()[]"`*<>{}=|'
_BEHIND = f"{_AROUND}."
"""What often stands before or behind a word in a text, and is no part of any of at least two letters."""
_PART_OF_IDENTIFIER = 0.3
"""Weight in a query of each part of an identifier with digits, relative to the whole (1)."""

_ALONE, _ALONE_AMONG_MANY = 0.5, 0.2
_HELD = 0.05
_MANY_TERMS = 20
"""Weight of a single character beside a word, and in a query with more terms than so many: in a pasted log or table
characters alone say nothing."""


@dataclass(frozen=True, slots=True)
class QueryTerm:
    """A query term with its variants.

    ``weight``: how often it stands in the query, less for the parts of an identifier. ``others``: terms of the stream
    that other forms of the word have. ``exact``: the word as it is written; ``inflected``: where it has no ending and
    the query has few terms, what it may be with one. ``word``: lower-cased, "" where it has no stem in any language.
    ``is_name``: a word in capitals that is a name, found among variants; in small letters where it is no stop word.
    ``phrases``: terms that stand for the word where they follow each other in the stream: *2* and *500* for 2.500.
    ``is_added``: the query does not have the word, but words that it stands for, which are then one of ``phrases``.
    """

    text: str
    weight: float = 1.0
    others: tuple[str, ...] = ()
    exact: str = ""
    inflected: tuple[str, ...] = ()
    word: str = ""
    is_name: bool = False
    phrases: tuple[tuple[str, ...], ...] = ()
    is_added: bool = False


_Variants: TypeAlias = tuple[tuple[str, ...], str]
"""Terms of other forms of a word; the word as written, "" if its term is the same."""

_NO_VARIANTS: _Variants = ((), "")
_Learned = TypeVar("_Learned")


class _Memo(dict[str, _Learned]):
    """A cache of word analyses, filled on demand; long words are not cached. Thread-safe."""

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
    """Converts text to terms, with a cache of words. Thread-safe.

    Without a language, terms are not stemmed: they are the words as written, lower-cased.
    """

    version = VERSION

    def __init__(self, language: str | None = ENGLISH) -> None:
        # Without memory of its own, which would cost more than it saves.
        self._stemmer = Stemmer.Stemmer(language, 0) if language else None
        self._lock = threading.RLock()
        self._known = _Memo(self._lock, lambda word: tuple(self._of_word(word)))
        self._variants = _Memo(self._lock, self._variants_of)
        # What stands between two spaces is found faster than words are.
        self._pieces = _Memo(self._lock, self._of_piece)
        self._query_terms = lru_cache(_QUERY_WORDS)(self._of_query_word)
        self._queries = lru_cache(_QUERIES)(self._of_query)
        self.stems = Stems()

    def terms(self, text: str) -> list[str]:
        """Return the terms of ``text`` in order, with repetitions."""
        return self.terms_of(cut.of_text(text))

    def words(self, text: str, *, code: bool = False) -> list[str]:
        """Return the words of ``text`` as written, in order; for ``code`` without single characters."""
        return cut.of_text(text, code=code)

    def terms_of(self, words: Iterable[str]) -> list[str]:
        """Return the terms of ``words`` in order."""
        return list(chain.from_iterable(map(self._known.__getitem__, words)))

    def variants(self, words: Sequence[str]) -> tuple[list[str], list[str]]:
        """Return additional terms for the ``words`` of a text: other forms, names, and words as written.

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
        """Return the uninflected words that occur beside an inflected form, lower-cased."""
        known = self._known
        stems, endings = set(self.terms_of(inflected)), set(inflected)
        found = set[str]()
        for word in words:
            terms = known[word]
            if len(terms) == 1 and terms[0] in stems and (lower := word.lower()) not in endings:
                found.add(lower)
        return found

    def foreign_stems(self, words: Iterable[str], language: str) -> list[str]:
        """Return the stems of the ``words`` of a text in a language other than English, with a marker.

        German stems of long words are added reversed too, for the search of compounds by their ends.
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
        """Return the distinct terms of a query with their weights; stop words only if there is nothing else."""
        return list(self._queries(text))

    def _of_query(self, text: str) -> Sequence[QueryTerm]:
        words = cut.of_query(text)
        names = cut.names_in_query(words)
        found: dict[str, QueryTerm] = {}
        weighted = [one for word in cut.content_words(words, names) for one in self._query_terms(word, word in names)]
        weighted += [
            replace(
                one,
                weight=one.weight * group.weight * self._lacking(word, group.words),
                phrases=(*_with_letters(one.phrases), tuple(self.terms_of(group.words))),
                is_added=True,
            )
            for group in other_groups(words, cut.normal(text))
            for word in group.others
            for one in self._query_terms(word, False)[:1]
        ]
        for term in weighted:
            before = found.get(term.text)
            found[term.text] = term if before is None else _both(before, term)
        alone = _ALONE if len(found) <= _MANY_TERMS else _ALONE_AMONG_MANY
        terms = [replace(term, weight=term.weight * alone) if _is_alone(term.text) else term for term in found.values()]
        if len(terms) > FEW_TERMS:
            return terms
        with self._lock:
            return [replace(term, inflected=self._inflected(term.exact)) if term.exact else term for term in terms]

    def _lacking(self, joined: str, words: Sequence[str]) -> float:
        """Return how much ``joined`` counts beside ``words``: little where it has one of their numbers (16 in 16GB).

        A date that has the year counts in full if it lacks the name of the month.
        """
        terms = set(self.terms(joined)) if len(joined) <= _LONGEST else set[str]()
        has_number = any(word.isdecimal() and word in terms for word in words)
        return _HELD if has_number and all(word.lower() in terms for word in words if word.isalpha()) else 1.0

    def query_terms(self, text: str) -> list[str]:
        """Return the distinct terms of a query; stop words only if there is nothing else."""
        return [term.text for term in self.query(text)]

    def readings(self, phrase: str) -> list[list[str]]:
        """Return the possible terms of a phrase in a text, with and without letters that may be articles."""
        return [self.terms(phrase), self.terms_of(cut.of_query(phrase)), self.terms_of(cut.each(phrase))]

    def query_words(self, text: str) -> list[str]:
        """Return the relevant words of a query as written; stop words only if there is nothing else."""
        words = cut.of_query(text)
        return cut.content_words(words, cut.names_in_query(words))

    def word_terms(self, word: str) -> list[QueryTerm]:
        """Return the terms of one word from ``query_words``, the whole word first."""
        return list(self._query_terms(word, word in NAMES))

    def all_terms(self, text: str) -> frozenset[str]:
        """Return the terms of ``text``, including other forms of its words and names in capitals."""
        words = cut.of_text(text)
        return frozenset(self._with_forms(words))

    def places(
        self,
        text: str,
        wanted: frozenset[str],
        others: Mapping[str, str] | None = None,
        runs: Collection[str] = (),
    ) -> list[Place]:
        """Return the positions of words in ``text`` with ``wanted`` terms, and these terms; in order, without overlaps.

        ``others``: variant → the wanted term that it stands for. ``runs``: match words of scripts without spaces as a
        whole.
        """
        others = others or {}
        every, words, found = wanted.union(others), set[str](), list[Place]()
        for piece in self._pieces_with(every, text):
            words.update([piece] if len(piece) > 1 and piece.isalnum() else cut.raw(piece))
        alone = dict[str, frozenset[str]]()
        for word in words:
            those = self._meant(word, every, others)
            if not those:
                continue
            if len(word) == 1 or not (word[0].isalnum() and word[-1].isalnum()):
                alone[word] = those
                if not unspaced(word[0]):
                    continue
            spans = cut.places_of(text, word)
            if not unspaced(word):
                found += [(span, those) for span in spans]
            else:
                parts = self._parts(word, wanted, runs)
                found += [((at + start, at + end), those) for at, _ in spans for (start, end), those in parts]
        if alone:
            found += [(span, alone[word]) for span, word in cut.standing_alone(text, set(alone))]
        found.sort(key=itemgetter(0))
        return found

    def _pieces_with(self, every: frozenset[str], text: str) -> Iterator[str]:
        """Yield what stands between two spaces of a text and has terms of ``every``, each once.

        The terms of ASCII text begin as a part of a word in it does; what has no such beginning is not analysed.
        """
        known, begins = self._pieces, {term[0].lower() for term in every}
        of_letters = all(map(str.isalnum, begins))
        for piece in set(text.split()):
            terms = known.get(piece)
            if terms is None:
                if of_letters and piece.isascii() and begins.isdisjoint("".join(_BEGINNING.findall(piece)).lower()):
                    continue
                terms = known[piece]
            if not every.isdisjoint(terms):
                yield piece

    def _meant(self, word: str, every: frozenset[str], others: Mapping[str, str]) -> frozenset[str]:
        """Return the terms of ``every`` that a word of a text has; those of ``others`` as the terms they stand for."""
        plain = len(word) > 1 and word.isalnum()
        have = self._pieces[word] if plain else frozenset(self._with_forms([cut.normal(word)]))
        those = every.intersection(have)
        return those if those.isdisjoint(others) else frozenset(others.get(term, term) for term in those)

    def _of_piece(self, piece: str) -> frozenset[str]:
        word = piece.lstrip(_AROUND).rstrip(_BEHIND)
        if word[1:].islower() and word.isascii() and word.isalpha():
            lower = word.lower()[:_LONGEST]
            return frozenset(self._stems((lower, *forms(lower))))
        return frozenset(self._with_forms(cut.of_text(piece)))

    def _with_forms(self, words: Sequence[str]) -> set[str]:
        terms = {*self.terms_of(words), *NAMES.intersection(words)}
        return terms.union(*(self._variants[word][0] for word in words))

    def _parts(self, word: str, wanted: frozenset[str], runs: Collection[str]) -> list[Place]:
        """Return the matches of ``wanted`` terms in a word with CJK characters; adjacent pairs are merged."""
        found: list[Place] = []
        start = 0
        for part in cut.scripts(word):
            if not UNSPACED.match(part):
                if those := wanted.intersection(self.terms(part)):
                    found.append(((start, start + len(part)), those))
            else:
                found += cut.places_in_run(part, start, wanted, runs)
            start += len(part)
        return found

    def _variants_of(self, word: str) -> _Variants:
        if unspaced(word):
            runs = (run for run in UNSPACED.findall(word) if len(run) > 1)
            return tuple(char for run in runs for char in run if char.isalpha()), ""
        found = tuple(other for part in _lower_parts(word) for other in self._others(part))
        exact = self._exact(word.lower()) if word.isalpha() and not found else ""
        return (found, exact) if found or exact else _NO_VARIANTS

    def _others(self, part: str) -> list[str]:
        """Return the terms of other forms of a part of a word, lower-cased."""
        return self._stems([other for other in forms(part[:_LONGEST]) if len(other) > 1 or len(part) == 1])

    def _exact(self, lower: str) -> str:
        """Return an inflected English word as written; "" for other words, whose terms are equal to them."""
        if self._stemmer is None or lower in STOP_WORDS or not lower.endswith(_ENDINGS) or len(lower) > _LONGEST:
            return ""
        return lower if self._stemmer.stemWord(lower) != lower else ""

    def _inflected(self, lower: str) -> tuple[str, ...]:
        """Return the inflected words that share the term of an uninflected one."""
        if self._stemmer is None or len(lower) < _SHORTEST_INFLECTED or not lower.isascii() or len(lower) > _LONGEST:
            return ()
        if self._exact(lower):
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
            forms_of[:1] = [(*forms_of[0], *self._stems(spellings(parts[0])))] if parts else []
            plain = parts[0] if len(parts) == 1 and word.isalpha() else ""
        part_weight = _PART_OF_IDENTIFIER if is_identifier(word) else 1.0
        singles = cut.single_characters(word) if "/" in word else ()
        apart = tuple(dict.fromkeys(tuple(self.terms(one)) for one in phrases(parts[0]))) if parts else ()
        return (
            *(
                QueryTerm(
                    term,
                    part_weight if at else 1.0,
                    other,
                    plain,
                    word=letters_of(part),
                    phrases=() if at else apart,
                )
                for at, (term, part, other) in enumerate(zip(terms, parts, forms_of, strict=True))
            ),
            *(QueryTerm(char, part_weight) for char in singles),
        )

    def _of_word(self, word: str) -> list[str]:
        if word.isalpha() and word.islower() and word.isascii():
            return self._stems([word[:_LONGEST]])
        if unspaced(word):
            return [
                term
                for run in cut.scripts(word)
                for term in (cut.pairs(run) if UNSPACED.match(run) else self._of_word(run.strip("-._'’&")))
            ]
        if word and (word[0] == "." or word[-1] in _SIGNS):
            base = word.strip(f".{_SIGNS}")
            return [word.lower()[:_LONGEST], *(self._of_word(base) if len(base) > 1 else ())]
        return self._stems(_lower_parts(word))

    def _stems(self, words: Iterable[str]) -> list[str]:
        return [self._stemmer.stemWord(word) for word in words] if self._stemmer else list(words)


@cache
def english() -> Analyzer:
    """Return the analyser that the parts of this process share, so that each word is analysed once."""
    return Analyzer()


def is_identifier(word: str) -> bool:
    """Return whether a word is a name with a number, such as RFC-0011, v1.10 or CVE-2021-44228."""
    parts = _SEPARATOR.split(word)
    return len(parts) > 1 and any(map(_NUMBER.fullmatch, parts))


def _lower_parts(word: str) -> list[str]:
    """Return a word lower-cased, followed by its parts of at least two characters if it has several."""
    if word.isalpha() and word.islower():
        return [word[:_LONGEST]]
    if "/" in word:
        pieces = (part for piece in word.split("/") for part in _lower_parts(piece) if len(part) > 1)
        return [word.lower()[:_LONGEST], *pieces]
    word = _POSSESSIVE.sub("", word.replace("’", "'"))
    parts = [part for piece in _SEPARATOR.split(word) for part in _HUMP.split(piece) if part]
    whole = word.lower().strip("-._'").replace(cut.POWER, "")
    if not whole:
        return []
    if len(parts) < 2 or "'" in whole:
        return [whole[:_LONGEST]] if len(whole) > 1 or len(word) == 1 else []
    lower = [part.lower()[:_LONGEST] for part in parts if len(part) > 1]
    return [whole[:_LONGEST], *lower] if len(whole) > 1 else lower


def _with_letters(phrases: Iterable[tuple[str, ...]]) -> Iterator[tuple[str, ...]]:
    """Yield the phrases that are not numbers alone, which stand in a row by chance."""
    return (one for one in phrases if not all(map(str.isdecimal, one)))


def _is_alone(term: str) -> bool:
    return len(term) == 1 and term.isalnum() and not unspaced(term)


def _both(one: QueryTerm, other: QueryTerm) -> QueryTerm:
    """Return a term that stands twice; where its two words are written in two ways, neither counts as written."""
    same = one.exact == other.exact
    return replace(
        one,
        weight=one.weight + other.weight,
        others=tuple(dict.fromkeys([*one.others, *other.others])),
        phrases=tuple(dict.fromkeys([*one.phrases, *other.phrases])),
        exact=one.exact if same else "",
        is_added=one.is_added and other.is_added,
    )


def estimated_token_starts(text: str) -> Int64:
    """Return the estimated token starts without a tokenizer, int64 (n,).

    Up to four letters, a digit, a sign or a character of another script count as one token each, which is more than a
    WordPiece tokenizer finds in nearly all texts.
    """
    return np.fromiter((match.start() for match in _PIECE.finditer(text)), np.int64)
