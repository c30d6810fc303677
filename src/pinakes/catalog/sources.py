"""Sources, and what is known of each of their files."""

from __future__ import annotations

import operator
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from sqlalchemy import ColumnElement, Connection, Table, case, delete, func, or_, select, update

from pinakes.catalog import events
from pinakes.catalog.collections import find
from pinakes.catalog.dialects.upsert import insert
from pinakes.catalog.engine import now
from pinakes.catalog.schema import documents, fields, files, sources, versions
from pinakes.core.batching import batches
from pinakes.core.filters import normal_text
from pinakes.core.records import JSON
from pinakes.core.wording import counted

_BATCH = 500
FileStatus = Literal["indexed", "skipped", "error"]


@dataclass(frozen=True, slots=True)
class SourceRecord:
    """A row of ``sources``. ``state`` is what the last complete scan returned, ``report`` what the last run told.

    ``part`` tells it from other sources of its location. ``read_by``: the versions of readers and chunkers ("readers",
    "chunkers" → name → number) by which it was last read to its end.
    """

    id: int
    collection_id: int
    kind: str
    location: str
    part: str
    options: dict[str, JSON]
    state: str | None
    synced_at: str | None
    error: str | None
    report: dict[str, JSON] | None = None
    read_by: dict[str, dict[str, int | str]] | None = None

    @property
    def place(self) -> tuple[str, str, str]:
        """Kind, location and part: what tells it from other sources of its collection."""
        return self.kind, self.location, self.part


@dataclass(frozen=True, slots=True)
class FileRecord:
    """What is known of one file: ``content_hash`` and ``document_id`` only once it was indexed.

    ``uri`` is where its document stands, told by ``manifest`` only. ``tries`` counts failures in a row; it is tried
    again at ``retry_at``, ISO 8601 in UTC. ``code`` is that of the error which it was skipped for.
    """

    path: str
    fingerprint: str
    content_hash: str | None
    status: FileStatus
    reason: str | None = None
    document_id: int | None = None
    uri: str | None = None
    tries: int = 0
    retry_at: str | None = None
    code: str | None = None


def remember(
    connection: Connection,
    collection_id: int,
    place: tuple[str, str, str],
    options: dict[str, JSON],
    *,
    was: str | None = None,
    same: Callable[[dict[str, JSON], dict[str, JSON]], bool] = operator.eq,
) -> SourceRecord:
    """Return the source at ``place``, recording it where it is new; with changed options its files are read again.

    ``was``: the part of the one there that it goes on as, where it is new. ``same`` compares options.
    """
    kind, location, part = place
    of = {"collection_id": collection_id, "kind": kind, "location": location}
    values = {**of, "part": part}
    found = connection.execute(select(sources).filter_by(**values)).first()
    if found is None and was is not None:
        connection.execute(update(sources).filter_by(**of, part=was).values(part=part))
        found = connection.execute(select(sources).filter_by(**values)).first()
    if found is None:
        connection.execute(insert(sources).values(**values, options=options).on_conflict_do_nothing())
    elif found.options != options and same(found.options, options):
        connection.execute(update(sources).where(sources.c.id == found.id).values(options=options))
    elif found.options != options:
        connection.execute(update(sources).where(sources.c.id == found.id).values(options=options, state=None))
        unread = update(files).where(files.c.source_id == found.id)
        connection.execute(unread.values(fingerprint="", content_hash=None))
    return _record(connection.execute(select(sources).filter_by(**values)).one())


def list_all(connection: Connection, collection_id: int | None = None) -> list[SourceRecord]:
    """Return the sources of a collection, or of all."""
    query = select(sources).order_by(sources.c.id)
    if collection_id is not None:
        query = query.where(sources.c.collection_id == collection_id)
    return [_record(row) for row in connection.execute(query)]


def of_name(connection: Connection, collection: str) -> list[SourceRecord]:
    """Return the sources of a collection by its name, none where there is no such collection."""
    record = find(connection, collection)
    return list_all(connection, record.id) if record else []


def documents_of(connection: Connection, source_id: int, limit: int) -> dict[int, int]:
    """Return the ids of up to ``limit`` documents that were read from a source, each with its number of chunks."""
    query = select(documents.c.id, documents.c.chunk_count).where(documents.c.source_id == source_id)
    return {row.id: row.chunk_count for row in connection.execute(query.order_by(documents.c.id).limit(limit))}


def drop(connection: Connection, source_id: int) -> None:
    """Forget a source and its files; its documents stay."""
    connection.execute(delete(sources).where(sources.c.id == source_id))


def begun(connection: Connection, source_id: int, report: dict[str, JSON]) -> None:
    """Keep that a run is about to change things, until it tells how it ended."""
    connection.execute(update(sources).where(sources.c.id == source_id).values(report=report))


def save_report(connection: Connection, source_id: int, report: dict[str, JSON]) -> None:
    """Keep what a run that ended has to tell, in place of what the one before told."""
    connection.execute(update(sources).where(sources.c.id == source_id).values(report=report))
    events.sync_finished(connection, source_id, report)


def document_counts(connection: Connection) -> dict[int, int]:
    """Return source id → how many documents were read from it."""
    query = select(documents.c.source_id, func.count()).where(documents.c.source_id.is_not(None))
    return {row[0]: row[1] for row in connection.execute(query.group_by(documents.c.source_id))}


def unsourced(connection: Connection, collection_id: int) -> int:
    """Return how many documents of a collection were put there one by one."""
    query = select(func.count()).where(documents.c.collection_id == collection_id, documents.c.source_id.is_(None))
    return int(connection.execute(query.select_from(documents)).scalar_one())


def failing(connection: Connection, source_id: int) -> list[FileRecord]:
    """Return the files of a source that failed, first those that are tried again first."""
    query = select(*_OF_FILE).where(files.c.source_id == source_id, files.c.status == "error")
    return [FileRecord(**row._asdict()) for row in connection.execute(query.order_by(files.c.retry_at, files.c.path))]


def reasons(connection: Connection, source_id: int) -> dict[str, int]:
    """Return why files of a source were left out → how many were, the commonest first."""
    number = func.count()
    query = select(files.c.reason, number).where(files.c.source_id == source_id, files.c.status == "skipped")
    rows = connection.execute(query.group_by(files.c.reason).order_by(number.desc(), files.c.reason))
    return {row[0] or "": row[1] for row in rows}


def first_retry(connection: Connection) -> dict[int, str]:
    """Return source id → when the first of its files that failed is to be tried again."""
    query = select(files.c.source_id, func.min(files.c.retry_at)).where(files.c.status == "error")
    return {row[0]: row[1] for row in connection.execute(query.group_by(files.c.source_id)) if row[1]}


def finished(connection: Connection, source_id: int, state: str | None, error: str | None) -> None:
    """Record how a sync ended; ``state`` None keeps the old one."""
    values: dict[str, Any] = {"synced_at": now(), "error": error}
    if state is not None:
        values["state"] = state
    connection.execute(update(sources).where(sources.c.id == source_id).values(**values))


def failures(number: int) -> str | None:
    """Return what is told of a source of which so many files failed."""
    return f"{counted(number, 'file')} failed" if number else None


def unreached(kept: SourceRecord) -> bool:
    """Return whether a source could not be read the last time, whatever became of its files and vectors."""
    return bool((kept.report or {}).get("error")) or (kept.state is None and kept.error is not None)


def none_waits(connection: Connection, collection_id: int) -> None:
    """Take back what sources of a collection told of chunks that waited for their vectors, since none does."""
    for one in list_all(connection, collection_id):
        if one.error and one.error == (one.report or {}).get("degraded"):
            error = failures(counts(connection, one.id).get("error", 0))
            connection.execute(update(sources).where(sources.c.id == one.id).values(error=error))


def manifest(connection: Connection, source_id: int) -> dict[str, FileRecord]:
    """Return path → what is known of every file of a source."""
    rows = connection.execute(
        select(
            files.c.path,
            files.c.fingerprint,
            files.c.content_hash,
            files.c.status,
            files.c.reason,
            files.c.document_id,
            documents.c.uri,
            files.c.tries,
            files.c.retry_at,
            files.c.code,
        )
        .outerjoin(documents)
        .where(files.c.source_id == source_id)
        .order_by(files.c.path)
    )
    return {row.path: FileRecord(**row._asdict()) for row in rows}


def made_otherwise(
    connection: Connection, source_id: int, readers: Collection[str], chunkers: Collection[str]
) -> Sequence[Any]:
    """Return path, reader, chunker, kind and language of documents of a source's files that others than these made."""
    columns = (files.c.path, documents.c.reader, documents.c.chunker, documents.c.kind, documents.c.language)
    others = or_(documents.c.reader.not_in(readers), documents.c.chunker.not_in(chunkers))
    query = select(*columns).join(documents).where(files.c.source_id == source_id, others)
    return connection.execute(query.order_by(files.c.path)).all()


def read_by(connection: Connection, source_id: int, versions: Mapping[str, Mapping[str, int | str]]) -> None:
    """Record by which versions of readers and chunkers a source was read to its end."""
    connection.execute(update(sources).where(sources.c.id == source_id).values(read_by=versions))


def note(connection: Connection, source_id: int, records: Sequence[FileRecord]) -> None:
    """Write what is now known of some files."""
    if not records:
        return
    events.failed(connection, source_id, {one.path: one.reason for one in records if one.status == "error"})
    rows = [
        {
            "source_id": source_id,
            "path": record.path,
            "fingerprint": record.fingerprint,
            "content_hash": record.content_hash,
            "status": record.status,
            "reason": record.reason,
            "document_id": record.document_id,
            "tries": record.tries,
            "retry_at": record.retry_at,
            "code": record.code,
        }
        for record in records
    ]
    statement = insert(files)
    changed = {name: statement.excluded[name] for name in rows[0] if name not in ("source_id", "path")}
    connection.execute(statement.on_conflict_do_update(index_elements=["source_id", "path"], set_=changed), rows)


def forget(connection: Connection, source_id: int, paths: Iterable[str]) -> None:
    """Drop what is known of these files."""
    for part in batches(paths, _BATCH):
        connection.execute(delete(files).where(files.c.source_id == source_id, files.c.path.in_(part)))


def problems(
    connection: Connection, collection_id: int | None = None, *, source_id: int | None = None
) -> list[FileRecord]:
    """Return the files of a collection or of one source that were not indexed, with the reason."""
    query = select(*_OF_FILE).join(sources).where(files.c.status != "indexed").order_by(files.c.path)
    if collection_id is not None:
        query = query.where(sources.c.collection_id == collection_id)
    if source_id is not None:
        query = query.where(files.c.source_id == source_id)
    return [FileRecord(**row._asdict()) for row in connection.execute(query)]


def counts(connection: Connection, source_id: int, failing: Collection[str] = ()) -> dict[str, int]:
    """Return how many files of a source have each status; see ``status_of``."""
    status = status_of(failing)
    of_source = select(status, func.count()).where(files.c.source_id == source_id).group_by(status).order_by(status)
    return {row[0]: row[1] for row in connection.execute(of_source)}


def status_of(failing: Collection[str]) -> ColumnElement[str]:
    """Return the status of a file; one that was left out for an error with one of the codes ``failing`` failed."""
    return case((files.c.code.in_(failing), "error"), else_=files.c.status) if failing else files.c.status


_OF_FILE = (
    files.c.path,
    files.c.fingerprint,
    files.c.content_hash,
    files.c.status,
    files.c.reason,
    files.c.tries,
    files.c.retry_at,
    files.c.code,
)


def _record(row: Any) -> SourceRecord:
    return SourceRecord(**row._asdict())


def relocate_sources(connection: Connection, old: Path, new: Path, kept: Collection[str] = ()) -> None:
    """Have sources that lie in the home ``old`` lie in ``new``, with their documents; not those at places ``kept``.

    They stay the same sources and documents, so that the next sync finds them as they are.
    """
    columns = (sources.c[name] for name in ("id", "collection_id", "kind", "location", "part"))
    found = connection.execute(select(*columns)).all()
    places = {(row.collection_id, row.kind, row.location, row.part) for row in found}
    for row in found:
        place = Path(row.location)
        if row.location in kept or not place.is_relative_to(old):
            continue
        location = str(new / place.relative_to(old))
        if (row.collection_id, row.kind, location, row.part) not in places:
            connection.execute(update(sources).where(sources.c.id == row.id).values(location=location))
            _move_uris(connection, row.id, f"{old.as_uri()}/", f"{new.as_uri()}/")


def _move_uris(connection: Connection, source_id: int, old: str, new: str) -> None:
    of_source = select(documents.c.id).where(documents.c.source_id == source_id)
    of_uris = fields.c.name == "uri", fields.c.document_id.in_(of_source)
    _replace(connection, fields, fields.c.value, normal_text(old), normal_text(new), *of_uris)
    for table in (documents, versions):
        _replace(connection, table, table.c.uri, old, new, table.c.source_id == source_id)


def _replace(
    connection: Connection, table: Table, column: ColumnElement[Any], old: str, new: str, *which: ColumnElement[bool]
) -> None:
    """Put ``new`` for the beginning ``old`` of a column in some rows; one whose place is taken stays as it is."""
    begins = func.substr(column, 1, len(old)) == old
    statement = update(table).where(*which, begins).values({column: new + func.substr(column, len(old) + 1)})
    connection.execute(statement.prefix_with("OR IGNORE"))
