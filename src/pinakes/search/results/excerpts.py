"""Excerpts: the lines of a chunk that answer a query, and the places of the query's words in them.

They include the lines that they need for context, so that an excerpt says nothing that the text does not: a key needs
its value, a question its answer, a table row its column names, and a list item the key above the list.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

from pinakes.core.records import ContextLine, Span
from pinakes.search.query.words import MOST_CHARS
from pinakes.text.analysis import Place

_USUAL_LINES, _MOST_LINES = 3, 5
"""More than the usual number of lines are shown only if they add words of the query."""

_LINE_CHARS = 200
_LEAD_CHARS = 40
"""A longer line is cut to the part with most query words, with this many characters before the first of them."""

_HEADING = "# \t"
_MOST_HIGHLIGHTS = 200
_MOST_TRIED = 50
"""The number of rows examined, so that very long chunks do not cost more."""


@dataclass(frozen=True, slots=True)
class Excerpt:
    """The excerpt: ``lines`` in the order of the text; ``highlights`` are the query's words in them."""

    lines: tuple[ContextLine, ...]
    highlights: tuple[Span, ...]


def excerpt(
    text: str,
    places: Sequence[Place],
    *,
    most: int = _MOST_LINES,
    first_line: int = 1,
    numbers: Sequence[int] = (),
    headings: Collection[str] = (),
) -> Excerpt:
    """Choose up to ``most`` lines of ``text`` that show why it was found; ``places`` are the query's words in it.

    Together, the lines have as many distinct words of the query as possible; without any, the first lines are shown.
    ``first_line``: number of the first line; ``numbers``: those of all lines, if they are not consecutive.
    ``headings``: lines shown with the chunk anyway, such as its headings; lines that repeat them are skipped if there
    are others.
    """
    rows = text[:MOST_CHARS].split("\n")
    by_row = _by_row(rows, places)
    shown = sorted(_chosen(rows, by_row, most, headings))
    return Excerpt(
        tuple(
            _line(numbers[row] if row < len(numbers) else first_line + row, rows[row], by_row.get(row, ()))
            for row in shown
        ),
        tuple(span for span, _ in places[:_MOST_HIGHLIGHTS]),
    )


def _by_row(rows: Sequence[str], places: Sequence[Place]) -> dict[int, list[Place]]:
    """Return row → its places, as offsets in the row; rows without places are missing."""
    found: dict[int, list[Place]] = {}
    row, start = 0, 0
    for (first, last), terms in places:
        while first > start + len(rows[row]):
            start += len(rows[row]) + 1
            row += 1
        found.setdefault(row, []).append(((first - start, last - start), terms))
    return found


def _chosen(
    rows: Sequence[str], places: Mapping[int, Sequence[Place]], most: int, headings: Collection[str]
) -> Collection[int]:
    """Return the rows to show: first those that add terms, then those with most terms.

    Each comes with the rows that it needs for context.
    """
    every = {row: frozenset[str]().union(*(terms for _, terms in those)) for row, those in places.items()}
    found = {row: terms for row, terms in every.items() if rows[row].strip(_HEADING) not in headings}
    matching = sorted(found, key=lambda row: -len(found[row]))
    shown = _Shown(rows, headings, most)
    missing = frozenset[str]().union(*found.values())
    for row in _answers(rows, every, missing):
        shown.add(row)
    for row in matching:
        if not missing.isdisjoint(found[row]) and shown.add(row):
            missing -= found[row]
    shown.add_values([row for row in matching if row in shown.rows])
    start, wanted = min(shown.rows, default=0), min(most, _USUAL_LINES)
    in_table = any(is_of_table(rows, row, headings) for row in shown.rows)
    for row in (*matching, *range(start, len(rows)), *reversed(range(start))):
        if len(shown.rows) >= wanted:
            break
        # Other table rows would look like answers.
        if row in found:
            shown.add(row)
        elif _tells(rows[row], headings) and not (in_table and is_table_row(rows[row])):
            shown.add_alone(row)
    return shown.rows or [row for row, text in enumerate(rows) if text.strip()][:wanted]


def _answers(rows: Sequence[str], found: Mapping[int, frozenset[str]], elsewhere: frozenset[str]) -> Iterator[int]:
    """Yield the first row below each heading that has query words found in no other row."""
    for row, terms in found.items():
        if not terms <= elsewhere:
            yield from islice(values(rows, row), 1)


class _Shown:
    """Collects the rows to show, at most ``most`` of ``rows``."""

    def __init__(self, rows: Sequence[str], headings: Collection[str], most: int) -> None:
        self.rows: dict[int, None] = {}
        self._all = rows
        self._said = headings
        self._most = most

    def add(self, row: int) -> bool:
        """Add a row and the rows it needs for context. Return False if they do not fit."""
        of = owner(self._all, row, self._said)
        first = islice(values(self._all, row), 1) if is_key(self._all, row) else ()
        wanted = dict.fromkeys([row, *first, *([] if of is None else [of])])
        new = [one for one in wanted if one not in self.rows]
        if len(self.rows) + len(new) > self._most and self.rows:
            return False
        self.rows |= dict.fromkeys(new[: self._most])
        return True

    def add_alone(self, row: int) -> None:
        """Add a row, unless the row that gives it context is not shown."""
        if owner(self._all, row, self._said) in (None, *self.rows):
            self.rows[row] = None

    def add_values(self, keys: Iterable[int]) -> None:
        """Add more of the rows that the keys among ``keys`` introduce, while there is room."""
        for row in keys:
            if is_key(self._all, row):
                limit = self._most
            elif has_deeper(self._all, row):
                limit = min(self._most, _USUAL_LINES)
            else:
                continue
            for one in values(self._all, row):
                if len(self.rows) >= limit:
                    break
                self.rows[one] = None


def _tells(row: str, headings: Collection[str]) -> bool:
    """Return whether a row has words and does not repeat a line shown with the chunk."""
    return tells(row) and row.strip(_HEADING) not in headings


def _line(number: int, text: str, places: Sequence[Place]) -> ContextLine:
    text = text.rstrip()
    start, end = _window(text, places)
    before, after = "…" * (start > 0), "…" * (end < len(text))
    shift = len(before) - start
    marks = tuple((first + shift, last + shift) for (first, last), _ in places if start <= first and last <= end)
    return ContextLine(number, before + text[start:end] + after, marks)


def _window(text: str, places: Sequence[Place]) -> Span:
    """Return the span of a line to show: all of a short line, the part with most query words of a long one."""
    if len(text) <= _LINE_CHARS:
        return 0, len(text)
    tried = places[:_MOST_TRIED]
    starts = range(len(tried))
    best = max(starts, key=lambda i: len(frozenset[str]().union(*_within(tried[i:]))), default=None)
    if best is None:
        first, last = 0, 0
    else:
        first = tried[best][0][0]
        last = max((end for (_, end), _ in tried if end <= first + _LINE_CHARS - _LEAD_CHARS), default=first)
    start = max(0, first - _LEAD_CHARS)
    start = 0 if not start else 1 + max(text.find(" ", start, first), start - 1)
    end = min(len(text), start + _LINE_CHARS)
    return start, end if end == len(text) else max(text.rfind(" ", last, end), 0) or end


def _within(places: Sequence[Place]) -> Iterator[frozenset[str]]:
    """Yield the terms of the places that fit into one window with the first place."""
    limit = places[0][0][0] + _LINE_CHARS - _LEAD_CHARS
    for (_, end), terms in places:
        if end > limit:
            return
        yield terms


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
