"""Sheets of OpenDocument workbooks (ODS): tables, charts, shapes and comments; values as displayed in the cells."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final
from xml.etree.ElementTree import Element

from pinakes.core.records import ReadingNote
from pinakes.parsing.blocks import Block
from pinakes.parsing.limits import Limits
from pinakes.parsing.odf_blocks import Flow, comments_of
from pinakes.parsing.odf_styles import Styles
from pinakes.parsing.odf_text import Story
from pinakes.parsing.openxml import LocalNames, Package, line, number, with_plain_names
from pinakes.parsing.regions import Sheet, tables_of
from pinakes.parsing.sheets import hidden_notes, letters_of, sheet_text

_BEGUN: Final = frozenset(("table", "table-row"))
_ENDED: Final = frozenset(("automatic-styles", "table-cell", "covered-table-cell", "table-column", "shapes"))
_VALUES: Final = ("string-value", "date-value", "time-value", "boolean-value", "value")
_DURATION: Final = re.compile(r"-?P(?:(\d+)D)?T(?:(\d+)H)?(?:(\d+)M)?(?:(\d+)(?:[.,]\d+)?S)?")
_NUMBERS: Final = frozenset(("float", "percentage", "currency", "date", "time"))
_WORDS: Final = frozenset(("p", "h", "list"))
_MOST_REPEATED: Final = 1000
"""Maximum repetitions of a row with text: sheets may be filled with a value to their end."""
_MOST_FILLED: Final = 10_000
"""Maximum cells that one repeated cell fills."""
_MOST_COLUMNS: Final = 16_384
_UNSEEN: Final = ("collapse", "filter")


@dataclass(slots=True)
class _Open:
    """A sheet while it is being read."""

    name: str
    hidden: bool
    sheet: Sheet = field(default_factory=Sheet)
    row: int = -1
    again: int = 1
    column: int = 0
    unseen: bool = False
    columns: int = 0
    comments: list[str] = field(default_factory=list)
    extras: list[str] = field(default_factory=list)


def read_sheets(
    package: Package, part: str, common: Sequence[Element], shown: Callable[[str], Iterator[Block]], limits: Limits
) -> tuple[list[str], list[ReadingNote]]:
    """Return the text of each sheet, and notes.

    ``common``: styles from other parts of the file; ``shown``: address of an embedded object → its blocks.

    Raises:
        TooLarge: the cells exceed the limit.
    """
    hidden: dict[str, int] = {}
    texts: list[str] = []
    for one in _sheets(package, part, common, shown, limits):
        tables = [*tables_of(one.sheet), *one.extras]
        for kind, count in (("row", len(one.sheet.hidden_rows)), ("column", len(one.sheet.hidden_columns))):
            if count:
                hidden[kind] = hidden.get(kind, 0) + count
        texts.append(sheet_text(one.name, tables, one.comments, is_hidden=one.hidden))
        if texts[-1] and one.hidden:
            hidden["sheet"] = hidden.get("sheet", 0) + 1
    return texts, hidden_notes(hidden)


def _sheets(
    package: Package, part: str, common: Sequence[Element], shown: Callable[[str], Iterator[Block]], limits: Limits
) -> Iterator[_Open]:
    """Yield the sheets of a workbook in order."""
    at: _Open | None = None
    story = Story(Styles(*common), shown)
    names = LocalNames()
    for element in package.events(part, _BEGUN, _ENDED):
        tag = element.tag
        attributes = {names[name]: value for name, value in element.attrib.items()}
        if tag == "automatic-styles":
            story = Story(Styles(*common, with_plain_names(element)), shown)
        elif tag == "table":
            if at:
                yield _done(at)
            is_hidden = story.styles.of("table", attributes.get("style-name", "")).hidden
            at = _Open(" ".join(attributes.get("name", "").split()), is_hidden)
        elif at is None:
            continue
        elif tag == "table-row":
            at.row, at.column = at.row + at.again, 0
            at.again = max(number(attributes.get("number-rows-repeated"), 1), 1)
            at.unseen = attributes.get("visibility") in _UNSEEN
        elif tag == "table-column":
            _columns(at, attributes)
        elif tag == "shapes":
            at.extras += _blocks(story, with_plain_names(element), ())
        else:
            _cell(at, element, attributes, story, limits)
    if at:
        yield _done(at)


def _columns(at: _Open, attributes: dict[str, str]) -> None:
    """Record which columns are hidden."""
    count = max(number(attributes.get("number-columns-repeated"), 1), 1)
    if attributes.get("visibility") in _UNSEEN:
        at.sheet.hidden_columns |= set(range(at.columns, min(at.columns + count, _MOST_COLUMNS)))
    at.columns += count


def _done(at: _Open) -> _Open:
    at.sheet.hidden_rows &= at.sheet.rows.keys()
    at.sheet.hidden_columns &= at.sheet.columns
    return at


def _cell(at: _Open, cell: Element, attributes: dict[str, str], story: Story, limits: Limits) -> None:
    """Add a cell to its sheet, with its repetitions."""
    again = max(number(attributes["number-columns-repeated"], 1), 1) if "number-columns-repeated" in attributes else 1
    column, at.column = at.column, at.column + again
    if not len(cell) and not attributes:
        return
    text = _text(cell, attributes, story)
    if len(cell) and not (len(cell) == 1 and cell[0].tag == "p"):
        _collect_extras(at, cell, story, f"{letters_of(column)}{at.row + 1}")
    if cell.tag != "table-cell" or column >= _MOST_COLUMNS:
        text = ""
    if not text:
        return
    if "number-columns-spanned" in attributes or "number-rows-spanned" in attributes:
        wide, high = (number(attributes.get(f"number-{one}-spanned"), 1) for one in ("columns", "rows"))
        if wide > 1 or high > 1:
            at.sheet.merged.append(((at.row, column), (at.row + high - 1, column + wide - 1)))
    _fill(at, column, again, text, is_number=attributes.get("value-type") in _NUMBERS)
    limits.check_size(at.sheet.size)


def _fill(at: _Open, column: int, again: int, text: str, *, is_number: bool) -> None:
    """Put the text of a cell into all positions that it fills."""
    sheet = at.sheet
    down = min(at.again, _MOST_REPEATED)
    last = min(column + min(again, max(_MOST_FILLED // down, 1)), _MOST_COLUMNS)
    for row in range(at.row, at.row + down):
        cells = sheet.rows.setdefault(row, {})
        for place in range(column, last):
            cells[place] = text
            sheet.columns.add(place)
            sheet.size += len(text) + 3
            if is_number:
                sheet.numbers.add((row, place))
        if at.unseen:
            sheet.hidden_rows.add(row)


def _text(cell: Element, attributes: dict[str, str], story: Story) -> str:
    """Return the displayed text of a cell; its value if there is no text."""
    if len(cell) == 1 and not len(cell[0]) and cell[0].tag == "p":  # most cells
        if text := line(cell[0].text or ""):
            return text
    elif len(cell):
        with_plain_names(cell)
        lines = (" ".join(story.text(one, marked=False).split()) for one in cell if one.tag in _WORDS)
        if text := " ".join(filter(None, lines)):
            return text
    value = next((attributes[name] for name in _VALUES if attributes.get(name)), "")
    if match := _DURATION.fullmatch(value) if value.startswith(("P", "-P")) else None:
        days, hours, minutes, seconds = (int(part or 0) for part in match.groups())
        return f"{'-' if value[0] == '-' else ''}{days * 24 + hours:02d}:{minutes:02d}:{seconds:02d}"
    if attributes.get("value-type") == "percentage" and number(value.replace(".", ""), -1) >= 0:
        return f"{float(value) * 100:g}%"
    if value and attributes.get("value-type") == "currency":
        return f"{value} {attributes.get('currency', '')}".strip()
    return value


def _collect_extras(at: _Open, cell: Element, story: Story, place: str) -> None:
    """Collect the comments of a cell, and the shapes in it."""
    at.comments += [f"{place}: {comment}" for comment in comments_of(story, cell)]
    at.extras += _blocks(story, cell, (*_WORDS, "annotation"))


def _blocks(story: Story, element: Element, left_out: Collection[str]) -> list[str]:
    holder = Element("shapes")
    holder.extend(one for one in element if one.tag not in left_out)
    return [block.text for block in Flow(story).blocks(holder, 0)] if len(holder) else []
