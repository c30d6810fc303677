"""Deferral of Ctrl+C to moments at which nothing is lost."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


class CtrlC:
    """A deferred Ctrl+C."""

    def __init__(self) -> None:
        self._came = False

    def came(self) -> bool:
        """Record that Ctrl+C was pressed; return whether this is the second time."""
        before, self._came = self._came, True
        return before

    def check(self) -> None:
        """Raise ``KeyboardInterrupt`` if Ctrl+C was pressed.

        Raises:
            KeyboardInterrupt: Ctrl+C was pressed.
        """
        if self._came:
            self._came = False
            raise KeyboardInterrupt


_held: CtrlC | None = None
"""The deferral in the main thread, which alone receives signals."""


@contextmanager
def held_back() -> Iterator[CtrlC]:
    """Defer Ctrl+C to the end of the block or to ``check``; a second one takes effect at once.

    A nested block, and a block in another thread, defers nothing.

    Raises:
        KeyboardInterrupt: at the end of the block, if Ctrl+C was pressed.
    """
    global _held
    before = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread():
        yield CtrlC()
    elif _held is not None:
        yield _held
    elif not callable(before):
        yield CtrlC()
    else:
        held = _held = CtrlC()

        def on_signal(number: int, frame: FrameType | None) -> None:
            if held.came():
                before(number, frame)

        signal.signal(signal.SIGINT, on_signal)
        try:
            yield held
        finally:
            _held = None
            signal.signal(signal.SIGINT, before)
        held.check()
