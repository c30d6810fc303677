"""Files that keep other processes out while one writes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from filelock import FileLock, Timeout

from pinakes.errors import Busy, storing


@contextmanager
def held(lock: FileLock, what: str) -> Iterator[None]:
    """Hold ``lock``; ``what`` names what it guards.

    Raises:
        Busy: another process holds it for longer than its timeout.
        StorageFull: its file cannot be made.
    """
    with storing(what):
        try:
            lock.acquire()
        except Timeout as error:
            raise Busy(
                f"{what} is being written by another process, for {lock.timeout:g} seconds now.",
                hint="Wait for it to finish, or raise index.lock_timeout_s.",
            ) from error
    try:
        yield
    finally:
        lock.release()
