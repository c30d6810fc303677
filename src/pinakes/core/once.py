"""Attributes that are made at their first use, once, whichever threads ask."""

from __future__ import annotations

from functools import cached_property
from threading import RLock
from typing import Any, Final, Self, TypeVar, overload

_T = TypeVar("_T")
_MAKING: Final = RLock()
"""Held while one is made. It is shared by all objects: what is made imports modules, and makes others in turn."""


class once(cached_property[_T]):  # noqa: N801 - a decorator, named as the one it extends
    """A cached property whose function is called once; the standard one has no lock from Python 3.12 on."""

    @overload
    def __get__(self, instance: None, owner: type[Any] | None = None) -> Self: ...
    @overload
    def __get__(self, instance: object, owner: type[Any] | None = None) -> _T: ...
    def __get__(self, instance: object, owner: type[Any] | None = None) -> Any:
        with _MAKING:
            return super().__get__(instance, owner)
