"""What is asked runs in threads, with a time limit; the event loop only waits for it."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextvars import copy_context
from typing import Any, TypeVar

from pinakes.errors import Busy

Result = TypeVar("Result")
_THREADS = max(2, os.cpu_count() or 1)
"""More of them only take the processor from each other: on 2 cores 4 threads answer a tenth less than 2, 8 a third."""

_WRITERS = 2 * _THREADS
"""Those that write mostly wait for each other, and one commit of an index takes in what all of them wrote: on 2 cores
ten agents write twice as much by 4 threads as by 2. With 8 they write no more, and searches take half as long again."""


_WAITERS = 32
"""They only wait for models that run elsewhere."""


class Workers:
    """A few threads that answer requests, and others for those that write, or that wait for models elsewhere.

    So searches never wait behind what takes long.
    """

    def __init__(self, timeout_s: float, write_timeout_s: float) -> None:
        self._timeout_s = timeout_s
        self._write_timeout_s = write_timeout_s
        self._threads = ThreadPoolExecutor(_THREADS, thread_name_prefix="pinakes-work")
        self._writers = ThreadPoolExecutor(_WRITERS, thread_name_prefix="pinakes-write")
        self._waiters = ThreadPoolExecutor(_WAITERS, thread_name_prefix="pinakes-wait")
        self._running: set[Future[Any]] = set()

    async def run(self, work: Callable[[], Result], *, writes: bool = False, waits: bool = False) -> Result:
        """Return what ``work`` returns; it knows who is asking as the task that waits for it does.

        ``waits``: it mostly waits for a model elsewhere, and may take as long as writing may.

        Raises:
            Busy: it took, or waited, too long. A thread cannot be stopped: it ends by itself.
        """
        threads, most_s, setting = self._threads, self._timeout_s, "search_timeout_s"
        if writes or waits:
            threads = self._waiters if waits else self._writers
            most_s, setting = self._write_timeout_s, "write_timeout_s"
        future = threads.submit(copy_context().run, work)
        self._running.add(future)
        future.add_done_callback(self._running.discard)
        try:
            return await asyncio.wait_for(asyncio.wrap_future(future), most_s)
        except TimeoutError:
            raise Busy(
                f"This took longer than {most_s:g} seconds.", hint=f"Try again, or raise server.{setting}."
            ) from None

    def close(self, within_s: float = 0) -> bool:
        """Take no more work; what waits is dropped. Say whether what runs ended in time."""
        for threads in (self._threads, self._writers, self._waiters):
            threads.shutdown(wait=False, cancel_futures=True)
        return not wait(self._running.copy(), within_s).not_done
