"""What the HTML reports have in common: how a page is made of its template, strips of questions, latency curves."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

WIDTH, STRIP = 720, 110
"""Sizes in pixels: width of a plot, height of a strip of questions."""


@dataclass(frozen=True, slots=True)
class Dot:
    """A question in a strip, in pixels; ``marked``: shown in red."""

    x: float
    y: float
    marked: bool
    words: str


def page(template: str, **values: Any) -> str:
    """Return a page as text; text from questions and documents is escaped."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("pinakes.evaluation", "."),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template(template).render(**values)


def strip(questions: Iterable[tuple[float, bool, str]]) -> list[Dot]:
    """Return a dot for each question (value from 0 to 1, marked, words), the best first."""
    ordered = sorted(questions, key=lambda one: -one[0])
    step = WIDTH / max(1, len(ordered))
    return [
        Dot(round((place + 0.5) * step, 1), round((1 - value) * (STRIP - 10) + 5, 1), marked, words)
        for place, (value, marked, words) in enumerate(ordered)
    ]


def latency_curve(times: Sequence[float], longest_ms: float, height: int) -> str:
    """Return points (``x,y x,y …``, in pixels) of the share of questions answered within a time; "" without times."""
    ordered = sorted(min(time, longest_ms) for time in times)
    points = (
        f"{time / longest_ms * WIDTH:.1f},{(1 - rank / len(ordered)) * height:.1f}"
        for rank, time in enumerate(ordered, start=1)
    )
    return f"0,{height} {' '.join(points)}" if ordered else ""


def longest_ms(p99_ms: Iterable[float]) -> float:
    """Return the maximum of the latency axis in ms: slightly above the largest 99th percentile."""
    return max(p99_ms, default=0.0) * 1.05 or 1.0
