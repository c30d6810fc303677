"""What the routes of one server share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeVar

from pinakes.errors import Busy
from pinakes.library import Library
from pinakes.serve.metrics import Metrics
from pinakes.serve.startup import Startup
from pinakes.serve.work import Workers
from pinakes.settings import Settings
from pinakes.tools.retrieve import chosen_collection

Result = TypeVar("Result")

NOT_READY = "Server not ready. Index not loaded."


@dataclass(slots=True)
class Service:
    """A library being served; ``startup`` is None where nothing was left to do."""

    library: Library
    workers: Workers
    startup: Startup | None = None
    instance_id: str = ""
    metrics: Metrics = field(default_factory=Metrics)

    @property
    def settings(self) -> Settings:
        """The settings of the library."""
        return self.library.settings

    async def run(self, work: Callable[[], Result]) -> Result:
        """Return what ``work`` returns, done in a thread."""
        return await self.workers.run(work)

    def check_ready(self, collection: str) -> None:
        """Let only those pass who ask for a collection that is loaded.

        Raises:
            Busy: it is still being loaded, or read for the first time.
        """
        startup = self.startup
        if startup is not None and not startup.ready(collection):
            raise Busy(NOT_READY, hint=startup.words())

    def collection(self, name: str = "") -> str:
        """Return ``name``, or the default collection; where that does not exist, the only one there is."""
        return chosen_collection(self.library, name)

    def status_word(self) -> str:
        """Return "starting" or "healthy"."""
        return "starting" if self.startup is not None and self.startup.running else "healthy"

