"""The port of what parses and chunks files for a run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from pinakes.core.parsed_files import ParsedDocument
from pinakes.core.records import Chunk, Document


class Cutter(Protocol):
    """Parses and chunks files, several at once if it has several processes."""

    files_ahead: int
    """How many files can be submitted before the first result is requested."""

    def begin(self, data: bytes, path: str) -> Callable[[], ParsedDocument]:
        """Submit a file, and return a function that waits for the result.

        Raises (that function):
            Unreadable: the file cannot be read.
            ChildProcessError, TimeoutError: reading was aborted; it may be tried again.
        """
        ...

    def chunks(self, document: Document) -> Sequence[Chunk]:
        """Chunk a parsed document in this process."""
        ...
