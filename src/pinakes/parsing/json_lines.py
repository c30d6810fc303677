"""JSON as indented lines: the lines of the file, without quotes, braces and commas at their ends."""

from __future__ import annotations

import json
import re
from typing import Final

MAX_DEPTH: Final = 100
"""The maximum nesting depth."""
LONG_LINE_CHARS: Final = 1000
"""A longer line of the file becomes several lines of text."""

_MAX_INDENT: Final = 24
_MAX_INLINE_CHARS: Final = 100
_TOKEN: Final = re.compile(r'"(?:[^"\\]++|\\.)*+"|[{}\[\],:]|[^\s{}\[\],:"]++')
_SIMPLE: Final = re.compile(
    r'[ \t]*+(?:([}\]])|(?:"([^"\\]++)"[ \t]*+:[ \t]*+)?(?:([{\[])|"([^"\\]*+)"|([^\s{}\[\],:"]++)))[ \t]*+,?[ \t]*+\r?'
)
"""A line as most programs write it: a bracket, a value, or a key with the start of its value."""
_SPACES: Final = re.compile(r"[\t\n\v\f\r\x85\u2028\u2029]")
_OPENING: Final = frozenset("{[")
_CLOSING: Final = frozenset("}]")


class TooDeepError(ValueError):
    """The values nest deeper than ``MAX_DEPTH``."""


def json_lines(source: str, *, records: bool) -> tuple[str, tuple[int, ...]]:
    """Return valid JSON as indented lines ``key: value``, and each line's number in ``source``, () if all are the same.

    Elements of arrays begin with ``- ``. Each line of ``source`` becomes one line, blank if it has only brackets; a
    line of more than ``LONG_LINE_CHARS`` characters becomes several. Escapes in strings are decoded.

    Args:
        source: JSON, or one value on each line.
        records: each line is a separate value, which begins with ``- ``.

    Raises:
        TooDeepError: the values nest deeper than ``MAX_DEPTH``.
    """
    writer = _Writer("[" if records else "")
    numbers: list[int] = []
    for number, line in enumerate(source.split("\n"), 1):
        before = len(writer.lines)
        writer.write(line)
        numbers.extend([number] * (len(writer.lines) - before))
    is_same = len(numbers) == numbers[-1]
    return "\n".join(writer.lines), () if is_same else tuple(numbers)


class _Writer:
    """Writes tokens as lines. ``_open``: the brackets open at the current position."""

    def __init__(self, outer: str) -> None:
        self.lines: list[str] = []
        self._open = list(outer)
        self._parts: list[str] = []
        self._breaks = False
        self._comma = False

    def write(self, line: str) -> None:
        """Add one line of the file."""
        self._breaks = len(line) > LONG_LINE_CHARS
        if not self._breaks and self._open and (simple := _SIMPLE.fullmatch(line)):
            self._simple(*simple.groups())
            return
        before = len(self.lines)
        tokens = [(match[0], match.start()) for match in _TOKEN.finditer(line)]
        self._tokens(tokens, _partners(tokens))
        if self._parts or len(self.lines) == before:
            self._end_line()

    def _simple(self, closing: str, key: str | None, opening: str, text: str | None, scalar: str) -> None:
        if closing:
            self._open.pop()
            self.lines.append("")
            return
        depth = len(self._open) - 1
        lead = "  " * min(depth, _MAX_INDENT) + ("- " if self._open[-1] == "[" else "")
        if key is not None:
            lead += f"{key}: "
        self.lines.append((lead if opening else lead + (scalar if text is None else text)).rstrip())
        if opening:
            self._push(opening)

    def _push(self, token: str) -> None:
        self._open.append(token)
        if len(self._open) > MAX_DEPTH:
            raise TooDeepError("The values nest too deeply.")

    def _tokens(self, tokens: list[tuple[str, int]], partners: dict[int, int]) -> None:
        at = 0
        while at < len(tokens):
            part, start = tokens[at]
            partner = partners.get(at)
            if partner is not None and not (self._breaks and tokens[partner][1] - start > _MAX_INLINE_CHARS):
                is_record = part == "{" and partner > at + 1 and not self._parts and self._open[-1:] == ["["]
                inner = tokens[at + 1 : partner] if is_record else tokens[at : partner + 1]
                self._put(_inline([word for word, _ in inner]))
                at = partner
            elif part in _OPENING:
                self._enter(part)
            elif part in _CLOSING:
                self._leave()
            elif part == ",":
                self._part()
            elif part == ":":
                self._parts.append(":")
            else:
                self._put_value(part)
            at += 1

    def _enter(self, token: str) -> None:
        if self._open[-1:] == ["["] and (not self._parts or self._parts[-1].endswith("- ")):
            self._begin()
        elif self._breaks and self._parts and self._parts[-1] == ":":
            self._end_line()
        self._push(token)

    def _leave(self) -> None:
        if self._breaks and self._parts:
            self._end_line()
        if self._open:
            self._open.pop()

    def _part(self) -> None:
        if not self._breaks:
            self._comma = bool(self._parts)
        elif self._parts:
            self._end_line()

    def _put_value(self, token: str) -> None:
        text = _decoded(token)
        if not (self._breaks and "\n" in text):
            self._put(_SPACES.sub(" ", text))
            return
        first, *others = (_SPACES.sub(" ", line) for line in text.rstrip("\n").split("\n"))
        self._put(first)
        indent = self._indent() + "  "
        self._parts.extend(f"\n{indent}{line}" for line in others)

    def _put(self, text: str) -> None:
        if not self._parts:
            self._begin()
        elif self._comma:
            self._parts.append(", ")
        elif not self._parts[-1].endswith("- "):
            self._parts.append(" ")
        self._comma = False
        self._parts.append(text)

    def _begin(self) -> None:
        """Begin a line, or an element that is the first element of another: ``- - 1``."""
        dash = "- " if self._open[-1:] == ["["] else ""
        self._parts.append(dash if self._parts else self._indent() + dash)

    def _indent(self) -> str:
        return "  " * min(len(self._open) - 1, _MAX_INDENT)

    def _end_line(self) -> None:
        self.lines.extend(line.rstrip() for line in "".join(self._parts).split("\n"))
        self._parts.clear()
        self._comma = False


def _partners(tokens: list[tuple[str, int]]) -> dict[int, int]:
    """Return index of opening bracket → index of its closing bracket on the same line."""
    opened: list[int] = []
    found: dict[int, int] = {}
    for at, (token, _) in enumerate(tokens):
        if token in _OPENING:
            opened.append(at)
        elif token in _CLOSING and opened:
            found[opened.pop()] = at
    return found


def _inline(tokens: list[str]) -> str:
    """Return a value on one line: ``{a: 1, b: [x, y]}``."""
    if sum(token in _OPENING for token in tokens) > MAX_DEPTH and _depth(tokens) > MAX_DEPTH:
        raise TooDeepError("The values nest too deeply.")
    words = [f"{token} " if token in (",", ":") else _SPACES.sub(" ", _decoded(token)) for token in tokens]
    return "".join(words)


def _depth(tokens: list[str]) -> int:
    depth = deepest = 0
    for token in tokens:
        depth += (token in _OPENING) - (token in _CLOSING)
        deepest = max(deepest, depth)
    return deepest


def _decoded(token: str) -> str:
    if not token.startswith('"'):
        return token
    return str(json.loads(token, strict=False)) if "\\" in token else token[1:-1]
