"""Searches run in threads, with a time limit; the event loop only waits for them."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from typing import TypeVar

from pinakes.errors import Busy

Result = TypeVar("Result")
_THREADS = max(2, os.cpu_count() or 1)
"""More of them only take the processor from each other: on 2 cores 4 threads answer a tenth less than 2, 8 a third."""


class Workers:
    """A few threads that answer requests."""

    def __init__(self, timeout_s: float) -> None:
        self._timeout_s = timeout_s
        self._threads = ThreadPoolExecutor(_THREADS, thread_name_prefix="pinakes-work")

    async def run(self, work: Callable[[], Result]) -> Result:
        """Return what ``work`` returns; it knows who is asking as the task that waits for it does.

        Raises:
            Busy: it took, or waited, too long. A thread cannot be stopped: it ends by itself.
        """
        future = asyncio.get_running_loop().run_in_executor(self._threads, copy_context().run, work)
        try:
            return await asyncio.wait_for(future, self._timeout_s)
        except TimeoutError:
            raise Busy(
                f"This took longer than {self._timeout_s:g} seconds.",
                hint="Try again, or raise server.search_timeout_s.",
            ) from None

    def close(self) -> None:
        """Take no more work; what waits is dropped."""
        self._threads.shutdown(wait=False, cancel_futures=True)
