"""Mentions of listed names: Aho-Corasick over all names and aliases, longest match, with word borders."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from pinakes.core.graph_records import EntityName, ExtractionSubject, Findings, Mention, folded
from pinakes.extraction.prose_text import whole
from pinakes.settings import EntityType

_PLAIN: Final = (*((char, " ") for char in "\n\t\r\u00a0\u2010\u2011\u2012\u2013"), ("\u2019", "'"), ("\u2018", "'"))
_NEXT_WORD: Final = re.compile(r"[ \t]([^\W\d_][\w'&-]*)")
_LAST_WORD: Final = re.compile(r"([^\W\d_][\w'&-]*)[ \t]$")
_LOOKED_AT: Final = 40
_ARTICLES: Final = frozenset("the a an our your their this that these and or in at by for from if to of with".split())

LISTED_CONFIDENCE: Final = 0.95
ALIAS_CONFIDENCE: Final = 0.9


@dataclass(frozen=True, slots=True)
class Listing:
    """A listed entity with its other names."""

    entity: EntityName
    aliases: Sequence[str] = ()


@dataclass(slots=True)
class _Surface:
    """A way to write a name: its form as listed, and whose name it is."""

    form: str
    entity: EntityName
    is_alias: bool
    forms: set[str] = field(default_factory=set)


def lowered(text: str) -> str:
    """Return ``text`` in lower case, as long as it is, with a blank for each kind of white space and dash."""
    plain = whole(text)
    for char, as_char in _PLAIN:  # faster than a translation
        plain = plain.replace(char, as_char)
    lower = plain.lower()
    return lower if len(lower) == len(text) else "".join(c.lower() if len(c.lower()) == 1 else c for c in plain)


def without_repeats(listings: Iterable[Listing]) -> tuple[list[Listing], list[str]]:
    """Return the listings with one for each entity, and what was wrong with them, in words.

    A name that is an alias of another entity of its type is that entity's; of an alias of two, the first has it. So
    aliases make no circles.
    """
    merged: dict[tuple[str, str], tuple[EntityName, dict[str, str]]] = {}
    problems: list[str] = []
    for one in listings:
        entity, aliases = merged.setdefault(one.entity.key, (one.entity, {}))
        aliases.update((folded(alias), alias) for alias in one.aliases if folded(alias))
    owners = {key: key for key in merged}
    for key, (entity, aliases) in merged.items():
        for name in list(aliases):
            other = owners.setdefault((key[0], name), key)
            if other != key:
                problems.append(
                    f"{entity.type} {entity.name!r}: its alias {aliases.pop(name)!r} names {other[1]!r}, too"
                )
    return [Listing(entity, tuple(aliases.values())) for entity, aliases in merged.values()], problems


class Gazetteer:
    """Finds the names of lists in texts. Names of several types may be equal: each is found."""

    fingerprint: str

    def __init__(self, listings: Sequence[Listing], types: Mapping[str, EntityType]) -> None:
        from ahocorasick_rs import AhoCorasick, MatchKind  # only where a collection has a graph

        self._types = types
        self._surfaces: dict[str, list[_Surface]] = {}
        for one in listings:
            for name in (one.entity.name, *one.aliases):
                self._add(one.entity, name, is_alias=name != one.entity.name)
        self._patterns = sorted(self._surfaces)
        self._automaton = AhoCorasick(self._patterns, matchkind=MatchKind.Standard) if self._patterns else None
        self.fingerprint = f"lists:1 {[(one.entity, one.aliases) for one in listings]!r}"

    def _add(self, entity: EntityName, name: str, *, is_alias: bool) -> None:
        written = " ".join(name.split())
        lower = lowered(written)
        for surface in {lower, lower.replace("-", " ")}:
            same = self._surfaces.setdefault(surface, [])
            mine = next((one for one in same if one.entity == entity), None)
            if mine is None:
                mine = _Surface(written, entity, is_alias)
                same.append(mine)
            mine.forms.add(written)

    def extract(self, subject: ExtractionSubject) -> Findings:
        """Return the mentions of listed names; of those that overlap the longest, of these the first."""
        if self._automaton is None:
            return Findings()
        prose = subject.prose
        lower = lowered(prose)
        longest: dict[int, tuple[int, list[_Surface]]] = {}
        for number, start, end in self._automaton.find_matches_as_indexes(lower, overlapping=True):
            if not _is_word(prose, start, end) or longest.get(start, (0,))[0] >= end:
                continue
            if fitting := [one for one in self._surfaces[self._patterns[number]] if self._fits(one, prose, start, end)]:
                longest[start] = end, fitting
        mentions: list[Mention] = []
        last = 0
        for start in sorted(longest):
            end, found = longest[start]
            if start < last:
                continue
            last = end
            for one in found:
                sure = ALIAS_CONFIDENCE if one.is_alias else LISTED_CONFIDENCE
                mentions.append(Mention(one.entity, start, end, sure, "lists"))
        return Findings(mentions)

    def _fits(self, surface: _Surface, prose: str, start: int, end: int) -> bool:
        """Say whether the letters of a place fit a name: see ``settings.graph_rules.NameCase``."""
        rules = self._types.get(surface.entity.type) or EntityType.model_validate({})
        written = prose[start:end]
        if written not in surface.forms and not _fits_case(surface.form, written, rules.case):
            return False
        return rules.inside or not self._is_inside(prose, start, end, rules)

    def _is_inside(self, prose: str, start: int, end: int, rules: EntityType) -> bool:
        """Say whether a place is part of a longer row of words with capitals, which is another name."""
        behind = _NEXT_WORD.match(prose, end, end + _LOOKED_AT)
        if behind and behind[1][0].isupper() and behind[1].casefold() not in {one.casefold() for one in rules.suffixes}:
            return True
        before = _LAST_WORD.search(prose[max(0, start - _LOOKED_AT) : start])
        return bool(before and before[1][0].isupper() and before[1].casefold() not in _ARTICLES)


def _fits_case(form: str, written: str, case: str) -> bool:
    if case == "exact":
        return False
    if case == "any":
        return True
    if form.isupper() and len(form) <= 4:  # US and us
        return written.isupper()
    is_plain = " " not in form and form[1:].islower()
    return not is_plain or not form[:1].isupper() or written[:1].isupper()


def _is_word(text: str, start: int, end: int) -> bool:
    return not (_continues(text, start - 1, start) or _continues(text, end, end - 1))


def _continues(text: str, outside: int, inside: int) -> bool:
    """Say whether the character ``outside`` goes on with the word whose last character is ``inside``."""
    if not 0 <= outside < len(text):
        return False
    return (text[outside].isalnum() or text[outside] == "_") and (text[inside].isalnum() or text[inside] == "_")
