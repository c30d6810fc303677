"""A reader that fails for as long as it is told to."""

from __future__ import annotations

from typing import ClassVar

from pinakes.core.records import Document
from pinakes.parsing.limits import Limits


class FlakyReader:
    """Reads plain text, unless it is ``broken``; counts how often it was asked."""

    broken: ClassVar[bool] = False
    asked: ClassVar[int] = 0

    def __init__(self, limits: Limits) -> None:
        del limits

    def read(self, data: bytes, path: str) -> Document:
        """Return the text of ``data``."""
        FlakyReader.asked += 1
        if FlakyReader.broken:
            raise OSError(f"{path}: the disk is asleep")
        return Document(data.decode())
