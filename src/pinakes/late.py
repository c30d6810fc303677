"""Records of which some fields are found when one of them is first asked for, since most never are."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, TypeVar


class Late:
    """What a frozen dataclass with slots inherits to have such fields: see ``leave_open``."""

    __slots__ = ("_find",)

    if not TYPE_CHECKING:

        def __getattr__(self, name):
            """Find all that is left open; reached only where ``name`` is not set."""
            for field, value in object.__getattribute__(self, "_find")().items():
                object.__setattr__(self, field, value)
            return object.__getattribute__(self, name)


Record = TypeVar("Record", bound=Late)


def leave_open(record: Record, names: Sequence[str], find: Callable[[], Mapping[str, object]]) -> Record:
    """Return a record that nobody else has yet, whose fields of these ``names`` are what ``find`` returns."""
    for name in names:
        object.__delattr__(record, name)
    object.__setattr__(record, "_find", find)
    return record


def changed(record: Record, **changes: object) -> Record:
    """Return what ``dataclasses.replace`` does, without asking for what is left open."""
    other = object.__new__(type(record))
    for name in (*Late.__slots__, *type(record).__slots__):
        with suppress(AttributeError):
            value = changes[name] if name in changes else object.__getattribute__(record, name)
            object.__setattr__(other, name, value)
    return other
