"""Interruption of work before it is done, after a time limit or at the shutdown of a server.

A thread cannot be stopped from outside, so work checks for an interrupt between its steps, and the catalogue does so
within long statements. Nothing more is written after an interrupt.
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
    """Interrupts one call. Thread-safe.

    ``wrote``: something was committed for the call.
    """

    def __init__(self, *, writes: bool = False) -> None:
        """``writes``: the error tells the caller whether something was written."""
        self.wrote = False
        self._writes = writes
        self._reason: Busy | None = None
        self._stops: list[Callable[[], object]] = []

    def end(self, reason: Busy) -> None:
        """End the work at its next step with the error ``reason``; only the first call counts."""
        self._reason = self._reason or reason
        for stop in [*self._stops]:
            stop()

    @property
    def is_set(self) -> bool:
        """Whether the work is to end."""
        return self._reason is not None

    def error(self) -> Busy:
        """Return the error for the caller: the reason, and whether something was written."""
        return self._with_outcome(_IN_PART if self.wrote else _NOT_WRITTEN)

    def unknown(self) -> Busy:
        """Return the error for the caller if the work does not end, so that it may still write."""
        return self._with_outcome(_UNKNOWN)

    def _with_outcome(self, outcome: str) -> Busy:
        assert self._reason is not None
        if not self._writes:
            return self._reason
        hint = self._reason.hint if outcome == _NOT_WRITTEN else f"{LOOK} {self._reason.hint}"
        return Busy(f"{self._reason.message} {outcome}", hint=hint)

    @contextmanager
    def stopping(self, stop: Callable[[], object]) -> Iterator[None]:
        """Call ``stop`` when the work within the block is told to end; it may be called from another thread."""
        self._stops.append(stop)
        try:
            yield
        finally:
            self._stops.remove(stop)

    def run(self, work: Callable[[], Result]) -> Result:
        """Return the result of ``work``, which can be interrupted by ``end``."""
        token = _current.set(self)
        try:
            check()
            return work()
        finally:
            _current.reset(token)


_current: ContextVar[Interrupt | None] = ContextVar("interrupt", default=None)


def is_set() -> bool:
    """Return whether the current call is interrupted."""
    current = _current.get()
    return current is not None and current.is_set


def check() -> None:
    """Raise an error if the current call is interrupted.

    Raises:
        Busy: the call is interrupted.
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
    """Ignore interrupts within the block: little work is left, and it would be lost."""
    token = _current.set(None)
    try:
        yield
    finally:
        _current.reset(token)


def wrote() -> None:
    """Record that something was committed for the current call."""
    current = _current.get()
    if current is not None:
        current.wrote = True
