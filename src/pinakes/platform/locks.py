"""Locks that exclude other processes while one writes: lock files, or what a database offers."""

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


def try_acquire(lock: Lock, what: str = "The home", timeout_s: float = 0) -> bool:
    """Take a lock; False where somebody else holds it.

    Raises:
        StorageFull: the lock file cannot be created; ``what`` names it in the message.
    """
    with storing(what):
        try:
            lock.acquire(timeout=timeout_s)
        except Timeout:
            return False
    return True


def is_free(lock: Lock) -> bool:
    """Return whether a lock is free."""
    if try_acquire(lock):
        lock.release()
        return True
    return False


@contextmanager
def locked(lock: Lock, what: str) -> Iterator[None]:
    """Hold ``lock`` within the block; ``what`` names the protected object in messages.

    Raises:
        Busy: another process holds the lock for longer than its timeout.
        StorageFull: the lock file cannot be created.
    """
    if not try_acquire(lock, what, lock.timeout):
        raise Busy(
            f"{what} is being written by another process, for {lock.timeout:g} seconds now.",
            hint="Wait for it to finish, or raise index.lock_timeout_s.",
        )
    try:
        yield
    finally:
        lock.release()
