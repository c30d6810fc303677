"""Workbooks of the old format (XLS), by xlrd: displayed values, merged cells, hidden parts, comments."""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import Any, Final

from pinakes.core.records import ReadingNote
from pinakes.parsing.limits import Limits
from pinakes.parsing.notes import comment
from pinakes.parsing.numberformats import BUILT_IN, displayed
from pinakes.parsing.openxml import clean, line
from pinakes.parsing.regions import Place, Sheet, tables_of
from pinakes.parsing.scripts import Script, scripted
from pinakes.parsing.sheets import hidden_notes, letters_of, link_areas, sheet_text

_TEXT, _NUMBER, _DATE, _BOOLEAN, _ERROR = 1, 2, 3, 4, 5
"""Cell types."""
_LOCAL_DATES: Final = (14, 22)
"""Formats that depend on the country."""
_OUTSIDE: Final = frozenset(("url", "local file", "unc"))
"""Kinds of links to something outside of the workbook."""
_SCRIPTS: Final[dict[int, Script]] = {1: "super", 2: "sub"}


def read_old_workbook(data: bytes, limits: Limits) -> tuple[list[str], list[ReadingNote]]:
    """Return the text of each sheet, in the order of the workbook, and notes.

    Raises:
        TooLarge: the cells exceed the limit.
        Exception: whatever the library raises on a damaged file.
    """
    import xlrd

    hidden: dict[str, int] = {}
    texts: list[str] = []
    with xlrd.open_workbook(
        file_contents=data, formatting_info=True, on_demand=True, logfile=io.StringIO(), ragged_rows=True
    ) as book:
        for at in range(book.nsheets):
            one = book.sheet_by_index(at)
            sheet = _cells(book, one, limits)
            for kind, count in (("row", len(sheet.hidden_rows)), ("column", len(sheet.hidden_columns))):
                if count:
                    hidden[kind] = hidden.get(kind, 0) + count
            is_hidden = bool(one.visibility)
            texts.append(sheet_text(line(one.name), [*tables_of(sheet)], [*_comments(one)], is_hidden=is_hidden))
            if texts[-1] and is_hidden:
                hidden["sheet"] = hidden.get("sheet", 0) + 1
            book.unload_sheet(at)
    return texts, hidden_notes(hidden)


def _cells(book: Any, one: Any, limits: Limits) -> Sheet:
    sheet = Sheet()
    formats: dict[int, str] = {}
    for row in range(one.nrows):
        for column, (kind, value) in enumerate(zip(one.row_types(row), one.row_values(row), strict=True)):
            if not (text := _shown(book, one, (row, column), kind, value, formats)):
                continue
            sheet.rows.setdefault(row, {})[column] = text
            sheet.columns.add(column)
            if kind in (_NUMBER, _DATE):
                sheet.numbers.add((row, column))
            sheet.size += len(text) + 3
        limits.check_size(sheet.size)
    link_areas(sheet, _links(one), limits)
    sheet.merged = [((top, left), (bottom - 1, right - 1)) for top, bottom, left, right in one.merged_cells]
    sheet.hidden_rows = {row for row, about in one.rowinfo_map.items() if about.hidden and row in sheet.rows}
    sheet.hidden_columns = {at for at, about in one.colinfo_map.items() if about.hidden and at in sheet.columns}
    return sheet


def _links(one: Any) -> Iterator[tuple[tuple[Place, Place], str]]:
    """Yield the area and the address of each link to something outside of the workbook."""
    for link in one.hyperlink_list:
        address = f"{link.url_or_path}#{link.textmark}" if link.textmark else link.url_or_path
        if link.type in _OUTSIDE and isinstance(link.url_or_path, str):  # old paths are bytes
            yield ((link.frowx, link.fcolx), (link.lrowx, link.lcolx)), address


def _shown(book: Any, one: Any, place: tuple[int, int], kind: int, value: Any, formats: dict[int, str]) -> str:
    """Return the displayed text of a cell; ``formats`` caches the format code of each cell style."""
    if kind in (_NUMBER, _DATE):
        style = one.cell_xf_index(*place)
        if style not in formats:
            formats[style] = _code(book, style)
        return displayed(value, formats[style], since_1904=bool(book.datemode))
    if kind == _TEXT:
        return _with_scripts(book, one, place, value)
    if kind == _BOOLEAN:
        return "TRUE" if value else "FALSE"
    return str(_errors().get(value, "")) if kind == _ERROR else ""


def _errors() -> dict[int, str]:
    from xlrd.biffh import error_text_from_code

    return error_text_from_code  # type: ignore[no-any-return]


def _code(book: Any, style: int) -> str:
    key = book.xf_list[style].format_key
    known = book.format_map.get(key)
    return (
        BUILT_IN[key] if key in _LOCAL_DATES or (known is None and key in BUILT_IN) else known.format_str or "General"
    )


def _with_scripts(book: Any, one: Any, place: tuple[int, int], text: str) -> str:
    """Return the text of a cell, with raised and lowered runs marked."""
    runs = one.rich_text_runlist_map.get(place)
    if not runs:
        return clean(text).strip()
    begins = [0, *(at for at, _ in runs), len(text)]
    fonts = [None, *(book.font_list[font] for _, font in runs)]
    parts: list[str] = []
    for begin, end, font in zip(begins, begins[1:], fonts, strict=False):
        script = _SCRIPTS.get(font.escapement, "") if font is not None else ""
        parts.append(scripted(text[begin:end], script, "".join(parts[-3:])))
    return clean("".join(parts)).strip()


def _comments(one: Any) -> Iterator[str]:
    """Yield the comments of cells, each with its cell and author."""
    for (row, column), note in sorted(one.cell_note_map.items()):
        author = line(note.author or "")
        if text := line(note.text or "").removeprefix(f"{author}: ").removeprefix(f"{author}:"):
            yield f"{letters_of(column)}{row + 1}: {comment(author, text)}"
