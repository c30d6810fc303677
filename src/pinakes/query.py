"""What people write into a query besides words: phrases, exclusions, filters.

========================  =============================================================
``"two words"``           only passages in which these words stand together
``-draft``, ``-"a b"``    no passage with this word, or with these words together
``status:beta``           only documents with this value; ``status:alpha,beta`` any of them
``title:"two words"``     the same, for values with spaces or commas
``-status:draft``         no document with this value
``year:>2020``            more than; also ``>=``, ``<``, ``<=``
``year:2020..2022``       from, to; one end may be left open: ``2020..``
========================  =============================================================

All else is text. What only looks like an operator stays text, too:

- A name before a colon is a filter only if documents have a field of that name and the value follows at once, so
  ``std::string``, ``https://example.org``, ``12:30`` and ``error: no space`` are text.
- A minus leaves a word out only before a word of three letters or more that begins with a small letter. Ranges and
  dashes (`` - ``), ``well-known``, ``-1``, ``--flag``, ``-O2`` and compiler flags such as ``-Wall`` are text.
- A quotation mark opens a phrase only at the beginning of a word, so ``5" disk`` and ``printf("%s")`` are text.
- A query of several lines was pasted: it is text as a whole.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from pinakes import filters
from pinakes.analysis import Analyzer
from pinakes.errors import InvalidFilter
from pinakes.types import JSON, Filter

_QUOTES = str.maketrans("“”„«»", '"' * 5)
_AFTER = r"(?=[\s,.;:?!)\]]|$)"
_OPERATOR = re.compile(
    rf"""(?<!\S)(?:
        (?P<sign>-?) (?P<field>[^\W\d][\w.-]*) : (?!:|//) (?P<value> (?: "[^"]*" | [^\s"] )+ )
      | (?P<minus>-?) "(?P<phrase>[^"]*)" {_AFTER}
      | - (?P<word>[^\W\d_][\w.'’-]*\w) (?=[,.;:?!)\]]*(?:\s|$))
    )""",
    re.VERBOSE,
)
_OPENING = re.compile(r'(?<!\S)-?(?:[^\W\d][\w.-]*:)?"')
_PARTS = re.compile(r'"([^"]*)"|([^,"]+)')
_BOUND = re.compile(r"(>=|<=|>|<)(.+)", re.DOTALL)
_RANGE = re.compile(r"(.*?)\.\.(.*)", re.DOTALL)
_SIGNS = {">=": "gte", "<=": "lte", ">": "gt", "<": "lt"}
_SHORTEST_EXCLUDED = 3


_ANALYZER = Analyzer()


@dataclass(frozen=True, slots=True)
class Query:
    """A query taken apart.

    ``text`` is what to search for: the words without the operators, those of phrases included. A passage must have
    every one of ``phrases`` and none of ``excluded`` (words and phrases); ``admits`` says whether it does. Documents
    must pass ``where``. ``notes`` say in words what was done.
    """

    text: str
    phrases: tuple[str, ...] = ()
    excluded: tuple[str, ...] = ()
    where: Filter = ()
    notes: tuple[str, ...] = ()

    @property
    def is_plain(self) -> bool:
        """Whether there is nothing but text."""
        return not (self.phrases or self.excluded or self.where)


def parse_query(text: str, fields: Collection[str] = ()) -> Query:
    """Take ``text`` apart. Never raises: what cannot be used as an operator is text, and a note says why.

    ``fields`` are the names of metadata fields, as ``filters.normal_name`` writes them; only these filter.
    """
    text = text.strip()
    if "\n" in text:
        return Query(text)
    reading = _Reading(text, fields)
    return reading.result()


def admits(query: Query, passage: str, analyzer: Analyzer) -> bool:
    """Say whether a passage has all phrases of ``query`` and nothing that it leaves out.

    Words are compared as the keyword index does: without regard to case and ending, compounds also by their parts.
    """
    if not (query.phrases or query.excluded):
        return True
    there = _run(analyzer.terms(passage))
    return all(_run(analyzer.terms(phrase)) in there for phrase in query.phrases) and not any(
        (terms := analyzer.terms(words)) and _run(terms) in there for words in query.excluded
    )


def _run(terms: Sequence[str]) -> str:
    """Return terms as a text in which a part of it is a run of terms."""
    return "".join(f" {term} " for term in terms)


class _Reading:
    """Goes through a text once, from left to right."""

    def __init__(self, text: str, fields: Collection[str]) -> None:
        self._text, self._fields = text, fields
        self._kept: list[str] = []
        self._phrases: list[str] = []
        self._excluded: list[str] = []
        self._stated: dict[str, dict[str, JSON]] = {}
        self._notes: list[str] = []

    def result(self) -> Query:
        marked, end = self._text.translate(_QUOTES), 0
        for match in _OPERATOR.finditer(marked):
            instead = self._operator(match)
            if instead is not None:
                self._kept += [self._text[end : match.start()], instead]
                end = match.end()
        self._kept.append(self._text[end:])
        if _has_open_quote([part.translate(_QUOTES) for part in self._kept[::2]]):
            self._notes.append("a quotation mark has no partner: it is taken as text")
        text = " ".join("".join(self._kept).split()) if end else self._text
        where = filters.parse(self._stated)
        notes = tuple(dict.fromkeys([*self._said(text, where), *self._notes]))
        return Query(text, tuple(self._phrases), tuple(self._excluded), where, notes)

    def _operator(self, match: re.Match[str]) -> str | None:
        """Take in what ``match`` states, and return the text that is left of it; None: it is no operator."""
        if match["phrase"] is not None:
            return self._phrase(match["phrase"].strip(), left_out=bool(match["minus"]))
        if match["word"] is not None:
            return self._word(match["word"])
        return self._filter(match["field"], match["value"], ne=bool(match["sign"]))

    def _phrase(self, phrase: str, *, left_out: bool) -> str | None:
        if not any(char.isalnum() for char in phrase):
            return None
        if not _ANALYZER.terms(phrase):
            self._notes.append(f'"{phrase}" is taken as text: letters by themselves are not in the index')
            return None
        (self._excluded if left_out else self._phrases).append(phrase)
        return "" if left_out else phrase

    def _word(self, word: str) -> str | None:
        if len(word) < _SHORTEST_EXCLUDED and word.isascii():
            return None
        if word[0] != word[0].lower():
            self._notes.append(f"'-{word}' is searched for as text: to leave the word out, write -{word.lower()}")
            return None
        self._excluded.append(word)
        return ""

    def _filter(self, name: str, value: str, *, ne: bool) -> str | None:
        field = filters.normal_name(name)
        value = value.rstrip(",;" if field == "path" else ",;?!")
        if field not in self._fields:
            near = filters.nearest(field, self._fields, 1)
            if near and value:
                self._notes.append(f"'{name}:' is taken as text: there is no field {name!r}, did you mean {near[0]!r}?")
            return None
        try:
            stated = self._merged(field, value, ne=ne)
            filters.parse({**self._stated, field: stated})
        except InvalidFilter as error:
            self._notes.append(f"'{name}:' is taken as text: {error.message}")
            return None
        self._stated[field] = stated
        return ""

    def _merged(self, field: str, value: str, *, ne: bool) -> dict[str, JSON]:
        """Return what is stated of ``field`` with ``value``, too."""
        before = self._stated.get(field, {})
        bounds = _bounds(value)
        if not bounds:
            sign = "ne" if ne else "in"
            return {**before, sign: [*before.get(sign, ()), *_values(field, value)]}
        if ne:
            raise InvalidFilter("A range cannot be left out.", hint="State the rest of the range.")
        if set(bounds) & set(before):
            raise InvalidFilter(f"Filter {field!r} has two bounds of one kind.", hint="State the narrower one only.")
        return {**before, **bounds}

    def _said(self, text: str, where: Filter) -> list[str]:
        said = [f"only passages with {_quoted(self._phrases)}"] if self._phrases else []
        if self._excluded:
            said.append(f"passages with {_quoted(self._excluded)} are left out")
        if where:
            said.append(f"only documents with {' and '.join(map(filters.in_words, where))}")
        if not text and (self._excluded or where):
            said.append("the query does not say what to search for: add a word")
        return said


def _quoted(words: Sequence[str]) -> str:
    return ", ".join(f'"{one}"' for one in words)


def _has_open_quote(parts: Sequence[str]) -> bool:
    """Say whether in the text that is left a quotation mark opens something that nothing closes."""
    return sum(part.count('"') for part in parts) % 2 == 1 and any(map(_OPENING.search, parts))


def _values(field: str, value: str) -> list[str]:
    """Return the values that a comma separates; those in quotation marks may have commas."""
    found = [(quoted or plain).strip() for quoted, plain in _PARTS.findall(value)]
    if not any(found):
        raise InvalidFilter(f"Filter {field!r} has no value.", hint="Write name:value.")
    return [one for one in found if one]


def _bounds(value: str) -> Mapping[str, str]:
    """Return the ends of the range that ``value`` is, none when it is no range."""
    if found := _BOUND.fullmatch(value):
        return {_SIGNS[found[1]]: found[2].strip('"')}
    found = _RANGE.fullmatch(value)
    if not found or '"' in value or "/" in value:
        return {}
    low, high = found[1].strip(), found[2].strip()
    return {sign: end for sign, end in (("gte", low), ("lte", high)) if end}
