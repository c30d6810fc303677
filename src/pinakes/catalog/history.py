"""Versions of documents: each with its time, author and change; old states as far as they are kept.

``versions`` has a row for each version of each document, also of documents that are gone. While a version is the
current one, its row is small: what it says is in ``documents``. Once it is replaced or deleted, ``until`` says when,
and title, metadata and the rest are put into the row. ``title`` is NULL in rows whose state is not kept (any more).

``text`` is there only where the following version has another text, or none because the document was deleted: the
text of a version is that of the next row that has one, and where no row has, that of the document.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Literal, TypeAlias

from sqlalchemy import Connection, Select, and_, bindparam, delete, exists, func, insert, or_, select, update

from pinakes.catalog.path_conditions import ends_with
from pinakes.catalog.schema import documents, versions
from pinakes.core.batching import batches
from pinakes.core.records import JSON, Metadata

Op: TypeAlias = Literal["created", "updated", "moved", "deleted", "restored"]

_FAST = 1
_BATCH = 500
_STATE = ("title", "uri", "path", "kind", "language", "source_id", "group_key", "given", "summary", "summary_by")
"""What a version has in ``versions`` as in ``documents``, besides metadata and text."""

STATE_COLUMNS = tuple(documents.c[name] for name in (*_STATE, "metadata", "uid", "collection_id", "version"))
"""The columns of ``documents`` that ``replaced`` wants to know, less ``text``."""


@dataclass(frozen=True, slots=True)
class Retention:
    """How history is kept: ``by`` whom this is done, for how many ``days`` what is replaced or deleted can be read,
    and how many replaced ``versions`` of one document. 0 days: nothing is kept but that it happened.
    """

    by: str = ""
    days: float = 30
    versions: int = 20

    @property
    def horizon(self) -> str:
        """The time before which nothing is kept, as it is written in the catalogue."""
        return (datetime.now(UTC) - timedelta(days=min(self.days, 365_000))).isoformat(timespec="milliseconds")


@dataclass(frozen=True, slots=True)
class Version:
    """A version of a document: its number from 1, what happened (``op``), when (ISO 8601, UTC), by whom.

    ``changed`` names what is not as it was in the version before. ``title`` is "" where the state is not kept.
    ``readable``: its text can be read, and it can be restored.
    """

    number: int
    op: Op
    at: str
    by: str
    changed: tuple[str, ...]
    title: str
    content_hash: str
    readable: bool


@dataclass(frozen=True, slots=True)
class State:
    """All that a document was in one version. ``created_at`` is that of the document."""

    uid: str
    number: int
    at: str
    text: str
    title: str
    uri: str
    path: str
    kind: str
    language: str | None
    source_id: int | None
    group_key: str
    metadata: Metadata
    given: Metadata
    summary: str
    summary_by: str
    content_hash: str
    created_at: str


def began(
    connection: Connection, collection_id: int, documents: Mapping[str, str], at: str, keeping: Retention
) -> None:
    """Record that documents are new: uid → hash of the content."""
    rows = [_row(collection_id, uid, 1, "created", at, keeping, (), digest) for uid, digest in documents.items()]
    if rows:
        connection.execute(_INSERT, rows)


def followed(
    connection: Connection,
    old: Any,
    text: str | None,
    at: str,
    keeping: Retention,
    op: Op,
    changed: Sequence[str],
    content_hash: str,
) -> int:
    """Record the state of a document until now, and its new version; return the number of that version.

    ``old`` has ``STATE_COLUMNS``; ``text`` is the old one where the new version has another or none, else None.
    Of a document that is deleted while nothing is kept, everything is dropped.
    """
    number, here = int(old.version) + 1, {"collection": old.collection_id, "of": old.uid}
    if op == "deleted" and not keeping.days:
        connection.execute(_FORGET, here)
        return number
    connection.execute(_UPDATE, here | {"at_number": old.version} | _ended(old, text, at, keeping))
    if keeping.days:
        # Of a deleted document the last state is not counted: without it, nothing could be restored.
        oldest = number - keeping.versions - (op == "deleted")
        connection.execute(_DROP_OLD, here | {"oldest": oldest, "horizon": keeping.horizon, **_NOTHING})
    connection.execute(_INSERT, _row(old.collection_id, old.uid, number, op, at, keeping, changed, content_hash))
    return number


def revived(
    connection: Connection, collection_id: int, uid: str, at: str, keeping: Retention, content_hash: str
) -> int:
    """Record that a deleted document was restored; return the number of its new version."""
    here = {"collection": collection_id, "of": uid}
    deletion = int(connection.execute(_NEWEST, here).scalar_one())
    connection.execute(_UPDATE, here | {"at_number": deletion, "ended": at, **_NOTHING})
    connection.execute(_INSERT, _row(collection_id, uid, deletion + 1, "restored", at, keeping, (), content_hash))
    return deletion + 1


def last_number(connection: Connection, collection_id: int, uid: str) -> int:
    """Return the number of the newest version of a document, also of a deleted one; 0 where there never was one."""
    return int(connection.execute(_NEWEST, {"collection": collection_id, "of": uid}).scalar() or 0)


def list_versions(connection: Connection, collection_id: int, uid: str) -> list[Version]:
    """Return all versions of a document, newest first; none where it is not known."""
    rows = connection.execute(_EVERYTHING, {"collection": collection_id, "of": uid}).all()
    now = connection.execute(_TITLE, {"collection": collection_id, "of": uid}).first()
    found = []
    for row in rows:
        current = now is not None and row.until is None
        title = now.title if now is not None and current else row.title
        changed = tuple(row.changed)
        found.append(
            Version(row.number, row.op, row.at, row.by, changed, title or "", row.content_hash, title is not None)
        )
    return found


def deleted(
    connection: Connection, collection_id: int, limit: int = 1000, reference: str = ""
) -> list[tuple[str, Version]]:
    """Return (id, last version) of the documents that were deleted and can be restored, the latest first.

    ``reference``: only those that had this uri or path, or a path that ends so.
    """
    query = _DELETED
    if reference:
        ending = ends_with(versions.c.path, reference.lstrip("/"))
        query = query.where(or_(versions.c.uri == reference, versions.c.path == reference, ending))
    rows = connection.execute(query, {"collection": collection_id, "limit": limit})
    return [
        (row.uid, Version(row.number, "deleted", row.until, row.gone_by, (), row.title, row.content_hash, True))
        for row in rows
    ]


def state(connection: Connection, collection_id: int, uid: str, number: int) -> State | None:
    """Return what a document was in a version that was replaced or deleted; None where that is not kept."""
    return next(iter(_states(connection, _AT_NUMBER, collection_id, of=uid, number=number)), None)


def states_at(connection: Connection, collection_id: int, at: str) -> list[State]:
    """Return what documents were at a time, of those that are another version now or gone, as far as it is kept.

    ``at`` is written as the catalogue writes times.
    """
    return _states(connection, _AT_TIME, collection_id, at=at)


def numbers_at(connection: Connection, collection_id: int, at: str) -> dict[str, int]:
    """Return the ids and versions of what ``states_at`` returns."""
    rows = connection.execute(_NUMBERS_AT, {"collection": collection_id, "at": at})
    return {row.uid: row.number for row in rows}


def lost_at(connection: Connection, collection_id: int, at: str) -> int:
    """Return of how many documents the state at a time is not kept any more."""
    return int(connection.execute(_LOST, {"collection": collection_id, "at": at}).scalar_one())


def sweep(connection: Connection, collection_id: int, keeping: Retention) -> int:
    """Drop what is kept longer than ``keeping`` says; return how many states that were."""
    horizon = keeping.horizon
    old = {"collection": collection_id, "horizon": horizon}
    uids = list(connection.scalars(_OUTLIVED, old))
    for part in batches(uids, _BATCH):
        some = {**old, "uids": part}
        connection.execute(_DROP_GONE, some)
        connection.execute(_DROP_OUTLIVED, some | _NOTHING)
    return len(uids)


def changed_fields(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[str]:
    """Return what differs: names of columns, and of metadata ``tags`` and ``source`` by themselves."""
    names = [name for name in ("title", "text", "uri", "path", "summary") if old[name] != new[name]]
    before, after = dict(old["metadata"]), dict(new["metadata"])
    names += [name for name in ("tags", "source") if before.pop(name, None) != after.pop(name, None)]
    return [*names, "metadata"] if before != after else names


def _ended(old: Any, text: str | None, at: str, keeping: Retention) -> dict[str, Any]:
    if not keeping.days:
        return {"ended": at, **_NOTHING}
    values = {f"old_{name}": getattr(old, name) for name in (*_STATE, "metadata")}
    return {"ended": at, **values, "old_text": None if text is None else zlib.compress(text.encode(), _FAST)}


def _row(
    collection_id: int,
    uid: str,
    number: int,
    op: Op,
    at: str,
    keeping: Retention,
    changed: Iterable[str],
    content_hash: str,
) -> dict[str, JSON]:
    return {
        "collection_id": collection_id,
        "uid": uid,
        "number": number,
        "op": op,
        "at": at,
        "by": keeping.by,
        "changed": list(changed),
        "content_hash": content_hash,
    }


def _states(connection: Connection, query: Select[Any], collection_id: int, **which: JSON) -> list[State]:
    found = []
    for row in connection.execute(query, {"collection": collection_id, **which}):
        values = row._asdict()
        packed, current = values.pop("packed"), values.pop("current")
        if packed is None and current is None:
            continue
        values |= {"given": row.given or {}, "text": current if packed is None else zlib.decompress(packed).decode()}
        found.append(State(**values))
    return found


_KEPT = (*_STATE, "metadata", "text")
_NOTHING = {f"old_{name}": None for name in _KEPT}
_OF_DOCUMENT = and_(versions.c.collection_id == bindparam("collection"), versions.c.uid == bindparam("of"))
_INSERT = insert(versions)
_SET = {name: bindparam(f"old_{name}", type_=versions.c[name].type) for name in _KEPT}
_UPDATE = (
    update(versions)
    .where(_OF_DOCUMENT, versions.c.number == bindparam("at_number"))
    .values(until=bindparam("ended"), **_SET)
)
_DROP_OLD = (
    update(versions)
    .where(
        _OF_DOCUMENT,
        versions.c.title.is_not(None),
        (versions.c.number < bindparam("oldest")) | (versions.c.until < bindparam("horizon")),
    )
    .values(**_SET)
)
_NEWEST = select(func.max(versions.c.number)).where(_OF_DOCUMENT)
_FORGET = delete(versions).where(_OF_DOCUMENT)
_EVERYTHING = (
    select(
        versions.c.number,
        versions.c.op,
        versions.c.at,
        versions.c.by,
        versions.c.changed,
        versions.c.title,
        versions.c.content_hash,
        versions.c.until,
    )
    .where(_OF_DOCUMENT)
    .order_by(versions.c.number.desc())
)
_TITLE = select(documents.c.title).where(
    documents.c.collection_id == bindparam("collection"), documents.c.uid == bindparam("of")
)

_later = versions.alias("later")
_first = versions.alias("first")
_gone = versions.alias("gone")
_SAME = and_(_later.c.collection_id == versions.c.collection_id, _later.c.uid == versions.c.uid)
_STATES = select(
    versions.c.uid,
    versions.c.number,
    versions.c.at,
    *(versions.c[name] for name in (*_STATE, "metadata", "content_hash")),
    select(_first.c.at)
    .where(_first.c.collection_id == versions.c.collection_id, _first.c.uid == versions.c.uid)
    .order_by(_first.c.number)
    .limit(1)
    .scalar_subquery()
    .label("created_at"),
    select(_later.c.text)
    .where(_SAME, _later.c.number >= versions.c.number, _later.c.text.is_not(None))
    .order_by(_later.c.number)
    .limit(1)
    .scalar_subquery()
    .label("packed"),
    select(documents.c.text).where(documents.c.uid == versions.c.uid).scalar_subquery().label("current"),
).where(versions.c.collection_id == bindparam("collection"), versions.c.title.is_not(None))
_AT_NUMBER = _STATES.where(versions.c.uid == bindparam("of"), versions.c.number == bindparam("number"))
_WAS_THEN = and_(versions.c.until > bindparam("at"), versions.c.at <= bindparam("at"))
_AT_TIME = _STATES.where(_WAS_THEN).order_by(versions.c.uid)
_NUMBERS_AT = select(versions.c.uid, versions.c.number).where(
    versions.c.collection_id == bindparam("collection"), versions.c.title.is_not(None), _WAS_THEN
)
_LOST = (
    select(func.count())
    .select_from(versions)
    .where(versions.c.collection_id == bindparam("collection"), _WAS_THEN, versions.c.title.is_(None))
    .where(versions.c.op != "deleted")
)
_DELETED = (
    select(
        versions.c.uid,
        versions.c.number,
        versions.c.until,
        versions.c.title,
        versions.c.content_hash,
        _gone.c.by.label("gone_by"),
    )
    .join(
        _gone,
        and_(
            _gone.c.collection_id == versions.c.collection_id,
            _gone.c.uid == versions.c.uid,
            _gone.c.number == versions.c.number + 1,
            _gone.c.op == "deleted",
            _gone.c.until.is_(None),
        ),
    )
    .where(
        versions.c.collection_id == bindparam("collection"),
        versions.c.until.is_not(None),
        versions.c.title.is_not(None),
    )
    .order_by(versions.c.until.desc(), versions.c.uid)
    .limit(bindparam("limit"))
)
_IS_OUTLIVED = and_(versions.c.until < bindparam("horizon"), versions.c.title.is_not(None))
_OUTLIVED = (
    select(versions.c.uid)
    .distinct()
    .where(versions.c.collection_id == bindparam("collection"), versions.c.until.is_not(None), _IS_OUTLIVED)
)
_SOME = and_(versions.c.collection_id == bindparam("collection"), versions.c.uid.in_(bindparam("uids", expanding=True)))
_DROP_OUTLIVED = update(versions).where(_SOME, _IS_OUTLIVED).values(**_SET)
_DROP_GONE = delete(versions).where(
    _SOME,
    ~exists().where(documents.c.uid == versions.c.uid),
    exists().where(_SAME, _later.c.op == "deleted", _later.c.at < bindparam("horizon"), _later.c.until.is_(None)),
)
