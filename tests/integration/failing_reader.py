"""A reader with bugs of its own: the text of a file says which."""

from __future__ import annotations

from pinakes.core.records import Document
from pinakes.parsing.limits import Limits


class FailingReader:
    """Fails as no reader should, unless the file is fine."""

    def __init__(self, limits: Limits) -> None:
        del limits

    def read(self, data: bytes, path: str) -> Document:
        """Read ``data`` if it begins with "fine"."""
        if data == b"deep":
            return self.read(data, path)
        if data == b"full":
            raise MemoryError
        if not data.startswith(b"fine"):
            raise ValueError(f"cannot parse {data!r}")
        return Document(data.decode())
