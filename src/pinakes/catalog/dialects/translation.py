"""Errors of the databases as ours."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

from sqlalchemy.exc import DBAPIError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from pinakes.catalog.dialects.database import damaged
from pinakes.catalog.schema import metadata
from pinakes.core import interrupt
from pinakes.core.errors import (
    NO_DESCRIPTORS,
    Busy,
    InvalidSetting,
    NotFound,
    PinakesError,
    StorageFull,
    no_descriptors,
)

_DAMAGE: Final = (
    *("malformed", "not a database", "unsupported file format"),
    *(f"no such table: {name}" for name in metadata.tables),
)
"""What SQLite says of a damaged file. A table that is not there was in a part that is lost."""

_AGAIN: Final = "Try again in a moment."
_REFUSALS: Final = ("authentication failed", "does not exist", "no pg_hba.conf entry", "not permitted", "no password")
"""What a server says that lets nobody in; the driver has no SQLSTATE of that."""

_MORE: Final = "Try again in a moment, or allow more (catalog.max_connections, max_connections of PostgreSQL)."
_BUG: Final = "This is a bug; please report it."


@contextmanager
def translated(what: str = "The catalogue") -> Iterator[None]:
    """Turn errors of a database, which is ``what``, into ours, keeping the cause.

    Raises:
        Busy: somebody else writes, or the database cannot be reached; it may work in a moment.
        StorageFull: the disk is full, or the database can only be read.
        CatalogueCorrupt: it is damaged.
        NotFound: a collection or source was deleted meanwhile.
        InvalidSetting: the database does not let us in.
    """
    try:
        yield
    except (DBAPIError, sqlite3.Error) as error:
        raise _ours(error, what) from error
    except PoolTimeout as error:
        raise _crowded("every connection of this process is in use", what) from error
    except Exception as error:
        if not type(error).__module__.startswith("psycopg"):
            raise
        raise _ours(error, what) from error


def driver_message(error: BaseException) -> str:
    """Return what the database's driver says of an error."""
    return str(getattr(error, "orig", None) or error).strip()


def _ours(error: Exception, what: str) -> PinakesError:
    driver = getattr(error, "orig", None) or error
    said = driver_message(error)
    if "interrupted" in said or getattr(driver, "sqlstate", None) == "57014":
        interrupt.check()
    if isinstance(driver, sqlite3.Error):
        return _of_sqlite(said, what)
    state = getattr(driver, "sqlstate", None)
    if state is None and any(words in said for words in _REFUSALS):
        return _refused(said.partition("FATAL: ")[2].strip().rstrip(".") or said, what)
    kinds = {kind.__name__ for kind in type(driver).__mro__}
    unanswered = state is None and not kinds.isdisjoint(("OperationalError", "InterfaceError"))
    return _of_postgresql("08000" if unanswered else state or "", said, what)


def _of_sqlite(said: str, what: str) -> PinakesError:
    if "disk is full" in said or "disk I/O error" in said or "No space left" in said:
        return StorageFull(f"{what} cannot be written: {said}.", hint="Free disk space; nothing was lost.")
    if "FOREIGN KEY" in said:
        return _deleted()
    if "locked" in said or "busy" in said:
        return _busy()
    if any(words in said for words in _DAMAGE):
        return damaged(said)
    if "unable to open" in said and _none_can_be_opened():
        return no_descriptors()
    if "readonly" in said or "unable to open" in said:
        return StorageFull(f"{what} cannot be opened: {said}.", hint="Check the permissions of its folder.")
    return _unforeseen(said)


def _of_postgresql(state: str, said: str, what: str) -> PinakesError:
    """``state``: the five characters of SQLSTATE."""
    said = said.partition("\n")[0].rstrip(".")
    make = _BY_STATE.get(state) or _BY_STATE.get(state[:3]) or _BY_STATE.get(state[:2])
    return make(said, what) if make else _unforeseen(said)


def _unreachable(said: str, what: str) -> PinakesError:
    return Busy(f"{what} cannot be reached: {said}.", hint="Check that PostgreSQL runs, and catalog.url.")


def _deleted(*_: str) -> PinakesError:
    return NotFound("What was to be written belongs to a collection or source that was deleted meanwhile.")


def _busy(*_: str) -> PinakesError:
    return Busy("Another process is writing to the catalogue.", hint=_AGAIN)


def _at_once(*_: str) -> PinakesError:
    return Busy("Another process wrote the same at this moment.", hint=_AGAIN)


def _slow(said: str, what: str) -> PinakesError:
    return Busy(f"{what} did not answer in time: {said}.", hint=_AGAIN)


def _full(said: str, what: str) -> PinakesError:
    return StorageFull(f"{what} cannot be written: {said}.", hint="Free disk space; nothing was lost.")


def _read_only(said: str, what: str) -> PinakesError:
    return StorageFull(f"{what} can only be read: {said}.", hint="Let catalog.url name the primary server.")


def _refused(said: str, what: str) -> PinakesError:
    return InvalidSetting(f"{what} cannot be opened: {said}.", hint="Correct catalog.url, or the rights of its user.")


def _crowded(said: str, what: str) -> PinakesError:
    return Busy(
        f"{what} cannot be opened: {said}.",
        hint=_MORE,
    )


def _lost(said: str, _: str) -> PinakesError:
    if "relation" in said and not any(f'"{name}"' in said for name in metadata.tables):
        return _unforeseen(said)
    return damaged(said, "Restore it from a backup.")


def _unforeseen(said: str, *_: str) -> PinakesError:
    return PinakesError(f"The catalogue failed: {said}.", hint=_BUG)


_BY_STATE: Final[dict[str, Callable[[str, str], PinakesError]]] = {
    "08": _unreachable,
    "23503": _deleted,
    "23505": _at_once,
    "40001": _busy,
    "40P01": _busy,
    "55P03": _busy,
    "25P03": _slow,
    "25P04": _slow,
    "55000": _read_only,
    "57014": _slow,
    "57P": _unreachable,
    "53300": _crowded,
    "53": _full,
    "25006": _read_only,
    "28": _refused,
    "3D000": _refused,
    "3F000": _refused,
    "42501": _refused,
    "42P01": _lost,
    "XX": _lost,
}
"""By SQLSTATE, or how it begins; https://www.postgresql.org/docs/current/errcodes-appendix.html"""


def _none_can_be_opened() -> bool:
    """Say whether this process can open no file at all; SQLite does not say why it cannot."""
    try:
        os.close(os.open(os.devnull, os.O_RDONLY))
    except OSError as error:
        return error.errno in NO_DESCRIPTORS
    return False
