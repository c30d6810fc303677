"""How far the reading or writing of a file is, for who wants to know."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

OnStep: TypeAlias = Callable[[str, int, int], object]
"""Called with what is being done, how much of it is, and how much there is, 0 = not known."""


def unheard(_what: str, _done: int, _total: int) -> None:
    """Listen to nothing."""
