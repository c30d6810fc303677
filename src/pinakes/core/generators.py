"""Generators that report steps and return a result."""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import TypeVar

Step = TypeVar("Step")
Result = TypeVar("Result")


def result_of(steps: Generator[Step, None, Result], on_step: Callable[[Step], object] = lambda _: None) -> Result:
    """Run a generator to its end, passing each step to ``on_step``; return its result."""
    while True:
        try:
            step = next(steps)
        except StopIteration as end:
            result: Result = end.value
            return result
        on_step(step)
