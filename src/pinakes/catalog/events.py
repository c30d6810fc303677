"""What happened to documents, files and sources, in order, for whoever wants to be told of it.

An event is written in the transaction that does what it tells of: so none is missed, and none tells of what was not
done. Its number grows with the order in which transactions end, since one writes at a time.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, get_args

from sqlalchemy import (
    Connection,
    Select,
    and_,
    bindparam,
    case,
    delete,
    func,
    insert,
    literal,
    null,
    or_,
    select,
)
from sqlalchemy.sql.dml import ReturningInsert

from pinakes.catalog.dialects import numbers
from pinakes.catalog.dialects.functions import among, json_ids
from pinakes.catalog.engine import now
from pinakes.catalog.schema import collections, documents, events, files, leaps, sources, versions
from pinakes.core.batching import batches
from pinakes.core.errors import InvalidInput
from pinakes.core.records import JSON
from pinakes.settings import EventKind

KINDS: tuple[EventKind, ...] = get_args(EventKind)

MOST_KEPT = 100_000
"""Older events than the latest so many are dropped."""

_BATCH = 500
_PRUNED_EVERY = 1000


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happened: number ``id``, at a time (ISO 8601, UTC), in a collection.

    ``operation`` says it more exactly: "created", "restored" or "copied" for what is "indexed", "updated" or "moved",
    "deleted" or "collection deleted", "failed", "finished" or "unreachable". ``document`` (its id), ``uri``, ``title``
    and ``version`` are there where it is about a document, ``uri`` and ``source`` where it is about a file. ``changed``
    names what is not as in the version before. ``detail``: of a failure its reason, of a source what came of the run.
    """

    id: int
    at: str
    kind: EventKind
    operation: str
    collection: str
    document: str | None = None
    uri: str | None = None
    title: str | None = None
    version: int | None = None
    source: str | None = None
    by: str = ""
    changed: tuple[str, ...] = ()
    detail: Mapping[str, JSON] | None = None

    def as_data(self) -> dict[str, JSON]:
        """Return the event as it is told, less what it does not have."""
        values = {name: value for name, value in asdict(self).items() if value not in (None, "", ())}
        return {**values, "changed": list(self.changed)} if self.changed else values


def kinds_of(words: Iterable[str]) -> tuple[EventKind, ...]:
    """Return the kinds of events that ``words`` are.

    Raises:
        InvalidInput: there is no such kind.
    """
    wanted = list(words)
    for word in wanted:
        if word not in KINDS:
            raise InvalidInput(f"There is no kind of event {word!r}.", hint=f"There are {', '.join(KINDS)}.")
    return tuple(kind for kind in KINDS if kind in wanted)


def changed(connection: Connection, document_ids: Sequence[int]) -> None:
    """Note the newest versions of documents that are there."""
    _note(connection, _CHANGED, {"documents": json.dumps(list(document_ids))})


def deleted(connection: Connection, document_id: int, by: str) -> None:
    """Note that a document is about to be deleted."""
    _note(connection, _DELETED, {"document": document_id, "at": now(), "by": by})


def copied(connection: Connection, collection_id: int, by: str) -> None:
    """Note all documents of a collection as new ones, here and now, whenever and by whom they were written."""
    connection.execute(_COPIED, {"collection": collection_id, "at": now(), "by": by})
    prune(connection)


def dropped(connection: Connection, collection_id: int, by: str = "") -> None:
    """Note that a collection is about to be deleted with all it holds."""
    held = select(func.count()).where(documents.c.collection_id == collection_id)
    count = int(connection.execute(held).scalar_one())
    name = select(collections.c.name).where(collections.c.id == collection_id).scalar_subquery()
    values = {"at": now(), "kind": "deleted", "operation": "collection deleted", "by": by}
    connection.execute(insert(events).values(collection=name, detail={"documents": count}, **values))


def failed(connection: Connection, source_id: int, reasons: Mapping[str, str | None]) -> None:
    """Note files of a source that could not be read: path → why. Those that failed so before are not told again."""
    for some in batches(reasons, _BATCH):
        before = select(files.c.path, files.c.reason).where(
            files.c.source_id == source_id, files.c.status == "error", files.c.path.in_(some)
        )
        known = {row.path: row.reason for row in connection.execute(before)}
        at = now()
        rows = [
            {"at": at, "of": source_id, "path": path, "detail": {"reason": reasons[path] or ""}}
            for path in some
            if path not in known or known[path] != reasons[path]
        ]
        for row in rows:
            connection.execute(_FAILED, row)


def sync_finished(connection: Connection, source_id: int, report: Mapping[str, JSON]) -> None:
    """Note that a run over a source ended, with what came of it; drop the oldest events where there are too many."""
    operation = "unreachable" if report.get("error") else "finished"
    connection.execute(_FINISHED, {"of": source_id, "at": now(), "operation": operation, "detail": dict(report)})
    prune(connection)


def _note(connection: Connection, statement: ReturningInsert[Any], values: Mapping[str, JSON]) -> None:
    """Write events; every so often drop the oldest ones, where there are too many."""
    if any(number % _PRUNED_EVERY == 0 for number in connection.scalars(statement, values).all()):
        prune(connection)


def prune(connection: Connection, most: int = MOST_KEPT) -> None:
    """Drop all but the latest events."""
    last = newest(connection)
    for leap in connection.execute(_LEAPS):
        if last - leap.upto >= most:
            break
        most -= max(0, last - leap.upto)
        last = min(last, leap.after)
    connection.execute(delete(events).where(events.c.id.between(1, last - most)))


def skip_numbers(connection: Connection, upto: int) -> None:
    """Have the next event get a number above ``upto``, if the last one has none.

    So a restored home gives no number that the home it was made of gave after it was backed up: whoever was told of
    the event of that number would take the new one for it.
    """
    last = max(newest(connection), last_skipped(connection))  # no event may have come since
    if upto > last:
        connection.execute(insert(leaps).values(upto=upto, after=last))
        connection.execute(_TAKEN, {"number": upto, "at": now()})
        connection.execute(delete(events).where(events.c.id == upto))  # its number stays taken
        numbers.skip(connection, events, upto)


def last_skipped(connection: Connection) -> int:
    """Return the number up to which numbers were last skipped: another after each restoring, 0 where none were."""
    found = connection.execute(_LEAPS).first()
    return found.upto if found else 0


def missed(connection: Connection, position: int) -> int:
    """Return how many events after number ``position`` are not kept any more."""
    first = oldest(connection)
    never: int = sum(max(0, min(one.upto, first - 1) - max(one.after, position)) for one in connection.execute(_LEAPS))
    return max(0, first - 1 - position - never)


def newest(connection: Connection) -> int:
    """Return the number of the latest event, 0 where there is none."""
    return int(connection.execute(_NEWEST).scalar() or 0)


def oldest(connection: Connection) -> int:
    """Return the number of the oldest event that is kept, 0 where there is none."""
    return int(connection.execute(_OLDEST).scalar() or 0)


def after(
    connection: Connection,
    position: int,
    most: int,
    kinds: Collection[EventKind] = (),
    within: Collection[str] | None = None,
    visible: Collection[str] | None = None,
) -> list[Event]:
    """Return up to ``most`` events after number ``position``, in order: of these ``kinds``, none = all.

    ``within`` and ``visible`` are names of collections, None = all; both have to have that of the event.
    """
    query = _SINCE.where(events.c.id > position).order_by(events.c.id).limit(most)
    return [_event(row) for row in connection.execute(_filtered(query, kinds, within, visible))]


def latest(
    connection: Connection,
    most: int,
    kinds: Collection[EventKind] = (),
    within: Collection[str] | None = None,
) -> list[Event]:
    """Return the latest events, in the order in which they happened; see ``after``."""
    query = _SINCE.order_by(events.c.id.desc()).limit(most)
    rows = connection.execute(_filtered(query, kinds, within, None)).all()
    return [_event(row) for row in reversed(rows)]


def _filtered(
    query: Select[Any],
    kinds: Collection[EventKind],
    within: Collection[str] | None,
    visible: Collection[str] | None,
) -> Select[Any]:
    query = query.where(events.c.kind.in_(kinds)) if kinds else query
    for names in (within, visible):
        query = query if names is None else query.where(events.c.collection.in_(names))
    return query


def _event(row: Any) -> Event:
    values = row._asdict()
    return Event(**{**values, "changed": tuple(values["changed"] or ())})


_COLUMNS = [column.name for column in events.c if column.name != "id"]
_SINCE = select(events)
_NEWEST = select(func.max(events.c.id))
_OLDEST = select(func.min(events.c.id)).where(events.c.id > 0)
_LEAPS = select(leaps).order_by(leaps.c.upto.desc())
_TAKEN = insert(events).values(id=bindparam("number"), at=bindparam("at"), kind="", operation="", collection="", by="")
_PLACED = documents.join(collections, collections.c.id == documents.c.collection_id).outerjoin(
    sources, sources.c.id == documents.c.source_id
)
_NOW = and_(
    versions.c.collection_id == documents.c.collection_id,
    versions.c.uid == documents.c.uid,
    versions.c.number == documents.c.version,
)
_IS_NEW = or_(versions.c.op == "created", versions.c.op == "restored")


def _of_documents(at: Any, kind: Any, operation: Any, by: Any, differences: Any) -> Select[Any]:
    """Return what selects the events of documents, in the order of ``_COLUMNS``."""
    return select(
        at,
        kind,
        operation,
        collections.c.name,
        documents.c.uid,
        documents.c.uri,
        documents.c.title,
        documents.c.version,
        sources.c.location,
        by,
        differences,
        null(),
    )


_VERSIONED = _of_documents(
    versions.c.at, case((_IS_NEW, "indexed"), else_="updated"), versions.c.op, versions.c.by, versions.c.changed
).select_from(_PLACED.join(versions, _NOW))
_CHANGED = (
    insert(events)
    .from_select(_COLUMNS, _VERSIONED.where(among(documents.c.id, json_ids("documents"))).order_by(documents.c.id))
    .returning(events.c.id)
)
_COPIED = insert(events).from_select(
    _COLUMNS,
    _of_documents(bindparam("at"), literal("indexed"), literal("copied"), bindparam("by"), null())
    .select_from(_PLACED)
    .where(documents.c.collection_id == bindparam("collection"))
    .order_by(documents.c.id),
)
_DELETED = (
    insert(events)
    .from_select(
        _COLUMNS,
        _of_documents(bindparam("at"), literal("deleted"), literal("deleted"), bindparam("by"), null())
        .select_from(_PLACED)
        .where(documents.c.id == bindparam("document")),
    )
    .returning(events.c.id)
)
_OWNER = (
    select(collections.c.name)
    .join(sources, sources.c.collection_id == collections.c.id)
    .where(sources.c.id == bindparam("of"))
    .scalar_subquery()
)
_LOCATION = select(sources.c.location).where(sources.c.id == bindparam("of")).scalar_subquery()
_FAILED = insert(events).values(
    at=bindparam("at"),
    kind="failed",
    operation="failed",
    collection=_OWNER,
    uri=bindparam("path"),
    source=_LOCATION,
    by="",
    detail=bindparam("detail", type_=events.c.detail.type),
)
_FINISHED = insert(events).values(
    at=bindparam("at"),
    kind="sync_finished",
    operation=bindparam("operation"),
    collection=_OWNER,
    source=_LOCATION,
    by="",
    detail=bindparam("detail", type_=events.c.detail.type),
)
