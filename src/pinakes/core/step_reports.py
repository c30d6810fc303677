"""Progress of long work on files and tables."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

OnStep: TypeAlias = Callable[[str, int, int], object]
"""Called with what is being done, how much of it is, and how much there is, 0 = not known."""


def ignore_step(_what: str, _done: int, _total: int) -> None:
    """Do nothing."""
