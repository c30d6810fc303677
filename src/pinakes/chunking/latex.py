"""LaTeX: sections by their commands, paragraphs, tables with their column names."""

from __future__ import annotations

import re

from pinakes.chunking.outline import Cuts, Outline
from pinakes.chunking.plain import MAX_HEAD_LINES, Tables, sectioned
from pinakes.chunking.scale import Scale, clean
from pinakes.chunking.tables import MAX_HEAD_ROWS, name_of
from pinakes.chunking.text import paragraphs
from pinakes.types import Document

_LEVELS = ("part", "chapter", "section", "subsection", "subsubsection", "paragraph")
_ARGUMENT = r"\{((?:[^{}\n]|\{[^{}\n]*\}){0,500})\}"
_TITLE = re.compile(rf"[ \t]*\\({'|'.join(_LEVELS)})\*?(?:\[[^\]\n]{{0,200}}\])?{_ARGUMENT}[^\n]*")
_VERBATIM = re.compile(r"\\(begin|end)\{(verbatim|lstlisting|minted|Verbatim)\*?\}")
_FLOAT = re.compile(r"\\(begin|end)\{(?:table|sidewaystable|wraptable|longtable)\*?\}")
_TABULAR = re.compile(r"\\begin\{(tabular[xy*]?|tabulary|longtable|supertabular|xltabular)\}")
_CAPTION = re.compile(rf"\\caption(?:\[[^\]\n]{{0,200}}\])?{_ARGUMENT}")
_ROW_END = re.compile(r"\\\\(?:\[[^\]\n]*\])?")
_RULE = re.compile(r"\\(?:hline|toprule|midrule|bottomrule|(?:c(?:mid)?rule|cline)(?:\([^)\n]*\))?\{[^}\n]*\}|end\w+)")
_AFTER_HEAD = re.compile(r"\\(?:midrule|hline|endhead|endfirsthead)")
_SPANNING = re.compile(r"\\multicolumn\{(\d{1,2})\}\{[^{}]*\}")
_MULTIROW = re.compile(r"\\multirow(?:\[[^\]]*\])?\{[^{}]*\}\{[^{}]*\}")
_CELL = re.compile(r"(?<!\\)&")
_STYLE = re.compile(r"\\[A-Za-z]+\*?(?=\s*\{)")
_COMMAND = re.compile(r"\\([A-Za-z]+)\s?")
_ESCAPE = re.compile(r"\\([%&$#_{}])")
_SIGNS = re.compile(r"(?<!\\)[{}$]")
_COMMENT = re.compile(r"(?<!\\)%.*")


def outline(document: Document, scale: Scale) -> Outline:
    """Find sections, paragraphs and tables."""
    cuts = Cuts()
    paragraphs(document.text, cuts)
    tables = _Tables(scale, cuts)
    tables.find()
    return sectioned(scale, cuts, tables.titles, tables, ())


class _Tables(Tables):
    """Finds tables, and the titles outside of listings."""

    def __init__(self, scale: Scale, cuts: Cuts) -> None:
        super().__init__(scale, cuts)
        self.titles: list[tuple[int, int, int, str]] = []
        self._missing: set[str] = set()
        """Ends of environments that do not come any more."""

    def find(self) -> None:
        """Walk all lines once."""
        number, last = 0, len(self.lines) - 1
        begin, caption = -1, ""
        """Where the float begins that the line is in, and its caption where that stood already."""
        verbatim = False
        while number < last:
            line = self._line(number)
            after = number + 1
            if "\\" not in line or line.lstrip().startswith("%"):
                number = after
                continue
            if listing := _VERBATIM.search(line):
                verbatim = listing[1] == "begin" and listing[2] not in line[listing.end() :]
            if verbatim:
                number = after
                continue
            if found := _TITLE.match(line):
                self.titles.append(
                    (self.lines[number], self.lines[after], _LEVELS.index(found[1]) + 1, plain(found[2]))
                )
            if floating := _FLOAT.search(line):
                begin, caption = (number, "") if floating[1] == "begin" else (-1, "")
            if said := _CAPTION.search(line):
                caption = plain(said[1])
            if environment := _TABULAR.search(line):
                after = self._tabular(number, environment, number if begin < 0 else begin, caption)
            number = after

    def _tabular(self, first: int, environment: re.Match[str], begin: int, caption: str) -> int:
        """Note the table that begins in line ``first``, in a float that begins at ``begin``."""
        last = self._line_with(f"\\end{{{environment[1]}}}", first)
        if last < 0:
            return first + 1
        after = last + 1
        if not caption:
            below = (_CAPTION.search(self._line(n)) for n in range(first, min(last + 4, len(self.lines) - 1)))
            caption = next((plain(said[1]) for said in below if said), "")
        starts = [n + 1 for n in range(first, last) if _ROW_END.search(self._line(n))]
        names, body = self._head(first, last)
        self._note(begin, after, body, names, caption, begin, barred=False)
        self._rows(begin, after, [n for n in starts if n < last], body)
        return after

    def _line_with(self, end: str, first: int) -> int:
        """Return the first line from ``first`` on that has ``end``, -1 for none."""
        at = -1 if end in self._missing else self.scale.text.find(end, self.lines[first])
        if at < 0:
            self._missing.add(end)
            return -1
        return int(self.scale.line_starts.searchsorted(at, "right")) - 1

    def _head(self, first: int, last: int) -> tuple[list[list[str]], int]:
        """Return the rows of column names, down to the first rule below one, and the line where other rows begin."""
        names: list[list[str]] = []
        ends: list[int] = []
        written = ""
        for number in range(first, min(last, first + MAX_HEAD_LINES)):
            line = _COMMENT.sub("", self._line(number))
            begun = _TABULAR.search(line) if number == first else None
            written += _columns_left(line[begun.end() :]) if begun else line
            if not _ROW_END.search(line):
                continue
            row = _row(_ROW_END.split(written)[0])
            written = ""
            if len(row) > 1:
                names.append(row)
                ends.append(number + 1)
                below = _ROW_END.split(line)[-1].strip() or self._line(number + 1).lstrip()
                if _AFTER_HEAD.match(below):
                    return names, number + 1
            if len(names) == MAX_HEAD_ROWS:
                break
        return names[:1], ends[0] if ends else first + 1


def _columns_left(written: str) -> str:
    """Return what stands behind the columns' specification of a table: ``{lrr}``, ``{0.5em}{l|p{3cm}}``."""
    depth = 0
    rest = written.lstrip()
    at = 0
    while at < len(rest):
        char = rest[at]
        depth += (char in "{[") - (char in "}]")
        if not depth and char not in "{}[] \t":
            break
        at += 1
    return rest[at:]


def _row(written: str) -> list[str]:
    cells: list[str] = []
    for cell in _CELL.split(_RULE.sub(" ", written)):
        spanned = _SPANNING.search(cell)
        cells.append(plain(_MULTIROW.sub("", _SPANNING.sub("", cell))))
        cells += [""] * (min(int(spanned[1]), 50) - 1 if spanned else 0)
    return cells


def plain(written: str) -> str:
    """Return the words of a title or a cell without commands for how they look."""
    words = _COMMAND.sub(r"\1 ", _STYLE.sub("", written)).replace("~", " ")
    return name_of(clean(_ESCAPE.sub(r"\1", _SIGNS.sub("", words))))
