"""The query syntax: phrases, exclusions and filters.

========================  =============================================================
``"two words"``           chunks in which these words stand together: only these, or these first
``-draft``, ``-"a b"``    no chunk with this word, or with these words together
``status:beta``           only documents with this value; ``status:alpha,beta`` any of them
``title:"two words"``     the same, for values with spaces or commas
``-status:draft``         no document with this value
``year:>2020``            more than; also ``>=``, ``<``, ``<=``
``year:2020..2022``       from, to; one end may be left open: ``2020..``
========================  =============================================================

A phrase is *required* if at most three words stand outside the marks, none of them a stop word of any language, and the
query is not a command; otherwise it is *preferred*. A phrase of stop words, or of one word within a paragraph, is
neither.

Everything else is text, and so is what only looks like an operator:

- A name before a colon is a filter only if documents have a field of that name and no space follows, so
  ``std::string``, ``https://example.org``, ``12:30`` and ``error: no space`` are text.
- A minus excludes a word only if the word has three letters or more and begins with a small letter. Ranges and dashes
  (`` - ``), ``well-known``, ``-1``, ``--flag``, ``-O2`` and compiler flags such as ``-Wall`` are text. So are words in
  a sentence that continues (``the -verbose flag of it``), and flags of a command (``find . -name x``).
- A quotation mark opens a phrase only at the beginning of a word, so ``5" disk`` and ``printf("%s")`` are text.
  Typographic marks show whether they open or close, so they open a phrase anywhere (``quotation_marks``).
- A query of several lines was pasted: all of it is text. So is a line of a log, a stack trace, JSON or code.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from pinakes.core import filters, regexes
from pinakes.core.errors import InvalidFilter
from pinakes.core.records import JSON, Filter
from pinakes.search.query.quotation_marks import CLOSE, OPEN, marked
from pinakes.text.analysis import STOP_WORDS, english
from pinakes.text.analysis.languages import COMMON_WORDS

PhraseUse: TypeAlias = Literal["auto", "required", "preferred"]
"""How to use quoted phrases: chunks must have them, or chunks that have them rank first; "auto" decides."""

PHRASE_USES: tuple[PhraseUse, ...] = ("auto", "required", "preferred")

_QUOTES = str.maketrans({OPEN: '"', CLOSE: '"'})
_AFTER = r"(?=[\s,.;:?!)\]}/…–—'’-]|$)"
_BEFORE = r"(?:(?<!\S)|(?<=[\s(\[][(\[])|(?<=^[(\[])|(?<=\"[/–—-])|(?<=[–—]))"
_OPERATOR = re.compile(
    rf"""(?<!\S)(?:
        (?P<sign>-?) (?P<field>[^\W\d][\w.-]*) : (?!:|//)
        (?P<value> (?: "[^"]*" | {OPEN}[^{CLOSE}]*{CLOSE} | [^\s"{OPEN}] )+ )
      | - (?P<word>[^\W\d_][\w.'’-]*\w) (?=[,.;:?!)\]]*(?:\s|$))
    )
    | {_BEFORE} (?P<minus>-?) "(?P<phrase>[^"]*)" {_AFTER}
    | (?P<without>(?<!\S)-)? {OPEN}(?P<between>[^{CLOSE}]*){CLOSE}
    """,
    re.VERBOSE,
)
_OPENING = re.compile(r'(?<!\S)-?(?:[^\W\d][\w.-]*:)?"')
_PARTS = re.compile(r'"([^"]*)"|([^,"]+)')
_BOUND = re.compile(r"(>=|<=|>|<)(.+)", re.DOTALL)
_RANGE = re.compile(r"(.*?)\.\.(.*)", re.DOTALL)
_SIGNS = {">=": "gte", "<=": "lte", ">": "gt", "<": "lt"}
_SHORTEST_EXCLUDED = 3
_MOST_OUTSIDE = 3
"""A phrase is required only if at most this many words stand outside the marks."""

_SENTENCE = 40
"""With more words outside the marks, a query is a paragraph, and single quoted words are not its subject.
Five of the abstracts used as queries in CISI have such words: nDCG@10 is 0.53 as text, 0.20 if their chunks rank
first."""

MOST_PHRASES = 20
"""Each phrase costs an index query; further phrases are text."""

_UNSPACED = regexes.lazy("[\u0e00-\u0eff\u1000-\u109f\u1780-\u17d3\u3040-\u30ff\u3400-\u9fff]")
"""Scripts without spaces between words: two characters count as a word."""

_COMMAND_LINE = re.compile(
    r"(?<!\S)(?:--[A-Za-z][\w-]*|-[A-Za-z]\w?(?=\s|$)|\||&&|\$\w+|\.{1,2}/\S*|\.(?=\s|$)|\*\.\w+|sudo(?=\s)"
    r"|-\w+\s+[\w-]+(?:\.[\w-]+)*\.[a-z]\w{0,4}(?=\s|$))"
)
"""What occurs only in command lines: flags of one or two letters or with two hyphens, pipes, variables, relative paths,
globs, a flag before a file name."""

_TRACE = re.compile(
    r"Traceback \(most recent call last\)|\bFile \"[^\"]*\", line \d|\bException in thread\b"
    r"|(?<!\S)at [\w$<>]*\.[\w$<>.]+\("
    r'|(?<!\S)\{?"[^"]*"\s?:\s?["\[{\d]'
)
_LOG = re.compile(
    r"\W{0,20}(?:\d{4}[-/.]\d\d[-/.]\d\d[T ,]+|\d\d[-/.]\d\d[-/.]\d{2,4}[ ,]+|[A-Z][a-z]{2} +\d{1,2} +(?:\d{4} +)?"
    r"|[DIWEF]\d{4} |\S{1,100} \S{1,100} \S{1,100} \[\d\d/[A-Z][a-z]{2}/\d{4}:)?\d\d:\d\d:\d\d[^\s?]*\s+\S"
)
_LOG_KEY = re.compile(r"(?<!\S)(?:time|ts|level|lvl|severity|msg)=\S")
"""A log line begins with a time to the second, or has several of these keys."""

_BRACKETS = {"{": "}", "[": "]", "<": ">"}

_ANALYZER = english()


@dataclass(frozen=True, slots=True)
class Query:
    """A parsed query.

    ``text``: what to search for, the words without operators, including those of phrases. A chunk must have all of
    ``phrases`` and none of ``excluded`` (words and phrases). Chunks with phrases of ``preferred`` rank
    first. Documents must pass ``where``. ``notes`` tell the reader how the query was understood.
    """

    text: str
    phrases: tuple[str, ...] = ()
    preferred: tuple[str, ...] = ()
    excluded: tuple[str, ...] = ()
    where: Filter = ()
    notes: tuple[str, ...] = ()

    @property
    def is_plain(self) -> bool:
        """Whether the query has no operators."""
        return not (self.phrases or self.preferred or self.excluded or self.where)


def parse_query(text: str, fields: Collection[str] = (), phrases: PhraseUse = "auto") -> Query:
    """Parse ``text``. Never raises: an unusable operator is treated as text, and a note says why.

    ``fields``: the metadata field names, as ``filters.normal_name`` returns them, that may be filtered by. ``phrases``:
    how to use quoted phrases; any value but "auto" applies to pasted text, too. Takes linear time.
    """
    text = text.strip()
    lines = len(text.splitlines()) > 1
    if phrases == "auto" and (lines or _is_pasted(text)):
        if lines or not any(_OPERATOR.finditer(marked(text))):
            return Query(text)
        return Query(text, notes=("the query looks like a part of a program, of data or of a log: all of it is text",))
    return _Reading(text, () if lines else fields, phrases).result()


def required_note(phrases: Sequence[str]) -> str:
    """Return the note that chunks must have ``phrases``."""
    return f"only chunks with {quoted(phrases)}"


def preferred_note(phrases: Sequence[str]) -> str:
    """Return the note that chunks with ``phrases`` rank first."""
    return f"chunks with {quoted(phrases)} come first"


def _is_pasted(text: str) -> bool:
    """Return whether a line comes from data, code, a log or a stack trace, where quotation marks are syntax."""
    is_code = text[-1:] == _BRACKETS.get(text[:1], " ") or text.endswith(("{", ");", "};"))
    is_log = _LOG.match(text) is not None or len(_LOG_KEY.findall(text)) > 1
    return is_code or is_log or _TRACE.search(text) is not None


class _Reading:
    """Parses one query from left to right."""

    def __init__(self, text: str, fields: Collection[str], use: PhraseUse) -> None:
        self._text, self._fields, self._use = text, fields, use
        self._kept: list[str] = []
        self._phrases: list[str] = []
        self._excluded: list[str] = []
        self._stated: dict[str, dict[str, JSON]] = {}
        self._meant_from = 0
        self._notes: list[str] = []

    def result(self) -> Query:
        signs, end = marked(self._text), 0
        found = list(_OPERATOR.finditer(signs))
        self._meant_from = _exclusions_begin(signs, found)
        for match in found:
            instead = self._operator(match)
            if instead is not None:
                self._kept += [self._text[end : match.start()], instead]
                end = match.end()
        self._kept.append(self._text[end:])
        outside = self._kept[::2]
        if _has_open_quote([marked(part).translate(_QUOTES) for part in outside]):
            self._notes.append("a quotation mark has no partner: it is taken as text")
        required, preferred = self._used(" ".join(outside))
        text = " ".join(_joined(self._kept).split()) if end else self._text
        where = filters.parse(self._stated)
        notes = tuple(dict.fromkeys([*self._all_notes(text, where, required, preferred), *self._notes]))
        return Query(text, required, preferred, tuple(self._excluded), where, notes)

    def _used(self, outside: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Return the required phrases and the preferred ones."""
        phrases = list({phrase.casefold(): phrase for phrase in reversed(self._phrases)}.values())[::-1]
        if len(phrases) > MOST_PHRASES:
            self._notes.append(f"only the first {MOST_PHRASES} of {len(phrases)} phrases count: the others are text")
            phrases = phrases[:MOST_PHRASES]
        is_short = self._use == "auto" and _are_few(outside) and not _COMMAND_LINE.search(self._text)
        if self._use == "required" or is_short:
            return tuple(phrases), ()
        common = [phrase for phrase in phrases if all(map(_is_stop_word, _ANALYZER.words(phrase)))]
        if common:
            self._notes.append(f"{_nothing_first(common)}: these words are in every text")
        single = [phrase for phrase in phrases if phrase not in common and self._is_aside(phrase, outside)]
        if single:
            self._notes.append(f"{_nothing_first(single)}: in a paragraph a single quoted word is text")
        return (), tuple(phrase for phrase in phrases if phrase not in (*common, *single))

    def _is_aside(self, phrase: str, outside: str) -> bool:
        """Return whether a phrase is a single quoted word of a paragraph, which does not ask for the word."""
        alone = self._use == "auto" and len(_ANALYZER.words(phrase)) == 1 and not _UNSPACED.search(phrase)
        return alone and len(outside.split()) > _SENTENCE

    def _operator(self, match: re.Match[str]) -> str | None:
        """Record the operator in ``match``, and return the text that replaces it; None if it is not an operator."""
        for name, minus in (("phrase", "minus"), ("between", "without")):
            if match[name] is not None:
                start, end = match.span(name)
                return self._phrase(self._text[start:end].strip(), left_out=bool(match[minus]))
        if match["word"] is not None:
            return self._word(match["word"], meant=match.start() >= self._meant_from)
        return self._filter(match["field"], match["value"].translate(_QUOTES), ne=bool(match["sign"]))

    def _phrase(self, phrase: str, *, left_out: bool) -> str | None:
        if not any(char.isalnum() for char in phrase):
            return None
        if not _ANALYZER.terms(phrase):
            self._notes.append(f'"{phrase}" is taken as text: letters by themselves are not in the index')
            return None
        if left_out:
            return self._left_out(phrase)
        self._phrases.append(phrase)
        return phrase

    def _word(self, word: str, *, meant: bool) -> str | None:
        if len(word) < _SHORTEST_EXCLUDED and word.isascii():
            return None
        if word[0] != word[0].lower():
            self._notes.append(f"'-{word}' is searched for as text: to leave the word out, write -{word.lower()}")
            return None
        if not meant:
            self._notes.append(f"'-{word}' is searched for as text: to leave the word out, write -\"{word}\"")
            return None
        return self._left_out(word)

    def _left_out(self, words: str) -> str | None:
        if len(self._excluded) >= MOST_PHRASES:
            self._notes.append(f"no more than {MOST_PHRASES} words can be left out: the others are text")
            return None
        self._excluded.append(words)
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
        """Return the condition on ``field`` with ``value`` added to it."""
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

    def _all_notes(self, text: str, where: Filter, required: Sequence[str], preferred: Sequence[str]) -> list[str]:
        notes = [required_note(required)] if required else []
        notes += [preferred_note(preferred)] if preferred else []
        if self._excluded:
            notes.append(f"chunks with {quoted(self._excluded)} are left out")
        if where:
            notes.append(f"only documents with {' and '.join(map(filters.in_words, where))}")
        if not text and (self._excluded or where):
            notes.append("the query does not say what to search for: add a word")
        return notes


def _exclusions_begin(text: str, operators: Sequence[re.Match[str]]) -> int:
    """Return the offset from which a minus before a word excludes it.

    In a command line there is none. Otherwise it is after the last stop word, and after the last dash behind a word:
    what stands before these is a sentence, whose words are text.
    """
    if _COMMAND_LINE.search(text):
        return len(text)
    begin, start = 0, 0
    for end, following in _gaps(operators, len(text)):
        for found in _DASH_OR_WORD.finditer(text, start, end):
            if found["dash"] or found[0].lower() in STOP_WORDS:
                begin = found.end()
        start = following
    return begin


_DASH_OR_WORD = re.compile(r"(?<=\w)(?P<dash>-)(?!\S)|[^\W\d_]+")


def _gaps(operators: Sequence[re.Match[str]], length: int) -> Iterator[tuple[int, int]]:
    """Yield the start and end of each of ``operators``, then the end of a text of this ``length``."""
    for match in operators:
        yield match.start(), match.end()
    yield length, length


def _are_few(outside: str) -> bool:
    """Return whether the words outside the marks are few, and none is common in any language."""
    words = _ANALYZER.words(outside)
    common = any(_is_stop_word(word) or (word.islower() and word in COMMON_WORDS) for word in words)
    if len(words) > _MOST_OUTSIDE or common:
        return False
    return sum(max(1, len(_UNSPACED.findall(word)) // 2) for word in words) <= _MOST_OUTSIDE


def _is_stop_word(word: str) -> bool:
    """Return whether a word is a stop word; in capitals (IT, WHO) it is a name."""
    return word.lower() in STOP_WORDS and (len(word) == 1 or not word.isupper())


def _joined(parts: Sequence[str]) -> str:
    """Join the remaining parts of a text, with a space where removed marks touched words."""
    joined = ""
    for part in filter(None, parts):
        joined += f" {part}" if joined[-1:].isalnum() and part[0].isalnum() else part
    return joined


def quoted(words: Sequence[str], last: str = "") -> str:
    """Return ``words`` in quotation marks, comma-separated; ``last``, if given, precedes the last one."""
    each = [f'"{one}"' for one in words]
    return f"{', '.join(each[:-1])} {last} {each[-1]}" if last and len(each) > 1 else ", ".join(each)


def _nothing_first(phrases: Sequence[str]) -> str:
    return f"{quoted(phrases)} {'puts' if len(phrases) == 1 else 'put'} nothing first"


def _has_open_quote(parts: Sequence[str]) -> bool:
    """Return whether the remaining text has a quotation mark that opens a phrase and is never closed."""
    return sum(part.count('"') for part in parts) % 2 == 1 and any(map(_OPENING.search, parts))


def _values(field: str, value: str) -> list[str]:
    """Return the comma-separated values; quoted values may contain commas."""
    found = [(quoted or plain).strip() for quoted, plain in _PARTS.findall(value)]
    if not any(found):
        raise InvalidFilter(f"Filter {field!r} has no value.", hint="Write name:value.")
    return [one for one in found if one]


def _bounds(value: str) -> Mapping[str, str]:
    """Return the bounds of the range in ``value``; empty if it is not a range."""
    if found := _BOUND.fullmatch(value):
        return {_SIGNS[found[1]]: found[2].strip('"')}
    found = _RANGE.fullmatch(value)
    if not found or '"' in value or "/" in value:
        return {}
    low, high = found[1].strip(), found[2].strip()
    return {sign: end for sign, end in (("gte", low), ("lte", high)) if end}
