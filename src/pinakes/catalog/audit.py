"""The audit log: each call with its caller, time, arguments and results."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import ColumnElement, Connection, delete, func, select

from pinakes.catalog.schema import audit
from pinakes.core.records import JSON

OK = "ok"
"""The outcome of a call that went well; of any other it is the code of the error."""

FAILED = "failed"
"""Stands for every outcome but ``OK`` where entries are looked for."""

_BATCH = 1000


@dataclass(frozen=True, slots=True)
class AuditEntry:
    """One call. ``at`` is when it began, ISO 8601 in UTC; ``id`` grows with time and is 0 before it is written.

    ``result_count`` counts the results, ``ids`` name them: their documents, or chunks where nothing else is known.
    ``message`` says what went wrong. ``query_id`` is what the answer of a search repeats.
    """

    at: str
    interface: str
    tool: str
    caller: str = "local"
    session: str = ""
    collection: str = ""
    parameters: Mapping[str, JSON] = field(default_factory=dict)
    result_count: int = 0
    ids: tuple[str, ...] = ()
    latency_ms: float = 0.0
    outcome: str = OK
    message: str = ""
    query_id: str = ""
    id: int = 0


@dataclass(frozen=True, slots=True)
class AuditQuery:
    """Which entries are looked for: all that is said must hold. ``outcome`` may be "failed": any but "ok".

    ``since`` and ``until``: ISO 8601 in UTC, both included. ``text`` stands in the parameters, whatever its case, or
    is the id of the query.
    """

    tool: str = ""
    session: str = ""
    caller: str = ""
    interface: str = ""
    collection: str = ""
    outcome: str = ""
    since: str = ""
    until: str = ""
    text: str = ""


def add(connection: Connection, entries: Sequence[AuditEntry]) -> None:
    """Write entries, in their order."""
    if entries:
        connection.execute(audit.insert(), [_values(entry) for entry in entries])


def trim(connection: Connection, most: int, before: str = "") -> int:
    """Drop all but the newest ``most`` entries, and those from before a time; return how many that were."""
    newest = connection.scalar(select(func.max(audit.c.id))) or 0
    dropped = connection.execute(delete(audit).where(audit.c.id <= newest - most)).rowcount
    if before:
        dropped += connection.execute(delete(audit).where(audit.c.at < before)).rowcount
    return int(dropped)


def newest(connection: Connection, wanted: AuditQuery, most: int) -> list[AuditEntry]:
    """Return up to ``most`` entries, newest first."""
    query = select(audit).where(*_tests(wanted)).order_by(audit.c.id.desc()).limit(most)
    return [_entry(row) for row in connection.execute(query)]


def oldest_first(connection: Connection, wanted: AuditQuery) -> Iterator[AuditEntry]:
    """Yield every entry, oldest first, reading some at a time."""
    last = 0
    while True:
        query = select(audit).where(audit.c.id > last, *_tests(wanted)).order_by(audit.c.id).limit(_BATCH)
        rows = connection.execute(query).all()
        yield from map(_entry, rows)
        if len(rows) < _BATCH:
            return
        last = rows[-1].id


def count(connection: Connection) -> int:
    """Return how many entries there are."""
    return int(connection.execute(select(func.count()).select_from(audit)).scalar_one())


def _values(entry: AuditEntry) -> dict[str, Any]:
    return {
        "at": entry.at,
        "interface": entry.interface,
        "tool": entry.tool,
        "caller": entry.caller,
        "session": entry.session,
        "collection": entry.collection,
        "parameters": _text(entry.parameters),
        "result_count": entry.result_count,
        "ids": _text(list(entry.ids)),
        "latency_ms": entry.latency_ms,
        "outcome": entry.outcome,
        "message": entry.message,
        "query_id": entry.query_id,
    }


def _text(value: JSON) -> str:
    """Return ``value`` as JSON that can be stored: half of a surrogate pair becomes a question mark."""
    return json.dumps(value, ensure_ascii=False).encode("utf-8", "replace").decode()


def _entry(row: Any) -> AuditEntry:
    values = row._asdict()
    return AuditEntry(
        **{**values, "parameters": json.loads(values["parameters"]), "ids": tuple(json.loads(values["ids"]))}
    )


def _tests(wanted: AuditQuery) -> list[ColumnElement[bool]]:
    exact = ("tool", "session", "caller", "interface", "collection")
    tests: list[ColumnElement[bool]] = [audit.c[name] == value for name in exact if (value := getattr(wanted, name))]
    if wanted.outcome:
        tests.append(audit.c.outcome != OK if wanted.outcome == FAILED else audit.c.outcome == wanted.outcome)
    if wanted.since:
        tests.append(audit.c.at >= wanted.since)
    if wanted.until:
        tests.append(audit.c.at <= wanted.until)
    if wanted.text:
        there = audit.c.parameters.icontains(_text(wanted.text)[1:-1], autoescape=True)
        tests.append(there | (audit.c.query_id == wanted.text))
    return tests


def files_of(connection: Connection, tool: str) -> list[str]:
    """Return the files that calls of ``tool`` which went well were given, each once."""
    query = select(audit.c.parameters).where(audit.c.tool == tool, audit.c.outcome == OK)
    rows = connection.scalars(query.order_by(audit.c.id))
    given = (json.loads(row).get("file") for row in rows)
    return list(dict.fromkeys(str(one) for one in given if one))
