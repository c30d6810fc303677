"""The filter language: parse what a caller wrote, check it, match it against metadata.

============================================  =====================================================
``{"sig_name": "sig-auth"}``                  equals (text without regard to case)
``{"status": ["alpha", "beta"]}``             equals any of these
``{"created": {"gte": "2020", "lte": 2024}}`` lies between, ends included; one end suffices
``{"path": {"glob": "mm/**/*.c"}}``           matches the pattern, as in .gitignore
``{"path": "mm/*.c"}``                        the same: a path with ``*``, ``?`` or ``[`` is a pattern
``{"tags": ["draft", "howto"]}``              has any of these tags
============================================  =====================================================

A field that holds a list matches when any of its values does. Dashes, spaces and case in field names do
not matter: ``owning-sig`` is ``owning_sig``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache

import pathspec

from pinakes.errors import InvalidFilter
from pinakes.types import JSON, Condition, Filter

_RANGE = {"gte", "lte"}
_EXAMPLE = 'Write for example {"status": "beta"}, {"number": {"gte": 100}} or {"path": {"glob": "docs/**"}}.'
_WORD = re.compile(r"\s*([^=<>]*[^=<>\s])\s*(>=|<=|=)(.*)", re.DOTALL)
MAX_CONDITIONS = 50
MAX_VALUES = 1000
MAX_VALUE_CHARS = 4096
"""Longer values of metadata, descriptions for instance, are not there for filters."""


def parse(filters: Mapping[str, JSON] | None) -> Filter:
    """Return the conditions that ``filters`` states.

    Raises:
        InvalidFilter: a field name or value that cannot be used.
    """
    if not filters:
        return ()
    if len(filters) > MAX_CONDITIONS:
        raise InvalidFilter(f"{len(filters)} filters are too many (at most {MAX_CONDITIONS}).", hint="Use fewer.")
    return tuple(sorted((_condition(name, value) for name, value in filters.items()), key=repr))


def parse_words(words: Iterable[str]) -> Filter:
    """Return the conditions of command line words: ``name=value``, ``name=a,b``, ``name>=1``, ``name<=9``."""
    merged: dict[str, JSON] = {}
    for word in words:
        name, operator, value = _split(word)
        if operator == "=":
            values = [part.strip() for part in value.split(",")]
            merged[name] = _joined(merged.get(name), values)
        else:
            bounds = merged.setdefault(name, {})
            if not isinstance(bounds, dict):
                raise InvalidFilter(f"Filter {name!r} has both a value and a range.", hint=_EXAMPLE)
            bounds["gte" if operator == ">=" else "lte"] = value
    return parse(merged)


def match(filter_: Filter, metadata: Mapping[str, JSON]) -> bool:
    """Say whether ``metadata`` meets every condition. The reference for all engines."""
    fields: dict[str, list[JSON]] = {}
    for name, value in flatten(metadata):
        fields.setdefault(name, []).append(value)
    return all(any(_holds(condition, value) for value in fields.get(condition.field, ())) for condition in filter_)


def flatten(metadata: Mapping[str, JSON]) -> Iterator[tuple[str, JSON]]:
    """Yield (normalised name, plain value) for every value of ``metadata``; nested names joined by dots."""
    for name, value in metadata.items():
        yield from _flat(normal_name(str(name)), value)


def normal_name(name: str) -> str:
    """Return a field name as it is compared."""
    return name.strip().casefold().replace("-", "_").replace(" ", "_")


def normal_text(value: JSON) -> str:
    """Return a plain value as it is compared for equality."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return str(value).strip().casefold()


def number(value: JSON) -> float | None:
    """Return ``value`` as a number where it is one or spells one, else None."""
    if isinstance(value, bool):
        return None
    try:
        found = float(value)
    except (TypeError, ValueError, OverflowError):
        return None
    return found if found == found and abs(found) != float("inf") else None


def glob_matches(patterns: Sequence[str], value: str) -> bool:
    """Say whether one of the .gitignore style ``patterns`` matches ``value``, without regard to case."""
    return _spec(tuple(pattern.casefold() for pattern in patterns)).match_file(value.casefold())


@lru_cache(maxsize=256)
def _spec(patterns: tuple[str, ...]) -> pathspec.PathSpec:  # type: ignore[type-arg]
    return pathspec.PathSpec.from_lines("gitignore", patterns)


def _condition(name: str, value: JSON) -> Condition:
    if not isinstance(name, str) or not name.strip():
        raise InvalidFilter(f"A filter needs a field name, not {name!r}.", hint=_EXAMPLE)
    field = normal_name(name)
    if isinstance(value, Mapping):
        return _operators(field, value)
    values = tuple(value) if isinstance(value, (list, tuple, set, frozenset)) else (value,)
    if not values or len(values) > MAX_VALUES or not all(isinstance(v, (str, int, float)) for v in values):
        raise InvalidFilter(f"Filter {name!r} cannot be {value!r}.", hint=_EXAMPLE)
    if field == "path" and any(isinstance(v, str) and set("*?[") & set(v) for v in values):
        return _operators(field, {"glob": [str(v) for v in values]})
    return Condition(field, any_of=tuple(normal_text(v) for v in values))


def _operators(field: str, value: Mapping[str, JSON]) -> Condition:
    if set(value) == {"glob"}:
        patterns = value["glob"] if isinstance(value["glob"], (list, tuple)) else [value["glob"]]
        if patterns and all(isinstance(pattern, str) and pattern and _usable(pattern) for pattern in patterns):
            return Condition(field, glob=tuple(patterns))
    elif set(value) == {"any"} or set(value) == {"in"}:
        return _condition(field, next(iter(value.values())))
    elif value and set(value) <= _RANGE and all(isinstance(v, (str, int, float)) for v in value.values()):
        return Condition(field, low=_bound(value.get("gte")), high=_bound(value.get("lte")))
    raise InvalidFilter(f"Filter {field!r} cannot be {dict(value)!r}.", hint=_EXAMPLE)


def _usable(pattern: str) -> bool:
    try:
        _spec((pattern.casefold(),))
    except (ValueError, re.error):
        return False
    return True


def _bound(value: JSON) -> float | str | None:
    if value is None:
        return None
    as_number = number(value)
    return normal_text(value) if as_number is None else as_number


def _holds(condition: Condition, value: JSON) -> bool:
    if condition.any_of:
        return normal_text(value) in condition.any_of
    if condition.glob:
        return glob_matches(condition.glob, str(value))
    return all(_beyond(value, bound, low) for bound, low in ((condition.low, True), (condition.high, False)))


def _beyond(value: JSON, bound: float | str | None, low: bool) -> bool:
    """Compare numbers as numbers and the rest as text; a year as a bound reaches over the dates in it."""
    if bound is None:
        return True
    as_number = number(value)
    if as_number is not None and not isinstance(bound, str):
        return as_number >= bound if low else as_number <= bound
    text, end = normal_text(value), normal_text(bound)
    if not isinstance(bound, str) and not text[:1].isdigit():
        return False
    return text >= end if low else text[: len(end)] <= end


def _flat(name: str, value: JSON) -> Iterator[tuple[str, JSON]]:
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield from _flat(f"{name}.{normal_name(str(key))}", inner)
    elif isinstance(value, (list, tuple)):
        for inner in value:
            yield from _flat(name, inner)
    elif value is not None and len(str(value)) <= MAX_VALUE_CHARS:
        yield name, value


def _split(word: str) -> tuple[str, str, str]:
    if found := _WORD.fullmatch(word):
        name, operator, value = found.groups()
        return name, operator, value.strip()
    raise InvalidFilter(f"Filter {word!r} is not of the form name=value.", hint="Or name>=value, name<=value.")


def _joined(old: JSON, values: list[str]) -> list[str]:
    if isinstance(old, dict):
        raise InvalidFilter("A filter has both a value and a range.", hint=_EXAMPLE)
    return [*(old or []), *values]
