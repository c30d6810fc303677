"""Words that mean the same, put beside those that were asked for; identifiers stay as they are.

What is added comes from two tables of the settings: ``expansion.abbreviations`` first, then
``expansion.synonyms``, which looks at the words that were added before, too::

    memory allocation ERROR in CONFIG_NUMA
    memory allocation allocation allocate ERROR bug fault in CONFIG_NUMA             abbreviations
    memory heap stack allocation allocation allocate error bug fault in CONFIG_NUMA  synonyms

The original always stays, its expansions stand behind it. A word among its own abbreviations counts twice; a synonym
that is there already is not repeated. All but identifiers is lower-cased in the end: ``ERROR`` was only shouted,
``CONFIG_NUMA`` is a name.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from pinakes.settings import WORD, ExpansionSettings
from pinakes.text import identifiers

Table: TypeAlias = Mapping[str, Sequence[str]]

_REPEATED = re.compile(r"([!?,;])\1++(?!\w)")
_DOTS = re.compile(r"\.{4,}")


@dataclass(frozen=True, slots=True)
class Synonym:
    """A word, or several, that was added ``because`` of a word that was there."""

    term: str
    because: str
    table: Literal["abbreviations", "synonyms"]


@dataclass(frozen=True, slots=True)
class Expansion:
    """A query and what was added to it.

    ``original`` is the query with blanks and repeated punctuation in order. ``abbreviations`` is that with the
    expansions of the first table, ``text`` with those of both, lower-cased but for identifiers; both are the original
    where expansion is off. ``preserved`` are the identifiers, in order; with any of them ``code_detected`` is true.
    """

    original: str
    abbreviations: str
    text: str
    added: tuple[Synonym, ...] = ()
    preserved: tuple[str, ...] = ()

    @property
    def code_detected(self) -> bool:
        """Whether the query names something of code: an identifier, a path, a version."""
        return bool(self.preserved)

    @property
    def terms(self) -> tuple[str, ...]:
        """What was added and not asked for, each once, in order: for search to weigh less than what was asked for."""
        return tuple(dict.fromkeys(addition.term for addition in self._new()))

    @property
    def notes(self) -> tuple[str, ...]:
        """What was done, in words: none where nothing was added."""
        behind: dict[str, list[str]] = {}
        for addition in self._new():
            behind.setdefault(addition.because, []).append(addition.term)
        said = "; ".join(f"{', '.join(terms)} (for {because})" for because, terms in behind.items())
        return (f"also searched for: {said}",) if said else ()

    def _new(self) -> list[Synonym]:
        asked = {word.casefold() for word in WORD.findall(self.original)}
        once = {addition.term.casefold(): addition for addition in reversed(self.added)}
        return [one for one in self.added if one.term.casefold() not in asked and once[one.term.casefold()] is one]


def expand(text: str, settings: ExpansionSettings) -> Expansion:
    """Return ``text`` with what the tables of ``settings`` add to it; with nothing added where expansion is off."""
    original = _tidy(text)
    kept = tuple(dict.fromkeys(found.name for found in identifiers.find(original)))
    if not settings.enabled:
        return Expansion(original, original, original, (), kept)
    added: list[Synonym] = []

    def abbreviation(word: str) -> str:
        found = _of(settings.abbreviations, word)
        added.extend(Synonym(term, word, "abbreviations") for term in found)
        return " ".join([word, *found])

    first = _each_word(original, abbreviation)
    there = {word.casefold() for word in WORD.findall(first)}

    def synonym(word: str) -> str:
        found = [term for term in _of(settings.synonyms, word) if term.casefold() not in there]
        there.update(term.casefold() for term in found)
        added.extend(Synonym(term, word.lower(), "synonyms") for term in found)
        return " ".join([word.lower(), *found])

    return Expansion(original, first, _each_word(first, synonym), tuple(added), kept)


def _tidy(text: str) -> str:
    """Return ``text`` with single blanks, ``!!!`` as ``!`` and ``.....`` as ``...``."""
    return _DOTS.sub("...", _REPEATED.sub(r"\1", " ".join(text.split())))


def _of(table: Table, word: str) -> list[str]:
    found: Iterable[str] = table.get(word.casefold(), ())
    return [" ".join(term.split()) for term in found if term.strip()]


def _each_word(text: str, change: Callable[[str], str]) -> str:
    """Return ``text`` with every word changed that is no identifier and no part of one."""
    parts, end = [], 0
    for found in identifiers.find(text):
        parts += [WORD.sub(lambda word: change(word.group()), text[end : found.start]), found.name]
        end = found.end
    return "".join([*parts, WORD.sub(lambda word: change(word.group()), text[end:])])
