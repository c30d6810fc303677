"""stdin, stdout and stderr as they were inherited: a closed one is opened, a stderr that fails stops nobody."""

from __future__ import annotations

import io
import os
import sys
from typing import TYPE_CHECKING, ClassVar

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

_STDERR = 2


class _Stderr(io.FileIO):
    """The raw stderr: what a full disk, a full pipe, or a terminal that is gone cannot take is dropped."""

    drops_pipes: ClassVar = False
    """Whether this holds for a pipe that nobody reads, too, which ends a short command quietly."""

    def write(self, data: ReadableBuffer, /) -> int:
        """Return how many bytes were written or dropped."""
        try:
            written: int | None = super().write(data)
            if written is not None:
                return written
        except BrokenPipeError:
            if not self.drops_pipes:
                raise
        except OSError:
            pass
        return memoryview(data).nbytes


def open_streams() -> None:
    """Open each closed standard stream on the null device, and put a stderr that drops what it cannot write.

    Else the next file that is opened, such as an index, would get the number of the closed stream, and messages of
    libraries and child processes would be written into it.
    """
    for number in range(_STDERR + 1):
        try:
            os.fstat(number)
        except OSError:
            os.set_inheritable(os.open(os.devnull, os.O_RDWR), True)
    sys.stdin = sys.stdin or open(0, closefd=False)  # noqa: SIM115 - open as long as the process
    sys.stdout = sys.stdout or open(1, "w", closefd=False)  # noqa: SIM115
    encoding = sys.stderr.encoding if sys.stderr else None
    raw = _Stderr(_STDERR, "w", closefd=False)
    sys.stderr = io.TextIOWrapper(
        io.BufferedWriter(raw), encoding=encoding, errors="backslashreplace", line_buffering=True
    )


def survive_stderr() -> None:
    """Go on when nobody reads stderr any more, as a server has to that a client or a log reader has started."""
    _Stderr.drops_pipes = True
