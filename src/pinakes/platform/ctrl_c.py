"""Deferral of Ctrl+C and SIGTERM to moments at which nothing is lost."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from types import FrameType


class CtrlC:
    """A deferred Ctrl+C or SIGTERM."""

    def __init__(self) -> None:
        self._effect: Callable[[], object] | None = None

    def came(self, effect: Callable[[], object]) -> bool:
        """Record a signal and what its handler does; return whether this is the second one."""
        before, self._effect = self._effect, effect
        return before is not None

    def check(self) -> None:
        """Do what the handler of a recorded signal does, which may be to raise.

        Raises:
            KeyboardInterrupt: Ctrl+C was pressed, and nobody handles it in another way.
        """
        effect, self._effect = self._effect, None
        if effect:
            effect()


_held: CtrlC | None = None
"""The deferral in the main thread, which alone receives signals."""


@contextmanager
def held_back() -> Iterator[CtrlC]:
    """Defer Ctrl+C and SIGTERM to the end of the block or to ``check``; a second one takes effect at once.

    What ends the process without a handler, or is ignored, stays as it is.

    A nested block, and a block in another thread, defers nothing.

    Raises:
        KeyboardInterrupt: at the end of the block, if Ctrl+C was pressed.
    """
    global _held
    before = {one: found for one in (signal.SIGINT, signal.SIGTERM) if callable(found := signal.getsignal(one))}
    if threading.current_thread() is not threading.main_thread():
        yield CtrlC()
    elif _held is not None:
        yield _held
    elif not before:
        yield CtrlC()
    else:
        held = _held = CtrlC()

        def on_signal(number: int, frame: FrameType | None) -> None:
            effect = partial(before[signal.Signals(number)], number, frame)
            if held.came(effect):
                effect()

        for one in before:
            signal.signal(one, on_signal)
        try:
            yield held
        finally:
            _held = None
            for one, handler in before.items():
                if signal.getsignal(one) is on_signal:
                    signal.signal(one, handler)
        held.check()
