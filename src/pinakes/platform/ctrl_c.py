"""Ctrl+C at moments when nothing is lost by it."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


class CtrlC:
    """A Ctrl+C that waits to be heeded."""

    def __init__(self) -> None:
        self._came = False

    def came(self) -> bool:
        """Remember that Ctrl+C was pressed; say whether it had been before."""
        before, self._came = self._came, True
        return before

    def check(self) -> None:
        """Heed it.

        Raises:
            KeyboardInterrupt: it came.
        """
        if self._came:
            self._came = False
            raise KeyboardInterrupt


_held: CtrlC | None = None
"""That of the main thread, which alone gets signals."""


@contextmanager
def held_back() -> Iterator[CtrlC]:
    """Have Ctrl+C wait for the end of the block, or for ``check``; a second one does what it does elsewhere, at once.

    Within another such block, and outside of the main thread, nothing more is held back.

    Raises:
        KeyboardInterrupt: at the end, where it came.
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
