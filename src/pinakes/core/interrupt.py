"""Work that is to end before it is done: its time is up, or its server ends.

A thread cannot be stopped from outside. So work looks here between its steps, and the catalogue does within long
statements. What is not written yet is not written any more then.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from typing import Final, TypeVar

from pinakes.core.errors import Busy

Result = TypeVar("Result")

_NOT_WRITTEN: Final = "Nothing was written."
_IN_PART: Final = "It was written, in whole or in part."
_UNKNOWN: Final = "It may have been written or not."
LOOK: Final = "Look whether it is there before you send it again."


class Interrupt:
    """How one call is told to end. Thread-safe.

    ``wrote``: something was committed for the call.
    """

    def __init__(self, *, writes: bool = False) -> None:
        """``writes``: the caller is told what became of what was to be written."""
        self.wrote = False
        self._writes = writes
        self._reason: Busy | None = None
        self._stops: list[Callable[[], object]] = []

    def end(self, reason: Busy) -> None:
        """Have the work end at its next step, for a ``reason`` that its caller is told; the first one counts."""
        self._reason = self._reason or reason
        for stop in [*self._stops]:
            stop()

    @property
    def is_set(self) -> bool:
        """Whether the work is to end."""
        return self._reason is not None

    def error(self) -> Busy:
        """Return what the caller is told: the reason, and what became of what was to be written."""
        return self._told(_IN_PART if self.wrote else _NOT_WRITTEN)

    def unknown(self) -> Busy:
        """Return what the caller is told where the work does not end: it may still be written."""
        return self._told(_UNKNOWN)

    def _told(self, became: str) -> Busy:
        assert self._reason is not None
        if not self._writes:
            return self._reason
        hint = self._reason.hint if became == _NOT_WRITTEN else f"{LOOK} {self._reason.hint}"
        return Busy(f"{self._reason.message} {became}", hint=hint)

    @contextmanager
    def stopping(self, stop: Callable[[], object]) -> Iterator[None]:
        """Call ``stop`` when the work within the block is told to end; it may be called from another thread."""
        self._stops.append(stop)
        try:
            yield
        finally:
            self._stops.remove(stop)

    def run(self, work: Callable[[], Result]) -> Result:
        """Return what ``work`` returns; it ends when this is told to end."""
        token = _current.set(self)
        try:
            check()
            return work()
        finally:
            _current.reset(token)


_current: ContextVar[Interrupt | None] = ContextVar("interrupt", default=None)


def is_set() -> bool:
    """Say whether the call under way is to end."""
    current = _current.get()
    return current is not None and current.is_set


def check() -> None:
    """Go on, unless the call under way is to end.

    Raises:
        Busy: it is.
    """
    current = _current.get()
    if current is not None and current.is_set:
        raise current.error()


def stopping(stop: Callable[[], object]) -> AbstractContextManager[None]:
    """Call ``stop`` when the call under way is told to end within the block; see ``Interrupt.stopping``."""
    current = _current.get()
    return nullcontext() if current is None else current.stopping(stop)


@contextmanager
def ignored() -> Iterator[None]:
    """Let what is in the block be done all the same: little is left, and it would be lost."""
    token = _current.set(None)
    try:
        yield
    finally:
        _current.reset(token)


def wrote() -> None:
    """Note that something was committed for the call under way."""
    current = _current.get()
    if current is not None:
        current.wrote = True
