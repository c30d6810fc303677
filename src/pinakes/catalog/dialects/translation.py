"""Translation of database errors into those of Pinakes."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final, TypeAlias

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
        raise _made(_CROWDED, "every connection of this process is in use", what) from error
    except Exception as error:
        if not type(error).__module__.startswith("psycopg"):
            raise
        raise _ours(error, what) from error


def driver_message(error: BaseException) -> str:
    """Return what the database's driver says of an error."""
    return str(getattr(error, "orig", None) or error).strip()


def _ours(error: Exception, what: str) -> PinakesError:
    driver = getattr(error, "orig", None) or error
    message = driver_message(error)
    if "interrupted" in message or getattr(driver, "sqlstate", None) == "57014":
        interrupt.check()
    if isinstance(driver, sqlite3.Error):
        return _of_sqlite(message, what)
    state = getattr(driver, "sqlstate", None)
    if state is None and any(words in message for words in _REFUSALS):
        return _made(_REFUSED, message.partition("FATAL: ")[2].strip().rstrip(".") or message, what)
    kinds = {kind.__name__ for kind in type(driver).__mro__}
    unanswered = state is None and not kinds.isdisjoint(("OperationalError", "InterfaceError"))
    return _of_postgresql("08000" if unanswered else state or "", message, what)


def _of_sqlite(message: str, what: str) -> PinakesError:
    if "disk is full" in message or "disk I/O error" in message or "No space left" in message:
        return _made(_FULL, message, what)
    if "FOREIGN KEY" in message:
        return _made(_DELETED, message, what)
    if "locked" in message or "busy" in message:
        return _made(_BUSY, message, what)
    if any(words in message for words in _DAMAGE):
        return damaged(message)
    if "unable to open" in message and _none_can_be_opened():
        return no_descriptors()
    if "readonly" in message or "unable to open" in message:
        return StorageFull(f"{what} cannot be opened: {message}.", hint="Check the permissions of its folder.")
    return _made(_UNFORESEEN, message, what)


def _of_postgresql(state: str, message: str, what: str) -> PinakesError:
    """``state``: the five characters of SQLSTATE."""
    message = message.partition("\n")[0].rstrip(".")
    is_ours = "relation" not in message or any(f'"{name}"' in message for name in metadata.tables)
    if state.startswith("XX") or state == "42P01":
        return damaged(message, "Restore it from a backup.") if is_ours else _made(_UNFORESEEN, message, what)
    kind = _BY_STATE.get(state) or _BY_STATE.get(state[:3]) or _BY_STATE.get(state[:2])
    return _made(kind or _UNFORESEEN, message, what)


def _made(kind: _Kind, message: str, what: str) -> PinakesError:
    error, template, hint = kind
    return error(template.format(what=what, message=message), hint=hint)


_Kind: TypeAlias = tuple[type[PinakesError], str, str]
"""An error, its message and its hint."""

_UNREACHABLE: Final[_Kind] = (
    Busy,
    "{what} cannot be reached: {message}.",
    "Check that PostgreSQL runs, and catalog.url.",
)
_DELETED: Final[_Kind] = (
    NotFound,
    "What was to be written belongs to a collection or source that was deleted meanwhile.",
    "",
)
_BUSY: Final[_Kind] = (Busy, "Another process is writing to the catalogue.", _AGAIN)
_AT_ONCE: Final[_Kind] = (Busy, "Another process wrote the same at this moment.", _AGAIN)
_SLOW: Final[_Kind] = (Busy, "{what} did not answer in time: {message}.", _AGAIN)
_CROWDED: Final[_Kind] = (Busy, "{what} cannot be opened: {message}.", _MORE)
_FULL: Final[_Kind] = (StorageFull, "{what} cannot be written: {message}.", "Free disk space; nothing was lost.")
_READ_ONLY: Final[_Kind] = (
    StorageFull,
    "{what} can only be read: {message}.",
    "Let catalog.url name the primary server.",
)
_REFUSED: Final[_Kind] = (
    InvalidSetting,
    "{what} cannot be opened: {message}.",
    "Correct catalog.url, or the rights of its user.",
)
_UNFORESEEN: Final[_Kind] = (PinakesError, "The catalogue failed: {message}.", _BUG)
_BY_STATE: Final[dict[str, _Kind]] = {
    "08": _UNREACHABLE,
    "23503": _DELETED,
    "23505": _AT_ONCE,
    "40001": _BUSY,
    "40P01": _BUSY,
    "55P03": _BUSY,
    "25P03": _SLOW,
    "25P04": _SLOW,
    "55000": _READ_ONLY,
    "57014": _SLOW,
    "57P": _UNREACHABLE,
    "53300": _CROWDED,
    "53": _FULL,
    "25006": _READ_ONLY,
    "28": _REFUSED,
    "3D000": _REFUSED,
    "3F000": _REFUSED,
    "42501": _REFUSED,
}
"""By SQLSTATE, or how it begins; https://www.postgresql.org/docs/current/errcodes-appendix.html"""


def _none_can_be_opened() -> bool:
    """Say whether this process can open no file at all; SQLite does not say why it cannot."""
    try:
        os.close(os.open(os.devnull, os.O_RDONLY))
    except OSError as error:
        return error.errno in NO_DESCRIPTORS
    return False
