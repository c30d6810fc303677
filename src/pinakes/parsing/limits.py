"""The limits for reading one document."""

from __future__ import annotations

import os
from dataclasses import dataclass

from pinakes.core.errors import TooLarge


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits for one document: text length in characters, conversion time in seconds.

    ``passwords`` are tried in order on encrypted files; ``ocr``: recognise text on pages that are only pictures.
    """

    max_chars: int
    timeout_s: float = 120.0
    passwords: tuple[str, ...] = ()
    ocr: bool = False

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


def passwords_in(variable: str) -> tuple[str, ...]:
    """Return the passwords in an environment variable, one per line; () if it is not set."""
    return tuple(filter(None, os.environ.get(variable, "").splitlines())) if variable else ()
