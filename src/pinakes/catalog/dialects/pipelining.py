"""Connections to PostgreSQL that begin a transaction in the round trip of its first statement."""

from __future__ import annotations

import select
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Self

import psycopg
from psycopg import Copy
from psycopg.abc import Params
from psycopg.adapt import Dumper

from pinakes.catalog.dialects.listening import LimitedConnection


class PipeliningConnection(LimitedConnection):
    """A connection, in autocommit mode, that may have to send something with its next statement.

    What is sent together takes one round trip, and is one transaction where it does not say otherwise.
    """

    def __init__(self, *words: Any, **named: Any) -> None:
        super().__init__(*words, **named)
        self.cursor_factory, self.server_cursor_factory = _Cursor, _ServerCursor
        self.adapters.register_dumper(_Negative, _NegativeDumper)
        self._before: tuple[str, ...] = ()
        self._each = False

    def send_before(self, statements: tuple[str, ...], *, each: bool) -> None:
        """Send these with the next statement, or with ``each`` from now on."""
        self._before, self._each = statements, each

    def due(self) -> tuple[str, ...]:
        """Return what is to be sent with the statement that comes now."""
        due = self._before
        if not self._each:
            self._before = ()
        return due

    @property
    def has_begun(self) -> bool:
        """Whether what was to be sent with the first statement is sent."""
        return not self._before

    @property
    def is_quiet(self) -> bool:
        """Whether the server said nothing while nobody asked: a connection that it closed has something to read."""
        if self.closed:
            return False
        waiting = select.poll()
        waiting.register(self.fileno(), select.POLLIN)
        return not waiting.poll(0)


class _Cursor(psycopg.Cursor[Any]):
    """Sends what is due with its statement."""

    def execute(self, query: Any, params: Params | None = None, **options: Any) -> Self:
        connection = self.connection
        assert isinstance(connection, PipeliningConnection)
        if connection.has_begun:
            return super().execute(query, params, **options)
        # All in one message. A pipeline of psycopg sends a Flush after its Sync, and pgbouncer, which may have taken
        # the transaction for ended by then, reserves another connection for it, and never gives that back.
        merged = psycopg.ClientCursor(connection).mogrify(query, _bracketed(params))  # if it fails, nothing has begun
        super().execute("; ".join([*connection.due(), merged]).encode("utf-8"), **options)
        while self.nextset():
            pass
        return self

    def executemany(self, query: Any, params_seq: Any, **options: Any) -> None:
        due = _due(self.connection)
        with self.connection.pipeline():  # only transactions write, and a pooler keeps their connection until COMMIT
            for statement in due:
                psycopg.Cursor(self.connection).execute(statement)
            super().executemany(query, params_seq, **options)

    @contextmanager
    def copy(self, statement: Any, params: Params | None = None, **options: Any) -> Iterator[Copy]:
        for before in _due(self.connection):
            psycopg.Cursor(self.connection).execute(before)
        with super().copy(statement, params, **options) as copy:
            yield copy


class _Negative(int):
    """A number that is written in brackets: ``-2147483648::int4`` is 2147483648 as int4, negated."""


class _NegativeDumper(Dumper):
    def dump(self, obj: int) -> bytes:
        return b"%d" % obj

    def quote(self, obj: int) -> bytes:
        return b"(%d)" % obj


def _bracketed(params: Params | None) -> Params | None:
    if not isinstance(params, Mapping):
        return params
    return {name: _Negative(one) if type(one) is int and one < 0 else one for name, one in params.items()}


class _ServerCursor(psycopg.ServerCursor[Any]):
    """Sends what is due before its statement."""

    def execute(self, query: Any, params: Params | None = None, **options: Any) -> Self:
        for statement in _due(self.connection):
            psycopg.Cursor(self.connection).execute(statement)
        return super().execute(query, params, **options)


def _due(connection: psycopg.Connection[Any]) -> tuple[str, ...]:
    assert isinstance(connection, PipeliningConnection)
    return connection.due()
