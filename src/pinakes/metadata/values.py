"""Typed metadata: texts to dates, numbers, booleans and lists, in the fields of documents and in filters."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import UTC, date, datetime
from email.utils import parsedate_to_datetime

from pinakes.core.errors import InvalidFilter
from pinakes.core.filters import listed, normal_name, normal_text
from pinakes.core.records import JSON, Condition, Filter, Metadata
from pinakes.settings import FieldType

_MOST_CHARS = 200
"""Maximum characters of a date or number."""

_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_MONTH = (
    r"(?P<month>jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|"
    r"oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)\.?"
)
_DAY, _YEAR = r"(?P<day>\d{1,2})(?:st|nd|rd|th)?", r"(?P<year>\d{4})"
_WEEKDAY = re.compile(
    r"\b(?:mon|tues?|wed(?:nes)?|thu(?:rs)?|fri|sat(?:ur)?|sun)(?:day)?\b\.?,?", re.IGNORECASE | re.ASCII
)
_FORMS = tuple(
    re.compile(form, re.IGNORECASE | re.ASCII)
    for form in (
        r"(?P<year>\d{4})(?P<sep>[-/.])(?P<month>\d{1,2})(?:(?P=sep)(?P<day>\d{1,2}))?",
        r"(?P<year>(?:19|20)\d{2})(?P<month>\d{2})(?P<day>\d{2})",
        _YEAR,
        rf"{_DAY}[ -]+(?:of +)?{_MONTH},?[ -]+{_YEAR}",
        rf"{_MONTH} +{_DAY},? +{_YEAR}",
        rf"{_MONTH},? +{_YEAR}",
        rf"{_YEAR},? +{_MONTH}(?: +{_DAY})?",
    )
)
_BY_NUMBERS = re.compile(r"(\d{1,2})([./-])(\d{1,2})\2(\d{4})", re.ASCII)
_WITH_TIME = re.compile(
    r"(\d{4}-\d{2}-\d{2})[T ]\s*(\d{2}:\d{2}(?::\d{2})?)(?:[.,]\d+)?\s*(Z|UTC|GMT|[+-]\d{2}:?\d{2})?"
    r"(?:\s+[A-Z]{3,5})?",
    re.IGNORECASE,
)
_IN_PATH = re.compile(r"(?<!\d)((?:19|20)\d{2})([-_./]?)(0[1-9]|1[0-2])(?:\2(0[1-9]|[12]\d|3[01]))?(?!\d)", re.ASCII)
_AROUND_NUMBER = re.compile(r"^(?:[$€£¥]|(?:USD|EUR|GBP|CHF|JPY)\b)\s*|\s*(?:%|[$€£¥]|\b(?:USD|EUR|GBP|CHF|JPY))$")
_NUMBER = re.compile(r"[+-]?(?:\d+|\d{1,3}(?:[ ,'_\u00a0\u202f]\d{3})+)(?:\.\d+)?(?:e[+-]?\d{1,3})?", re.IGNORECASE)
_TRUTHS = {
    **dict.fromkeys(("true", "yes", "y", "on", "1"), True),
    **dict.fromkeys(("false", "no", "n", "off", "0"), False),
}
WANTED: Mapping[FieldType, str] = {
    "text": "text",
    "number": "a number",
    "date": "a date",
    "date_dmy": "a date",
    "date_mdy": "a date",
    "boolean": "true or false",
    "list": "a list",
}
"""The descriptions of the types in messages."""
ERRORS = "metadata_errors"
"""The field that lists values of the wrong type, which are removed from their own fields."""

_SHOWN_CHARS = 80
_DATES = ("date", "date_dmy", "date_mdy")
_LEAST_DAY = 10_000_000
"""Numbers from here on are days, such as 20240305; smaller ones are years."""


def value_of(kind: FieldType, value: JSON) -> JSON:
    """Return a scalar value converted to ``kind``, None if that is impossible.

    Dates become ``2026-01-31``, ``2026-01`` or ``2026``, depending on their precision, times ``2026-01-31T18:00:00Z``.
    An ambiguous date such as ``03/05/2024`` is converted only if ``kind`` gives the order of day and month.
    """
    return _KINDS[kind](value)


def date_in(path: str) -> str | None:
    """Return the first date in a path, as ``value_of`` does: ``2024-03-05-talk.md``, ``2024/03/x.md``, ``20240305``."""
    for found in _IN_PATH.finditer(path):
        year, between, month, day = found.groups()
        if (between or day) and (whole := _iso_date(int(year), int(month), int(day) if day else None)):
            return whole
    return None


def _date(value: JSON, order: str = "") -> str | None:
    text = str(value).strip().strip("[]<>()").strip()
    if isinstance(value, bool) or not text or len(text) > _MOST_CHARS:
        return None
    if found := _WITH_TIME.fullmatch(text):
        return _time(found[1], found[2], found[3])
    bare = " ".join(_WEEKDAY.sub(" ", text).split())
    if found := _BY_NUMBERS.fullmatch(bare):
        return _by_numbers(int(found[1]), int(found[3]), int(found[4]), found[2], order)
    for form in _FORMS:
        if found := form.fullmatch(bare):
            parts = {"month": None, "day": None} | found.groupdict()
            return _iso_date(
                int(parts["year"] or 0), _month(parts["month"]), int(parts["day"]) if parts["day"] else None
            )
    return _of_mail(text)


def _time(day: str, time: str, zone: str | None) -> str | None:
    plain = (zone or "").upper()
    offset = "+00:00" if plain in ("Z", "UTC", "GMT") else plain
    try:
        at = datetime.fromisoformat(f"{day}T{time}{offset}")
        return _written(at)
    except (ValueError, OverflowError):
        return None


def _of_mail(text: str) -> str | None:
    """Return the time of a mail header: ``Tue, 05 Mar 2024 10:00:00 +0000``."""
    if ":" not in text:
        return None
    try:
        return _written(parsedate_to_datetime(text))
    except (ValueError, TypeError, IndexError, OverflowError):
        return None


def _written(at: datetime) -> str:
    if at.tzinfo is None:
        return at.isoformat(timespec="seconds")
    return at.astimezone(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")


def _by_numbers(first: int, second: int, year: int, between: str, order: str) -> str | None:
    """Return the date of three numbers; ``order`` ("dmy", "mdy") decides if either of two may be the day."""
    if between == "." or first > 12:
        order = "dmy"
    elif second > 12:
        order = "mdy"
    if first == second:
        order = order or "dmy"
    if not order:
        return None
    day, month = (first, second) if order == "dmy" else (second, first)
    return _iso_date(year, month, day)


def _month(text: str | None) -> int | None:
    if text is None:
        return None
    return int(text) if text.isdigit() else _MONTHS.index(text[:3].lower()) + 1


def _iso_date(year: int, month: int | None, day: int | None) -> str | None:
    try:
        checked = date(year, month or 1, day or 1)
    except ValueError:
        return None
    return checked.isoformat()[: 10 if day else 7 if month else 4]


def _number(value: JSON) -> float | int | None:
    if isinstance(value, bool):
        return None
    if isinstance(value, int | float):
        return value
    text = str(value).strip()
    if not text or len(text) > _MOST_CHARS:
        return None
    bare = _AROUND_NUMBER.sub("", text).strip()
    if not _NUMBER.fullmatch(bare):
        return None
    found = float(re.sub(r"[ ,'_\u00a0\u202f]", "", bare))
    if found in (float("inf"), float("-inf")):
        return None
    return int(found) if found.is_integer() and abs(found) < 2**53 else found


def _boolean(value: JSON) -> bool | None:
    return value if isinstance(value, bool) else _TRUTHS.get(str(value).strip().casefold())


def _list(value: JSON) -> list[str]:
    return [part for each in re.split(r"[,;\n]", str(value)) if (part := each.strip())]


_KINDS: Mapping[FieldType, Callable[[JSON], JSON]] = {
    "text": str,
    "number": _number,
    "date": _date,
    "date_dmy": lambda value: _date(value, "dmy"),
    "date_mdy": lambda value: _date(value, "mdy"),
    "boolean": _boolean,
    "list": _list,
}


def typed(metadata: Metadata, types: Mapping[str, FieldType]) -> dict[str, JSON]:
    """Return ``metadata`` with values converted to ``types``: dates to ISO text, numbers to numbers.

    A value of the wrong type is removed from its field and listed in ``metadata_errors``, so that range filters never
    match it.
    """
    kinds = {normal_name(name): kind for name, kind in types.items()}
    made: dict[str, JSON] = {}
    errors: list[str] = []
    for name, value in metadata.items():
        kind = kinds.get(normal_name(name))
        kept = value if kind is None or value in (None, "", []) else _of_kind(name, value, kind, errors)
        if kept is not None or value is None:
            made[name] = kept
    return made | ({ERRORS: errors} if errors else {})


def retyped(metadata: Metadata, types: Mapping[str, FieldType]) -> dict[str, JSON]:
    """Return ``metadata``, part of which is already typed, converted as by ``typed``.

    Its errors about earlier values stay until their field gets another value.
    """
    fresh = {name: value for name, value in metadata.items() if name != ERRORS}
    made = typed(fresh, types)
    before = metadata.get(ERRORS)
    earlier = [str(one) for one in before] if isinstance(before, list | tuple) else []
    errors = [one for one in earlier if one.partition(": ")[0] not in fresh] + list(made.pop(ERRORS, ()))
    return made | ({ERRORS: errors} if errors else {})


def typed_filter(where: Filter, types: Mapping[str, FieldType]) -> Filter:
    """Return ``where`` with the bounds and values of typed fields converted to the form in documents.

    Raises:
        InvalidFilter: a bound or value has the wrong type.
    """
    kinds = {normal_name(name): kind for name, kind in types.items()}
    return tuple(_typed_values(one, kinds[one.field]) if one.field in kinds else one for one in where)


def _of_kind(name: str, value: JSON, kind: FieldType, errors: list[str]) -> JSON:
    given = value if isinstance(value, list | tuple) else [value]
    made: list[JSON] = []
    for one in given:
        found = None if isinstance(one, Mapping) else value_of(kind, one)
        if found is None:
            shown = str(one) if len(str(one)) <= _SHOWN_CHARS else f"{str(one)[:_SHOWN_CHARS]}…"
            errors.append(f"{name}: {shown!r} is not {WANTED[kind]}")
        else:
            made += found if kind == "list" else [found]
    if kind == "list" or isinstance(value, list | tuple):
        return list(dict.fromkeys(made)) or None
    return made[0] if made else None


def _typed_values(condition: Condition, kind: FieldType) -> Condition:
    if kind in ("text", "list") or condition.glob:
        return condition
    return replace(
        condition,
        any_of=tuple(normal_text(_needed(condition, value, kind)) for value in condition.any_of),
        none_of=tuple(normal_text(_needed(condition, value, kind)) for value in condition.none_of),
        low=_typed_bound(condition, condition.low, kind),
        high=_typed_bound(condition, condition.high, kind),
    )


def _typed_bound(condition: Condition, value: float | str | None, kind: FieldType) -> float | str | None:
    if isinstance(value, int | float) and kind in _DATES and value >= _LEAST_DAY:
        value = f"{value:.0f}"  # 20240305
    if value is None or isinstance(value, int | float):  # a year is a number, and stands for all the dates in it
        return value
    found = _needed(condition, value, kind)
    return found if isinstance(found, int | float) and not isinstance(found, bool) else normal_text(found)


def _needed(condition: Condition, value: JSON, kind: FieldType) -> JSON:
    found = value_of(kind, value)
    if found is None:
        raise InvalidFilter(
            f"Filter {condition.field!r} cannot be {listed([value])}: the field holds {WANTED[kind]}.",
            hint="Write dates as 2026-01-31, numbers as 1234.5.",
        )
    return found
