"""The files that documents were read from: to detect changes, and to list files."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import BindParameter, Connection, and_, bindparam, case, delete, func, select, update

from pinakes.catalog.batched_rows import rows_for
from pinakes.catalog.schema import documents, files, sources
from pinakes.catalog.sources import FileStatus, status_of


@dataclass(frozen=True, slots=True)
class Stamp:
    """What a document was read from: ``path`` of the source of this ``kind`` at ``location``, or the file itself there.

    ``fingerprint`` is how it was when it was last looked at, ``digest`` the SHA-256 of its content, ``state`` what the
    last complete scan of the source returned.
    """

    kind: str
    location: str
    path: str
    fingerprint: str
    digest: str | None
    state: str | None


@dataclass(frozen=True, slots=True)
class ReadFile:
    """A file that a document was read from; see ``Stamp``."""

    document_id: int
    path: str
    fingerprint: str
    digest: str | None


@dataclass(frozen=True, slots=True)
class SourceFile:
    """One file of a source; all from ``uid`` on only where it gave a document."""

    path: str
    status: FileStatus
    reason: str | None
    fingerprint: str
    digest: str | None
    uid: str | None
    created_at: str | None
    updated_at: str | None


def stamps(connection: Connection, uids: Iterable[str]) -> dict[str, Stamp | None]:
    """Return document uid → what it was read from, None for those that were put by themselves; those that are there."""
    rows = rows_for(connection, _STAMPS, "uids", uids)
    return {row.uid: stamp_in(row) for row in rows}


def stamp_in(row: Sequence[Any]) -> Stamp | None:
    """Return what a row says whose last columns are ``STAMP``, None of a document that was put by itself."""
    kind, *others = row[-len(STAMP) :]
    return None if kind is None else Stamp(kind, *others)


def read_files(connection: Connection, source_id: int, document_id: int | None = None) -> Iterator[ReadFile]:
    """Yield the files of a source that documents were read from, or that of one document."""
    query = select(files.c.document_id, files.c.path, files.c.fingerprint, files.c.content_hash)
    query = query.where(files.c.source_id == source_id, files.c.status == "indexed", files.c.document_id.is_not(None))
    if document_id is not None:
        query = query.where(files.c.document_id == document_id)
    yield from (ReadFile(*row) for row in connection.execute(query))


def lines(
    connection: Connection,
    source_id: int,
    most: int,
    failing: Collection[str] = (),
    *,
    offset: int = 0,
    only: str = "",
) -> list[SourceFile]:
    """Return files of a source, at most so many: first those that failed, then those left out, then by path.

    A file that was left out for an error whose code is one of ``failing`` counts as failed. ``offset``: so many are
    skipped; ``only`` those of this status, "" = of any.
    """
    status = status_of(failing)
    rows = _LINES.where(status == only) if only else _LINES
    rows = rows.with_only_columns(files.c.path, status, *_OTHERS)
    urgency = case({"error": 0, "skipped": 1}, value=status, else_=2)
    ordered = rows.order_by(urgency, files.c.path).limit(most).offset(offset)
    return [SourceFile(*row) for row in connection.execute(ordered, {"source": source_id})]


def source_id(connection: Connection, collection: int, kind: str, location: str) -> int | None:
    """Return the id of a source of a collection, None where it was never read."""
    row = select(sources.c.id).filter_by(collection_id=collection, kind=kind, location=location)
    return connection.execute(row).scalar()


def empty(connection: Connection, source: int) -> int:
    """Remove all documents of a source and what is known of its files; return how many documents there were.

    The source itself stays, as one that was never read.
    """
    ids: Sequence[int] = connection.scalars(select(documents.c.id).where(documents.c.source_id == source)).all()
    if ids:
        from pinakes.catalog.documents import remove  # with all that writes documents

        for one in ids:
            remove(connection, one)
    connection.execute(delete(files).where(files.c.source_id == source))
    connection.execute(update(sources).where(sources.c.id == source).values(state=None))
    return len(ids)


_UIDS: BindParameter[str] = bindparam("uids", expanding=True)
STAMP = (
    sources.c.kind.label("source_kind"),
    sources.c.location,
    func.coalesce(files.c.path, documents.c.path).label("file_path"),
    func.coalesce(files.c.fingerprint, "").label("fingerprint"),
    files.c.content_hash.label("digest"),
    sources.c.state,
)
"""The columns of ``stamp_in``, of ``STAMPED``."""

STAMPED = documents.outerjoin(sources, sources.c.id == documents.c.source_id).outerjoin(
    files, and_(files.c.document_id == documents.c.id, files.c.source_id == documents.c.source_id)
)
_STAMPS = select(documents.c.uid, *STAMP).select_from(STAMPED).where(documents.c.uid.in_(_UIDS))
_OTHERS = (
    files.c.reason,
    files.c.fingerprint,
    files.c.content_hash,
    documents.c.uid,
    documents.c.created_at,
    documents.c.updated_at,
)
_LINES = (
    select(files.c.path)
    .outerjoin(documents, documents.c.id == files.c.document_id)
    .where(files.c.source_id == bindparam("source"))
)
