"""Plain text: cut between paragraphs, table rows and list items; between lines if the text is data, not prose.

Its lists, tables and sections are found line by line, for the other formats of plain text, too.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from operator import itemgetter

from pinakes.chunking.contexts import MAX_LABEL_CHARS, Context
from pinakes.chunking.outline import BLOCK, Cuts, Outline, Section, contents, regions, sections
from pinakes.chunking.scale import Scale
from pinakes.chunking.tables import Table, cells_of, combined, is_head, name_of, separated_names
from pinakes.core.records import Document

INDENTED = BLOCK - 10
_UNDER_NAMES = re.compile(
    r"^[ \t]*+(?:\|[ \t]*+)?:?-{2,}:?[ \t]*(?:[|+][ \t]*:?-{2,}:?[ \t]*)+\|?[ \t]*$"
    r"|^[ \t]*-{2,}(?:[ \t]+-{2,})+[ \t]*$",
    re.MULTILINE,
)
_FRAME_RULES = 3
"""Rules of a table that has none between its rows: above and below the column names, and at its end."""
_BARRED = re.compile(r"^(?:[ \t]*+\|(?=[ \t]*[^\s|+:-])[^\n]*\|[ \t]*(?:\n|\Z)){3,}", re.MULTILINE)
_BEFORE_BARRED = re.compile(
    r"[ \t]*(?:(?:Given|When|Then|And|But|\*)[ \t]|(?:Examples|Scenarios|Beispiele|Exempl?es|Ejemplos|Exemplos|Esempi|"
    r"Voorbeelden|Przykłady|Příklady|Примеры|Приклади|Exempel|Eksempler|Örnekler|例|サンプル|例子)[:：])"
)
"""A step or the examples of Gherkin: elsewhere, lines between bars are logs or drawings as often as tables."""
_MOST_BEFORE_BARRED = 3
"""Lines that may be between, blank or comments."""
_PARAGRAPH = re.compile(r"\n(?:[^\S\n]*\n)++")
ITEM = BLOCK - 15
ROW = 30
FIRST_ROW = ROW - 5
MAX_NESTING = 20
MAX_HEAD_LINES = 40
"""A table with more header lines has no column names."""

_ITEM = re.compile(r"^[ \t]*(?P<sign>[-*+•‣]|\d{1,4}[.)]|#\.)[ \t]+(?=\S)", re.MULTILINE)
_BULLET = re.compile(r"^\s*(?:[-*+•‣.]{1,6}|#\.)\s+")
_GRID = re.compile(r"[ \t]*\+(?:[-=]+\+)+[ \t]*")
_SIMPLE = re.compile(r"[ \t]*=+(?:[ \t]+=+)+[ \t]*")
_DIRECTIVE = re.compile(r"(?P<indent>[ \t]*)\.\.[ \t]+(?P<kind>table|list-table|csv-table)::[ \t]*(?P<caption>[^\n]*)")
_ANY_TABLE = re.compile(r"^[ \t]*(?:\+[-=]+\+|=+[ \t]+=|\.\.[ \t]+(?:list-|csv-)?table::)", re.MULTILINE)
_OPTION = re.compile(r"[ \t]+:(?P<name>[\w-]+):[ \t]*(?P<value>[^\n]*)")
_ELEMENT = re.compile(r"[ \t]*\*[ \t]+-(?:[ \t]|$)")


@dataclass(frozen=True, slots=True)
class _Open:
    """An item of a list that begins at ``start`` in ``line``, and has not ended yet."""

    indent: int
    sign: str
    start: int
    line: int


def lists(scale: Scale, cuts: Cuts, marked: re.Pattern[str] | None = None) -> Iterator[Context]:
    """Allow cuts between list items; yield a context for each item of several lines.

    Items within others are indented; where ``marked`` is the pattern of items, they have other signs.
    """
    text, open_, item = scale.text, list[_Open](), marked or _ITEM
    first = item.search(text)
    if first is None:
        return
    begin = int(scale.line_starts.searchsorted(first.end())) - 1
    blank = False
    for number, (start, end) in enumerate(pairwise(scale.line_starts.tolist()[begin:]), start=begin):
        line = text[start : min(end, start + 200)]
        indent = len(line) - len(line.lstrip())
        if indent == len(line):
            blank = True
            continue
        found = item.match(line)
        sign = _sign(found["sign"]) if found and marked else ""
        while open_ and (_ends(open_, sign, blank and not indent) if marked else open_[-1].indent >= indent):
            yield from _item(text, open_.pop(), number, start)
        if found:
            cuts.add(start, ITEM - min(len(open_), MAX_NESTING))
            open_.append(_Open(indent, sign, start, number))
        blank = False
    while open_:
        yield from _item(text, open_.pop(), len(scale.line_starts), len(text))


def _sign(sign: str) -> str:
    return "." if sign[0].isdecimal() else sign


def _ends(open_: Sequence[_Open], sign: str, paragraph: bool) -> bool:
    """Return whether the innermost open item ends at a line with this sign, or at the beginning of a paragraph."""
    return any(each.sign == sign for each in open_) if sign else paragraph


def _item(text: str, item: _Open, last: int, end: int) -> Iterator[Context]:
    if last - item.line > 1:
        yield Context(item.start, end, partial(_lead, text, item.start))


def _lead(text: str, start: int) -> str:
    first = text[start : start + 2 * MAX_LABEL_CHARS].split("\n", 1)[0]
    return name_of(_BULLET.sub("", first, count=1))


def sectioned(
    scale: Scale,
    cuts: Cuts,
    titles: Sequence[tuple[int, int, int, str]],
    tables: Tables,
    items: Sequence[Context],
) -> Outline:
    """Return the outline of a text with ``titles`` (start, end of its lines, level, name), tables and lists."""
    text = scale.text
    found = regions(titles, len(text))
    root, glue = sections(text, found, ())
    for region in found[1:]:
        first = len(text[region.body : region.end]) - len(text[region.body : region.end].lstrip("\n"))
        glue.add(region.body + first)
    for point in glue:
        cuts.found.pop(point, None)
    contexts = (*tables.outside(items), *tables.contexts)
    entries = contents(titles, len(text))
    return Outline(root, cuts, frozenset(glue), tuple(tables.solids), entries=entries, contexts=contexts)


class Tables:
    """Finds the tables of reStructuredText: grid, simple, list and CSV tables."""

    def __init__(self, scale: Scale, cuts: Cuts) -> None:
        self.scale = scale
        self.cuts = cuts
        self.lines: list[int] = scale.line_starts.tolist()
        self.solids: list[tuple[int, int]] = []
        self.contexts: list[Context] = []

    def find(self) -> None:
        """Scan all lines once."""
        first = _ANY_TABLE.search(self.scale.text)
        if first is None:
            return
        number, caption, captioned = int(self.scale.line_starts.searchsorted(first.end())) - 1, "", -1
        while number < len(self.lines) - 1:
            line = self._line(number)
            after = number + 1
            if directive := _DIRECTIVE.match(line):
                caption, captioned = name_of(directive["caption"]), number
                if directive["kind"] != "table":
                    after = self._directive(number, directive)
                    caption = ""
            elif _GRID.fullmatch(line.rstrip("\n")):
                after = self._grid(number, caption, captioned)
                caption = ""
            elif _SIMPLE.fullmatch(line.rstrip("\n")):
                after = self._simple(number, caption, captioned)
                caption = ""
            elif line.strip() and not line[0].isspace():
                caption = ""
            number = max(after, number + 1)

    def outside(self, contexts: Sequence[Context]) -> Iterator[Context]:
        """Yield the ``contexts`` that do not begin in a table."""
        for context in contexts:
            index = bisect_right(self.solids, context.start, key=itemgetter(0)) - 1
            if index < 0 or self.solids[index][1] <= context.start:
                yield context

    def _line(self, number: int) -> str:
        return self.scale.text[self.lines[number] : self.lines[number + 1]]

    def _grid(self, first: int, caption: str, captioned: int) -> int:
        last = first
        while last < len(self.lines) - 1 and self._line(last).lstrip()[:1] in ("+", "|"):
            last += 1
        borders = [each for each in range(first, last) if _GRID.fullmatch(self._line(each).rstrip("\n"))]
        head = next((each for each in borders[1 : MAX_HEAD_LINES + 1] if "=" in self._line(each)), None)
        head = head if head is not None else borders[1] if len(borders) > 2 else None
        if head is not None and head - first <= MAX_HEAD_LINES:
            groups = [range(left + 1, right) for left, right in pairwise(each for each in borders if each <= head)]
            rows = [_merged([cells_of(self._line(each)) for each in group]) for group in groups if group]
            self._note(first, last, head + 1, rows, caption, captioned)
        self._rows(first, last, [each + 1 for each in borders[1:-1]], (head or first) + 1)
        return last

    def _simple(self, first: int, caption: str, captioned: int) -> int:
        borders, number = [first], first + 1
        while number < len(self.lines) - 1 and len(borders) < 3:
            line = self._line(number).rstrip("\n")
            if _SIMPLE.fullmatch(line):
                borders.append(number)
                if number + 1 >= len(self.lines) - 1 or not self._line(number + 1).strip():
                    break
            number += 1
        if len(borders) < 2:
            return first + 1
        last = borders[-1] + 1
        spans = [match.span() for match in re.finditer(r"=+", self._line(first))]
        starts = [start for start, _ in spans] + [None]
        if len(borders) == 3 and borders[1] - first <= MAX_HEAD_LINES:
            written = [
                self._line(each) for each in range(first + 1, borders[1]) if set(self._line(each).strip()) != {"-"}
            ]
            rows = [[name_of(line[left:right]) for left, right in pairwise(starts)] for line in written]
            self._note(first, last, borders[1] + 1, [_merged(rows)], caption, captioned, has_bars=False)
        body = borders[1] + 1 if len(borders) == 3 else first + 1
        edge = spans[0][0]
        rows_at = [each for each in range(body, last - 1) if self._line(each)[edge : edge + 1].strip()]
        self._rows(first, last, rows_at, body)
        return last

    def _directive(self, first: int, found: re.Match[str]) -> int:
        last, indent = first + 1, len(found["indent"])
        while last < len(self.lines) - 1:
            line = self._line(last)
            if line.strip() and len(line) - len(line.lstrip()) <= indent:
                break
            last += 1
        options, body = dict[str, str](), first + 1
        while body < last and (option := _OPTION.match(self._line(body))):
            options[option["name"]] = option["value"].strip()
            body += 1
        while body < last and not self._line(body).strip():
            body += 1
        given = options.get("header-rows", "")
        heads = min(int(given), 3) if given.isdecimal() and len(given) < 4 else 0
        if found["kind"] == "csv-table":
            rows_at = [each for each in range(body, last) if self._line(each).strip()]
            written = [options["header"]] if "header" in options else [self._line(each) for each in rows_at[:heads]]
            heads = 0 if "header" in options else heads
            names = separated_names(written[:3])
        else:
            rows_at = [each for each in range(body, last) if _ELEMENT.match(self._line(each))]
            ends = [*rows_at[1:], last]
            names = [self._cells(left, right) for left, right in zip(rows_at[:heads], ends, strict=False)]
        start = rows_at[heads] if heads < len(rows_at) else body
        self._note(first, last, start, names, name_of(found["caption"]), first, has_bars=False)
        self._rows(first, last, rows_at, start)
        return last

    def _cells(self, first: int, last: int) -> list[str]:
        """Return the cells of a row of a list table."""
        cells: list[str] = []
        for number in range(first, min(last, first + MAX_HEAD_LINES)):
            line = self._line(number).strip()
            line = line[1:].lstrip() if line.startswith("*") else line
            if line.startswith("-"):
                cells.append(name_of(line[1:]))
            elif line and cells:
                cells[-1] = name_of(f"{cells[-1]} {line}")
        return cells

    def _note(
        self,
        first: int,
        last: int,
        body: int,
        rows: Sequence[Sequence[str]],
        caption: str,
        captioned: int,
        *,
        has_bars: bool = True,
    ) -> None:
        title, names = combined(rows) if rows else ("", [])
        end = self.lines[last]
        if caption:
            self.contexts.append(Context(self.lines[captioned], end, partial(str, caption)))
        if title:
            self.contexts.append(Context(self.lines[first], end, partial(str, title)))
        if any(names) and body < last:
            table = Table(self.scale, names, self.lines[body], end, has_bars=has_bars)
            self.contexts.append(Context(self.lines[body] - 1, end, table=table))

    def _rows(self, first: int, last: int, rows: Sequence[int], body: int) -> None:
        """Allow cuts before rows, and none between paragraphs of a table."""
        self.solids.append((self.lines[first], self.lines[last]))
        for number in range(first + 1, last):
            self.cuts.found.pop(self.lines[number], None)
        for number in rows:
            self.cuts.add(self.lines[number], ROW if number > body else FIRST_ROW)


def _merged(rows: Sequence[Sequence[str]]) -> list[str]:
    """Return one row that joins the lines of multi-line cells."""
    width = max(map(len, rows), default=0)
    return [" ".join(row[column] for row in rows if column < len(row) and row[column]) for column in range(width)]


def outline(document: Document, scale: Scale) -> Outline:
    """Find paragraphs. Code, and text with a language (yaml, csv, log …), is cut into lines, prose into sentences."""
    cuts = Cuts()
    paragraphs(document.text, cuts)
    root = Section(0, len(scale.text))
    if document.kind == "code" or document.language is not None:
        return Outline(root, cuts, lines_first=True)
    items = list(lists(scale, cuts))
    tables = _Tables(scale, cuts)
    tables.find()
    contexts = (*tables.outside(items), *tables.contexts)
    return Outline(root, cuts, solids=tuple(tables.solids), contexts=contexts)


class _Tables(Tables):
    """Finds tables whose column names are underlined, as Markdown, databases and programs of the shell write them."""

    def find(self) -> None:
        """Search for the lines below column names, after the tables that are framed."""
        super().find()
        framed, after = list(self.solids), 0
        for found in _UNDER_NAMES.finditer(self.scale.text):
            rule = int(self.scale.line_starts.searchsorted(found.start(), "right")) - 1
            index = bisect_right(framed, found.start(), key=itemgetter(0)) - 1
            inside = index >= 0 and framed[index][1] > found.start()
            if rule > after and not inside and self._line(rule - 1).strip():
                after = self._underlined(rule, "|" in self._line(rule - 1), found[0])
        self.solids.sort()
        framed = list(self.solids)
        for found in _BARRED.finditer(self.scale.text):
            self._barred(found.start(), found.end(), framed)
        self.solids.sort()

    def _barred(self, start: int, end: int, framed: Sequence[tuple[int, int]]) -> None:
        """Record a table of Gherkin, whose lines begin and end with bars, if its first row has names."""
        index = bisect_right(framed, start, key=itemgetter(0)) - 1
        if index >= 0 and framed[index][1] > start:
            return
        first, last = (int(self.scale.line_starts.searchsorted(point, "right")) - 1 for point in (start, end - 1))
        rows = [cells_of(self._line(number)) for number in range(first, last + 1)]
        names, body = rows[0], rows[1:]
        is_named = len(names) > 1 and all(names) and len(set(names)) == len(names) and is_head(names, body[0])
        recurs = any(name == cell for row in body for name, cell in zip(names, row, strict=False))
        if is_named and not recurs and all(len(row) == len(names) for row in body) and self._has_step_before(first):
            self._note(first, last + 1, first + 1, rows[:1], "", first)
            self._rows(first, last + 1, range(first + 1, last + 1), first + 1)

    def _has_step_before(self, number: int) -> bool:
        for before in range(number - 1, max(-1, number - 2 - _MOST_BEFORE_BARRED), -1):
            line = self._line(before).strip()
            if line and not line.startswith("#"):
                return bool(_BEFORE_BARRED.match(line))
        return False

    def _grid(self, first: int, caption: str, captioned: int) -> int:
        """Record a framed table; without a rule between its rows, each line of it is one."""
        last = super()._grid(first, caption, captioned)
        rules = [number for number in range(first, last) if self._line(number).lstrip().startswith("+")]
        if len(rules) == _FRAME_RULES:
            self.solids.pop()
            self._rows(first, last, range(rules[1] + 1, rules[2]), rules[1] + 1)
        return last

    def _underlined(self, rule: int, has_bars: bool, under: str) -> int:
        """Record the table around its line ``rule``, whose text is ``under``; return the line after it."""
        last = rule + 1
        while last < len(self.lines) - 1 and self._line(last).strip() and (not has_bars or "|" in self._line(last)):
            last += 1
        names = self._line(rule - 1)
        starts = [match.start() for match in re.finditer(r"-+", under)] + [None]
        row = cells_of(names) if has_bars else [name_of(names[left:right]) for left, right in pairwise(starts)]
        self._note(rule - 1, last, rule + 1, [row], "", rule - 1, has_bars=has_bars)
        self._rows(rule - 1, last, range(rule + 1, last), rule + 1)
        return last


def paragraphs(text: str, cuts: Cuts) -> None:
    """Allow cuts after blank lines; at a lower level before an indented paragraph, as it belongs to the one above."""
    for match in _PARAGRAPH.finditer(text):
        indented = text[match.end() : match.end() + 1].isspace()
        cuts.add(match.end(), INDENTED if indented else BLOCK)
