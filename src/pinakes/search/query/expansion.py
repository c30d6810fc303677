"""Query expansion: adds synonyms of the query's words; identifiers are left unchanged.

The additions come from two tables of the settings: ``expansion.abbreviations`` first, then ``expansion.synonyms``,
which also expands the words that the first table added::

    memory allocation ERROR in CONFIG_NUMA
    memory allocation allocation allocate ERROR bug fault in CONFIG_NUMA             abbreviations
    memory heap stack allocation allocation allocate error bug fault in CONFIG_NUMA  synonyms

The original words always stay, followed by their expansions. A word listed among its own abbreviations counts twice; a
synonym that is already in the query is not repeated. Everything except identifiers is lower-cased at the end: ``ERROR``
is a word in capitals, ``CONFIG_NUMA`` is a name.
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
    """A term of one or more words that was added ``because`` of a word in the query."""

    term: str
    because: str
    table: Literal["abbreviations", "synonyms"]


@dataclass(frozen=True, slots=True)
class Expansion:
    """A query and its expansions.

    ``original`` is the query with white space and repeated punctuation normalised. ``abbreviations`` adds the
    expansions of the first table, ``text`` those of both tables, lower-cased except for identifiers; both equal the
    original if expansion is off. ``preserved``: the identifiers, in order.
    """

    original: str
    abbreviations: str
    text: str
    added: tuple[Synonym, ...] = ()
    preserved: tuple[str, ...] = ()

    @property
    def terms(self) -> tuple[str, ...]:
        """The added terms that the query does not contain, each once, in order; search gives them less weight."""
        return tuple(dict.fromkeys(addition.term for addition in self._new()))

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes on the added terms; empty if none were added."""
        behind: dict[str, list[str]] = {}
        for addition in self._new():
            behind.setdefault(addition.because, []).append(addition.term)
        replaced = "; ".join(f"{', '.join(terms)} (for {because})" for because, terms in behind.items())
        return (f"also searched for: {replaced}",) if replaced else ()

    def _new(self) -> list[Synonym]:
        asked = {word.casefold() for word in WORD.findall(self.original)}
        once = {addition.term.casefold(): addition for addition in reversed(self.added)}
        return [one for one in self.added if one.term.casefold() not in asked and once[one.term.casefold()] is one]


def expand(text: str, settings: ExpansionSettings) -> Expansion:
    """Expand ``text`` with the tables of ``settings``; nothing is added if expansion is off."""
    original = _tidy(text)
    kept = tuple(dict.fromkeys(found.name for found in identifiers.find(original)))
    if not settings.enabled:
        return Expansion(original, original, original, (), kept)
    added: list[Synonym] = []

    def abbreviation(word: str) -> str:
        found = _expansions_of(settings.abbreviations, word)
        added.extend(Synonym(term, word, "abbreviations") for term in found)
        return " ".join([word, *found])

    first = _each_word(original, abbreviation)
    there = {word.casefold() for word in WORD.findall(first)}

    def synonym(word: str) -> str:
        found = [term for term in _expansions_of(settings.synonyms, word) if term.casefold() not in there]
        there.update(term.casefold() for term in found)
        added.extend(Synonym(term, word.lower(), "synonyms") for term in found)
        return " ".join([word.lower(), *found])

    return Expansion(original, first, _each_word(first, synonym), tuple(added), kept)


def _tidy(text: str) -> str:
    """Return ``text`` with single spaces, ``!!!`` as ``!`` and ``.....`` as ``...``."""
    return _DOTS.sub("...", _REPEATED.sub(r"\1", " ".join(text.split())))


def _expansions_of(table: Table, word: str) -> list[str]:
    found: Iterable[str] = table.get(word.casefold(), ())
    return [" ".join(term.split()) for term in found if term.strip()]


def _each_word(text: str, change: Callable[[str], str]) -> str:
    """Return ``text`` with ``change`` applied to every word that is not part of an identifier."""
    parts, end = [], 0
    for found in identifiers.find(text):
        parts += [WORD.sub(lambda word: change(word.group()), text[end : found.start]), found.name]
        end = found.end
    return "".join([*parts, WORD.sub(lambda word: change(word.group()), text[end:])])
