"""Requests run in threads, with a time limit; the event loop only waits for them.

A thread cannot be stopped. Work over its time limit is interrupted (``core.interrupt``), and another call gets its slot
meanwhile, so that work that does not end blocks nobody.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import suppress
from contextvars import copy_context
from typing import Any, Final, Generic, TypeVar

from pinakes.core.errors import Busy
from pinakes.core.interrupt import Interrupt

Result = TypeVar("Result")
_THREADS = max(2, os.cpu_count() or 1)
"""More of them only take the processor from each other: on 2 cores 4 threads answer a tenth less than 2, 8 a third.
Two processes with one thread each need a tenth less of it than two with two threads: none waits for the interpreter."""

_WRITERS = 2 * _THREADS
"""Those that write mostly wait for each other, and one commit of an index takes in what all of them wrote: on 2 cores
ten agents write twice as much by 4 threads as by 2. With 8 they write no more, and searches take half as long again."""


_WAITERS = 32
"""They only wait for models that run elsewhere."""

_OVERDUE: Final = 8
"""Maximum calls over their time limit that run on while others have their slots."""

_LAST_WORD_S: Final = 2.0
"""Seconds after its time limit in which a call that writes may still report its outcome."""

_ENDING: Final = "The server ended before this was done."
_ELSEWHERE: Final = "Send it again, to the server that comes after."


class _Pool:
    """Threads for calls of one kind: ``most`` at a time, besides those that are overdue."""

    def __init__(self, name: str, most: int) -> None:
        self.threads = ThreadPoolExecutor(most + _OVERDUE, thread_name_prefix=f"pinakes-{name}")
        self._free = asyncio.Semaphore(most)
        self._waiting = 0
        self.overdue = 0

    async def enter(self) -> None:
        """Wait for a slot."""
        self._waiting += 1
        try:
            await self._free.acquire()
        finally:
            self._waiting -= 1

    def leave(self) -> None:
        """Give the slot to the next waiting call."""
        self._free.release()

    def release_waiting(self) -> None:
        """Let all waiting calls enter at once; each then learns that nothing is started any more."""
        for _ in range(self._waiting):
            self._free.release()


class _Run(Generic[Result]):
    """A running call; ``answer`` is the result of the work, or the error that it did not end in time."""

    def __init__(self, pool: _Pool, work: Callable[[], Result], *, writes: bool) -> None:
        self.interrupt = Interrupt(writes=writes)
        self._pool = pool
        self._loop = asyncio.get_running_loop()
        self._holds_slot = True
        self._is_overdue = False
        self.answer: asyncio.Future[Result] = self._loop.create_future()
        self.future: Future[Result] = pool.threads.submit(copy_context().run, self.interrupt.run, work)
        self.future.add_done_callback(self._done_in_thread)

    def end(self, reason: Busy, last_word_s: float) -> None:
        """Tell the work to end, and the caller after ``last_word_s`` seconds that it did not; 0 = at once."""
        self.interrupt.end(reason)
        if last_word_s:
            self._loop.call_later(last_word_s, self._give_up)
        else:
            self._give_up()

    def leave(self) -> None:
        """Give up the slot of work that runs on though nobody waits for it, unless too much does."""
        if self.future.done() or self._pool.overdue >= _OVERDUE or not self._holds_slot:
            return
        self._is_overdue = True
        self._pool.overdue += 1
        self._free()

    def _give_up(self) -> None:
        if not self.answer.done():
            self.answer.set_exception(self.interrupt.unknown())

    def _done_in_thread(self, future: Future[Result]) -> None:
        with suppress(RuntimeError):  # the loop is closed: nobody waits
            self._loop.call_soon_threadsafe(self._done, future)

    def _done(self, future: Future[Result]) -> None:
        if self._is_overdue:
            self._pool.overdue -= 1
        self._free()
        if self.answer.done():
            return
        if future.cancelled():
            self.answer.set_exception(self.interrupt.error() if self.interrupt.is_set else _not_begun())
        elif error := future.exception():
            self.answer.set_exception(error)
        else:
            self.answer.set_result(future.result())

    def _free(self) -> None:
        if self._holds_slot:
            self._holds_slot = False
            self._pool.leave()


class RequestThreads:
    """A few threads that answer requests, and others for those that write, or that wait for models elsewhere.

    So searches never wait behind what takes long.
    """

    def __init__(self, timeout_s: float, write_timeout_s: float, processes: int = 1) -> None:
        """``processes``: so many share the processors and answer alike."""
        self._timeout_s = timeout_s
        self._write_timeout_s = write_timeout_s
        threads = _THREADS if processes == 1 else max(1, _THREADS // processes)
        self._readers, self._writers = _Pool("work", threads), _Pool("write", _WRITERS)
        self._waiters = _Pool("wait", _WAITERS)
        self._pools = self._readers, self._writers, self._waiters
        self._running: set[_Run[Any]] = set()
        self._ending = False

    async def run(
        self, work: Callable[[], Result], *, writes: bool = False, waits: bool = False, least_s: float = 0
    ) -> Result:
        """Return what ``work`` returns; it knows who is asking as the task that waits for it does.

        ``waits``: it mostly waits for a model elsewhere, and may take as long as writing may. ``least_s``: it is no
        search and may take so many seconds, however short the limit of these is.

        Raises:
            Busy: it took, or waited, too long, or the server ended; of a call that writes the message says what became
                of it.
        """
        pool, most_s, setting = self._readers, max(self._timeout_s, least_s), "search_timeout_s"
        if writes or waits:
            pool = self._waiters if waits else self._writers
            most_s, setting = self._write_timeout_s, "write_timeout_s"
        loop = asyncio.get_running_loop()
        until = loop.time() + most_s
        reason = Busy(f"This took longer than {most_s:g} seconds.", hint=f"Try again, or raise server.{setting}.")
        reason.__context__ = TimeoutError()  # by which some interfaces know it
        try:
            async with asyncio.timeout_at(until):
                await pool.enter()
        except TimeoutError:
            raise reason from None
        if self._ending:
            pool.leave()
            raise _not_begun()
        run = _Run(pool, work, writes=writes)
        self._running.add(run)
        run.future.add_done_callback(lambda _: self._running.discard(run))
        late = loop.call_at(until, run.end, reason, _LAST_WORD_S if writes else 0)
        try:
            return await run.answer
        finally:
            late.cancel()
            run.interrupt.end(reason)  # also where the one who asked is gone
            run.leave()

    def end(self, within_s: float) -> None:
        """Have all that runs end, and tell after ``within_s`` seconds whom nothing else could be told."""
        self._ending = True
        for run in self._running.copy():
            run.end(Busy(_ENDING, hint=_ELSEWHERE), within_s)
        for pool in self._pools:
            pool.release_waiting()

    def close(self, within_s: float = 0) -> bool:
        """Take no more work; what waits is dropped. Say whether what runs ended in time."""
        self._ending = True
        for pool in self._pools:
            pool.threads.shutdown(wait=False, cancel_futures=True)
        return not wait([run.future for run in self._running.copy()], within_s).not_done


def _not_begun() -> Busy:
    return Busy("The server ends. Nothing was done.", hint=_ELSEWHERE)
