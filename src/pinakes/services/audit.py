"""The audit log: every call is recorded, and nothing waits for that.

Calls are queued and written to the catalogue by one thread, at most a fifth of a second later. A kill loses what came
in that time. Nothing about recording can make a call fail: what cannot be written is kept and tried again, and beyond
a limit it is counted as lost.
"""

from __future__ import annotations

import atexit
import json
import logging
import secrets
import threading
import time
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta
from itertools import islice
from pathlib import Path

from pinakes.catalog import Catalog
from pinakes.catalog import audit as kept
from pinakes.catalog.audit import FAILED, OK, AuditEntry, AuditQuery
from pinakes.catalog.engine import now
from pinakes.core import caller
from pinakes.core.errors import InvalidInput, PinakesError, storing, worded
from pinakes.core.records import JSON
from pinakes.core.schedules import length_s
from pinakes.settings import Settings
from pinakes.text.parameter_cleaning import ParameterCleaner

_log = logging.getLogger(__name__)

__all__ = ["FAILED", "OK", "Audit", "AuditEntry", "AuditQuery", "AuditStatus", "Call", "as_data", "query_id"]

_PAUSE_S = 0.15
_RETRY_S = 5.0
_CLOSE_TIMEOUT_S = 5.0
_MOST_IDS = 100
_MOST_MESSAGE_CHARS = 300
_MOST_NAME_CHARS = 200
_MOST_TEXT_CHARS = 1000
"""Of a text to look for: no longer one is kept, and databases refuse patterns of some 50,000 bytes."""


_LISTS = ("results", "documents", "passages", "chunks", "explanations", "entries", "collections", "chunkIds")
"""What tools call the list of what they found; of several that an answer has, the first of these counts."""

_IDS = ("doc_id", "document_id", "content_id", "chunk_id", "id")
"""What they call the id of one of them, or of the one thing that the whole answer is about."""


_ID_BYTES = 6
_recorded: ContextVar[str] = ContextVar("recorded", default="")


def query_id() -> str:
    """Return the id of the call under way, by which the audit log has it; "" where it is not recorded."""
    return _recorded.get()


@dataclass(frozen=True, slots=True)
class AuditStatus:
    """How the log is: its entries, those that wait to be written, and those that this process had to drop.

    ``problem``: why it cannot be written now, "" where it can.
    """

    enabled: bool
    entries: int
    waiting: int
    lost: int
    problem: str


class Call:
    """A call under way; what it found is told to this. ``id`` is what its entry is found by."""

    def __init__(self, collection: str) -> None:
        self.id = secrets.token_hex(_ID_BYTES)
        self.collection = collection
        self.count = 0
        self.ids: tuple[str, ...] = ()
        self.outcome = kept.OK
        self.message = ""

    def found(self, ids: Sequence[str], count: int | None = None, collection: str = "") -> None:
        """Tell of what it returned: ids of documents or chunks, and how many, as many as ids where not said."""
        self.count = len(ids) if count is None else count
        self.ids = tuple(islice(dict.fromkeys(ids), _MOST_IDS))
        self.collection = collection or self.collection

    def answered(self, data: Mapping[str, JSON] | None) -> None:
        """Tell of an answer: what it found is in its list of results, or is what it is about."""
        if data is None:
            return
        if self.outcome == kept.OK and (error := data.get("error")):
            self.outcome = "ERROR"
            self.message = str(error.get("message") if isinstance(error, Mapping) else error)
        rows = next((data[name] for name in _LISTS if isinstance(data.get(name), list)), None)
        listed = [data] if rows is None and _id_of(data) else rows or []
        named = data.get("collection") or next((row["collection"] for row in listed if _names_collection(row)), "")
        self.found([one for one in map(_id_of, listed) if one], len(listed), named if isinstance(named, str) else "")

    def failed(self, error: BaseException) -> None:
        """Tell of what went wrong."""
        cause = error.__cause__ if type(error) is PinakesError and error.__cause__ is not None else error
        self.outcome = cause.code if isinstance(cause, PinakesError) else _code(cause)
        self.message = cause.message if isinstance(cause, PinakesError) else worded(cause)


@dataclass(frozen=True, slots=True)
class _Pending:
    """A call that has ended, as it was; the thread that writes makes an entry of it."""

    call: Call
    who: caller.Caller
    at: str
    latency_ms: float
    tool: str
    parameters: Mapping[str, JSON]


class Audit:
    """The log of one home. Thread-safe; several processes may write at a time."""

    def __init__(self, catalog: Catalog, settings: Settings, most_waiting: int = 10_000) -> None:
        """``most_waiting``: so many calls are kept until they can be written; what comes then is counted as lost."""
        self._most_waiting = most_waiting
        self._catalog = catalog
        self._settings = settings.audit
        self._cleaner = ParameterCleaner.from_settings(settings)
        self._lock = threading.Lock()
        self._writing = threading.Lock()
        self._wake = threading.Event()
        self._ended = threading.Event()
        self._pending: deque[_Pending] = deque()
        self._ready: list[AuditEntry] = []
        self._thread: threading.Thread | None = None
        self._lost = 0
        self._lost_and_noted = 0
        self._problem = ""

    @contextmanager
    def recording(self, tool: str, parameters: Mapping[str, JSON], collection: str = "") -> Iterator[Call]:
        """Record what the block does as one call of the current caller; its error, if any, goes on.

        The block tells what it found to the ``Call`` it is given. ``parameters`` are kept without secrets, long texts
        shortened.
        """
        call = Call(collection)
        if not self._settings.enabled or self._catalog.unwritable:
            yield call
            return
        self._begin()
        who, at, start = caller.current(), now(), time.perf_counter()
        before = _recorded.set(call.id)
        try:
            yield call
        except BaseException as error:
            call.failed(error)
            raise
        finally:
            _recorded.reset(before)
            ms = (time.perf_counter() - start) * 1000
            self._record(_Pending(call, who, at, ms, tool, dict(parameters)))

    def entries(self, last_n: int = 10, wanted: AuditQuery = AuditQuery()) -> list[AuditEntry]:  # noqa: B008 - it is frozen
        """Return the last entries that are ``wanted``, newest first, those included that are not written yet.

        Raises:
            InvalidInput: a time that is none, or less than one entry.
        """
        if last_n < 1:
            raise InvalidInput(f"{last_n} entries cannot be shown.", hint="Ask for 1 or more.")
        looked_for = self._within(wanted)
        self.flush()
        with self._catalog.read() as connection:
            return kept.newest(connection, looked_for, last_n)

    def export(self, file: Path, wanted: AuditQuery = AuditQuery()) -> int:  # noqa: B008 - it is frozen
        """Write the entries that are ``wanted`` as JSON lines, oldest first; return how many.

        The file is there whole or not at all; one that was there is replaced.

        Raises:
            InvalidInput: a time that is none.
            StorageFull: the file cannot be written.
        """
        temporary = file.with_name(f"{file.name}.tmp")
        count = 0
        try:
            with storing(f"The file {str(file)!r}"):
                with temporary.open("w", encoding="utf-8") as lines:
                    for count, entry in enumerate(self.lines(wanted), start=1):  # noqa: B007 - counts
                        lines.write(json.dumps(as_data(entry), ensure_ascii=False) + "\n")
                temporary.replace(file)
        finally:
            temporary.unlink(missing_ok=True)
        return count

    def lines(self, wanted: AuditQuery = AuditQuery()) -> Iterator[AuditEntry]:  # noqa: B008 - it is frozen
        """Yield the entries that are ``wanted``, oldest first.

        Raises:
            InvalidInput: a time that is none.
        """
        looked_for = self._within(wanted)
        self.flush()
        with self._catalog.read() as connection:
            yield from kept.oldest_first(connection, looked_for)

    def status(self) -> AuditStatus:
        """Return how the log is."""
        with self._catalog.read() as connection:
            count = kept.count(connection)
        waiting = len(self._pending) + len(self._ready)
        return AuditStatus(self._settings.enabled, count, waiting, self._lost, self._problem)

    def flush(self) -> None:
        """Write what waits, if it can be written."""
        with self._writing:
            self._write()

    def close(self) -> None:
        """Write what waits, giving up after some seconds; what is recorded later is dropped."""
        with self._lock:
            thread, self._thread = self._thread, None
            self._ended.set()
        if thread is not None:
            atexit.unregister(self.close)
            self._wake.set()
            thread.join(_CLOSE_TIMEOUT_S)

    def _record(self, pending: _Pending) -> None:
        with self._lock:
            if self._ended.is_set() or len(self._pending) + len(self._ready) >= self._most_waiting:
                self._lost += 1
                return
            self._pending.append(pending)
        if not self._wake.is_set():
            self._wake.set()

    def _begin(self) -> None:
        """Start the thread that writes, where it does not run yet."""
        if self._thread is None and not self._ended.is_set():
            with self._lock:
                if self._thread is None and not self._ended.is_set():
                    self._thread = threading.Thread(target=self._write_on, name="pinakes-audit", daemon=True)
                    self._thread.start()
                    atexit.register(self.close)

    def _write_on(self) -> None:
        self._cleaner.text("its patterns are compiled while the first call is answered", _MOST_NAME_CHARS)
        while not self._ended.is_set():
            self._wake.wait(_RETRY_S if self._ready else None)
            self._ended.wait(_PAUSE_S)  # what comes meanwhile shares the transaction
            self._wake.clear()
            self.flush()
        self.flush()  # what came while the last ones were written

    def _write(self) -> None:
        """Write all that waits in one transaction; what cannot be written goes on waiting."""
        self._make_ready()
        lost = self._lost - self._lost_and_noted
        if not self._ready:
            return
        about_lost = [self._about_lost(lost)] if lost else []
        try:
            with self._catalog.write(notify=False) as connection:
                kept.add(connection, about_lost + self._ready)
                kept.trim(connection, self._settings.max_entries, self._oldest())
        except Exception as error:  # noqa: BLE001 - no call may fail by this, and nobody waits for it
            if not self._problem:
                _log.warning("the audit log cannot be written, calls are kept in memory: %s", error)
            self._problem = str(error)
            return
        self._problem = ""
        self._lost_and_noted += lost
        self._ready = []

    def _make_ready(self) -> None:
        """Make entries of the calls that came since the last time."""
        for _ in range(len(self._pending)):
            pending = self._pending.popleft()
            try:
                self._ready.append(self._entry(pending))
            except Exception as error:  # noqa: BLE001 - whatever its parameters are, the others are recorded
                _log.warning("a call of %s is not recorded: %r", pending.tool, error)
                with self._lock:
                    self._lost += 1

    def _entry(self, pending: _Pending) -> AuditEntry:
        call, who = pending.call, pending.who
        return AuditEntry(
            at=pending.at,
            interface=who.interface,
            tool=pending.tool,
            caller=who.name,
            session=self._name(who.session),
            collection=self._name(call.collection or _collection(pending.parameters)),
            parameters=self._cleaner.parameters(pending.parameters),
            result_count=call.count,
            ids=call.ids,
            latency_ms=round(pending.latency_ms, 3),
            outcome=call.outcome,
            message=self._cleaner.text(call.message, _MOST_MESSAGE_CHARS),
            query_id=call.id,
        )

    def _name(self, given: str) -> str:
        """Return a name that a caller gave as entries have it."""
        return self._cleaner.text(given, _MOST_NAME_CHARS)

    def _about_lost(self, count: int) -> AuditEntry:
        message = f"{count} calls could not be recorded. {self._problem}".strip()
        return AuditEntry(now(), "python", "audit", result_count=count, outcome="LOST", message=message)

    def _oldest(self) -> str:
        """Return the time before which entries are dropped, "" where none are for their age."""
        days = self._settings.max_days
        return _time(datetime.now(UTC) - timedelta(days=days)) if days else ""

    def _within(self, wanted: AuditQuery) -> AuditQuery:
        """Return ``wanted`` with times and names as they are kept, nothing older than entries may be.

        Raises:
            InvalidInput: a time that is none, or a text that is too long to be looked for.
        """
        if len(wanted.text) > _MOST_TEXT_CHARS:
            what = f"The text to look for has {len(wanted.text)} characters"
            raise InvalidInput(f"{what}, more than {_MOST_TEXT_CHARS}.", hint="Look for a part of it.")
        names = {"session": self._name(wanted.session), "collection": self._name(wanted.collection)}
        since, until = _parsed(wanted.since, last=False), _parsed(wanted.until, last=True)
        return replace(wanted, since=max(since, self._oldest()), until=until, **names)


def as_data(entry: AuditEntry) -> dict[str, JSON]:
    """Return an entry as it is exported and shown to programs."""
    return {
        "timestamp": entry.at,
        "tool": entry.tool,
        "params": dict(entry.parameters),
        "result_count": entry.result_count,
        "doc_ids": list(entry.ids),
        "latency_ms": entry.latency_ms,
        "interface": entry.interface,
        "caller": entry.caller,
        "session": entry.session,
        "collection": entry.collection,
        "outcome": entry.outcome,
        "message": entry.message,
        "query_id": entry.query_id,
    }


def _id_of(row: JSON) -> str:
    """Return the id of something found, "" where it has none."""
    if isinstance(row, str):
        return row
    if not isinstance(row, Mapping):
        return ""
    return next((str(row[name]) for name in _IDS if isinstance(row.get(name), (str, int)) and row[name] != ""), "")


def _names_collection(row: JSON) -> bool:
    return isinstance(row, Mapping) and bool(row.get("collection"))


def _collection(parameters: Mapping[str, JSON]) -> str:
    """Return the collection that was asked for, several separated by commas."""
    named = parameters.get("collection") or ""
    return ",".join(map(str, named)) if isinstance(named, (list, tuple)) else str(named)


def _code(error: BaseException) -> str:
    return PinakesError.code if isinstance(error, Exception) else "STOPPED"


def _parsed(time_: str, *, last: bool) -> str:
    """Return a time as entries have it; a day stands for its first moment, or its ``last``. Without a zone it is UTC.

    A duration such as ``1h`` or ``2d`` is the time so long ago.

    Raises:
        InvalidInput: it is no time.
    """
    text = time_.strip()
    if not text:
        return ""
    try:
        if (seconds := length_s(text)) is not None:
            return _time(datetime.now(UTC) - timedelta(seconds=seconds))
        if len(text) == len("2026-01-31"):
            day = datetime.combine(date.fromisoformat(text), datetime.min.time(), UTC)
            return _time(day + timedelta(days=1, milliseconds=-1) if last else day)
        found = datetime.fromisoformat(text)
        return _time(found.astimezone(UTC) if found.tzinfo else found.replace(tzinfo=UTC))
    except (ValueError, OverflowError) as error:
        hint = "Write 2026-01-31, 2026-01-31T14:30:00Z, or how long ago it is: 30m, 1h, 2d, 1w."
        raise InvalidInput(f"{text!r} is no time.", hint=hint) from error


def _time(moment: datetime) -> str:
    return moment.isoformat(timespec="milliseconds")
