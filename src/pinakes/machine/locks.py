"""Files that keep other processes out while one writes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from filelock import FileLock, Timeout

from pinakes.errors import Busy, storing

_STEP_S = 0.5


@contextmanager
def awaited(lock: FileLock, what: str, on_wait: Callable[[], object]) -> Iterator[None]:
    """Hold ``lock``, however long another process keeps it; ``on_wait`` is called every half second until then.

    A killed process keeps nothing. What ``on_wait`` raises ends the waiting.

    Raises:
        StorageFull: its file cannot be made; ``what`` names it.
    """
    while not taken(lock, what, _STEP_S):
        on_wait()
    try:
        yield
    finally:
        lock.release()


def taken(lock: FileLock, what: str = "The home", timeout_s: float = 0) -> bool:
    """Take a lock; False where somebody else holds it.

    Raises:
        StorageFull: its file cannot be made; ``what`` names it.
    """
    with storing(what):
        try:
            lock.acquire(timeout=timeout_s)
        except Timeout:
            return False
    return True


def free(lock: FileLock) -> bool:
    """Say whether nobody holds a lock."""
    if taken(lock):
        lock.release()
        return True
    return False


@contextmanager
def held(lock: FileLock, what: str) -> Iterator[None]:
    """Hold ``lock``; ``what`` names what it guards.

    Raises:
        Busy: another process holds it for longer than its timeout.
        StorageFull: its file cannot be made.
    """
    if not taken(lock, what, lock.timeout):
        raise Busy(
            f"{what} is being written by another process, for {lock.timeout:g} seconds now.",
            hint="Wait for it to finish, or raise index.lock_timeout_s.",
        )
    try:
        yield
    finally:
        lock.release()
