"""LaTeX: sections by their commands, paragraphs, tables with their column names."""

from __future__ import annotations

import re

from pinakes.chunking.outline import Cuts, Outline
from pinakes.chunking.plain_text import MAX_HEAD_LINES, Tables, paragraphs, sectioned
from pinakes.chunking.scale import Scale, clean
from pinakes.chunking.tables import MAX_HEAD_ROWS, name_of
from pinakes.core.records import Document

_LEVELS = ("part", "chapter", "section", "subsection", "subsubsection", "paragraph")
_COMMENT = re.compile(r"\\[^\n]|%[^\n]*\n?")
_COMMAND = re.compile(
    r"\\(?:(?P<side>begin|end)[ \t]*\{(?P<name>[A-Za-z]{1,30}\*?)\}"
    rf"|(?P<title>{'|'.join(_LEVELS)})(?![A-Za-z@])|(?P<caption>caption)(?![A-Za-z@])"
    r"|(?:verb|lstinline)\*?(?P<sign>[^A-Za-z\s*{])[^\n]{0,300}?(?P=sign)"
    r"|(?:(?:re)?newcommand|providecommand|[egx]?def|let|title(?:format|spacing))\*?\s*\{?\\[A-Za-z@]+|\\)"
)
"""The commands that structure the text; commands that are quoted or defined do not count."""
_VERBATIM = ("verbatim", "Verbatim", "lstlisting", "minted", "comment")
_FLOAT = re.compile(r"(?:sideways|wrap|SC)?(?:table|figure)\*?")
_TABULAR = re.compile(r"tabular[xy*]?|tabulary|longtable\*?|supertabular\*?|xltabular")
_CAPTION = re.compile(r"\\caption(?![A-Za-z@])")
_OPENING = re.compile(r"\*?\s*+(?:\[[^\]]{0,200}\]\s*+)?\{")
_BRACE = re.compile(r"\\.|[{}]|#\d|\n[ \t]*\n", re.DOTALL)
_MAX_TITLE_CHARS = 500
_MAX_CAPTION_CHARS = 2000
_MAX_DEPTH = 20
_BEHIND_TITLE = re.compile(
    r"(?:[ \t]*\\(?:label|index|addcontentsline|markboth)(?:\{[^{}\n]{0,200}\}){1,3}){0,5}[ \t]*(?:%[^\n]*)?\n?"
)
_ROW_END = re.compile(r"\\\\(?:\[[^\]\n]{0,100}\])?")
_RULE = re.compile(
    r"\\(?:hline|toprule|midrule|bottomrule|(?:c(?:mid)?rule|cline)(?:\([^)\n]{0,100}\))?\{[^}\n]{0,100}\}|end\w+)"
)
_AFTER_HEAD = re.compile(r"\\(?:midrule|hline|endhead|endfirsthead)")
_SPANNING = re.compile(r"\\multicolumn\{(\d{1,2})\}\{[^{}]{0,100}\}")
_MULTIROW = re.compile(r"\\multirow(?:\[[^\]]{0,100}\])?\{[^{}]{0,100}\}\{[^{}]{0,100}\}")
_CELL = re.compile(r"(?<!\\)&")
_STYLE = re.compile(
    r"\\label\s*\{[^{}]{0,200}\}|\\[A-Za-z]+\*?(?=\s*\{)"
    r"|\\(?:bf|it|em|rm|sf|sl|sc|tt|(?:bf|md)series|(?:it|sl|sc|up)shape|(?:rm|sf|tt)family)(?![A-Za-z])\s*"
)
_BOOKMARK = re.compile(r"\\texorpdfstring(?![A-Za-z])")
_NAMED = re.compile(r"\\([A-Za-z]+)\s?")
_ESCAPE = re.compile(r"\\([%&$#_{}])")
_SIGNS = re.compile(r"(?<!\\)[{}$]")


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
        self._text = _COMMENT.sub(lambda found: found[0] if found[0][0] == "\\" else " " * len(found[0]), scale.text)
        """The text with comments replaced by blanks."""
        self._missing: set[str] = set()
        """Environment ends that do not occur again."""
        self._behind_title = self._behind_table = 0
        """The offset, and the line, after the last occurrence of each."""
        self._float = -1
        """The first line of the current float."""
        self._caption = ""
        self._captions_below = False
        self._waiting: list[tuple[int, int, int, list[list[str]]]] = []
        """Tables of the float (first line, line after, line of the first row, names) that may still get a caption."""

    def find(self) -> None:
        """Scan all commands once."""
        at = 0
        while at >= 0 and (found := _COMMAND.search(self._text, at)):
            at = found.end()
            if found["title"]:
                at = self._title(found)
            elif found["caption"] and self._float >= 0:
                at = self._note_caption(at)
            elif found["name"]:
                at = self._environment(found)
        self._leave_float()

    def _line(self, number: int) -> str:
        return self._text[self.lines[number] : self.lines[number + 1]]

    def _number(self, at: int) -> int:
        return int(self.scale.line_starts.searchsorted(at, "right")) - 1

    def _title(self, found: re.Match[str]) -> int:
        """Record a title; return the end of its argument."""
        argument = _argument(self._text, found.end())
        if argument is None:
            return found.end()
        self._leave_float()
        written, end = argument
        before = max(self.lines[self._number(found.start())], self._behind_title)
        start = found.start() if self._text[before : found.start()].strip() else before
        behind = _BEHIND_TITLE.match(self.scale.text, end)
        self._behind_title = behind.end() if behind else end
        self.titles.append((start, self._behind_title, _LEVELS.index(found["title"]) + 1, plain(written)))
        return end

    def _environment(self, found: re.Match[str]) -> int:
        """Enter or leave an environment; return the offset to continue at, -1 for none."""
        name = found["name"]
        if _FLOAT.fullmatch(name):
            self._leave_float()
            self._float = self._number(found.start()) if found["side"] == "begin" else -1
        elif found["side"] == "begin" and name.rstrip("*") in _VERBATIM:
            return self.scale.text.find(f"\\end{{{name}}}", found.end())
        elif found["side"] == "begin" and _TABULAR.fullmatch(name):
            return self._tabular(name, found)
        return found.end()

    def _tabular(self, name: str, found: re.Match[str]) -> int:
        """Record a table, unless its first line has another one; return its end."""
        end = self._end_of(name, found.end())
        if end < 0:
            return found.end()
        first, last = self._number(found.start()), self._number(end)
        if first < self._behind_table:
            return end
        begin = first if self._float < 0 else max(self._float, self._behind_table)
        after = self._behind_table = last + 1
        starts = [n + 1 for n in range(first, last) if _ROW_END.search(self._line(n))]
        names, body = self._head(found.end(), first, last)
        self._rows(begin, after, [n for n in starts if n < last], body)
        within = _CAPTION.search(self._text, found.end(), end)
        argument = _argument(self._text, within.end(), _MAX_CAPTION_CHARS) if within else None
        if argument or self._float < 0:
            self._note(begin, after, body, names, plain(argument[0]) if argument else "", begin, has_bars=False)
        else:
            self._waiting.append((begin, after, body, names))
        return end

    def _note_caption(self, at: int) -> int:
        """Assign the caption at ``at`` to the tables above it, or keep it for those below; return its end."""
        argument = _argument(self._text, at, _MAX_CAPTION_CHARS)
        if argument is None:
            return at
        caption = plain(argument[0])
        self._captions_below = self._captions_below or bool(self._waiting and not self._caption)
        self._note_waiting(caption if self._captions_below else self._caption)
        self._caption = caption
        return argument[1]

    def _leave_float(self) -> None:
        self._note_waiting(self._caption)
        self._float, self._caption, self._captions_below = -1, "", False

    def _note_waiting(self, caption: str) -> None:
        for begin, after, body, names in self._waiting:
            self._note(begin, after, body, names, caption, begin, has_bars=False)
        self._waiting.clear()

    def _end_of(self, name: str, at: int) -> int:
        """Return the start of the next end of the environment ``name``, -1 if there is none."""
        end = f"\\end{{{name}}}"
        found = -1 if end in self._missing else self._text.find(end, at)
        if found < 0:
            self._missing.add(end)
        return found

    def _head(self, at: int, first: int, last: int) -> tuple[list[list[str]], int]:
        """Return the rows of column names, down to the first rule below one, and the line of the first data row.

        ``at``: start of the column specification, in line ``first``.
        """
        names: list[list[str]] = []
        ends: list[int] = []
        written = ""
        for number in range(first, min(last, first + MAX_HEAD_LINES)):
            line = self._text[max(at, self.lines[number]) : self.lines[number + 1]]
            written += _columns_left(line) if number == first else line
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


def _argument(text: str, at: int, most: int = _MAX_TITLE_CHARS) -> tuple[str, int] | None:
    """Return the text in braces at ``at``, after an optional argument, and its end.

    None if it has more than ``most`` characters, is deeply nested, does not end in the paragraph, or has a parameter
    (#1).
    """
    opening = _OPENING.match(text, at)
    if opening is None:
        return None
    start, depth = opening.end(), 1
    for sign in _BRACE.finditer(text, start, start + most + 1):
        if sign[0][0] in "#\n" or depth > _MAX_DEPTH:
            return None
        depth += (sign[0] == "{") - (sign[0] == "}")
        if not depth:
            return text[start : sign.start()], sign.end()
    return None


def _columns_left(written: str) -> str:
    """Return the text after a table's column specification: ``{lrr}``, ``{0.5em}{l|p{3cm}}``."""
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
    """Return the text of a title or a cell without formatting commands."""
    words = _NAMED.sub(r"\1 ", _STYLE.sub("", _for_bookmarks(written))).replace("~", " ")
    return name_of(clean(_ESCAPE.sub(r"\1", _SIGNS.sub("", words))))


def _for_bookmarks(written: str) -> str:
    """Return ``written`` with each ``\\texorpdfstring`` replaced by its second argument, which has no formulas."""
    parts, at = [], 0
    for found in _BOOKMARK.finditer(written):
        first = _argument(written, found.end()) if found.start() >= at else None
        if first and (second := _argument(written, first[1])):
            parts += [written[at : found.start()], second[0]]
            at = second[1]
    return "".join([*parts, written[at:]])
