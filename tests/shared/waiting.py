"""Waiting for what another thread or process does."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

Value = TypeVar("Value")


def until(condition: Callable[[], Value], within_s: float = 60.0) -> Value:
    """Return the value of ``condition`` once it is true; fail after ``within_s``."""
    deadline = time.monotonic() + within_s
    while not (value := condition()):
        assert time.monotonic() < deadline, f"not within {within_s:g} s"
        time.sleep(0.01)
    return value
