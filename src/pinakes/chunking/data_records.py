"""Line-based data: YAML and similar formats, TOML and INI. A record that fits in a chunk is not cut."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

from pinakes.chunking.contexts import Context
from pinakes.chunking.outline import BLOCK, Cuts, Outline, Section
from pinakes.chunking.scale import Scale, clean
from pinakes.core.records import Document

MAX_IDENTIFIERS = 3
MAX_VALUE_CHARS = 60
MAX_RECORD_LINES = 200
"""Lines of a record that are searched for identifying keys."""
LONG_LINE_CHARS = 200
"""A longer entry on one line may be cut."""
_LEVELS = 24
_FURTHER = BLOCK - 2 * _LEVELS - 5
"""Level of a cut after a blank line inside of a value."""
_DOCUMENT = -1
_SECTION_KEYS = -2
"""Pseudo column of the keys of a section, which are at any column up to the next section head."""

_ENTRY = re.compile(
    r"(?P<indent>[ \t]*)(?P<dashes>(?:-(?:[ \t]+|$))*)"
    r"(?:(?P<key>\"[^\"\n]{1,200}\"|'[^'\n]{1,200}'|[^\s#:\[{\"'|>-][^\n:]{0,200}|-[^\s:][^\n:]{0,200}):(?=\s|$))?"
    r"[ \t]*(?P<value>[^\n]{0,300})",
    re.MULTILINE,
)
_MARKER = re.compile(r"---(?:\s|$)")
_SECTION = re.compile(r"\s*(\[{1,2})\s*([^\[\],{}=]{1,500}?)\s*\]{1,2}\s*(?:[#;].*)?")
_SETTING = re.compile(r"[ \t]*(?P<key>[\w.\"'-]{1,200})[ \t]*[=:][ \t]*(?P<value>[^\n]{0,300})")
_DOTTED = re.compile(r"\"[^\"]*\"|'[^']*'|[^.\s\"']+")
_CLOSING = re.compile(r"\s*[\]})]")
_NAMES = frozenset(
    (
        *(
            "code",
            "doi",
            "email",
            "filename",
            "guid",
            "host",
            "hostname",
            "id",
            "isbn",
            "issue",
            "key",
            "kind",
            "label",
        ),
        *("name", "no", "number", "path", "ref", "sku", "slug", "subject", "symbol", "ticket", "title", "uid", "uri"),
        *("url", "username", "uuid"),
    )
)
_NAMING = re.compile(
    r"(?:.*[-_ .])?(?:id|name|key|title|slug|code|no|nr|number|sku)|.*[a-z](?:I[dD]|Name|Key|Number|Code)"
)


@dataclass(slots=True)
class _Node:
    """An entry or element that may span several lines. ``column`` counts in steps of two, elements add one."""

    column: int
    start: int
    line: int
    key: str
    index: int = -1
    elements: int = 0
    end: int = -1


def outline(document: Document, scale: Scale) -> Outline:
    """Find the entries and elements of YAML by their indentation, the sections of TOML and INI by their heads."""
    sections = document.language in ("toml", "ini")
    found = (_Sections if sections else _Blocks)(scale)
    found.walk()
    return Outline(Section(0, len(scale.text)), found.cuts, lines_first=True, contexts=tuple(found.contexts()))


class _Blocks:
    """Scans the lines of a text that is structured by indentation."""

    def __init__(self, scale: Scale) -> None:
        self.text = scale.text
        self.lines: list[int] = scale.line_starts.tolist()
        self.cuts = Cuts()
        self.kept: list[_Node] = []
        """Nodes that span several lines, or a long one."""
        self.previous = -1
        """The last line with an entry."""
        self.stack: list[_Node] = []
        self.above: int | None = None
        """The start of the comments directly above the current line."""

    def walk(self) -> None:
        """Process each line in order."""
        text = self.text
        self._open(_Node(_DOCUMENT, 0, 0, ""))
        blank = False
        for number, start in enumerate(self.lines[:-1]):
            line_end = self.lines[number + 1]
            match = _ENTRY.match(text, start, line_end)
            indent = match.end("indent") if match else start
            if indent >= line_end or text[indent] == "\n":
                blank = True
                continue
            if text[indent] == "#":
                self.above = start if self.above is None else self.above
            elif indent == start and _MARKER.match(text, start, line_end):
                self._close(_DOCUMENT, start, number)
                self.cuts.add(self._begin(start), BLOCK)
                self._open(_Node(_DOCUMENT, self._begin(start), number, ""))
                self.above = None
            else:
                if match and (match["dashes"] or match["key"]):
                    self._entry(number, start, match)
                elif blank:
                    self.cuts.add(start, _FURTHER)
                self.above = None
            blank = False
        self._close(_DOCUMENT, len(text), len(self.lines) - 1)

    def contexts(self) -> Iterator[Context]:
        """Yield a context for each node that may be cut, in order."""
        for node in self._in_order():
            label = partial(_label, self.text, node.start, node.end, node.column, f"[{node.index}]")
            if node.column != _DOCUMENT and node.index < 0:
                label = partial(str, node.key)
            yield Context(node.start, node.end, label, joins=node.column != _DOCUMENT)

    def _entry(self, number: int, start: int, match: re.Match[str]) -> None:
        """Record the elements and the key that begin in a line."""
        begin = self._begin(start)
        places = [match.start("dashes") + at for at, sign in enumerate(match["dashes"]) if sign == "-"]
        first = True
        for place in places[:MAX_RECORD_LINES]:
            self._add(2 * (place - start) + 1, begin, number, "", first)
            first = False
        if match["key"]:
            self._add(2 * (match.start("key") - start), begin, number, clean(match["key"].strip("\"'")), first)

    def _add(self, column: int, begin: int, number: int, key: str, first: bool) -> None:
        self._close(column, begin, number)
        parent = self.stack[-1]
        if first:
            is_child = parent.line == self.previous and parent.column >= 0
            self.previous = number
            self.cuts.add(begin, BLOCK - 2 * min(len(self.stack), _LEVELS) - is_child)
        index = -1
        if column % 2:
            index, parent.elements = parent.elements, parent.elements + 1
        self._open(_Node(column, begin, number, key, index))

    def _open(self, node: _Node) -> None:
        self.stack.append(node)

    def _in_order(self) -> list[_Node]:
        return sorted(self.kept, key=lambda node: (node.start, node.column))

    def _close(self, column: int, end: int, number: int) -> None:
        """Close all nodes that a line at ``column`` does not belong to."""
        while self.stack and self.stack[-1].column >= column:
            node = self.stack.pop()
            if number - node.line > 1 or end - node.start > LONG_LINE_CHARS:
                node.end = end
                self.kept.append(node)

    def _begin(self, start: int) -> int:
        return start if self.above is None else self.above


class _Sections(_Blocks):
    """Scans the lines of a text with sections: ``[name]``, or ``[[name]]`` for array elements."""

    def walk(self) -> None:
        """Process each line in order."""
        self._open(_Node(_DOCUMENT, 0, 0, ""))
        paths: list[tuple[str, ...]] = [()]
        counts: dict[tuple[str, ...], int] = {}
        for number, start in enumerate(self.lines[:-1]):
            line = self.text[start : min(self.lines[number + 1], start + 1000)]
            if line.lstrip()[:1] in ("#", ";"):
                self.above = start if self.above is None else self.above
                continue
            head = _SECTION.fullmatch(line)
            if head and not line[0].isspace():
                path = tuple(name.strip("\"'") for name in _DOTTED.findall(head[2]))
                while len(paths) > 1 and not (len(paths[-1]) < len(path) and path[: len(paths[-1])] == paths[-1]):
                    paths.pop()
                depth = 2 * len(paths)
                self._close(depth, self._begin(start), number)
                self.cuts.add(self._begin(start), BLOCK - min(depth, 2 * _LEVELS))
                index = -1
                if head[1] == "[[":
                    index, counts[path] = counts.get(path, 0), counts.get(path, 0) + 1
                key = ".".join(path[len(paths[-1]) :])
                self._open(_Node(depth + (index >= 0), self._begin(start), number, key, index))
                paths.append(path)
            else:
                self._setting(number, start, line, 2 * len(paths))
            if line.strip():
                self.above = None
        self._close(_DOCUMENT, len(self.text), len(self.lines) - 1)

    def contexts(self) -> Iterator[Context]:
        """Yield a context for each node that spans several lines, in order."""
        for node in self._in_order():
            if node.key:
                label = partial(str, node.key)
                if node.index >= 0:
                    label = partial(_label, self.text, node.start, node.end, _SECTION_KEYS, f"{node.key}[{node.index}]")
                yield Context(node.start, node.end, label, joins=True)

    def _setting(self, number: int, start: int, line: str, depth: int) -> None:
        """Record a value of several lines, up to the line that begins with its closing bracket."""
        open_ = self.stack[-1].column >= depth
        if open_ and _CLOSING.match(line):
            self._close(depth, self.lines[number + 1], number + 1)
        elif not open_ and (match := _SETTING.match(line)) and match["value"].rstrip()[-1:] in ("[", "{"):
            self._open(_Node(depth, self._begin(start), number, match["key"].strip("\"'")))


def _label(text: str, start: int, end: int, column: int, place: str) -> str:
    """Return a label that identifies the record text[start:end]: its ``place``, and values of its naming keys."""
    identifiers_found = _identifiers(text, start, end, column)
    written = ", ".join(f"{key}: {value}" for key, value in identifiers_found)
    return written if column == _DOCUMENT else f"{place} {written}".rstrip()


def _identifiers(text: str, start: int, end: int, column: int) -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    first: list[tuple[str, str]] = []
    own = inside = ""
    at = -1
    for line, match in _entries(text, start, end):
        if column == _DOCUMENT and match.re is _ENTRY and match["dashes"]:
            break
        place = match.start("key") - line
        if 2 * place <= column or not match["key"]:
            continue
        at = place if at < 0 else at
        if place < at:
            break
        own = own if place > at else match["key"]
        inside = "" if place == at or own != "metadata" or column != _DOCUMENT else own
        key, value = clean(match["key"].strip("\"'")), _value(match["value"])
        if not value or (place > at and not (inside and key == "name")):
            continue
        first = first or [(key, value)]
        if _names(key):
            found.append((key, value))
        if len(found) == MAX_IDENTIFIERS:
            break
    return found or ([] if column == _DOCUMENT else first)


def _entries(text: str, start: int, end: int) -> Iterator[tuple[int, re.Match[str]]]:
    """Yield (line offset, match) for the entries in the first lines of text[start:end]."""
    for number in range(MAX_RECORD_LINES):
        if start >= end:
            return
        after = text.find("\n", start, end)
        after = end if after < 0 else after + 1
        if number and text[start] == "[":
            return
        sectioned = _SETTING.match(text, start, min(after, start + 1000))
        match = _ENTRY.match(text, start, min(after, start + 1000))
        if match and not match["key"] and sectioned:
            match = sectioned
        if match:
            yield start, match
        start = after


def _names(key: str) -> bool:
    return key.lower() in _NAMES or bool(_NAMING.fullmatch(key) or _NAMING.fullmatch(key.lower()))


def _value(written: str) -> str:
    """Return a plain value without quotes, "" if it continues in further lines."""
    value = clean(written)
    if value[:1] in ('"', "'"):
        value = value[1:].split(value[0], 1)[0]
    else:
        value = re.split(r"\s#|,\s", value, maxsplit=1)[0].rstrip(",")
    if value[:1] in ("|", ">", "[", "{", "&", "*", "#"):
        return ""
    return value if len(value) <= MAX_VALUE_CHARS else value[:MAX_VALUE_CHARS].rpartition(" ")[0] + " …"
