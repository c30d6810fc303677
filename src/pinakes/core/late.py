"""Records of which some fields are found when one of them is first asked for, since most never are."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Self, TypeVar


class Late:
    """What a frozen dataclass with slots inherits to have such fields: ``find_open`` gives those in ``left_open``."""

    __slots__ = ("find_open", "left_open")
    find_open: Callable[[], Mapping[str, object]]
    left_open: tuple[str, ...]

    if not TYPE_CHECKING:

        def __new__(cls, *_args: object, **_fields: object) -> Self:
            """Make a record that has all of its fields."""
            made = object.__new__(cls)
            object.__setattr__(made, "find_open", dict)
            object.__setattr__(made, "left_open", ())
            return made

        def __getattr__(self, name: str) -> Any:
            """Find all that is left open; reached only where ``name`` is not set."""
            for field, value in self.find_open().items():
                object.__setattr__(self, field, value)
            object.__setattr__(self, "left_open", ())
            return object.__getattribute__(self, name)


Record = TypeVar("Record", bound=Late)


def leave_open(record: Record, names: tuple[str, ...], find: Callable[[], Mapping[str, object]]) -> Record:
    """Return a record that nobody else has yet, whose fields of these ``names`` are what ``find`` returns."""
    for name in names:
        object.__delattr__(record, name)
    object.__setattr__(record, "left_open", names)
    object.__setattr__(record, "find_open", find)
    return record


def changed(record: Record, **changes: object) -> Record:
    """Return what ``dataclasses.replace`` does, in half the time, without asking for what is left open."""
    kind = type(record)
    names, values_of = _set(kind.__slots__, record.left_open)
    other = object.__new__(kind)
    for name, value in ({**dict(zip(names, values_of(record), strict=True)), **changes}).items():
        object.__setattr__(other, name, value)
    return other


@cache
def _set(names: tuple[str, ...], left_open: tuple[str, ...]) -> tuple[tuple[str, ...], attrgetter[tuple[Any, ...]]]:
    """Return what is set in a record with these ``names``, and what gives the values of that."""
    there = tuple(name for name in (*Late.__slots__, *names) if name not in left_open)
    return there, attrgetter(*there)
