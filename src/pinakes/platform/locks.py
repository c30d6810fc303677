"""Lock files that exclude other processes while one writes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from filelock import FileLock, Timeout

from pinakes.core.errors import Busy, storing


def taken(lock: FileLock, what: str = "The home", timeout_s: float = 0) -> bool:
    """Acquire a lock; return False if somebody else holds it.

    Raises:
        StorageFull: the lock file cannot be created; ``what`` names it in the message.
    """
    with storing(what):
        try:
            lock.acquire(timeout=timeout_s)
        except Timeout:
            return False
    return True


def free(lock: FileLock) -> bool:
    """Return whether a lock is free."""
    if taken(lock):
        lock.release()
        return True
    return False


@contextmanager
def held(lock: FileLock, what: str) -> Iterator[None]:
    """Hold ``lock`` within the block; ``what`` names the protected object in messages.

    Raises:
        Busy: another process holds the lock for longer than its timeout.
        StorageFull: the lock file cannot be created.
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
