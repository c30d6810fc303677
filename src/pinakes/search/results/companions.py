"""Finds the lines that an excerpt needs for context, so that it says nothing that the text does not.

A key needs its value, a question its answer, a table row its column names, and a list item the key above the list.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence

_MOST_ROWS = 200
"""The number of rows searched above or below a row."""

_ENDS = frozenset(":?：？؟")
_OPENING = re.compile(r"[:=]\s*(?:[\[{(]|[|>][-+]?\d?)$")
_LABEL = re.compile(r"(?:#{1,6}\s.*|(\*\*|__)[^*_]+\1|\[[^\[\]]+\])$")
_BULLETS = frozenset("-*+•0123456789")
_ITEM = re.compile(r"(?:[-*+•]|\d{1,3}[.)])\s")
_PAIR = re.compile(r"(?:- )?[\"'*]*[\w][\w ./-]{0,60}[\"'*]*\s*[:=]\s")
_UNDERLINE = re.compile(r"([=~^\"'#*+-])\1{2,}$")
_LABELS = frozenset("#*_[")
_OPENED = frozenset("[{(|>-+0123456789")
_QUOTES = "*_\"'` \t\r"
_DEFINITION = ": "
_TAIL = 20
_LONGEST_LABEL = 300
_RULE = re.compile(r"\s*\|?[\s:|+-]*-{2,}[\s:|+-]*$")
_BAR = " | "


def tells(row: str) -> bool:
    """Return whether a row has letters or digits."""
    return any(map(str.isalnum, row))


def is_key(rows: Sequence[str], row: int) -> bool:
    """Return whether a row only introduces the rows after it: a key, a heading or a question."""
    text = rows[row].strip()
    if _ends_open(text) or (text[:1] in _LABELS and len(text) <= _LONGEST_LABEL and _LABEL.match(text)):
        return True
    after = [one.strip() for one in rows[row + 1 : row + 3]]
    if not text or not after:
        return False
    return bool(_UNDERLINE.match(after[0])) or (after[0] or after[-1]).startswith(_DEFINITION)


def _ends_open(text: str) -> bool:
    text = text[-_TAIL:].rstrip(_QUOTES)
    return text[-1:] in _ENDS if text[-1:] not in _OPENED else bool(_OPENING.search(text))


def values(rows: Sequence[str], row: int) -> Iterator[int]:
    """Yield the rows that a key at ``row`` introduces, in order: a list, a paragraph, or more indented rows."""
    own, last = _indent(rows[row]), -1
    first = next(_telling(rows, row), None)
    deeper = first is not None and _belongs(rows[first], own)
    for one in () if first is None else _telling(rows, row):
        if last >= 0 and not _continues(rows, last, one, own, deeper=deeper):
            return
        yield one
        last = one


def has_deeper(rows: Sequence[str], row: int) -> bool:
    """Return whether the next row is more indented."""
    return row + 1 < len(rows) and tells(rows[row + 1]) and _indent(rows[row + 1]) > _indent(rows[row])


def is_table_row(text: str) -> bool:
    """Return whether a row has cells separated by bars."""
    return _BAR in text or text.lstrip(" \t>").startswith("|")


def is_of_table(rows: Sequence[str], row: int, headings: Collection[str]) -> bool:
    """Return whether a row belongs to a table, below its column names; ``headings`` are lines shown with the chunk."""
    return is_table_row(rows[row]) and (
        (row > 0 and is_table_row(rows[row - 1])) or any(_BAR in words for words in headings)
    )


def owner(rows: Sequence[str], row: int, headings: Collection[str]) -> int | None:
    """Return the row that gives context to a row: the column names of its table, or the key of its list.

    None if there is none, or if it is among the ``headings`` lines that are shown with the chunk anyway.
    """
    text = rows[row]
    lead = text.lstrip()
    if _BAR in text or lead.startswith("|"):
        return _header(rows, row, headings)
    own = len(text) - len(lead)
    if lead[:1] in _BULLETS and _ITEM.match(lead):
        own += 1  # a list's key may have the indentation of its items
    elif not own or not _PAIR.match(lead):
        return None
    for one in range(row - 1, max(-1, row - _MOST_ROWS), -1):
        lead = rows[one].lstrip()
        indent = len(rows[one]) - len(lead)
        if indent < own and tells(lead) and (indent < own - 1 or lead[:1] not in _BULLETS or not _ITEM.match(lead)):
            return one if _ends_open(lead) and lead.strip("# \t") not in headings else None
    return None


def _header(rows: Sequence[str], row: int, headings: Collection[str]) -> int | None:
    """Return the row with the column names of the table of ``row``; None if that is ``row`` itself."""
    top = row
    while top and row - top < _MOST_ROWS and is_table_row(rows[top - 1]):
        top -= 1
    below = rows[top + 1] if top + 1 < len(rows) else ""
    if top == row or _RULE.match(rows[row]):
        return None
    if _RULE.match(below):
        return top
    if rows[top].lstrip().startswith("|") or any(_BAR in words for words in headings):
        return None
    from pinakes.chunking.tables import cells_of, is_head

    names, cells = cells_of(rows[top], edged=False), cells_of(below, edged=False)
    return top if len(names) == len(cells) > 1 and is_head(names, cells) else None


def _telling(rows: Sequence[str], row: int) -> Iterator[int]:
    return (one for one in range(row + 1, min(len(rows), row + _MOST_ROWS)) if tells(rows[one]))


def _continues(rows: Sequence[str], last: int, row: int, own: int, *, deeper: bool) -> bool:
    """Return whether a row continues the value that ``last`` is part of; ``own`` is the indentation of its key."""
    if deeper:
        return _belongs(rows[row], own)
    return row == last + 1 and not is_key(rows, row)


def _belongs(text: str, own: int) -> bool:
    lead = text.lstrip()
    indent = len(text) - len(lead)
    return indent > own or (indent == own and bool(_ITEM.match(lead)))


def _indent(text: str) -> int:
    return len(text) - len(text.lstrip())
