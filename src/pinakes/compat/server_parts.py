"""The parts of a server that the routes of this folder use."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol, TypeVar

from pinakes.core.records import JSON
from pinakes.library import Library
from pinakes.settings import Settings
from pinakes.tools.declare import Outcome, Tool

Result = TypeVar("Result")


class Server(Protocol):
    """A library being served."""

    library: Library

    @property
    def settings(self) -> Settings: ...

    async def run(self, work: Callable[[], Result], *, waits: bool = False) -> Result:
        """Return what ``work`` returns, done in a thread; ``waits``: it mostly waits for another program."""

    async def answer(self, tool: Tool, arguments: Mapping[str, JSON]) -> Outcome:
        """Run ``tool`` in a thread; a failure is told."""

    def unready(self, collections: Sequence[str]) -> list[str]:
        """Return those of ``collections`` that are still being loaded. Raises Busy where all are."""

    def unfinished(self) -> str:
        """Return a note for answers while documents are read for the first time, "" else."""
