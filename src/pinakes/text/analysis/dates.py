"""Dates in the words of a query, and how others write them: ``2023-11-05``, ``05.11.2023``, ``November 5, 2023``."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator

from pinakes.core.regexes import lazy

_MONTHS = (
    "january janvier januar", "february februar février", "march märz mars", "april avril", "may mai", "june juni juin",
    "july juli juillet", "august août", "september septembre", "october oktober octobre", "november novembre",
    "december dezember décembre",
)  # fmt: skip
_NUMBER_OF = {name: number for number, names in enumerate(_MONTHS, 1) for name in names.split()}
_NUMBER_OF |= {name[:3]: number for name, number in _NUMBER_OF.items() if name.isascii() and len(name) > 4}
_NUMBER_OF |= {"sept": 9, "mär": 3, "dez": 12, "okt": 10}
_LONGEST = max(map(len, _NUMBER_OF))

_NUMERIC = lazy(
    r"(?P<year>\d{4})(?P<sign>[-./])(?P<month>\d{1,2})(?P=sign)(?P<day>\d{1,2})"
    r"|(?P<first>\d{1,2})(?P<other>[./])(?P<second>\d{1,2})(?P=other)(?P<last>\d{4})"
)
_SLASHED = lazy(rf"(?<![\w/.-])(?:{_NUMERIC.pattern})(?![\w/-]|\.\d)")
_NAMED = lazy(
    rf"(?<![\w.,-])(?:(?P<day>\d{{1,2}})(?:st|nd|rd|th|er|\.)? (?P<month>[^\W\d_]{{3,{_LONGEST}}})\.?,? "
    r"(?P<year>\d{4})"
    rf"|(?P<name>[^\W\d_]{{3,{_LONGEST}}})\.? (?P<number>\d{{1,2}})(?:st|nd|rd|th)?,? (?P<last>\d{{4}}))(?!\w)"
)


def date_of(word: str) -> dt.date | None:
    """Return the date that a word is; None if it is not one, or if day and month cannot be told apart."""
    found = _NUMERIC.fullmatch(word)
    if not found:
        return None
    if found["year"]:
        return _date(found["year"], found["month"], found["day"])
    day, month = found["first"], found["second"]
    if found["other"] == "/" and int(day) <= 12:  # either country's
        day, month = month, day
        if int(day) <= 12 and day != month:
            return None
    return _date(found["last"], month, day)


def dates_in(text: str) -> Iterator[tuple[str, dt.date]]:
    """Yield the dates that are several words of ``text``, each as it is written there."""
    for found in _SLASHED.finditer(text) if "/" in text else ():
        if date := date_of(found[0]):
            yield found[0], date
    for found in _NAMED.finditer(text):
        month = _NUMBER_OF.get((found["month"] or found["name"]).lower())
        date = _date(found["year"] or found["last"], month, found["day"] or found["number"]) if month else None
        if date:
            yield found[0], date


def in_one_word(date: dt.date) -> tuple[str, ...]:
    """Return the spellings of a date in one word, the ISO one first."""
    year, month, day = date.year, date.month, date.day
    return date.isoformat(), f"{day:02}.{month:02}.{year}", f"{day}.{month}.{year}", f"{year}.{month:02}.{day:02}"


def with_name(date: dt.date) -> Iterator[str]:
    """Yield the spellings of a date with the name of its month; numbers alone in a row may be another day."""
    names = _MONTHS[date.month - 1].split()
    for name in (*names, names[0][:3]):
        yield f"{date.day} {name} {date.year}"
        yield f"{name} {date.day} {date.year}"


def _date(year: str, month: str | int, day: str) -> dt.date | None:
    try:
        return dt.date(int(year), int(month), int(day))
    except ValueError:
        return None
