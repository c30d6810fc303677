"""Typed metadata fields, in documents and in filters."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from pinakes.core.errors import InvalidFilter
from pinakes.core.filters import listed, normal_name, normal_text
from pinakes.core.records import JSON, Condition, Filter, Metadata
from pinakes.metadata.values import WANTED, value_of
from pinakes.settings import FieldType

ERRORS = "metadata_errors"
"""The field that lists values of the wrong type, which are removed from their own fields."""

_SHOWN_CHARS = 80
_DATES = ("date", "date_dmy", "date_mdy")
_LEAST_DAY = 10_000_000
"""Numbers from here on are days, such as 20240305; smaller ones are years."""


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
    return tuple(_asked(one, kinds[one.field]) if one.field in kinds else one for one in where)


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


def _asked(condition: Condition, kind: FieldType) -> Condition:
    if kind in ("text", "list") or condition.glob:
        return condition
    return replace(
        condition,
        any_of=tuple(normal_text(_needed(condition, value, kind)) for value in condition.any_of),
        none_of=tuple(normal_text(_needed(condition, value, kind)) for value in condition.none_of),
        low=_bound(condition, condition.low, kind),
        high=_bound(condition, condition.high, kind),
    )


def _bound(condition: Condition, value: float | str | None, kind: FieldType) -> float | str | None:
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
