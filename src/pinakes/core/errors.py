"""All errors of Pinakes, as one class hierarchy.

::

    PinakesError
    ├── InvalidInput            a value the caller gave cannot be used
    │   ├── InvalidName         … as a collection, source or profile name
    │   ├── InvalidFilter       … as a filter
    │   ├── QueryTooLong        … as a query
    │   ├── InvalidSetting      … as a setting
    │   └── WouldRemove         … because it would remove documents without confirmation
    ├── NotFound                the named thing does not exist
    ├── Conflict                the object is not in the expected state: somebody else changed it
    ├── Refused                 the object exists, but access is not allowed
    │   └── Unauthorized        … because the caller gave no valid key
    ├── Unreadable              a file or document that cannot be read as what it claims to be
    │   ├── Empty               … because there is nothing in it
    │   ├── Locked              … because no known password opens it
    │   ├── NoText              … because no text can be found on its pages
    │   │   └── NeedsOcr        … because they are pictures, and OCR is off
    │   ├── Binary              … because it is not text in any format we read
    │   └── TooLarge            … because it exceeds a limit
    ├── SourceError             a folder or repository cannot be reached
    ├── ModelUnavailable        a model's files are missing, or its endpoint does not answer
    │   ├── ModelCorrupt        … or the files are corrupt
    │   ├── NotConfigured       … or the settings name no model
    │   └── TooCostly           … or its use costs more than is allowed without confirmation
    ├── ModelMismatch           the collection was embedded by another model
    ├── IndexCorrupt            a derived index cannot be used; it can be rebuilt
    ├── IndexTooNew             a newer Pinakes built the index; it is left alone
    ├── IndexUnavailable        the server that keeps an index does not answer, or refuses to
    ├── CatalogueCorrupt        the catalogue itself is damaged
    ├── Busy                    another process holds what this one needs, or the time limit was exceeded
    │   └── RateLimited         … or there were too many requests
    ├── StorageFull             the disk is full
    ├── ServerUnreachable       a remote Pinakes does not answer
    ├── BelowBaseline           metrics of an evaluation fell below the agreed baseline
    ├── MissingExtra            an optional dependency is not installed
    └── PluginBroken            a plug-in cannot be used

Every error says what happened and with which value (``message``), and what to do next (``hint``).
``STATUS`` maps each to its HTTP status and process exit code; nothing else does.
"""

from __future__ import annotations

import errno
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, ClassVar

from pinakes.core.installation import install_command

NO_ROOM = frozenset((errno.ENOSPC, errno.EDQUOT, errno.EFBIG))
"""The ``errno`` values for a full disk, an exhausted quota and the maximum file size."""

NO_DESCRIPTORS = frozenset((errno.EMFILE, errno.ENFILE))
"""The ``errno`` values for too many open files, of the process or the system."""


_MOST_CHARS, _MOST_ID_CHARS = 2000, 500
"""Maximum characters of messages, hints and ids; longer ones are cut, because they quote input."""


def _shortened(text: str, most: int = _MOST_CHARS) -> str:
    return text if len(text) <= most else f"{text[:most]}… ({len(text)} characters)"


class PinakesError(Exception):
    """Something went wrong that the user can understand and act on."""

    code: ClassVar[str] = "INTERNAL_ERROR"
    retryable: ClassVar[bool] = False

    def __init__(self, message: str, *, hint: str = "") -> None:
        self.message = _shortened(message)
        self.hint = _shortened(hint)
        super().__init__(self.message)

    def __str__(self) -> str:
        return f"{self.message} {self.hint}".rstrip()

    @property
    def details(self) -> dict[str, Any]:
        """Fields that interfaces add to the code and the message."""
        return {"hint": self.hint, "retryable": self.retryable, **self.not_found}

    @property
    def not_found(self) -> dict[str, Any]:
        """Ids of documents that do not exist, as a field of answers."""
        return {}


class InvalidInput(PinakesError):
    """A value the caller gave cannot be used."""

    code = "INVALID_INPUT"


class InvalidName(InvalidInput):
    """A collection, source or profile name that cannot be used."""

    code = "INVALID_NAME"


class InvalidFilter(InvalidInput):
    """A filter that cannot be parsed."""

    code = "INVALID_FILTER"


class QueryTooLong(InvalidInput):
    """A query over the maximum number of characters."""

    code = "QUERY_TOO_LONG"


class InvalidSetting(InvalidInput):
    """A setting that does not exist or has an impossible value."""

    code = "INVALID_SETTING"


class WouldRemove(InvalidInput):
    """The operation would remove documents, and the caller did not confirm that."""

    code = "WOULD_REMOVE"


class NotFound(PinakesError):
    """The named thing does not exist. ``ids``: the document ids that do not exist, if the error is about documents."""

    code = "NOT_FOUND"

    def __init__(self, message: str, *, hint: str = "", ids: Sequence[str] = ()) -> None:
        super().__init__(message, hint=hint)
        self.ids = tuple(_shortened(one, _MOST_ID_CHARS) for one in ids)

    @property
    def not_found(self) -> dict[str, Any]:
        """``ids`` as a field of answers; empty if there are none."""
        return {"not_found": list(self.ids)} if self.ids else {}


class Conflict(PinakesError):
    """The object is not in the state that the caller expects: somebody else changed it."""

    code = "CONFLICT"


class Refused(PinakesError):
    """The object exists, but access is not allowed."""

    code = "REFUSED"


class Unauthorized(Refused):
    """The caller is unknown: it gave no valid key."""

    code = "UNAUTHORIZED"


class Unreadable(PinakesError):
    """A file that cannot be read as what it claims to be."""

    code = "UNREADABLE"


class Empty(Unreadable):
    """A file with nothing in it."""

    code = "EMPTY"


class Locked(Unreadable):
    """A file that no known password opens."""

    code = "LOCKED"


class NoText(Unreadable):
    """A file with pages on which no text can be found."""

    code = "NO_TEXT"


class NeedsOcr(NoText):
    """A file whose pages are pictures, while OCR is off."""

    code = "NEEDS_OCR"


class Binary(Unreadable):
    """A file that is not text in any format we read."""

    code = "BINARY"


class TooLarge(Unreadable):
    """A file or request over a limit."""

    code = "TOO_LARGE"


class SourceError(PinakesError):
    """A folder or repository cannot be reached."""

    code = "SOURCE_ERROR"
    retryable = True


class ModelUnavailable(PinakesError):
    """A model's files are missing, or its endpoint does not answer."""

    code = "MODEL_UNAVAILABLE"
    retryable = True

    def __init__(self, message: str, *, hint: str = "", status: int | None = None, wait_s: float | None = None) -> None:
        """Store the server's answer.

        ``status``: HTTP status of the answer; 0 if no server could be reached, None if none was asked or the answer was
        unusable. ``wait_s``: delay in seconds after which the server wants to be asked again; None if it gave none.
        """
        super().__init__(message, hint=hint)
        self.status = status
        self.wait_s = wait_s


class ModelCorrupt(ModelUnavailable):
    """A model's files are corrupt."""

    code = "MODEL_CORRUPT"


class NotConfigured(ModelUnavailable):
    """The settings name no model, or its key is missing."""

    code = "NOT_CONFIGURED"
    retryable = False


class TooCostly(ModelUnavailable):
    """The use of a model costs more than is allowed without confirmation."""

    code = "TOO_COSTLY"
    retryable = False


class ModelMismatch(PinakesError):
    """The collection was embedded by another model."""

    code = "MODEL_MISMATCH"


class IndexCorrupt(PinakesError):
    """A derived index cannot be used; it can be rebuilt."""

    code = "INDEX_CORRUPT"


class IndexTooNew(PinakesError):
    """A newer Pinakes built the index. It is not rebuilt, since the newer version could not use it any more."""

    code = "INDEX_TOO_NEW"


class IndexUnavailable(PinakesError):
    """The server that keeps an index does not answer, or refuses to."""

    code = "INDEX_UNAVAILABLE"
    retryable = True


class CatalogueCorrupt(PinakesError):
    """The catalogue itself is damaged."""

    code = "CATALOGUE_CORRUPT"


class Busy(PinakesError):
    """Another process holds what this one needs, or a call exceeded its time limit."""

    code = "BUSY"
    retryable = True


class RateLimited(Busy):
    """Too many requests in a short time. ``wait_s``: delay in seconds before the next request."""

    code = "RATE_LIMITED"

    def __init__(self, message: str, *, hint: str = "", wait_s: float = 1.0) -> None:
        super().__init__(message, hint=hint)
        self.wait_s = wait_s


class StorageFull(PinakesError):
    """The disk is full."""

    code = "STORAGE_FULL"
    retryable = True


class ServerUnreachable(PinakesError):
    """A remote Pinakes does not answer."""

    code = "SERVER_UNREACHABLE"
    retryable = True


class BelowBaseline(PinakesError):
    """Metrics of an evaluation fell below the agreed baseline."""

    code = "BELOW_BASELINE"


class MissingExtra(PinakesError):
    """An optional dependency is not installed."""

    code = "MISSING_EXTRA"

    def __init__(self, what: str, extra: str) -> None:
        super().__init__(f"{what} needs an optional dependency.", hint=f"Install it: {install_command(extra)}")


class PluginBroken(PinakesError):
    """A plug-in cannot be loaded, fails, or has a name that is taken."""

    code = "PLUGIN_BROKEN"


STATUS: dict[type[PinakesError], tuple[int, int]] = {
    # error: (HTTP status, exit code)
    PinakesError: (500, 1),
    InvalidInput: (422, 2),
    NotFound: (404, 3),
    Conflict: (409, 13),
    Refused: (403, 4),
    Unauthorized: (401, 4),
    Unreadable: (422, 5),
    TooLarge: (413, 5),
    SourceError: (502, 6),
    ModelUnavailable: (503, 7),
    ModelMismatch: (409, 7),
    IndexCorrupt: (503, 8),
    IndexTooNew: (503, 8),
    IndexUnavailable: (503, 8),
    CatalogueCorrupt: (500, 8),
    Busy: (503, 9),
    RateLimited: (429, 9),
    StorageFull: (507, 10),
    ServerUnreachable: (502, 11),
    MissingExtra: (501, 12),
    PluginBroken: (501, 12),
}


def http_status(error: PinakesError) -> int:
    """Return the HTTP status of ``error``: that of its nearest class in ``STATUS``."""
    return _nearest(error)[0]


def worded(error: BaseException) -> str:
    """Return ``error`` as "Type: message"; for a database error the driver's message, without statement and values."""
    said = getattr(error, "orig", None)
    return f"{type(error).__name__}: {error if said is None else said}"


def exit_code(error: PinakesError | type[PinakesError]) -> int:
    """Return the process exit code of ``error`` or its class: that of the nearest class in ``STATUS``."""
    return _nearest(error)[1]


def codes() -> list[str]:
    """Return the codes of all error classes, sorted."""
    return sorted({kind.code for kind in _kinds() if kind.__module__ == __name__})


def kind_of(code: object) -> type[PinakesError]:
    """Return the error class with this ``code``; ``PinakesError`` if there is none."""
    return next((kind for kind in _kinds() if kind.code == code), PinakesError)


def _kinds() -> list[type[PinakesError]]:
    """Return all error classes, those of other modules included, parents before their children."""
    kinds: list[type[PinakesError]] = [PinakesError]
    for kind in kinds:  # the list grows in the loop
        kinds += kind.__subclasses__()
    return kinds


def no_descriptors() -> Busy:
    """Return the error for too many open files."""
    return Busy(
        "No further file can be opened: this process has as many files and connections open as it may.",
        hint="Try again in a moment. `ulimit -n` raises the limit.",
    )


@contextmanager
def storing(what: str) -> Iterator[None]:
    """Turn an ``OSError`` while writing ``what`` into ``StorageFull``, or into ``Busy`` for too many open files.

    Where ``what`` names a place, that is told, and not the temporary file beside it that may have failed.
    """
    try:
        yield
    except OSError as error:
        if error.errno in NO_DESCRIPTORS:
            raise no_descriptors() from error
        hint = "Free disk space." if error.errno in NO_ROOM else "Check that the folder can be written to."
        reason = error.strerror if error.strerror and any(sign in what for sign in "'/\\") else str(error)
        raise StorageFull(f"{what} cannot be written: {reason}.", hint=hint) from error


def _nearest(error: PinakesError | type[PinakesError]) -> tuple[int, int]:
    kind = error if isinstance(error, type) else type(error)
    return next(STATUS[cls] for cls in kind.__mro__ if cls in STATUS)
