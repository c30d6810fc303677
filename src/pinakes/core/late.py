"""Records with lazy fields, which are computed at the first access, since most never are."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Self, TypeVar


def _no_field(_: str) -> Mapping[str, object]:
    return {}


class LazyRecord:
    """Base class of a frozen dataclass with slots and lazy fields: ``find_lazy`` computes those in ``lazy_fields``.

    It is called with the name of a field and returns the value of that one, and of others that cost no more.
    """

    __slots__ = ("find_lazy", "lazy_fields")
    find_lazy: Callable[[str], Mapping[str, object]]
    lazy_fields: tuple[str, ...]

    if not TYPE_CHECKING:

        def __new__(cls, *_args: object, **_fields: object) -> Self:
            """Create a record with all fields set."""
            made = object.__new__(cls)
            object.__setattr__(made, "find_lazy", _no_field)
            object.__setattr__(made, "lazy_fields", ())
            return made

        def __getattr__(self, name: str) -> Any:
            """Compute a lazy field; Python calls this only if ``name`` is not set."""
            left = self.lazy_fields
            if name in left:
                for field, value in self.find_lazy(name).items():
                    if field in left:
                        object.__setattr__(self, field, value)
                        left = tuple(one for one in left if one != field)
                object.__setattr__(self, "lazy_fields", left)
            return object.__getattribute__(self, name)


Record = TypeVar("Record", bound=LazyRecord)


def with_lazy_fields(record: Record, names: tuple[str, ...], find: Callable[[str], Mapping[str, object]]) -> Record:
    """Return ``record``, not yet shared, with the fields ``names`` made lazy: see ``LazyRecord`` for ``find``."""
    for name in names:
        object.__delattr__(record, name)
    object.__setattr__(record, "lazy_fields", names)
    object.__setattr__(record, "find_lazy", find)
    return record


def changed(record: Record, **changes: object) -> Record:
    """Return the same as ``dataclasses.replace``, in half the time, without computing lazy fields."""
    kind, lazy = type(record), record.lazy_fields  # read once: another thread may compute a field meanwhile
    names, values_of = _set(kind.__slots__, lazy)
    other = object.__new__(kind)
    object.__setattr__(other, "lazy_fields", lazy)
    for name, value in ({**dict(zip(names, values_of(record), strict=True)), **changes}).items():
        object.__setattr__(other, name, value)
    return other


@cache
def _set(names: tuple[str, ...], lazy_fields: tuple[str, ...]) -> tuple[tuple[str, ...], attrgetter[tuple[Any, ...]]]:
    """Return the names of the fields that are set in a record with these ``names``, and a getter of their values."""
    there = tuple(name for name in ("find_lazy", *names) if name not in lazy_fields)
    return there, attrgetter(*there)
