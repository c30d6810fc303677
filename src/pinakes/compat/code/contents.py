"""Contents of the toolset "code": a file put by its path, and the status of one or all."""

from __future__ import annotations

import hashlib
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import PurePosixPath
from typing import Literal, TypeAlias, get_args

from pydantic.json_schema import SkipJsonSchema

from pinakes import parsing
from pinakes.core import caller
from pinakes.core.content_types import CONTENT_TYPES, FIELD, ContentType, content_type
from pinakes.core.errors import InvalidInput, NotFound
from pinakes.core.records import Document, Metadata, SourceState
from pinakes.library import Library
from pinakes.services.collections.management import CollectionRecord
from pinakes.services.documents.editing import FileContent, WrittenDocument
from pinakes.services.documents.reading import DocumentRecord
from pinakes.services.sync.placement import Placement
from pinakes.tools.declare import Reply

ContentState: TypeAlias = Literal["completed", "pending", "failed", "stale"]
"""Status of a content: all of it is embedded; some of it waits for that; it was not indexed; its file is another now,
is gone or could not be read again, and what is there is what it was before."""

_STALE: Mapping[SourceState, str] = {
    "changed": "its file has changed since it was read: pinakes sync",
    "missing": "its file is gone: pinakes sync removes the document",
}


class ContentStatus(Reply):
    """How one content stands."""

    content_id: str
    status: str
    indexed_at: str | SkipJsonSchema[None] = None
    error_message: str | SkipJsonSchema[None] = None


class IndexingStats(Reply):
    """What was indexed, and how long that took, in seconds."""

    content_hash: str
    content_length: int
    embedding_time: float
    storage_time: float


class IndexReply(Reply):
    """A content that was indexed. ``embedding_id`` is not there while it is pending.

    ``notes`` name what was dropped, doubted or masked, with the line where it stands.
    """

    content_id: str
    status: str
    embedding_id: str | SkipJsonSchema[None] = None
    previous_content_id: str | SkipJsonSchema[None] = None
    indexing_stats: IndexingStats
    notes: list[str] | SkipJsonSchema[None] = None


class ContentByType(Reply):
    """Contents by what they are there for."""

    source_file: int
    documentation: int
    config: int


class StatusBreakdown(Reply):
    """Contents by how they stand."""

    completed: int
    pending: int
    failed: int
    stale: int


class ModelCount(Reply):
    """How many vectors are those of a model."""

    model: str
    count: int


class SystemStats(Reply):
    """How all contents stand."""

    total_content: int
    total_embeddings: int
    content_by_type: ContentByType
    status_breakdown: StatusBreakdown
    embedding_models: list[ModelCount]


def index(
    library: Library,
    content: str,
    path: str,
    purpose: ContentType,
    *,
    title: str = "",
    metadata: Metadata | None = None,
    collection: str | None = None,
    again: bool = False,
) -> IndexReply:
    """Put the content of a file at ``path``, read and cut as a file of that name is; what is unchanged stays.

    A file of a source becomes what is given, until a run of that source finds that the file holds something else.
    ``again``: its chunks are embedded anew, whether it changed or not.

    Raises:
        Unreadable: it cannot be read as a file of that name.
        InvalidInput: something of it cannot be used.
        ModelUnavailable: it is to be embedded ``again``, and there is no model; it is stored all the same.
    """
    if not path:
        raise InvalidInput("source_path must not be empty")
    name = collection or library.naming.written
    start = time.perf_counter()
    document = library.lookup.read(content.encode(), path)
    place = library.lookup.placement(name, path)
    data = content.encode()
    given = FileContent(hashlib.sha256(data).hexdigest(), len(data), document.metadata, document.reader)
    written = _put(library, name, place, document, given, title, {**(metadata or {}), FIELD: purpose})
    embed_s = written.embed_s
    record = library.collection(name)
    [stored] = library.lookup.find(record.id, written.document.uid)
    if again:
        embed_s += library.lookup.embed(record, stored.id)
    status = _embedding_status(library, record, stored)
    stats = IndexingStats(
        content_hash=given.digest,
        content_length=len(content),
        embedding_time=embed_s,
        storage_time=time.perf_counter() - start - embed_s,
    )
    return IndexReply(
        content_id=status.content_id,
        status=status.status,
        embedding_id=library.lookup.embedding_id(stored.id) if status.status == "completed" else None,
        previous_content_id=place.uid,
        indexing_stats=stats,
        notes=list(map(str, written.notes)) or None,
    )


def status_of(library: Library, reference: str, collection: str | None = None) -> tuple[ContentStatus, Sequence[str]]:
    """Return how the content with this id, uri or path stands, also a file that was not indexed.

    ``indexed_at`` is UTC in ISO form. The notes say what is not known of the file that it was read from.

    Raises:
        NotFound: there is no such content or collection.
        InvalidInput: several go by that name.
    """
    try:
        document = library.read(reference, collection).document
    except NotFound:
        records = [library.collection(name) for name in library.named(collection)]
        broken = [one for record in records for one in library.lookup.failed(record.id, reference)]
        if not broken:
            raise
        return _status(reference, "failed", error=broken[0].reason), ()
    record = library.collection(library.collection_of(document))
    look = library.staleness.outdated(record, document)
    if state := look.states.get(document.id):
        return _status(document.uid, "stale", document.updated_at, _STALE[state]), ()
    return _embedding_status(library, record, document), look.notes


def _embedding_status(library: Library, record: CollectionRecord, document: DocumentRecord) -> ContentStatus:
    """Return how a document of a collection stands, whatever became of its file."""
    waiting, broken = library.lookup.standing(record, document)
    if stale := next((one for one in broken if one.document_id == document.id), None):
        return _status(document.uid, "stale", document.updated_at, stale.reason)
    if waiting:
        words = f"{waiting} of {document.chunk_count} chunks wait to be embedded"
        return _status(document.uid, "pending", error=words)
    return _status(document.uid, "completed", document.updated_at)


def _status(uid: str, status: ContentState, indexed_at: str | None = None, error: str | None = None) -> ContentStatus:
    return ContentStatus(content_id=uid, status=status, indexed_at=indexed_at, error_message=error)


def overview(library: Library, collection: str | None = None) -> tuple[SystemStats, list[str]]:
    """Return how all contents of a collection stand, or of all collections; and what is not known of their files.

    Raises:
        NotFound: there is no such collection.
    """
    by_type, statuses, models = Counter[str](), Counter[str](), Counter[str]()
    notes: list[str] = []
    for record in library.collections(collection):
        if not caller.current().sees(record.name):
            continue
        held, broken = library.lookup.totals(record)
        look = library.staleness.outdated(record)
        notes += look.notes
        stale = {one.document_id for one in broken if one.document_id is not None} | look.states.keys()
        failed = [one.path for one in broken if one.document_id is None]
        by_type.update(held.by_type)
        by_type.update(content_type("code" if parsing.language_of(path) else "text", path) for path in failed)
        pending = len(held.waiting - stale)
        completed = sum(held.by_type.values()) - pending - len(stale)
        statuses.update({"completed": completed, "pending": pending, "failed": len(failed), "stale": len(stale)})
        if held.vectors:
            models[record.fingerprint] += held.vectors
    stats = SystemStats(
        total_content=statuses.total(),
        total_embeddings=models.total(),
        content_by_type=ContentByType(**{name: by_type[name] for name in CONTENT_TYPES}),
        status_breakdown=StatusBreakdown(**{name: statuses[name] for name in get_args(ContentState)}),
        embedding_models=[ModelCount(model=name, count=count) for name, count in models.items()],
    )
    return stats, notes


def _put(
    library: Library,
    name: str,
    place: Placement,
    document: Document,
    content: FileContent,
    title: str,
    fields: Metadata,
) -> WrittenDocument:
    """Write a content at its place, over what stands there; the file of a source stays one."""
    old = library.documents.get(place.uid, collection=name) if place.uid else None
    if old is not None and old.of_file:
        return library.documents.update(
            old.uid,
            collection=name,
            title=title or document.title or PurePosixPath(old.path).stem,
            text=document.text,
            metadata=fields,
            content=content,
            notes=document.notes,
        )
    return library.documents.put(
        document.text,
        title=title or document.title or place.path,
        uri=place.uri,
        collection=name,
        kind=document.kind,
        metadata={**document.metadata, **fields},
        source=place.path,
        path=place.path,
        language=document.language,
        notes=document.notes,
    )
