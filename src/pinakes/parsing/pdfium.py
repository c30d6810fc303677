"""PDFium, the library that reads and renders PDF: opens one document at a time per process."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final

from pinakes.core.errors import Unreadable
from pinakes.parsing.encrypted import encrypted
from pinakes.parsing.limits import Limits

_LOCK: Final = threading.RLock()
"""Guards the library, which is not thread-safe."""

_WRONG_PASSWORD: Final = 4
_SECURITY: Final = 5
_MAX_STRING_BYTES: Final = 1 << 28


@contextmanager
def opened(data: bytes, limits: Limits) -> Iterator[Any]:
    """Provide the ``pypdfium2.PdfDocument`` of ``data``, opened with the first password that fits.

    Raises:
        Locked: it is encrypted, and no password fits.
        Unreadable: it is damaged.
    """
    with _LOCK:
        import pypdfium2

        document = _document(pypdfium2, data, limits)
        try:
            yield document
        finally:
            document.close()


def _document(library: Any, data: bytes, limits: Limits) -> Any:
    code = None
    for password in (None, *limits.passwords):
        try:
            return library.PdfDocument(data, password=password)
        except library.PdfiumError as error:
            code = getattr(error, "err_code", None)
            if code not in (_WRONG_PASSWORD, _SECURITY):
                raise Unreadable(
                    "PDF is damaged or not what its name says: its structure cannot be read.",
                    hint="Open and save it again, or replace it.",
                ) from error
    raise encrypted("PDF")


def string(get: Callable[[Any, int], int]) -> str:
    """Return a UTF-16 text that a function of the library writes into a buffer of a given number of bytes."""
    size = get(None, 0)
    if not 2 < size <= _MAX_STRING_BYTES:
        return ""
    buffer = (ctypes.c_ushort * (size // 2 + 1))()
    written = min(get(buffer, size), size)
    return bytes(buffer)[: max(0, written - 2)].decode("utf-16-le", "replace").rstrip("\0")
