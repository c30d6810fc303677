"""Conditions on paths: what ends with a path, what lies in a folder."""

from __future__ import annotations

from typing import Any, Final

from sqlalchemy import ColumnElement, false

_MOST_CHARS: Final = 8000
"""No path is longer; databases refuse patterns of some 50,000 bytes."""


def ends_with(column: ColumnElement[Any], end: str) -> ColumnElement[bool]:
    """Return the test for a path that is ``end`` below some folder."""
    return column.endswith(f"/{end}", autoescape=True) if len(end) <= _MOST_CHARS else false()


def is_below(column: ColumnElement[Any], folder: str) -> ColumnElement[bool]:
    """Return the test for a path that lies in ``folder``, or deeper."""
    return column.startswith(f"{folder}/", autoescape=True) if len(folder) <= _MOST_CHARS else false()
