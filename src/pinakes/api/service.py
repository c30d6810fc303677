"""What the routes of one server share."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TypeVar

from pinakes.api.connections import Connections
from pinakes.api.prometheus import Metrics
from pinakes.api.startup import Startup
from pinakes.api.threads import RequestThreads
from pinakes.core.errors import Busy, PinakesError
from pinakes.core.records import JSON
from pinakes.library import Library
from pinakes.settings import Settings
from pinakes.tools import Outcome, Tool

Result = TypeVar("Result")

NOT_READY = "Server not ready. Index not loaded."
_WARM_UP_S = 10.0
_BASE_UNREAD = "The folder of the knowledge base is still being read; there will be more to find."


@dataclass(slots=True)
class Service:
    """A library being served; ``startup`` is None where nothing was left to do.

    ``local_key``: the secret by which programs on this machine are let in, "" where there is none.
    ``connections``: those of its server, None where another program serves it. ``ending``: answers that go on for long
    are to end.
    """

    library: Library
    workers: RequestThreads
    startup: Startup | None = None
    instance_id: str = ""
    local_key: str = ""
    connections: Connections | None = None
    metrics: Metrics = field(default_factory=Metrics)
    ending: threading.Event = field(default_factory=threading.Event)
    _base_read: bool = field(default=False, init=False)

    @property
    def settings(self) -> Settings:
        """The settings of the library."""
        return self.library.settings

    async def run(self, work: Callable[[], Result], *, waits: bool = False, least_s: float = 0) -> Result:
        """Return what ``work`` returns, done in a thread; ``waits``, ``least_s``: see ``RequestThreads.run``."""
        return await self.workers.run(work, waits=waits, least_s=least_s)

    async def answer(self, tool: Tool, arguments: Mapping[str, JSON], most_tokens: int = 0) -> Outcome:
        """Run ``tool`` in a thread, a call that writes with the time that writing may take; a failure is told.

        ``most_tokens``: how long the answer may be; 0 = as long as it is.
        """
        try:
            call, writes = partial(self.call, tool, arguments, most_tokens), not tool.reads(arguments)
            return await self.workers.run(call, writes=writes, waits=tool.asks_elsewhere, least_s=tool.least_s)
        except Busy as error:
            return tool.failure(arguments, error)

    def call(self, tool: Tool, arguments: Mapping[str, JSON], most_tokens: int = 0) -> Outcome:
        """Run ``tool`` once its collection is ready; whatever goes wrong is told, without internals."""
        try:
            if tool.collection:
                self.check_ready(tool.collection, wait_s=_WARM_UP_S)
        except PinakesError as error:
            with self.library.audit.recording(tool.name, arguments, tool.collection) as call:
                call.failed(error)
            return tool.failure(arguments, error)
        outcome, unfinished = tool.answer(self.library, arguments, most_tokens), self.unfinished()
        if not unfinished or outcome.error or outcome.data is None:
            return outcome
        if tool.returns is None:
            data = {**outcome.data, "unfinished": unfinished}
            return replace(outcome, text=f"{outcome.text}\n\nNote: {unfinished}", data=data)
        if "notes" not in tool.returns.model_fields or not tool.reads(arguments):
            return outcome
        data = {**outcome.data, "notes": [*outcome.data.get("notes", ()), unfinished]}
        return replace(outcome, text=tool.json(data), data=data)

    def check_ready(self, collection: str, wait_s: float = 0) -> None:
        """Let only those pass who ask for a collection that is loaded, or will be in ``wait_s`` seconds.

        Raises:
            Busy: it is still being loaded, or read for the first time; or that failed.
        """
        startup = self.startup
        if startup is None or startup.ready(collection, wait_s):
            return
        if startup.failure is not None:
            raise Busy(NOT_READY, hint=str(startup.failure)) from startup.failure
        words = startup.words()
        raise Busy(NOT_READY, hint=f"{words[0].upper()}{words[1:]}." if words else "")

    def unready(self, collections: Sequence[str]) -> list[str]:
        """Return those of ``collections`` that are still being loaded, or read for the first time.

        Raises:
            Busy: all of them are; or that failed.
        """
        waiting = [name for name in collections if self.startup is not None and not self.startup.ready(name)]
        if len(waiting) == len(collections):
            self.check_ready(collections[0])
        return waiting

    def status_word(self) -> str:
        """Return "starting", "healthy" or "failed"."""
        if self.startup is None:
            return "healthy"
        if self.startup.failure is not None:
            return "failed"
        return "starting" if self.startup.running or self._reads_base() else "healthy"

    def unfinished(self) -> str:
        """Return a note for answers while documents are read for the first time, or that failed; "" else."""
        if self.startup is None:
            return ""
        if self.startup.failure is not None:
            return f"Not all documents may have been read. {self.startup.failure}"
        if not self.startup.reading:
            return _BASE_UNREAD if self._reads_base() else ""
        words = self.startup.words()
        return f"Documents are still being read{f' ({words})' if words else ''}; there will be more to find."

    def _reads_base(self) -> bool:
        """Say whether the folder of the knowledge base is still read for the first time."""
        self._base_read = self._base_read or not self.library.watched.being_read_first()
        return not self._base_read
