"""Source code: cut between definitions with their comments; long definitions along their inner structure."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from pinakes.chunking.contexts import MAX_LABEL_CHARS, Context
from pinakes.chunking.indented import outline as indented_outline
from pinakes.chunking.outline import BLOCK, Cuts, Outline, OutlineEntry, Section, Symbol, branch
from pinakes.chunking.plain_text import outline as text_outline
from pinakes.chunking.scale import Scale
from pinakes.core.records import Document
from pinakes.text.definition_names import CONTAINERS, DECLARATIONS, FUNCTIONS, NOT_IN_C, TYPES, is_defining, names
from pinakes.text.syntax_trees import MAX_LINE, encoded, is_minified, tree_of

if TYPE_CHECKING:
    from tree_sitter import Node

MAX_DEPTH = 40
"""Deeper structure is ignored: it is cut between lines."""

CRUMB_SHARE = 8
"""Text before a large type, such as imports, joins it if it is smaller than this fraction (1/n) of a chunk."""
MIN_FILL = 0.25
"""A function too large for one chunk starts a new one if the text before it fills at least this share of a chunk."""

_LEADING = frozenset(
    {"comment", "line_comment", "block_comment", "attribute_item", "attribute_declaration", "decorator"}
)
_TRAILING = frozenset({"expression_statement", "compound_statement"})
_FILE_LEVEL = frozenset(
    {"translation_unit", "preproc_ifdef", "preproc_if", "preproc_else", "preproc_elif", "linkage_specification"}
)
_WRAPPERS = frozenset(
    {
        "ambient_declaration",
        "declaration",
        "decorated_definition",
        "export_statement",
        "expression_statement",
        "template_declaration",
        "type_definition",
    }
)
_LISTED = (FUNCTIONS | TYPES) - {"preproc_function_def"}
"""Node types in a table of contents, even if they take a single line."""
_HOLDERS = ("definition", "declaration", "value")
_WRAPPED = FUNCTIONS | {"variable_declarator", "lexical_declaration"}
_MAX_WRAPPED = 6

_log = logging.getLogger(__name__)


def outline(document: Document, scale: Scale) -> Outline:
    """Find units, symbols and inner structure; indented blocks if there is no grammar, lines if code is minified."""
    if is_minified(scale.text, len(scale.line_starts)):
        return text_outline(document, scale)
    try:
        tree = tree_of(scale.text, document.language or "")
    except KeyError:
        return indented_outline(document, scale)
    except ImportError as error:
        _log.warning("No grammar for %s (%s); it is cut as text", document.language, error)
        return text_outline(document, scale)
    if tree is None:
        return text_outline(document, scale)
    containers = CONTAINERS - NOT_IN_C if document.language == "c" else CONTAINERS
    return _Walk(scale, containers).outline(tree.root_node)


@dataclass(slots=True)
class _Unit:
    """A child node with its lines: from ``begin``, where its comments start, through ``last``."""

    node: Node
    begin: int
    last: int
    alone: bool
    cut: bool
    names: list[str]


@dataclass(frozen=True, slots=True)
class _Place:
    """The current position in the tree. ``frame``: the lines of a statement that only wraps a definition."""

    path: tuple[str, ...] = ()
    depth: int = 0
    in_type: bool = False
    in_function: bool = False
    frame: tuple[int, int] | None = None


class _Walk:
    """Descends the tree as far as definitions may be, or nodes are too large for a chunk.

    Positions are lines: cuts are only between lines, and lines are the same in bytes and characters.
    """

    def __init__(self, scale: Scale, containers: frozenset[str]) -> None:
        self.scale = scale
        self.source = encoded(scale.text)
        self.containers = containers
        self.lines = scale.line_starts.tolist()
        self.cuts = Cuts()
        self.symbols: list[Symbol] = []
        self.definitions: list[tuple[int, int, str]] = []
        self.contexts: list[Context] = []

    def outline(self, root: Node) -> Outline:
        """Scan all of ``root``."""
        inner = self._visit(root, _Place())
        symbols = sorted(self.symbols, key=lambda symbol: symbol.start)
        section = self._section(0, len(self.scale.text), (), inner)
        return Outline(
            section,
            self.cuts,
            symbols=tuple(symbols),
            lines_first=True,
            min_fill=MIN_FILL,
            entries=_nested(self.definitions),
            contexts=tuple(self.contexts),
        )

    def _visit(self, node: Node, place: _Place) -> list[Section]:
        """Record cuts and names among the children of ``node``; return the sections of types too large for a chunk."""
        found: list[Section] = []
        for unit in _units(node, self.source, place):
            if unit.cut:
                self.cuts.add(self.lines[unit.begin], BLOCK - 5 - place.depth)
            if unit.names and self._offset(unit.last + 1) - self.lines[unit.last] <= MAX_LINE:
                self._note(unit)
            child = unit.node
            begin, last = place.frame or (unit.begin, unit.last)
            if unit.names and _is_listed(child, begin, last):
                self.definitions.append((self.lines[begin], self._offset(last + 1), ", ".join(unit.names)))
            large = last > begin and not self._fits(begin, last, place.path)
            inside = child.type in self.containers and (last > begin or child.type not in DECLARATIONS)
            if place.depth == MAX_DEPTH or not (large or inside):
                continue
            is_type = is_defining(child) and not place.in_function
            within = _Place(
                place.path,
                place.depth + 1,
                place.in_type or is_type,
                place.in_function or child.type in FUNCTIONS,
                (begin, last) if child.type in _WRAPPERS and unit.alone else None,
            )
            if large and is_type and unit.names and (unit.alone or place.frame):
                path = (*place.path, unit.names[-1])
                inner = self._visit(child, replace(within, path=path))
                found.append(self._section(self.lines[begin], self._offset(last + 1), path, inner))
            elif large or not within.in_function:
                if large and _is_repeated(unit):
                    self.contexts.append(
                        Context(self.lines[begin], self._offset(last + 1), partial(_signature, child, self.source))
                    )
                found += self._visit(child, within)
        return found

    def _note(self, unit: _Unit) -> None:
        kind = unit.node.type
        begin, last = unit.begin, unit.last
        if kind not in FUNCTIONS and kind != "expression_statement":
            begin = last = unit.last if kind == "type_definition" else unit.node.start_point[0]
        self.symbols += [Symbol(self._offset(begin), self._offset(last + 1), name) for name in unit.names]

    def _fits(self, first: int, last: int, path: tuple[str, ...]) -> bool:
        return self.scale.fits(self.lines[first], self._offset(last + 1), self.scale.room(path))

    def _offset(self, line: int) -> int:
        return int(self.lines[min(line, len(self.lines) - 1)])

    def _section(self, start: int, end: int, path: tuple[str, ...], inner: Sequence[Section]) -> Section:
        """Return a section whose text around the ``inner`` sections is filled with leaves."""
        parts: list[Section] = []
        crumb = self.scale.limits // CRUMB_SHARE
        for section in inner:
            if not parts and self.scale.fits(start, section.start, crumb):
                parts.append(_starting_at(section, start))
            else:
                parts += [Section(start, section.start, path)] if section.start > start else []
                parts.append(section)
            start = section.end
        if parts and _is_closing(self.scale.text[start:end]):
            parts[-1] = _ending_at(parts[-1], end)
        elif start < end or not parts:
            parts.append(Section(start, end, path))
        return branch(parts)


def _is_repeated(unit: _Unit) -> bool:
    """Return whether the pieces of an oversized definition repeat its first line."""
    return bool(unit.names) or unit.node.type in FUNCTIONS or unit.node.type == "pair"


def _signature(node: Node, source: bytes) -> str:
    """Return the text before the body of a definition, or its first line if it has no body."""
    inner = _defined(node)
    text = source[node.start_byte : min(node.end_byte, node.start_byte + 4 * MAX_LABEL_CHARS)]
    body = inner.child_by_field_name("body")
    head = text[: body.start_byte - node.start_byte] if body is not None else text.split(b"\n", 1)[0]
    return head.decode("utf-8", "ignore").rstrip(" \t\r\n{:=")


def _defined(node: Node) -> Node:
    """Return the definition that an assignment or a declaration wraps; ``node`` itself if it has the body."""
    for _ in range(_MAX_WRAPPED):
        if node.child_by_field_name("body") is not None:
            break
        inner = next((each for each in map(node.child_by_field_name, _HOLDERS) if each is not None), None)
        if inner is None:
            inner = next((each for each in node.named_children[:4] if each.type in _WRAPPED), None)
        if inner is None:
            break
        node = inner
    return node


def _is_listed(node: Node, first: int, last: int) -> bool:
    """Return whether a definition belongs in a table of contents: a function, a type, or one of several lines."""
    return last > first or node.type in _LISTED


def _nested(definitions: Sequence[tuple[int, int, str]]) -> tuple[OutlineEntry, ...]:
    """Return an entry for each (start, end, name); its level is its nesting depth."""
    found: list[OutlineEntry] = []
    above: list[OutlineEntry] = []
    for start, end, name in sorted(definitions, key=lambda one: (one[0], -one[1])):
        while above and above[-1].end < end:
            above.pop()
        found.append(OutlineEntry(len(above) + 1, name, start, end))
        above.append(found[-1])
    return tuple(found)


def _units(node: Node, source: bytes, place: _Place) -> Iterator[_Unit]:
    """Yield the named children of ``node``, each with the comments and attributes directly above it.

    A body directly after a macro call, and a macro call directly after a body, belong to what is above them.
    """
    at_root = place.depth == 0
    previous = -1 if at_root else node.start_point[0]
    comments: tuple[int, int] | None = None
    waiting: _Unit | None = None
    seen = False
    for child, has_field in _children(node):
        first, last = child.start_point[0], _last_line(child)
        alone = first > previous
        leading = alone and child.type in _LEADING
        below = comments is not None and first <= comments[1] + 1
        begin = comments[0] if comments and below else first
        found = [] if place.in_function or not child.is_named else names(child, source, top_level=not place.in_type)
        if child.is_named:
            trailing = child.type in _TRAILING and node.type in _FILE_LEVEL and first == previous + 1 and not found
            trailing = trailing and not below
            if waiting and trailing:
                waiting.last = last if waiting.names else waiting.last
            cut = alone and not has_field and not below and not trailing and (seen or at_root)
            if waiting:
                yield waiting
            waiting = _Unit(child, begin, last, alone, cut, found)
            seen = seen or not has_field
        comments = (begin, last) if leading else None
        previous = max(previous, last)
    if waiting:
        yield waiting


def _children(node: Node) -> Iterator[tuple[Node, bool]]:
    """Yield the children of ``node``, and whether each has a field name rather than being a list element."""
    cursor = node.walk()
    more = cursor.goto_first_child()
    while more:
        child = cursor.node
        if child is not None:
            yield child, cursor.field_id is not None
        more = cursor.goto_next_sibling()


def _last_line(node: Node) -> int:
    """Return the last line of ``node``; some nodes include their newline and end at the start of the next line."""
    line, column = node.end_point
    return line - 1 if column == 0 and line > node.start_point[0] else line


def _is_closing(text: str) -> bool:
    text = text.strip()
    return not text or (text[0] in ")]}" and "\n" not in text)


def _starting_at(section: Section, start: int) -> Section:
    children = section.children
    if children:
        children = (_starting_at(children[0], start), *children[1:])
    return replace(section, start=start, children=children)


def _ending_at(section: Section, end: int) -> Section:
    children = section.children
    if children:
        children = (*children[:-1], _ending_at(children[-1], end))
    return replace(section, end=end, children=children)
