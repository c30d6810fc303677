"""A reader that takes as long as the test wants."""

from __future__ import annotations

import threading

from pinakes.core.records import Document
from pinakes.parsing.limits import Limits

GO_ON = threading.Event()
"""Nothing is read to its end before this is set."""


class SlowReader:
    """Waits, then reads text."""

    def __init__(self, limits: Limits) -> None:
        del limits

    def read(self, data: bytes, path: str) -> Document:
        """Return the text of ``data`` as soon as it may."""
        del path
        assert GO_ON.wait(60)
        return Document(data.decode())
