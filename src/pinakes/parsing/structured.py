"""YAML, JSON and TOML: the lines of the file as text, top-level values as metadata."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Callable, Mapping
from datetime import date, datetime, time
from typing import Any, Final

from pinakes.core.records import JSON, Document, ReadingNote
from pinakes.core.wording import first_of
from pinakes.parsing.decode import decode, scrub
from pinakes.parsing.escapes import unescaped_toml, unescaped_yaml, without_colours
from pinakes.parsing.json_lines import TooDeepError, json_lines
from pinakes.parsing.limits import LimitedReader
from pinakes.parsing.titles import cut

_MAX_DEPTH: Final = 100
_MAX_INDENT: Final = 8
_MAX_GROWTH: Final = 20
"""Maximum length of the text relative to its source: aliases can expand kilobytes into terabytes."""
_MAX_VALUE_CHARS: Final = 1000
_MAX_LIST: Final = 100
_MAX_METADATA_DEPTH: Final = 4
_MAX_KEYS: Final = 200
_NAMED: Final = 10
_MAX_INLINE_CHARS: Final = 100
_WORDS: Final = re.compile(r"[a-z][a-z0-9]*(?:[-_ ][a-z0-9]+)*")
_DEEP_KEY: Final = re.compile(
    rf"""(?<![\w\\-])(?:(?:[\w-]++|"(?:[^"\\\n]|\\.)*+"|'[^'\n]*+')[ \t]*+\.[ \t]*+){{{_MAX_DEPTH}}}"""
)
"""A deeply dotted key, for which ``tomllib`` stores every prefix: one of 100 kB takes gigabytes."""


class ParseError(ValueError):
    """The text is not valid in its format, or would expand too much."""


class _Structured(LimitedReader):
    """Common base of the three formats: lines of the file as text, top-level values as metadata."""

    language: str

    def read(self, data: bytes, path: str) -> Document:
        """Read ``data``. If it cannot be parsed, it is read unchanged, and ``parse_error`` in the metadata says why."""
        source = self._limits.check(decode(data))
        try:
            values, text, lines = self.parsed(source, path)
        except ParseError as error:
            return Document(text=source, kind="text", language=self.language, metadata={"parse_error": str(error)})
        first = values[0] if values and isinstance(values[0], dict) else {}
        return Document(
            text=self._limits.check(text),
            title=title_of(first),
            kind="text",
            language=self.language,
            metadata=metadata_of(first),
            lines=lines,
        )

    def parsed(self, source: str, path: str) -> tuple[list[JSON], str, tuple[int, ...]]:
        """Return the documents in ``source`` as plain values, its readable form, and its line numbers if they changed.

        Raises:
            ParseError: it is not valid in its format, or would expand too much.
        """
        raise NotImplementedError


class Yaml(_Structured):
    """Reads YAML, including several documents per file. Comments are text; numbers and dates keep their notation."""

    language = "yaml"

    def parsed(self, source: str, path: str) -> tuple[list[JSON], str, tuple[int, ...]]:  # noqa: ARG002 - needed for JSON
        """Return the documents in ``source``, and its text with the escapes in quoted values decoded."""
        return parse_yaml(source), unescaped_yaml(source), ()


class Json(_Structured):
    """Reads JSON, and JSON Lines (``.jsonl``, ``.ndjson``)."""

    language = "json"

    def parsed(self, source: str, path: str) -> tuple[list[JSON], str, tuple[int, ...]]:
        """Return the value in ``source``, or that of each line; its lines without quotes, brackets and end commas."""
        plain, records = without_colours(source), path.lower().endswith((".jsonl", ".ndjson"))
        parts = [line for line in plain.split("\n") if line.strip()] if records else [plain]
        values = [parse_json(part) for part in parts]
        try:
            text, lines = json_lines(plain, records=records)
        except TooDeepError as error:
            raise ParseError(str(error)) from error
        text = scrub(text)
        return (values, text, lines) if text.strip() else (values, source, ())


class Toml(_Structured):
    """Reads TOML. Comments are text."""

    language = "toml"

    def parsed(self, source: str, path: str) -> tuple[list[JSON], str, tuple[int, ...]]:  # noqa: ARG002 - needed for JSON
        """Return the table in ``source``, and its text with the escapes in basic strings decoded."""
        return parse_toml(source), unescaped_toml(source), ()


def parse_yaml(source: str) -> list[JSON]:
    """Return the documents in ``source``; only plain numbers and true/false become values, other scalars are text.

    Raises:
        ParseError: it is not YAML, nests too deeply, or refers to itself.
    """
    import yaml

    loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    builder = _YamlBuilder()
    try:
        # Events instead of constructed values: deep nesting cannot exhaust the stack of the C composer,
        # merge keys cannot multiply, 1.10 stays 1.10, unknown tags are harmless, and no tag runs code.
        for event in yaml.parse(source, Loader=loader):
            builder.take(event)
    except yaml.YAMLError as error:
        raise ParseError(_one_line(error)) from error
    return builder.documents


def parse_json(source: str) -> JSON:
    """Return the value in ``source``; numbers that Python would write differently stay text.

    Raises:
        ParseError: it is not JSON, or nests too deeply.
    """
    try:
        return json.loads(source, parse_int=_scalar, parse_float=_scalar, parse_constant=str)
    except (ValueError, RecursionError) as error:
        raise ParseError(_one_line(error)) from error


def parse_toml(source: str) -> list[JSON]:
    """Return the table in ``source`` as the only element.

    Raises:
        ParseError: it is not TOML, or nests too deeply.
    """
    if _DEEP_KEY.search(source):
        raise ParseError("The keys nest too deeply.")
    try:
        return [tomllib.loads(source, parse_float=_scalar)]
    except (ValueError, RecursionError) as error:
        raise ParseError(_one_line(error)) from error


def lines_of(value: JSON, source_chars: int) -> str:
    """Return ``value`` as lines ``Key: value``, with nested ones indented, and list items after ``-``.

    Raises:
        ParseError: the text would be far longer than its source of ``source_chars`` characters.
    """
    writer = _Writer(source_chars * _MAX_GROWTH + 10_000)
    writer.write(value, 0, "")
    return "\n".join(writer.lines)


def metadata_of(mapping: dict[str, JSON]) -> dict[str, JSON]:
    """Return the values of ``mapping``, including nested ones, as JSON; empty and long ones are dropped."""
    kept: dict[str, JSON] = {}
    for key, value in mapping.items():
        if len(kept) == _MAX_KEYS:
            break
        plain = _json_value(value, 0, [_MAX_VALUE_CHARS])
        if plain not in (None, "", [], {}) and len(str(plain)) <= _MAX_VALUE_CHARS:
            kept[scrub(str(key))] = plain
    return kept


def too_long_note(mapping: dict[str, JSON], kept: Mapping[str, JSON]) -> tuple[ReadingNote, ...]:
    """Return a note on the values of ``mapping`` that ``metadata_of`` dropped, or of whose lists it ``kept`` a part."""
    said = ((scrub(str(key)), value) for key, value in mapping.items() if not _is_empty(value))
    names = [name for name, value in said if name not in kept or _is_cut(value)]
    if not names:
        return ()
    limits = f"{_MAX_KEYS} fields, {_MAX_VALUE_CHARS:,} characters, {_MAX_LIST} entries, {_MAX_METADATA_DEPTH} levels"
    listed = first_of([cut(name) for name in names], _NAMED)
    words = f"Too long for metadata (at most {limits}): {listed}. Filters and the graph have not all of it."
    return (ReadingNote("metadata-too-long", words, 1),)


def _is_empty(value: JSON) -> bool:
    """Return whether there is no text in a value; of very many parts, only the first are looked at."""
    left = [value]
    for _ in range(_MAX_VALUE_CHARS):
        if not left:
            return True
        one = left.pop()
        if isinstance(one, list | dict):
            left.extend(one.values() if isinstance(one, dict) else one)
        elif one is not None and scrub(str(one)).strip():
            return False
    return False


def _is_cut(value: JSON) -> bool:
    return isinstance(value, list) and len(value) > _MAX_LIST


def title_of(mapping: dict[str, JSON]) -> str:
    """Return the field ``title`` of ``mapping`` on one line, ``""`` if it has none."""
    title = mapping.get("title")
    if isinstance(title, bool) or not isinstance(title, str | int | float):
        return ""
    return cut(" ".join(scrub(str(title)).split()))


class _Writer:
    """Writes plain values as indented lines, up to a maximum number of characters."""

    def __init__(self, max_chars: int) -> None:
        self.lines: list[str] = []
        self._left = max_chars

    def write(self, value: JSON, depth: int, lead: str) -> None:
        """Write ``value``; ``lead`` precedes its first line."""
        if depth > _MAX_DEPTH:
            raise ParseError("The values nest too deeply.")
        if isinstance(value, dict) and value:
            for key, item in value.items():
                self._entry(f"{lead}{_label(str(key))}:", item, depth)
                lead = " " * len(lead)
        elif isinstance(value, list) and value:
            for item in value:
                self.write(item, depth + 1, lead + "- ")
                lead = " " * len(lead)
        else:
            self._put(lead, _shown(value))

    def _entry(self, label: str, value: JSON, depth: int) -> None:
        indent = " " * (len(label) - len(label.lstrip(" -")))
        if isinstance(value, list) and all(not isinstance(item, dict | list) for item in value):
            shown = [_shown(item) for item in value]
            if sum(map(len, shown)) <= _MAX_INLINE_CHARS and not any("\n" in item or "," in item for item in shown):
                self._put(label, ", ".join(shown))
                return
        if isinstance(value, dict | list) and value:
            self._put(label, "")
            self.write(value, depth + 1, indent if isinstance(value, list) else self._deeper(indent))
        else:
            self._put(label, _shown(value))

    @staticmethod
    def _deeper(indent: str) -> str:
        return indent + "  " if len(indent) < 2 * _MAX_INDENT else indent

    def _put(self, lead: str, text: str) -> None:
        indent = " " * (len(lead) - len(lead.lstrip(" -")) + 2)
        first, newline, rest = text.rstrip("\n").partition("\n")
        if newline:
            line = f"{lead}\n" + "\n".join(indent + part for part in (first, *rest.split("\n")))
        else:
            line = lead + first if lead.endswith("- ") or not lead.strip() else f"{lead} {first}".rstrip()
        self._left -= len(line) + 1
        if self._left < 0:
            raise ParseError("Its references to other parts would make it far longer than it is.")
        self.lines.append(line)


def _label(key: str) -> str:
    """Return a readable key: ``owning-sig`` becomes ``Owning sig``; other spellings are unchanged."""
    return (key[0].upper() + key[1:]).replace("-", " ").replace("_", " ") if _WORDS.fullmatch(key) else key


def _shown(value: JSON) -> str:
    if value is None or value in ({}, []):
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    return value.isoformat() if isinstance(value, date | datetime | time) else str(value)


def _json_value(value: JSON, depth: int, left: list[int]) -> JSON:
    """Return ``value`` as JSON, None if it is empty or too large to filter by.

    ``left``: how many values may still be visited, since aliases can repeat a value very often.
    """
    left[0] -= 1
    if depth > _MAX_METADATA_DEPTH or left[0] < 0:
        return None
    if isinstance(value, dict):
        nested = {scrub(str(key)): _json_value(item, depth + 1, left) for key, item in value.items()}
        return {key: item for key, item in nested.items() if item not in (None, "", [], {})}
    if isinstance(value, list):
        items = [_json_value(item, depth + 1, left) for item in value[:_MAX_LIST]]
        return [item for item in items if item not in (None, "", [], {})]
    return _json_scalar(value)


def _json_scalar(value: JSON) -> str | int | float | bool | None:
    if isinstance(value, bool | int | float):
        return value
    if isinstance(value, str | date | datetime | time):
        return scrub(_shown(value))
    return None


def _scalar(raw: str) -> int | float | str:
    """Return the number in ``raw``, or ``raw`` itself if Python would write it differently (1.10, 007, 1e5)."""
    if len(raw) > 25:
        return raw
    kinds: tuple[Callable[[str], int | float], ...] = (int, float)
    for kind in kinds:
        try:
            number = kind(raw)
        except ValueError:
            continue
        if str(number) == raw and raw not in ("nan", "inf", "-inf"):
            return number
    return raw


class _YamlBuilder:
    """Builds plain values from parser events. An alias refers to the same object, so it is free."""

    def __init__(self) -> None:
        self.documents: list[JSON] = []
        self._open: list[tuple[list[JSON], str | None]] = [(self.documents, None)]
        self._anchors: dict[str, JSON] = {}

    def take(self, event: Any) -> None:
        """Process an ``event``: a scalar, an alias, or the start or end of a collection."""
        kind = type(event).__name__
        if kind == "ScalarEvent":
            self._add(_yaml_scalar(event), event.anchor)
        elif kind in ("MappingStartEvent", "SequenceStartEvent"):
            if len(self._open) > _MAX_DEPTH:
                raise ParseError("The values nest too deeply.")
            self._open.append(([], event.anchor))
        elif kind in ("MappingEndEvent", "SequenceEndEvent"):
            items, anchor = self._open.pop()
            self._add(_mapping(items) if kind == "MappingEndEvent" else items, anchor)
        elif kind == "AliasEvent":
            if event.anchor not in self._anchors:  # including an alias inside of its own anchor
                raise ParseError(f"The alias *{event.anchor} names nothing that stands before it.")
            self._add(self._anchors[event.anchor], None)
        elif kind == "DocumentStartEvent":
            self._anchors.clear()

    def _add(self, value: JSON, anchor: str | None) -> None:
        self._open[-1][0].append(value)
        if anchor:
            self._anchors[anchor] = value


def _mapping(items: list[JSON]) -> dict[str, JSON]:
    """Return the mapping of the alternating keys and values in ``items``."""
    keys = ("?" if isinstance(key, dict | list) else _shown(key) for key in items[::2])
    return dict(zip(keys, items[1::2], strict=True))


def _yaml_scalar(event: Any) -> JSON:
    """Return the value of a scalar: text if quoted or tagged, otherwise as in YAML 1.2 (``yes`` is a word)."""
    value: str = event.value
    if event.style or event.tag:
        return value
    if value in ("", "~", "null", "Null", "NULL"):
        return None
    if value.lower() in ("true", "false"):
        return value.lower() == "true"
    return _scalar(value)


def _one_line(error: Exception) -> str:
    return cut(" ".join(str(error).split())) or type(error).__name__
