"""Statements of the engine ``postgres``: most take one round trip, with BEGIN and COMMIT."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import Any, TypeAlias, TypeVar

import psycopg
from psycopg import ClientCursor
from sqlalchemy.engine import make_url

from pinakes.catalog.dialects.postgresql import cancel, longest_silence_ms
from pinakes.catalog.dialects.translation import translated
from pinakes.catalog.engine import Catalog
from pinakes.core import interrupt
from pinakes.core.errors import IndexCorrupt
from pinakes.settings import CatalogSettings

Row: TypeAlias = tuple[Any, ...]
Parameters: TypeAlias = Mapping[str, Any]
Session: TypeAlias = "psycopg.Connection[Row]"
_Found = TypeVar("_Found")

_CONNECT_S = 10
_CURSOR = "DECLARE found_{0} BINARY CURSOR FOR {1}; FETCH ALL FROM found_{0}"
_TO_THE_LAST = "SET LOCAL cursor_tuple_fraction = 1"
"""All rows of a cursor are read, not the first tenth, for which it is planned."""

_GONE = (
    psycopg.errors.UndefinedTable,
    psycopg.errors.UndefinedColumn,
    psycopg.errors.UndefinedFunction,
    psycopg.errors.UndefinedObject,
)
"""What a server says of tables that somebody dropped or changed; functions and types go with the extension vector."""


def of_index(statement: str, number: int) -> str:
    """Return ``statement`` with the names of the tables of an index: ``$words`` is its table of words."""
    return statement.replace("$", f"engine_{number}_")


class Sessions:
    """Connections of the catalogue, for statements in the words of PostgreSQL. Thread-safe."""

    def __init__(self, catalog: Catalog, settings: CatalogSettings) -> None:
        self._catalog, self._settings = catalog, settings
        limits = {"statement_timeout": settings.statement_timeout_s, "lock_timeout": settings.lock_timeout_s}
        self._limits = "; ".join(f"SET LOCAL {name} = {round(seconds * 1000)}" for name, seconds in limits.items())
        self._silence = f"SET LOCAL idle_in_transaction_session_timeout = {longest_silence_ms(settings)}"

    def rows(self, statement: str, parameters: Parameters) -> list[Row]:
        """Return the rows of one statement, in one round trip.

        Raises:
            IndexCorrupt: a table is gone.
            Busy: see ``translated``.
        """
        whole = "; ".join(("BEGIN READ ONLY", self._limits, statement, "COMMIT"))
        return self._with_retry(lambda session: _of_each(session, whole, parameters))[0]

    def columns(self, statement: str, parameters: Parameters, options: str = "") -> list[Row]:
        """Return the rows of one statement as binary, which suits large values, in one round trip.

        ``options`` are statements before it (SET LOCAL …).
        """
        return self.several_columns((statement, parameters), options=options)[0]

    def several_columns(self, *asked: tuple[str, Parameters], options: str = "") -> list[list[Row]]:
        """Do the same for several statements, which see one state, in one round trip."""
        begin = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"

        def ask(session: Session) -> list[list[Row]]:
            merge = ClientCursor(session).mogrify
            each = (merge(_CURSOR.format(n, statement), given) for n, (statement, given) in enumerate(asked))
            before = filter(None, (begin, self._limits, _TO_THE_LAST, options))
            return _of_each(session, "; ".join([*before, *each, "COMMIT"]))

        return self._with_retry(ask)

    @contextmanager
    def writing(self) -> Iterator[Session]:
        """Give a connection in a transaction: all of it happens, or nothing does.

        It draws no numbers of changes and tells nobody, since what it writes is derived. Who sends nothing for too long
        is ended, so that others get what it held.
        """
        with self._session() as session:
            session.execute(f"BEGIN READ WRITE; {self._limits}; {self._silence}")
            yield session
            session.execute("COMMIT")

    @contextmanager
    def direct(self) -> Iterator[Session]:
        """Give a connection of its own to the server itself, for what no transaction can do."""
        given = self._settings.direct_url or self._settings.url
        address = make_url(given).set(drivername="postgresql").render_as_string(hide_password=False)
        with translated(), psycopg.connect(address, autocommit=True, connect_timeout=_CONNECT_S) as session:
            yield session

    def _with_retry(self, ask: Callable[[Session], _Found]) -> _Found:
        """Ask once more where the connection broke while nobody used it."""
        try:
            with self._session(raw=True) as session:
                return ask(session)
        except psycopg.Error as error:
            if not isinstance(error, psycopg.OperationalError) or not _is_of_connection(error.sqlstate):
                with translated():
                    raise
            self._catalog.engine.dispose()
        with self._session() as session:
            return ask(session)

    @contextmanager
    def _session(self, *, raw: bool = False) -> Iterator[Session]:
        with _lost_tables():
            if raw:
                with self._connected() as session:
                    yield session
            else:
                with translated(), self._connected() as session:
                    yield session

    @contextmanager
    def _connected(self) -> Iterator[Session]:
        interrupt.check()
        connection = self._catalog.engine.connect()
        driver = connection.connection.driver_connection
        assert isinstance(driver, psycopg.Connection)
        try:
            with interrupt.stopping(partial(cancel, driver)):
                yield driver
        except BaseException as error:
            if isinstance(error, psycopg.OperationalError):
                connection.invalidate()
            else:
                driver.rollback()
            raise
        finally:
            connection.close()


@contextmanager
def _lost_tables() -> Iterator[None]:
    try:
        yield
    except _GONE as error:
        raise IndexCorrupt(
            f"A table of the engine postgres is gone: {str(error).partition(chr(10))[0]}.", hint="pinakes reindex"
        ) from error


def _is_of_connection(state: str | None) -> bool:
    """Say whether an error is one of the connection; ``state``: SQLSTATE, None where the server said nothing."""
    return state is None or state.startswith(("08", "57P"))


def _of_each(session: Session, statements: str, parameters: Parameters | None = None) -> list[list[Row]]:
    """Send several statements at once; return the rows of each that gives rows."""
    found = []
    with ClientCursor(session) as cursor:
        cursor.execute(statements, parameters)
        more: bool | None = True
        while more:
            if cursor.description is not None:
                found.append(cursor.fetchall())
            more = cursor.nextset()
    return found
