"""Mentions of listed names: Aho-Corasick over all names and aliases, longest match, with word borders.

Curated lists are read from CSV (name, type, aliases) or JSON.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from pinakes.core.errors import InvalidSetting
from pinakes.core.graph_records import MAX_NAME_CHARS, EntityName, ExtractionSubject, Findings, Mention, folded
from pinakes.extraction.prose_text import whole
from pinakes.platform.regular_files import read_regular
from pinakes.settings import EntityType

_PLAIN: Final = (*((char, " ") for char in "\n\t\r\u00a0\u2010\u2011\u2012\u2013"), ("\u2019", "'"), ("\u2018", "'"))
_NEXT_WORD: Final = re.compile(r"(?:[ \t]|[ \t]?\n(?=\w)|/)([^\W\d_][\w'&-]*)")
_LAST_WORD: Final = re.compile(r"([^\W\d_][\w'&-]*)(?:[ \t]|(?<=\w)\n|/)\Z")
_SENTENCE_START: Final = re.compile(r"(?:^|\n|[.!?:])[ \t]*(?:[-*+•]|\d{1,3}[.)])?[ \t*_]*\Z")
_LOOKED_AT: Final = 40
_NO_NAMES: Final = frozenset(
    "the a an our your their this that these and or in at by for from if to of with vp svp evp head director lead "
    "chief interim senior as is are all each both notify contact ask join meet help".split()
)
"""Words beside a name that are no part of it, also with a capital: those before it, and titles of people."""

_AFTER_SUBJECT: Final = frozenset(
    "and or is are was were will would can could may must shall should has have had does do did also at in on to as "
    "we who which that with &".split()
)
"""Words behind a name at the start of a sentence; behind an imperative stand others: Support content creation."""

LISTED_CONFIDENCE: Final = 0.95
ALIAS_CONFIDENCE: Final = 0.9
_MOST_BYTES: Final = 50_000_000
_COLUMNS: Final = ("name", "type")


@dataclass(frozen=True, slots=True)
class Listing:
    """A listed entity with its other names."""

    entity: EntityName
    aliases: Sequence[str] = ()


@dataclass(slots=True)
class _Surface:
    """A spelling of a name: its form as listed, and whose name it is."""

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

    def __init__(
        self, listings: Sequence[Listing], types: Mapping[str, EntityType], not_names: Iterable[str] = ()
    ) -> None:
        from ahocorasick_rs import AhoCorasick, MatchKind  # only where a collection has a graph

        self._types = types
        never = {word.casefold() for word in not_names}
        self._suffixes = {name: never | {word.casefold() for word in one.suffixes} for name, one in types.items()}
        self._behind = {
            name: frozenset(word.casefold() for word in (*one.suffixes, *one.behind)) for name, one in types.items()
        }
        self._surfaces: dict[str, list[_Surface]] = {}
        for one in listings:
            for name in (one.entity.name, *one.aliases):
                self._add(one.entity, name, is_alias=name != one.entity.name)
        self._patterns = sorted(self._surfaces)
        self._automaton = AhoCorasick(self._patterns, matchkind=MatchKind.Standard) if self._patterns else None
        self.fingerprint = f"lists:2 {sorted(never)!r} {[(one.entity, one.aliases) for one in listings]!r}"

    def _add(self, entity: EntityName, name: str, *, is_alias: bool) -> None:
        written = " ".join(name.split())
        lower = lowered(written)
        forms = {lower, lower.replace("-", " ")}
        if self._has_plural(entity, written):
            forms |= {f"{one}s" for one in forms}
        for surface in forms:
            same = self._surfaces.setdefault(surface, [])
            mine = next((one for one in same if one.entity == entity), None)
            if mine is None:
                mine = _Surface(written, entity, is_alias)
                same.append(mine)
            mine.forms.add(f"{written}s" if surface.endswith("s") and len(surface) > len(lower) else written)

    def _has_plural(self, entity: EntityName, written: str) -> bool:
        """Say whether a name may have an s behind it: acronyms (the TAs), and names that no common word is."""
        if not written[-1:].isalpha() or written[-1:] in "sS":
            return False
        kind = self._types.get(entity.type)
        return written.isupper() or (len(written) > 4 and (kind is None or kind.inside))

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
            behind = _NEXT_WORD.match(prose, end, end + _LOOKED_AT)  # slack channel, sales team
            type_words = self._behind.get(surface.entity.type, ())
            return bool(
                rules.case == "capital" and surface.form[1:].islower() and behind and behind[1].lower() in type_words
            )
        suffixes = self._suffixes.get(surface.entity.type, set())
        is_word = " " not in surface.form and surface.form[1:].islower()
        if rules.inside:
            return not (surface.is_alias and is_word and self._goes_on(prose, start))
        if _is_inside(prose, start, end, suffixes):
            return False
        return not (is_word and _is_imperative(prose, start, end, suffixes))

    def _goes_on(self, prose: str, start: int) -> bool:
        """Say whether a word with a capital stands before a place that is no name itself: Elastic Cloud."""
        before = _LAST_WORD.search(prose[max(0, start - _LOOKED_AT) : start])
        if not before or not before[1][0].isupper():
            return False
        word = before[1].casefold()
        return word not in _NO_NAMES and word not in self._surfaces


def _is_inside(prose: str, start: int, end: int, suffixes: Collection[str]) -> bool:
    """Say whether a place is part of a longer row of words with capitals, which is another name."""
    behind = _NEXT_WORD.match(prose, end, end + _LOOKED_AT)
    if behind and behind[1][0].isupper() and behind[1].casefold() not in suffixes:
        return True
    before = _LAST_WORD.search(prose[max(0, start - _LOOKED_AT) : start])
    return bool(before and before[1][0].isupper() and before[1].casefold() not in _NO_NAMES)


def _is_imperative(prose: str, start: int, end: int, suffixes: Collection[str]) -> bool:
    """Say whether a word begins a sentence as its verb rather than as its subject."""
    behind = _NEXT_WORD.match(prose, end, end + _LOOKED_AT)
    if not behind or not behind[1].islower() or not _SENTENCE_START.search(prose[max(0, start - _LOOKED_AT) : start]):
        return False
    word = behind[1]
    is_verb = word.endswith("s") and not word.endswith("ss")
    return word not in _AFTER_SUBJECT and not is_verb and word not in suffixes


def _fits_case(form: str, written: str, case: str) -> bool:
    if case == "exact":
        return False
    if case == "any":
        return True
    if form.isupper() and len(form) <= 4:  # US and us
        return written.isupper()
    is_plain = " " not in form and "." not in form and form[1:].islower()
    return not is_plain or not form[:1].isupper() or written[:1].isupper()


def _is_word(text: str, start: int, end: int) -> bool:
    return not (_continues(text, start - 1, start) or _continues(text, end, end - 1))


def _continues(text: str, outside: int, inside: int) -> bool:
    """Say whether the character ``outside`` goes on with the word whose last character is ``inside``."""
    if not 0 <= outside < len(text):
        return False
    if outside < inside and text[outside] in ".@" and text[max(0, outside - 1)].isalnum():
        return True  # of an address, a domain
    return (text[outside].isalnum() or text[outside] == "_") and (text[inside].isalnum() or text[inside] == "_")


def read_list(path: Path) -> list[Listing]:
    """Return the entities of a file of a curated list.

    CSV: columns ``name``, ``type`` and ``aliases``, these separated by ``;``. JSON: type → list of names, or of objects
    with ``name`` and ``aliases``.

    Raises:
        InvalidSetting: the file cannot be read, or is none.
    """
    try:
        text = read_regular(path, _MOST_BYTES).decode("utf-8-sig")
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise InvalidSetting(
            f"The list of entities {str(path)!r} cannot be read: {reason}.",
            hint=f"graph.lists names files of at most {_MOST_BYTES:,} bytes, CSV or JSON in UTF-8.",
        ) from error
    try:
        return _of_json(json.loads(text)) if path.suffix.lower() == ".json" else _of_csv(text)
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError, csv.Error) as error:
        raise InvalidSetting(
            f"The list of entities {str(path)!r} is not as lists are: {error}.",
            hint='CSV has the columns name, type and aliases; JSON is {"VENDOR": [{"name": "…", "aliases": ["…"]}]}.',
        ) from error


def listing(kind: str, name: str, aliases: list[str]) -> Listing:
    """Return an entry of a list; what is too long for a name, or has no letter, is left out.

    Raises:
        ValueError: its own name is such a one.
    """
    kept = [" ".join(alias.split()) for alias in aliases if folded(alias) and len(alias) <= MAX_NAME_CHARS]
    name = " ".join(name.split())
    if not folded(name) or len(name) > MAX_NAME_CHARS:
        raise ValueError(f"{name[:50]!r} is no name of at most {MAX_NAME_CHARS} characters")
    return Listing(EntityName(kind.strip().upper(), name), kept)


def _of_csv(text: str) -> list[Listing]:
    rows = csv.DictReader(io.StringIO(text))
    if missing := [name for name in _COLUMNS if name not in (rows.fieldnames or ())]:
        raise ValueError(f"there is no column {missing[0]!r}")
    return [listing(row["type"], row["name"], (row.get("aliases") or "").split(";")) for row in rows if row["name"]]


def _of_json(held: Any) -> list[Listing]:
    made = []
    for kind, entries in held.items():
        for entry in entries:
            name, aliases = (entry, []) if isinstance(entry, str) else (entry["name"], entry.get("aliases") or [])
            made.append(listing(str(kind), str(name), [str(alias) for alias in aliases]))
    return made
