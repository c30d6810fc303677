"""Rules that set metadata fields: from the path, front matter, lines, words, or git history."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from pathlib import PurePosixPath

from pinakes.core.filters import glob_matches, normal_name
from pinakes.core.records import JSON, Document, Metadata
from pinakes.metadata.templates import fields_of
from pinakes.metadata.values import date_in, value_of
from pinakes.settings import FieldType, MetadataRule

_MOST_TEXT_CHARS = 200_000
"""Maximum characters of a text in which header lines, headings and words are searched."""

_MOST_VALUE_CHARS = 200
_MOST_MARKUP_CHARS = 4000
"""Maximum characters of a line in which its value is searched, including Markdown."""

_FENCED = re.compile(r"^(?P<fence>```++|~~~++)[^\n]*+\n.*?(?:^(?P=fence)[ \t]*$|\Z)", re.MULTILINE | re.DOTALL)
_HEADING = re.compile(r"^#{1,6}[ \t]++(?P<title>[^\n]*+)", re.MULTILINE)
_LINK = re.compile(r"!?\[([^\]\n]{0,300})\]\([^)\n]{0,1000}\)")
_ITEM = re.compile(r"^[ \t]*+(?:[-*+>]|\d{1,9}[.)])[ \t]++")
_TABLE = re.compile(
    r"^[^|\n]*+\|[^\n]*+\n(?=[^|\n]*+\|)(?=[^\n-]*+-)(?P<rule>[ \t|:-]++)(?P<rows>(?:\n[^|\n]*+\|[^\n]*+)*+)$",
    re.MULTILINE,
)
_EMPHASIS = re.compile(r"^[*_`\s]+|[*_`\s|]+$")
_NO_TYPES: Mapping[str, FieldType] = {}
_BREAK = re.compile(r"[\W_]+")
_SENTENCE = re.compile(r"\b[a-zà-ÿ]{2,}[.!?](?:\s+[A-ZÀ-Þ]|$)")
_LEAST_SENTENCE_WORDS = 5


@dataclass(frozen=True)
class RuleSubject:
    """The input of rules: a document, its path, its known metadata (``own``), and the git ``history`` of its file.

    ``labels``: names of the header lines that any rule searches. ``texts``: fields that may hold sentences. ``ruled``
    sets both.
    """

    path: str
    document: Document
    own: Metadata
    history: Metadata
    labels: tuple[str, ...] = ()
    texts: frozenset[str] = frozenset()

    @cached_property
    def text(self) -> str:
        """The beginning of the text, without code blocks."""
        return _FENCED.sub("\n", self.document.text[:_MOST_TEXT_CHARS])

    @cached_property
    def lines(self) -> str:
        """The text without the column names of tables.

        Converters take the first row of any table for column names. In a table with two columns this row may be a name
        and its value, like the rows below: that is assumed if one of those rows has a name that rules search for.
        """

        def without_names(table: re.Match[str]) -> str:
            columns = table["rule"].strip(" \t|").count("|") + 1
            pairs = columns == 2 and _header_line(self.labels).search(table["rows"])
            return table[0] if pairs else table["rows"]

        return _TABLE.sub(without_names, self.text)

    @cached_property
    def headings(self) -> tuple[tuple[str, str], ...]:
        """Each heading with the first non-empty line below it."""
        found = list(_HEADING.finditer(self.text))
        ends = [*(one.start() for one in found[1:]), len(self.text)][: len(found)]
        below = [self.text[one.end() : end].split("\n") for one, end in zip(found, ends, strict=True)]
        return tuple(
            (one["title"].rstrip(" \t#"), next((line for line in lines if line.strip()), ""))
            for one, lines in zip(found, below, strict=True)
        )

    @cached_property
    def words(self) -> Mapping[str, str]:
        """The words of each part of the document as one text, with a blank before and after each word."""
        return {
            "path": _in_a_row(self.path),
            "title": _in_a_row(self.document.title),
            "headings": _in_a_row(" | ".join(title for title, _ in self.headings)),
            "text": _in_a_row(self.text),
        }


def ruled(
    subject: RuleSubject, rules: Sequence[MetadataRule], types: Mapping[str, FieldType] = _NO_TYPES
) -> dict[str, JSON]:
    """Return the known metadata of ``subject``, with the fields for which ``rules`` find a value.

    The first rule for a field that finds a value wins; "default" applies only if there is no value at all. A value of
    the wrong type is kept only if no later rule finds a better one.
    """
    metadata = renamed(subject.own, [rule.field for rule in rules])
    subject = replace(
        subject,
        labels=tuple(name for rule in rules if rule.take == "header" for name in rule.what),
        texts=frozenset(name for name, kind in types.items() if kind == "text"),
    )
    found: set[str] = set()
    for rule in rules:
        if rule.field in found or (rule.paths and not glob_matches(rule.paths, subject.path)):
            continue
        if rule.take == "default" and metadata.get(rule.field) not in (None, "", []):
            continue
        value = _named(_TAKEN[rule.take](rule, subject), rule.map)
        if value in (None, "", []):
            continue
        fits = rule.field not in types or value_of(types[rule.field], value) is not None
        if fits:
            found.add(rule.field)
        if fits or metadata.get(rule.field) in (None, "", []):
            metadata[rule.field] = value
    return metadata


def renamed(metadata: Metadata, names: Iterable[str]) -> dict[str, JSON]:
    """Return ``metadata`` with fields renamed to those of ``names`` that are equal for filters."""
    called = {normal_name(name): name for name in names}
    return {called.get(normal_name(name), name): value for name, value in metadata.items()}


def default_of(rule: MetadataRule) -> JSON:
    """Return the value that a rule of "default" or "constant" gives every document."""
    return _named(rule.what[0] if len(rule.what) == 1 else list(rule.what), rule.map)


def _path(rule: MetadataRule, subject: RuleSubject) -> JSON:
    for template in rule.what:
        found = fields_of(subject.path, [template])
        if value := found.get(rule.field) or found.get("value"):
            return value
    return None


def _name(rule: MetadataRule, subject: RuleSubject) -> JSON:
    stem = PurePosixPath(subject.path).stem
    return stem if not rule.what else next((_part(one) for one in _searched(rule.what, stem)), None)


def _path_date(rule: MetadataRule, subject: RuleSubject) -> JSON:  # noqa: ARG001 - as all takers
    return date_in(subject.path)


def _key(rule: MetadataRule, subject: RuleSubject) -> JSON:
    return next((value for name in rule.what if (value := _at(subject.own, name)) not in (None, "", [])), None)


def _header(rule: MetadataRule, subject: RuleSubject) -> JSON:
    values = (_cleaned(found["value"]) for found in _header_line(rule.what).finditer(subject.lines))
    return next((value for value in values if rule.field in subject.texts or not _is_sentence(value)), None)


def _heading(rule: MetadataRule, subject: RuleSubject) -> JSON:
    for title, below in subject.headings:
        for found in _searched(rule.what, title):
            return _cleaned(found[1] if found.re.groups else _ITEM.sub("", below))
    return None


def _words(rule: MetadataRule, subject: RuleSubject) -> JSON:
    rows = [subject.words[part] for part in rule.within]
    fits = [value for value, words in rule.words.items() if any(_word(one) in row for one in words for row in rows)]
    return fits if rule.several else next(iter(fits), None)


def _git(rule: MetadataRule, subject: RuleSubject) -> JSON:
    return next((subject.history[name] for name in rule.what if subject.history.get(name)), None)


def _stated(rule: MetadataRule, subject: RuleSubject) -> JSON:  # noqa: ARG001 - as all takers
    return rule.what[0] if len(rule.what) == 1 else list(rule.what)


_TAKEN: Mapping[str, Callable[[MetadataRule, RuleSubject], JSON]] = {
    "path": _path,
    "name": _name,
    "path_date": _path_date,
    "key": _key,
    "header": _header,
    "heading": _heading,
    "words": _words,
    "git": _git,
    "constant": _stated,
    "default": _stated,
}
"""The function for each ``take`` of a rule."""


def _named(value: JSON, names: Mapping[str, str]) -> JSON:
    """Return ``value``, or each value of a list, replaced by its name in ``names``."""
    if not names or value is None:
        return value
    if isinstance(value, list):
        return list(dict.fromkeys(_named(one, names) for one in value))
    folded = {name.casefold(): called for name, called in names.items()}
    return folded.get(str(value).strip().casefold(), value)


def _at(metadata: Metadata, name: str) -> JSON:
    """Return the value of a key, possibly nested (``owner.name``), regardless of case and dashes."""
    named = {normal_name(str(key)): value for key, value in metadata.items()}
    if (value := named.get(normal_name(name))) is not None:
        return value
    first, dot, rest = name.partition(".")
    inner = named.get(normal_name(first)) if dot else None
    return _at(inner, rest) if isinstance(inner, Mapping) else None


@lru_cache(maxsize=256)
def _header_line(names: tuple[str, ...]) -> re.Pattern[str]:
    """Return a pattern for ``Name: value`` at the start of a line, also in bold, in a list, or as a table row."""
    called = "|".join(re.escape(name) for name in names)
    return re.compile(
        rf"^[ \t]*(?:[-*+>|][ \t]*)?[*_`]{{0,3}}(?:{called})[*_`]{{0,3}}[ \t]*+"
        rf"(?::?[*_`]{{0,3}}[ \t]*+\||[:=])[ \t]*+(?P<value>[^|\n][^\n]*(?<=\S))",
        re.MULTILINE | re.IGNORECASE,
    )


def _searched(expressions: Sequence[str], text: str) -> Iterator[re.Match[str]]:
    return (found for one in expressions if (found := re.search(one, text)))


def _part(found: re.Match[str]) -> str:
    """Return the match of the first group of an expression, or the whole match if it has no groups."""
    return str(found[1] or "") if found.re.groups else found[0]


def _cleaned(text: str) -> str:
    """Return a value without surrounding Markdown; a link becomes its text."""
    cell = text[:_MOST_MARKUP_CHARS].partition(" | ")[0]
    return _EMPHASIS.sub("", _LINK.sub(r"\1", cell))[:_MOST_VALUE_CHARS].strip()


def _is_sentence(value: str) -> bool:
    """Return whether a value is prose: ``Owner: The team that filed it owns the answer.`` names nobody."""
    words = value.split(maxsplit=_LEAST_SENTENCE_WORDS)
    return len(words) >= _LEAST_SENTENCE_WORDS and _SENTENCE.search(value) is not None


def _in_a_row(text: str) -> str:
    return f" {_BREAK.sub(' ', text.casefold()).strip()} "


_word = lru_cache(maxsize=4096)(_in_a_row)
