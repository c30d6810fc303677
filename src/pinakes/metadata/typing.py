"""Fields whose values are of one type, in documents and in filters."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from pinakes.core.errors import InvalidFilter
from pinakes.core.filters import listed, normal_name, normal_text
from pinakes.core.records import JSON, Condition, Filter, Metadata
from pinakes.metadata.values import WANTED, value_of
from pinakes.settings import FieldType

ERRORS = "metadata_errors"
"""The field that says which values were none of their type; they are left out of their own."""

_SHOWN_CHARS = 80
_DATES = ("date", "date_dmy", "date_mdy")
_LEAST_DAY = 10_000_000
"""Numbers from here on are days, as in 20240305; smaller ones are years."""


def typed(metadata: Metadata, types: Mapping[str, FieldType]) -> dict[str, JSON]:
    """Return ``metadata`` with the values of fields as ``types`` say: dates as ISO text, numbers as numbers.

    A value that is none of its type is left out of its field and named in ``metadata_errors``, so that a range finds
    nothing that is no date.
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
    """Return ``metadata`` that was typed before, and of which some is new, as ``typed`` does.

    What it says of values that were left out before stays until their field gets another one.
    """
    fresh = {name: value for name, value in metadata.items() if name != ERRORS}
    made = typed(fresh, types)
    before = metadata.get(ERRORS)
    told = [str(one) for one in before] if isinstance(before, list | tuple) else []
    errors = [one for one in told if one.partition(": ")[0] not in fresh] + list(made.pop(ERRORS, ()))
    return made | ({ERRORS: errors} if errors else {})


def typed_filter(where: Filter, types: Mapping[str, FieldType]) -> Filter:
    """Return ``where`` with the bounds and values of typed fields written as documents have them.

    Raises:
        InvalidFilter: one is none of its field's type.
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
