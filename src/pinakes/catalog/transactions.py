"""Queries as methods that need no connection: each runs in a transaction of its own."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import wraps
from typing import Concatenate, ParamSpec, TypeVar

from sqlalchemy import Connection

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")


def within(
    transaction: Callable[[], AbstractContextManager[Connection]],
    work: Callable[Concatenate[Connection, Arguments], Result],
) -> Callable[Arguments, Result]:
    """Return ``work`` without its connection: each call begins a ``transaction`` of a catalogue, and ends it."""

    @wraps(work)
    def done(*args: Arguments.args, **named: Arguments.kwargs) -> Result:
        with transaction() as connection:
            return work(connection, *args, **named)

    return done
