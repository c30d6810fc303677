"""How much one document may cost."""

from __future__ import annotations

import os
from dataclasses import dataclass

from pinakes.core.errors import TooLarge


@dataclass(frozen=True, slots=True)
class Limits:
    """Largest text of one document in characters, and longest time for one conversion in seconds.

    ``passwords`` are tried on encrypted files, one after the other; ``ocr``: pages that are only pictures are read.
    """

    max_chars: int
    timeout_s: float = 120.0
    passwords: tuple[str, ...] = ()
    ocr: bool = False

    def check(self, text: str) -> str:
        """Return ``text``.

        Raises:
            TooLarge: it has more than ``max_chars`` characters.
        """
        self.check_size(len(text))
        return text

    def check_size(self, chars: int) -> None:
        """Raise ``TooLarge`` when ``chars`` characters are more than allowed."""
        if chars > self.max_chars:
            raise TooLarge(
                f"The text has more than the {self.max_chars:,} characters allowed.",
                hint="Raise the setting ingest.max_text_chars, split the file, or exclude it.",
            )


def passwords_in(variable: str) -> tuple[str, ...]:
    """Return the passwords in an environment variable, one a line; none where it is not set."""
    return tuple(filter(None, os.environ.get(variable, "").splitlines())) if variable else ()
