"""The folder in which a source keeps what it fetched: one process at a time writes there."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock, Timeout

from pinakes.core.errors import NO_ROOM, Busy, SourceError, StorageFull
from pinakes.platform.permissions import make_private


@contextmanager
def fetching_into(folder: Path, location: str, timeout_s: float) -> Iterator[None]:
    """Hold the lock of ``folder``, which is made; ``location`` names what is fetched in messages.

    Raises:
        Busy: another process holds the lock for longer than ``timeout_s``.
        StorageFull: the disk is full.
        SourceError: the folder cannot be written to.
    """
    try:
        make_private(folder)
        with FileLock(folder / "lock", timeout=timeout_s):
            yield
    except Timeout as error:
        raise Busy(f"Another process is fetching {location!r}.", hint="Try again when it is done.") from error
    except OSError as error:
        if error.errno in NO_ROOM:
            raise StorageFull(f"The disk is full: {location!r} cannot be kept.", hint="Free space.") from error
        raise SourceError(
            f"{str(folder)!r} cannot hold what is fetched: {error.strerror}.", hint="Check its permissions."
        ) from error
