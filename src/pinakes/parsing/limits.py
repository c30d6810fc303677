"""The limits for reading one document."""

from __future__ import annotations

import ctypes
import errno
import os
from collections.abc import Iterator
from dataclasses import dataclass

from pinakes.core.errors import PinakesError, TooLarge


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits for one document: text length in characters, conversion time in seconds.

    ``passwords`` are tried in order on encrypted files; ``ocr``: recognise text on pages that are only pictures;
    ``inserted_in``: the number of documents around this one, each inserted in the next.
    """

    max_chars: int
    timeout_s: float = 120.0
    passwords: tuple[str, ...] = ()
    ocr: bool = False
    inserted_in: int = 0

    def check(self, text: str) -> str:
        """Return ``text`` if it is within the limit.

        Raises:
            TooLarge: it has more than ``max_chars`` characters.
        """
        self.check_size(len(text))
        return text

    def check_size(self, chars: int) -> None:
        """Raise ``TooLarge`` if ``chars`` exceeds ``max_chars``."""
        if chars > self.max_chars:
            raise TooLarge(
                f"The text has more than the {self.max_chars:,} characters allowed.",
                hint="Raise the setting ingest.max_text_chars, split the file, or exclude it.",
            )


class LimitedReader:
    """Base of the readers: each file is read within the same limits."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits


def passwords_in(variable: str) -> tuple[str, ...]:
    """Return the passwords in an environment variable, one per line; () if it is not set."""
    return tuple(filter(None, os.environ.get(variable, "").splitlines())) if variable else ()


def lacks_memory(error: BaseException) -> bool:
    """Return whether ``error``, or one that led to it, says that memory could not be allocated.

    Libraries in C and C++ report this as errors of their own; ctypes wraps a MemoryError in an ArgumentError.
    """
    return any(
        isinstance(one, MemoryError)
        or (isinstance(one, OSError) and one.errno == errno.ENOMEM)
        or (isinstance(one, ctypes.ArgumentError) and "MemoryError" in str(one))
        or (not isinstance(one, PinakesError) and any(words in str(one) for words in _NO_MEMORY))
        for one in _with_causes(error)
    )


_NO_MEMORY = ("std::bad_alloc", "Failed to allocate memory", "Cannot allocate memory")


def _with_causes(error: BaseException) -> Iterator[BaseException]:
    seen: set[int] = set()
    following: BaseException | None = error
    while following is not None and id(following) not in seen:
        seen.add(id(following))
        yield following
        following = following.__cause__ or (None if following.__suppress_context__ else following.__context__)
