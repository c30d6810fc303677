"""Workbooks (XLSX, XLSM): sheets with tables, charts, text boxes and comments; values as displayed in the cells.

The cell texts of a sheet are kept until its tables are known. Memory and time are bounded by the maximum characters of
a document, since each cell becomes some of them.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Final
from xml.etree.ElementTree import Element

from pinakes.core.records import ReadingNote
from pinakes.core.wording import counted
from pinakes.parsing.charts import MOST_CELLS, drawn, paragraphs
from pinakes.parsing.limits import Limits
from pinakes.parsing.notes import comment
from pinakes.parsing.numberformats import BUILT_IN, displayed
from pinakes.parsing.openxml import Package, clean, line, number, on
from pinakes.parsing.regions import Place, Sheet, tables_of
from pinakes.parsing.scripts import scripted
from pinakes.parsing.sheet_margins import texts_of, with_margins
from pinakes.parsing.text_runs import linked

_PEOPLE: Final = "xl/persons/"
_MOST_COLUMNS: Final = 16_384
_MOST_ROWS: Final = 1_048_576
_REFERENCE: Final = re.compile(r"\$?([A-Za-z]{1,3})\$?(\d{1,7})")
_END: Final = re.compile(r"\$?([A-Za-z]{1,3})?\$?(\d{1,7})?")
"""A corner of an area, or its column or row."""
_MOST_FORMULA: Final = 8_192
_NAMED: Final = 5
_OF_A_THREAD: Final = "tc="
"""Prefix of the author of a note that only points old programs to a comment thread."""
_GENERIC_TABLE: Final = re.compile(r"(?:Table|Tabelle|Tableau|Tabla|Tabella|表)_?\d+")
_BEGUN: Final = frozenset(("row",))
_ENDED: Final = frozenset(("c", "col", "mergeCell", "hyperlink", "headerFooter"))
_LINK_FORMULA: Final = re.compile(r'\s*HYPERLINK\(\s*"([^"]{1,2000})"\s*[,)]', re.IGNORECASE)
_LINKED_ROWS, _LINKED_COLUMNS = 100, 10
"""Of an area with one link, so many cells have its address."""
_TRUE: Final = ("1", "true")
_ESCAPED: Final = re.compile(r"_x([0-9A-Fa-f]{4})_")


@dataclass(slots=True)
class _Book:
    """State shared by the sheets of a workbook."""

    package: Package
    limits: Limits
    since_1904: bool = False
    strings: list[str] = field(default_factory=list)
    formats: list[str] = field(default_factory=list)
    people: dict[str, str] = field(default_factory=dict)
    read: set[str] = field(default_factory=set)
    parts: dict[str, str] = field(default_factory=dict)
    """Sheet name, folded → its part."""
    areas: dict[str, tuple[Sheet, Place]] = field(default_factory=dict)
    """The sheets that charts took values from, by their part, with their last row and column."""
    lost: dict[str, None] = field(default_factory=dict)
    """The references of charts whose values were not found."""
    left: int = MOST_CELLS
    """The maximum cells that charts may still take from sheets."""
    hidden: dict[str, int] = field(default_factory=dict)
    margins: list[str] = field(default_factory=list)
    without_text: int = 0
    """Cells whose shared string is missing."""


def read_workbook(package: Package, limits: Limits) -> tuple[list[str], list[ReadingNote]]:
    """Return the text of each sheet, in the order of the workbook, and notes.

    Raises:
        TooLarge: the cells exceed the limit.
        Unreadable: it is not a workbook.
    """
    main = package.main("xl/workbook.xml")
    workbook, parts = package.tree(main), package.relations(main)
    book = _Book(package, limits, any(on(one) and one.get("date1904") in _TRUE for one in workbook.iter("workbookPr")))
    for relation in parts.values():
        if relation.kind == "sharedStrings":
            book.strings = _strings(package, relation.target, limits)
        elif relation.kind == "styles":
            book.formats = _formats(package.tree(relation.target))
    for name in package.names:
        if name.lower().startswith(_PEOPLE) and name.lower().endswith(".xml"):
            book.people |= {one.get("id", ""): one.get("displayName", "") for one in package.tree(name)}
    texts = []
    sheets = list(workbook.iter("sheet"))
    book.parts = {
        line(one.get("name", "")).casefold(): parts[to].target for one in sheets if (to := one.get("r:id", "")) in parts
    }
    for sheet in sheets:
        part = parts.get(sheet.get("r:id", ""))
        title, state = line(sheet.get("name", "")), sheet.get("state", "visible")
        if part is None or part.target in book.read:
            texts.append("")
            continue
        book.read.add(part.target)
        comments: list[str] = []
        tables = [*_sheet(book, part.target, comments, chart_only=part.kind == "chartsheet")]
        texts.append(sheet_text(title, tables, comments, is_hidden=state != "visible"))
        if texts[-1] and state != "visible":
            book.hidden["sheet"] = book.hidden.get("sheet", 0) + 1
    notes = [*hidden_notes(book.hidden), *_lost_notes(book.lost)]
    if count := book.without_text:
        message = f"The file is damaged: the text of {counted(count, 'cell')} is missing in it."
        notes.append(ReadingNote("damaged-part", message, count=count))
    return with_margins(texts, book.margins), notes


def sheet_text(name: str, tables: Sequence[str], comments: Sequence[str], *, is_hidden: bool) -> str:
    """Return a sheet as Markdown: name as heading, tables and charts, comments; "" if it has no content."""
    notes = ["\n".join(["### Comments\n", *(f"- {one}" for one in comments)])] if comments else []
    body = "\n\n".join(filter(None, (*tables, *notes)))
    return f"## {name}{' (hidden sheet)' if is_hidden else ''}\n\n{body}" if body else ""


def hidden_notes(hidden: Mapping[str, int]) -> list[ReadingNote]:
    """Return notes on the number of hidden sheets, rows and columns."""
    return [
        ReadingNote("hidden", f"Read and marked: {counted(count, f'hidden {kind}')}.", count=count)
        for kind, count in hidden.items()
    ]


def _sheet(book: _Book, part: str, comments: list[str], *, chart_only: bool) -> Iterator[str]:
    """Yield the tables and charts of a sheet as Markdown; its comments are appended to ``comments``."""
    if not chart_only:
        sheet = _cells(book, part)
        yield from tables_of(sheet)
        for kind, count in (("row", len(sheet.hidden_rows)), ("column", len(sheet.hidden_columns))):
            if count:
                book.hidden[kind] = book.hidden.get(kind, 0) + count
    there: dict[str, str] = {}
    for one in book.package.relations(part).values():
        if not one.external and one.target not in book.read:
            there.setdefault(one.kind, one.target)
    if drawing := there.get("drawing"):
        book.read.add(drawing)
        yield from drawn(book.package, book.package.relations(drawing), book.read, partial(_referenced, book))
        yield from dict.fromkeys(paragraphs(book.package.tree(drawing)))
    book.read.update(name for kind, name in there.items() if kind in ("comments", "threadedComment"))
    comments += _comments(book, there)


def _cells(book: _Book, part: str) -> Sheet:
    """Return the cell texts of a sheet, with its merged, hidden and named areas."""
    sheet = Sheet()
    links: list[Element] = []
    row, column, hidden = -1, -1, False
    for element in book.package.events(part, _BEGUN, _ENDED):
        tag = element.tag
        if tag == "c":
            column = _cell(book, sheet, element, row, column + 1)
            if hidden:
                sheet.hidden_rows.add(row)
        elif tag == "row":
            at = number(element.get("r")) - 1
            row, column = at if row < at < _MOST_ROWS else row + 1, -1
            hidden = element.get("hidden") in _TRUE
        elif tag == "col":
            sheet.hidden_columns |= _hidden_columns(element)
        elif tag == "hyperlink":
            links.append(element)
        elif tag == "headerFooter":
            book.margins += (text for one in element for text in texts_of(one.text or ""))
        elif area := _area(element.get("ref", "")):
            sheet.merged.append(area)
    link_areas(sheet, _links(book, part, links), book.limits)
    sheet.hidden_columns &= sheet.columns
    sheet.hidden_rows &= sheet.rows.keys()
    _name_tables(book, part, sheet)
    return sheet


def _referenced(book: _Book, formula: str) -> list[str]:
    """Return the texts of the cells of a reference, which may be several areas; of none if one of them is not found."""
    found: list[str] = []
    areas = next(csv.reader([line(formula)[:_MOST_FORMULA].strip("()")], quotechar="'", skipinitialspace=True))
    for area in areas or [""]:
        texts = _texts_of(book, area)
        if texts is None:
            book.lost[line(formula)] = None
            return []
        found += texts
    return found


def _texts_of(book: _Book, reference: str) -> list[str] | None:
    """Return the texts of the cells of an area, those of several columns joined if it has several rows, too.

    None if there is no such area, or no room for its cells.
    """
    name, _, place = reference.rpartition("!")
    part = book.parts.get(name.casefold(), "")
    if part not in book.package.names:
        return None
    if part not in book.areas:
        sheet = _cells(replace(book, margins=[]), part)
        book.areas[part] = sheet, (max(sheet.rows, default=0), max(sheet.columns, default=0))
    sheet, last = book.areas[part]
    columns, rows = (_range(place, axis, end) for axis, end in ((1, last[1]), (2, last[0])))
    if rows is None or columns is None:
        return None
    book.left -= len(rows) * len(columns)
    if book.left < 0:
        return None
    if len(rows) == 1:
        return [sheet.rows.get(rows[0], {}).get(at, "") for at in columns]
    return [" ".join(filter(None, (sheet.rows.get(row, {}).get(at) for at in columns))) for row in rows]


def _range(place: str, axis: int, last: int) -> range | None:
    """Return the columns (``axis`` 1) or rows (2) of an area up to ``last``: all of them in ``$2:$4`` or ``$B:$B``."""
    first, colon, second = place.partition(":")
    ends = [match for one in (first, second if colon else first) if (match := _END.fullmatch(one))]
    named = [match[axis] for match in ends if match[axis]]
    if len(ends) < 2 or len(named) == 1 or not (named or colon):
        return None
    if not named:
        return range(last + 1) if all(match[3 - axis] for match in ends) else None
    low, high = sorted(_column(one) if axis == 1 else int(one) - 1 for one in named)
    return range(low, min(high, last) + 1) if low >= 0 else None


def _lost_notes(lost: Iterable[str]) -> Iterator[ReadingNote]:
    formulas = list(lost)
    if formulas:
        more = f" and {len(formulas) - _NAMED} more" if len(formulas) > _NAMED else ""
        message = f"Values of charts were not found: {', '.join(one[:100] for one in formulas[:_NAMED])}{more}."
        yield ReadingNote("chart-values", message, count=len(formulas))


def _name_tables(book: _Book, part: str, sheet: Sheet) -> None:
    """Add the named tables of a sheet, with their names and numbers of header rows."""
    for name in book.package.targets(part, "table"):
        table = book.package.tree(name)
        if area := _area(table.get("ref", "")):
            called = line(table.get("displayName", ""))
            heads = number(table.get("headerRowCount"), 1)
            sheet.named.append((area, "" if _GENERIC_TABLE.fullmatch(called) else called, min(heads, 5)))


def _hidden_columns(columns: Element) -> set[int]:
    """Return the columns, from 0, that are hidden; none of so many that they are all unused ones."""
    first, last = number(columns.get("min"), 1), number(columns.get("max"), 1)
    is_hidden = columns.get("hidden") in _TRUE and last - first < _MOST_COLUMNS // 2
    return set(range(first - 1, last)) if is_hidden else set()


def _links(book: _Book, part: str, links: Sequence[Element]) -> Iterator[tuple[tuple[Place, Place], str]]:
    """Yield the area and the address of each link to something outside of the workbook."""
    relations = book.package.relations(part) if links else {}
    for one in links:
        named = next((value for name, value in one.attrib.items() if name.endswith("}id")), "")
        to, area = relations.get(named), _area(one.get("ref", ""))
        if to is not None and to.external and area is not None:
            within = one.get("location", "")
            yield area, f"{to.target}#{within}" if within and "#" not in to.target else to.target


def link_areas(sheet: Sheet, links: Iterable[tuple[tuple[Place, Place], str]], limits: Limits) -> None:
    """Have the cells with a text be links to the address of the smallest area that they are in."""
    done: set[Place] = set()
    for area, address in sorted(links, key=lambda link: _cells_of(link[0])):
        _link_area(sheet, area, address, done)
        limits.check_size(sheet.size)


def _cells_of(area: tuple[Place, Place]) -> int:
    (top, left), (bottom, right) = area
    return (bottom - top + 1) * (right - left + 1)


def _link_area(sheet: Sheet, area: tuple[Place, Place], address: str, done: set[Place]) -> None:
    (top, left), (bottom, right) = area
    for row in range(top, min(bottom + 1, top + _LINKED_ROWS)):
        cells = sheet.rows.get(row, {})
        for column in range(left, min(right + 1, left + _LINKED_COLUMNS)):
            text = cells.get(column)
            if text and (row, column) not in done and "](" not in text:
                done.add((row, column))
                cells[column] = linked(text, address)
                sheet.size += len(cells[column]) - len(text)


def _cell(book: _Book, sheet: Sheet, cell: Element, row: int, column: int) -> int:
    """Add a cell to a sheet. Return its column: the one it states, if valid, else the next one."""
    if match := _REFERENCE.fullmatch(cell.get("r", "")):
        named = _column(match[1])
        column = named if column <= named < _MOST_COLUMNS else column
    text, is_number = _value(book, cell)
    if text:
        sheet.rows.setdefault(row, {})[column] = text
        sheet.columns.add(column)
        if is_number:
            sheet.numbers.add((row, column))
        sheet.size += len(text) + 3
        book.limits.check_size(sheet.size)
    return column


def _value(book: _Book, cell: Element) -> tuple[str, bool]:
    """Return the displayed text of a cell, and whether it is a number, a date or a duration."""
    parts = {one.tag: one for one in cell}
    kind, value = cell.get("t", "n"), (parts["v"].text or "") if "v" in parts else ""
    if "is" in parts:
        return _rich(parts["is"]), False
    if not value:  # never calculated: only the formula exists
        formula = line(parts["f"].text or "") if "f" in parts else ""
        return (f"={formula}" if formula else ""), False
    text, is_number = _calculated(book, cell, kind, value)
    link = _LINK_FORMULA.match(parts["f"].text or "") if "f" in parts else None
    return (linked(text, link[1]), False) if text and link and ":" in link[1] else (text, is_number)


def _calculated(book: _Book, cell: Element, kind: str, value: str) -> tuple[str, bool]:
    if kind == "s":
        at = number(value, -1)
        text = book.strings[at] if 0 <= at < len(book.strings) else ""
        book.without_text += at >= len(book.strings)
        return _styled(book, cell, text), False
    if kind == "b":
        return ("TRUE" if value.strip() in _TRUE else "FALSE"), False
    if kind in ("str", "e", "d"):
        return _styled(book, cell, _plain(value)), kind == "d"
    try:
        amount = float(value)
    except ValueError:
        return line(value), False
    return displayed(amount, _code(book, cell), since_1904=book.since_1904), True


def _styled(book: _Book, cell: Element, text: str) -> str:
    code = _code(book, cell)
    return displayed(text, code) if "@" in code and code != "@" else text


def _code(book: _Book, cell: Element) -> str:
    style = cell.get("s")
    if style is None and book.formats:
        return book.formats[0]
    at = number(style)
    return book.formats[at] if 0 <= at < len(book.formats) else "General"


def _strings(package: Package, part: str, limits: Limits) -> list[str]:
    """Return the shared strings.

    Raises:
        TooLarge: their total length exceeds the limit of a document.
    """
    found: list[str] = []
    size = 0
    for element in package.events(part, frozenset(), frozenset(("si",))):
        found.append(_rich(element))
        size += len(found[-1])
        limits.check_size(size)
    return found


def _rich(element: Element) -> str:
    """Return the text of a cell with runs, with raised and lowered ones marked; phonetic text is dropped."""
    runs: list[str] = []
    for one in element:
        if one.tag == "t":
            runs.append(one.text or "")
        elif one.tag == "r":
            run = "".join(part.text or "" for part in one if part.tag.endswith("t"))
            align = one.find(".//vertAlign")
            if align is not None and align.get("val") in ("superscript", "subscript"):
                before = "".join(runs[-3:])
                run = scripted(_plain(run), "super" if align.get("val") == "superscript" else "sub", before)
            runs.append(run)
    return _plain("".join(runs))


def _plain(text: str) -> str:
    if "_x" in text:
        text = _ESCAPED.sub(
            lambda match: chr(int(match[1], 16)) if not 0xD800 <= int(match[1], 16) < 0xE000 else "", text
        )
    return clean(text).strip()


def _formats(styles: Element) -> list[str]:
    """Return the format code of each cell style."""
    codes = {**BUILT_IN, **{number(one.get("numFmtId")): one.get("formatCode", "") for one in styles.iter("numFmt")}}
    return [
        codes.get(number(one.get("numFmtId")), "General") or "General"
        for group in styles.iter("cellXfs")
        for one in group
    ]


def _area(reference: str) -> tuple[Place, Place] | None:
    """Return the first and last position of an area such as ``A1:C3``."""
    first, _, last = reference.partition(":")
    begin, end = _REFERENCE.fullmatch(first), _REFERENCE.fullmatch(last or first)
    if not begin or not end:
        return None
    (top, left), (bottom, right) = ((int(one[2]) - 1, _column(one[1])) for one in (begin, end))
    return ((top, left), (bottom, right)) if top <= bottom and left <= right else None


def _column(letters: str) -> int:
    value = 0
    for letter in letters.upper():
        value = value * 26 + ord(letter) - 64
    return value - 1


def letters_of(column: int) -> str:
    """Return the letters of a column, counted from 0: AA for 26."""
    letters = ""
    column += 1
    while column:
        column, rest = divmod(column - 1, 26)
        letters = chr(65 + rest) + letters
    return letters


def _comments(book: _Book, there: Mapping[str, str]) -> Iterator[str]:
    """Yield the comments of a sheet, each with its cell, author and date; ``there``: relationship kind → part."""
    threads = book.package.tree(there.get("threadedComment", ""))
    notes = book.package.tree(there.get("comments", ""))
    authors = {str(at): one.text or "" for at, one in enumerate(notes.iter("author"))}
    for root, tag, names in ((notes, "comment", authors), (threads, "threadedComment", book.people)):
        for one in root.iter(tag):
            author = line(names.get(one.get("personId", one.get("authorId", "")), ""))
            if author.startswith(_OF_A_THREAD):
                if len(threads):
                    continue
                author = ""
            text = line("".join(part.text or "" for part in one.iter() if part.tag in ("t", "text")))
            if text := text.removeprefix(f"{author}: ").removeprefix(f"{author}:"):
                done = " (resolved)" if one.get("done") == "1" else ""
                yield f"{one.get('ref', '')}: {comment(author, text, one.get('dT', ''))}{done}"
