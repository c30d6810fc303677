"""What to show of a chunk: its lines that answer a query, and where the words of the query stand."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

from pinakes.core.records import ContextLine, Span
from pinakes.search.query.words import MOST_CHARS
from pinakes.search.results.companions import has_deeper, is_key, is_of_table, is_table_row, owner, tells, values
from pinakes.text.analysis import Place

_USUAL_LINES, _MOST_LINES = 3, 5
"""More than the usual ones are shown only where they have words of the query that these lack."""

_LINE_CHARS = 200
_LEAD_CHARS = 40
"""Of a longer line the part is shown that has most words, with so many characters before the first of them."""

_HEADING = "# \t"
_MOST_HIGHLIGHTS = 200
_MOST_TRIED = 50
"""What a chunk has beyond these is not looked at, so that odd ones cost no more than others."""


@dataclass(frozen=True, slots=True)
class Excerpt:
    """``lines`` in the order of the text; ``highlights`` are the words of the query."""

    lines: tuple[ContextLine, ...]
    highlights: tuple[Span, ...]


def excerpt(
    text: str,
    places: Sequence[Place],
    *,
    most: int = _MOST_LINES,
    first_line: int = 1,
    numbers: Sequence[int] = (),
    said: Collection[str] = (),
) -> Excerpt:
    """Choose up to ``most`` lines of ``text`` that show best why it was found; ``places`` has the query's words in it.

    The lines have, together, as many words of the query as can be; where none has any, they are the first ones.
    ``first_line`` is the number of the first line; ``numbers`` are those of all lines, where they do not follow each
    other. Lines that only repeat what is ``said`` beside the chunk, as its headings, are left out where there are
    others.
    """
    rows = text[:MOST_CHARS].split("\n")
    by_row = _by_row(rows, places)
    shown = sorted(_chosen(rows, by_row, most, said))
    return Excerpt(
        tuple(
            _line(numbers[row] if row < len(numbers) else first_line + row, rows[row], by_row.get(row, ()))
            for row in shown
        ),
        tuple(span for span, _ in places[:_MOST_HIGHLIGHTS]),
    )


def _by_row(rows: Sequence[str], places: Sequence[Place]) -> dict[int, list[Place]]:
    """Return the places of each row that has any, counted from the row's start."""
    found: dict[int, list[Place]] = {}
    row, start = 0, 0
    for (first, last), terms in places:
        while first > start + len(rows[row]):
            start += len(rows[row]) + 1
            row += 1
        found.setdefault(row, []).append(((first - start, last - start), terms))
    return found


def _chosen(
    rows: Sequence[str], places: Mapping[int, Sequence[Place]], most: int, said: Collection[str]
) -> Collection[int]:
    """Return which rows to show: first those that have terms the ones before lack, then those with most terms.

    Each with the rows without which it would say something else than the text: see ``companions``.
    """
    every = {row: frozenset[str]().union(*(terms for _, terms in those)) for row, those in places.items()}
    found = {row: terms for row, terms in every.items() if rows[row].strip(_HEADING) not in said}
    matching = sorted(found, key=lambda row: -len(found[row]))
    shown = _Shown(rows, said, most)
    missing = frozenset[str]().union(*found.values())
    for row in _answers(rows, every, missing):
        shown.add(row)
    for row in matching:
        if not missing.isdisjoint(found[row]) and shown.add(row):
            missing -= found[row]
    shown.add_values([row for row in matching if row in shown.rows])
    start, wanted = min(shown.rows, default=0), min(most, _USUAL_LINES)
    in_table = any(is_of_table(rows, row, said) for row in shown.rows)
    for row in (*matching, *range(start, len(rows)), *reversed(range(start))):
        if len(shown.rows) >= wanted:
            break
        # Other rows of a table would be read as answers.
        if row in found:
            shown.add(row)
        elif _tells(rows[row], said) and not (in_table and is_table_row(rows[row])):
            shown.add_alone(row)
    return shown.rows or [row for row, text in enumerate(rows) if text.strip()][:wanted]


def _answers(rows: Sequence[str], found: Mapping[int, frozenset[str]], elsewhere: frozenset[str]) -> Iterator[int]:
    """Yield the first row below each heading that is said beside the chunk and has words no other row has."""
    for row, terms in found.items():
        if not terms <= elsewhere:
            yield from islice(values(rows, row), 1)


class _Shown:
    """The rows that are shown of ``rows``, at most ``most``."""

    def __init__(self, rows: Sequence[str], said: Collection[str], most: int) -> None:
        self.rows: dict[int, None] = {}
        self._all = rows
        self._said = said
        self._most = most

    def add(self, row: int) -> bool:
        """Show a row with those it needs beside it; False where there is no place for it, or not for it alone."""
        of = owner(self._all, row, self._said)
        first = islice(values(self._all, row), 1) if is_key(self._all, row) else ()
        wanted = dict.fromkeys([row, *first, *([] if of is None else [of])])
        new = [one for one in wanted if one not in self.rows]
        if len(self.rows) + len(new) > self._most and self.rows:
            return False
        self.rows |= dict.fromkeys(new[: self._most])
        return True

    def add_alone(self, row: int) -> None:
        """Show a row, unless it is of something that is not shown."""
        if owner(self._all, row, self._said) in (None, *self.rows):
            self.rows[row] = None

    def add_values(self, keys: Iterable[int]) -> None:
        """Show more of what those of ``keys`` stand for that are keys, as long as there is place."""
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


def _tells(row: str, said: Collection[str]) -> bool:
    """Say whether a row has words, other than those that are said beside the chunk anyway."""
    return tells(row) and row.strip(_HEADING) not in said


def _line(number: int, text: str, places: Sequence[Place]) -> ContextLine:
    text = text.rstrip()
    start, end = _window(text, places)
    before, after = "…" * (start > 0), "…" * (end < len(text))
    shift = len(before) - start
    marks = tuple((first + shift, last + shift) for (first, last), _ in places if start <= first and last <= end)
    return ContextLine(number, before + text[start:end] + after, marks)


def _window(text: str, places: Sequence[Place]) -> Span:
    """Return the part of a line to show: all of a short one, of a long one that with most words of the query."""
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
    """Yield the terms of those places that fit into one window with the first."""
    limit = places[0][0][0] + _LINE_CHARS - _LEAD_CHARS
    for (_, end), terms in places:
        if end > limit:
            return
        yield terms
