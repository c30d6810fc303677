"""Locks that keep other processes out while one writes: files, or what a database offers."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

from filelock import Timeout

from pinakes.core.errors import Busy, storing


class Lock(Protocol):
    """What one process holds at a time; a file that is locked is one. ``timeout`` is in seconds, -1 = without end."""

    timeout: float

    @property
    def is_locked(self) -> bool:
        """Whether it is held here."""

    def acquire(self, timeout: float | None = None) -> object:
        """Take it, waiting so many seconds at most; raises ``filelock.Timeout``."""

    def release(self) -> None:
        """Give it back."""


def taken(lock: Lock, what: str = "The home", timeout_s: float = 0) -> bool:
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


def free(lock: Lock) -> bool:
    """Say whether nobody holds a lock."""
    if taken(lock):
        lock.release()
        return True
    return False


@contextmanager
def held(lock: Lock, what: str) -> Iterator[None]:
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
