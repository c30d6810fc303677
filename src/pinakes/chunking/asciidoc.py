"""AsciiDoc: sections by their titles, blocks, tables with their column names."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from pinakes.chunking.outline import Cuts, Outline
from pinakes.chunking.plain_text import MAX_HEAD_LINES, Tables, lists, paragraphs, sectioned
from pinakes.chunking.scale import Scale, clean
from pinakes.chunking.tables import name_of, separated_names
from pinakes.core.records import Document

_ITEM = re.compile(r"^[ \t]*(?P<sign>\*{1,6}|\.{1,6}|-|\d{1,4}\.)[ \t]+(?=\S)", re.MULTILINE)
"""An item of a list; more signs, or other ones, make a list within the item above."""
_TITLE = re.compile(r"(={1,6}|#{1,6})[ \t]+(\S[^\n]*)")
_BLOCK = re.compile(r"(?:([-.=*_+/])\1{3,}|```[^\n`]*|--)")
_UNDERLINE = re.compile(r"([=\-~^+])\1+")
_UNDERLINES = "=-~^+"
_TABLE = re.compile(r"([|,:!])===+")
_LABEL = re.compile(r"\[\[[^\]\n]*\]\]|\[[^\]\n]*\]")
_CAPTION = re.compile(r"\.(?![ .])([^\n]{1,300})")
_CELL = re.compile(r"(?P<spec>(?:(?:^|(?<=\s))(?:\d+\*)?(?P<span>\d*(?:\.\d+)?\+)?[<^>.]{0,3}[aehlmsdv]?)?)(?<!\\)\|")
_COLS = re.compile(r"cols\s*=\s*(?:\"([^\"]*)\"|([^,\]\s]*))")
_HEADED = re.compile(r"%header|(?:options|opts)\s*=\s*\"?[^\"\]]{0,200}header")
_WITHOUT_HEAD = re.compile(r"%noheader")
_FORMAT = re.compile(r"format\s*=\s*\"?(csv|dsv|tsv)")
_DELIMITERS = {"csv": ",", "tsv": "\t", "dsv": ":", ",": ",", ":": ":"}


def outline(document: Document, scale: Scale) -> Outline:
    """Find titles, paragraphs, lists and tables. Lines in listings that look like titles are not titles."""
    cuts = Cuts()
    paragraphs(document.text, cuts)
    items = list(lists(scale, cuts, marked=_ITEM))
    tables = _Tables(scale, cuts)
    tables.find()
    return sectioned(scale, cuts, tables.titles, tables, items)


class _Tables(Tables):
    """Finds tables, and the titles outside of tables and delimited blocks."""

    def __init__(self, scale: Scale, cuts: Cuts) -> None:
        super().__init__(scale, cuts)
        self.titles: list[tuple[int, int, int, str]] = []
        lines = (self._line(number).rstrip() for number in range(len(self.lines) - 1))
        self._last = {line: number for number, line in enumerate(lines) if _TABLE.fullmatch(line) or _end(line)}
        """Delimiter of tables or listings → the last line with it."""

    def find(self) -> None:
        """Scan all lines once."""
        last, number = len(self.lines) - 1, 0
        caption = options = ""
        labelled = -1
        """The first of the lines directly above that describe the next block."""
        while number < last:
            line = self._line(number).rstrip()
            after = number + 1
            if _TABLE.fullmatch(line):
                after = self._delimited_table(number, caption, labelled, options)
            elif found := _TITLE.fullmatch(line):
                start = number if labelled < 0 else labelled
                self.titles.append((self.lines[start], self.lines[after], len(found[1]), _plain(found[2])))
            elif self._is_underlined(number):
                start, after = number if labelled < 0 else labelled, number + 2
                level = _UNDERLINES.index(self._line(number + 1)[0]) + 1
                self.titles.append((self.lines[start], self.lines[after], level, _plain(line)))
            elif end := _end(line):
                after = max(self._closing(number, end), number) + 1
            elif label := _LABEL.fullmatch(line):
                labelled = number if labelled < 0 else labelled
                options += label[0]
                number = after
                continue
            elif found := _CAPTION.fullmatch(line):
                labelled = number if labelled < 0 else labelled
                caption = name_of(found[1])
                number = after
                continue
            caption, options, labelled = "", "", -1
            number = after

    def _is_underlined(self, number: int) -> bool:
        """Return whether a line is a title, underlined at its full length."""
        if number + 1 >= len(self.lines) - 1 or (number and self._line(number - 1).strip()[:1] not in ("", "[")):
            return False
        title, below = self._line(number).rstrip(), self._line(number + 1).rstrip()
        words = any(char.isalnum() for char in title) and not title[0].isspace() and len(title) > 1
        return words and abs(len(title) - len(below)) <= 2 and bool(_UNDERLINE.fullmatch(below))

    def _closing(self, first: int, end: str) -> int:
        """Return the next line equal to ``end``, -1 if there is none."""
        if self._last.get(end, -1) <= first:
            return -1
        return next(number for number in range(first + 1, len(self.lines)) if self._line(number).rstrip() == end)

    def _delimited_table(self, first: int, caption: str, labelled: int, options: str) -> int:
        close = self._closing(first, self._line(first).rstrip())
        if close < 0:
            return first + 1
        start = first if labelled < 0 else labelled
        form = _FORMAT.search(options)
        separator = _DELIMITERS.get(form[1] if form else self._line(first)[0])
        filled = [number for number in range(first + 1, close) if self._line(number).strip()]
        if separator:
            self._separated(start, close + 1, filled, separator, caption, options)
        else:
            self._bar_table(start, close + 1, filled, caption, options)
        return close + 1

    def _separated(
        self, first: int, last: int, filled: Sequence[int], separator: str, caption: str, options: str
    ) -> None:
        """Record a table whose rows are lines with a ``separator``."""
        headed = self._is_headed(filled[:2], options)
        rows = separated_names([self._line(filled[0])], separator)[:1] if headed else []
        body = filled[1] if headed and len(filled) > 1 else filled[0] if filled else last
        self._note(first, last, body, rows, caption, first, has_bars=False)
        self._rows(first, last, filled, body)

    def _bar_table(self, first: int, last: int, filled: Sequence[int], caption: str, options: str) -> None:
        """Record a table whose cells begin with bars; a row may take several lines."""
        cells = [list(self._cells_at(number)) for number in filled]
        given = _COLS.search(options)
        width = _width(given[1] or given[2] or "") if given else 0
        width = width or next((sum(span for span, _ in each) for each in cells if each), 1)
        begins = [filled[at] for at in _row_starts([[span for span, _ in each] for each in cells], width)]
        headed = self._is_headed(filled[:2], options) and len(begins) > 1
        body = begins[1] if headed else begins[0] if begins else last
        names: list[str] = []
        for number, each in zip(filled, cells, strict=True):
            if not headed or number >= min(body, first + MAX_HEAD_LINES):
                break
            for span, name in each:
                names += [name] * min(span, width)
        one_line = headed and len(begins) == len(filled)
        self._note(first, last, body, [names] if names else [], caption, first, has_bars=one_line)
        self._rows(first, last, begins, body)

    def _is_headed(self, filled: Sequence[int], options: str) -> bool:
        """Return whether the first row has column names: an option says so, or a blank line follows its only line."""
        if not filled or _WITHOUT_HEAD.search(options):
            return False
        if _HEADED.search(options):
            return True
        first = filled[0]
        return not self._line(first - 1).strip().startswith("[") and (
            self._line(first - 1).strip() != "" and not self._line(first + 1).strip()
        )

    def _cells_at(self, number: int) -> Iterator[tuple[int, str]]:
        """Yield (number of columns spanned, text) for each cell that begins in a line."""
        line = self._line(number).rstrip("\n")
        found = list(_CELL.finditer(line))
        for place, cell in enumerate(found):
            span = (cell["span"] or "").split(".")[0].rstrip("+")
            end = found[place + 1].start() if place + 1 < len(found) else len(line)
            yield int(span) if span.isdecimal() and len(span) < 3 else 1, name_of(line[cell.end() : end])


def _row_starts(spans: Sequence[Sequence[int]], width: int) -> list[int]:
    """Return the indices of lines that begin a row, given the cell ``spans`` of each line."""
    starts, filled = [], 0
    for place, cells in enumerate(spans):
        if cells and filled % width == 0:
            starts.append(place)
        filled += sum(cells)
    return starts


def _width(columns: str) -> int:
    """Return the number of columns in a ``cols`` attribute: ``"1,2a,3*"``."""
    count = 0
    for one in re.split(r"[,;]", columns):
        times = re.match(r"\s*(\d{1,3})\*", one)
        count += int(times[1]) if times else bool(one.strip()) or len(columns) > 1
    return count


def _end(line: str) -> str:
    """Return the closing delimiter of the verbatim block that ``line`` opens, ``""`` if it opens none."""
    if line[:1] not in tuple("-.+/`") or line == "--" or not _BLOCK.fullmatch(line):
        return ""  # other blocks may contain blocks
    return "```" if line[0] == "`" else line


def _plain(title: str) -> str:
    """Return a title without trailing signs and inline markup."""
    words = clean(re.sub(r"\[\[[^\]\[]{0,200}\]\]|[*_`]{1,2}(?=\S)|(?<=\S)[*_`]{1,2}(?!\w)", "", title))
    return re.sub(" =+$", "", words)
