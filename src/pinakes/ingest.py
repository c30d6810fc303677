"""From a source to committed documents: skip the unchanged, read, chunk, embed, commit, index.

Documents are committed in batches, each with its chunks, vectors, versions, manifest rows and change
records in one transaction, so a crash loses at most the batch in flight and the next run redoes it.
"""

from __future__ import annotations

import hashlib
import logging
import time
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import PurePosixPath
from typing import Literal

from sqlalchemy import Connection

from pinakes.catalog import Catalog, collections, documents, embeddings, sources
from pinakes.catalog.collections import CollectionRecord
from pinakes.catalog.documents import NewDocument, embedding_key
from pinakes.catalog.sources import FileRecord, SourceRecord
from pinakes.errors import Empty, InvalidInput, ModelUnavailable, PinakesError, Unreadable
from pinakes.ports import Embedder, Source
from pinakes.settings import CollectionSettings, IngestSettings
from pinakes.templates import fields_of, key_of
from pinakes.types import JSON, Chunk, Document, Float32, Item, Scan, Skipped

_log = logging.getLogger(__name__)

_REMOVED_PER_STEP = 500
_EMBEDDED_PER_EVENT = 64
_FOLLOW_AFTER_CHUNKS = 4096
"""The index follows after so many; each time costs a commit. A search in between makes it follow at once."""


@dataclass(frozen=True, slots=True)
class Event:
    """Where a long run stands: ``done`` of ``total`` of the ``stage``'s units (files, chunks).

    "wait": another process reads the same source.
    """

    stage: Literal["wait", "scan", "read", "embed", "index"]
    done: int
    total: int
    detail: str = ""


@dataclass(slots=True)
class Report:
    """How an ingest ended. Seconds are per stage; ``skipped`` and ``failed`` name files with the reason.

    Both name every such file of the source, also those that an earlier run found; ``excluded`` says in words what
    rules left out.
    ``error`` is why the source could not be read at all, ``degraded`` why chunks wait for their vectors.
    """

    collection: str
    source: str
    added: int = 0
    changed: int = 0
    moved: int = 0
    removed: int = 0
    unchanged: int = 0
    chunks: int = 0
    embedded: int = 0
    reused: int = 0
    pending: int = 0
    skipped: list[Skipped] = field(default_factory=list)
    failed: list[Skipped] = field(default_factory=list)
    excluded: list[str] = field(default_factory=list)
    seconds: dict[str, float] = field(default_factory=dict)
    degraded: str | None = None
    error: PinakesError | None = None

    def reasons(self) -> Counter[str]:
        """Count skipped and failed files by reason."""
        return Counter(entry.reason for entry in [*self.skipped, *self.failed])


@dataclass(frozen=True, slots=True)
class Tools:
    """What an ingest works with, chosen by the composition root."""

    catalog: Catalog
    embedder: Embedder
    read: Callable[[bytes, str], Document]
    chunk: Callable[[Document], list[Chunk]]
    follow: Callable[[], object]
    limits: IngestSettings
    rules: CollectionSettings


@dataclass(frozen=True, slots=True)
class _Put:
    """A file that was read and cut, to be put into the catalogue."""

    item: Item
    new: NewDocument
    is_new: bool


@dataclass(frozen=True, slots=True)
class _Move:
    """A file with the content of one that vanished, or whose uri is another now: a document that changes its place."""

    item: Item
    new: NewDocument
    old: FileRecord


@dataclass(frozen=True, slots=True)
class _Note:
    """A file that gives no document; ``remove`` is the document it gave before."""

    record: FileRecord
    remove: int | None = None


class Ingest:
    """One run over one source of one collection."""

    def __init__(self, tools: Tools, collection: CollectionRecord, record: SourceRecord, source: Source) -> None:
        self._tools = tools
        self._collection = collection
        self._record = record
        self._source = source
        self._known: dict[str, FileRecord] = {}
        self._gone: dict[str, FileRecord] = {}
        self._by_hash: dict[str, list[FileRecord]] = {}
        self._placed: set[int] = set()
        self._groups: set[str] = set()
        self._unfollowed = 0
        self.report = Report(collection.name, record.location)

    def run(self) -> Iterator[Event]:
        """Do the work, yielding events; ``report`` is complete when the generator ends.

        Raises:
            SourceError: the source cannot be reached; nothing was changed.
        """
        with closing(self._source):
            yield Event("scan", 0, 0, self._record.location)
            self._tools.follow()  # before changes are made: an index newer than the catalogue shows only now
            with self._timed("scan"):
                scan = self._scan()
            yield from self._run(scan)

    def _scan(self) -> Scan:
        """Ask the source what there is; files that failed before are asked for again."""
        with self._tools.catalog.read() as connection:
            self._known = sources.manifest(connection, self._record.id)
        retry = any(record.status == "error" for record in self._known.values())
        try:
            scan = self._source.scan(self._record.state)
            return self._source.scan(None) if retry and not scan.complete else scan
        except PinakesError as error:
            with self._tools.catalog.write() as connection:
                never_read = self._record.state is None and not self._known
                if never_read and not self._tools.rules.sources:  # perhaps a slip of the pen: not worth remembering
                    sources.drop(connection, self._record.id)
                    collections.drop_if_empty(connection, self._collection.id)
                else:
                    sources.finished(connection, self._record.id, None, error.message)
            raise

    def _run(self, scan: Scan) -> Iterator[Event]:
        wanted = [item for item in scan.items if self._may_differ(item)]
        self._gone = _gone(scan, self._known)
        for record in self._gone.values():
            self._by_hash.setdefault(record.content_hash or "", []).append(record)
        self.report.excluded = [entry.reason for entry in scan.skipped if entry.path == "."]
        yield Event("scan", len(scan.items), len(scan.items), f"{len(wanted)} to read")
        batch: list[_Put | _Move | _Note] = []
        for done, item in enumerate(wanted, start=1):
            batch.append(self._prepare(item))
            yield Event("read", done, len(wanted), item.path)
            if _weight(batch) >= self._tools.limits.batch_chunks:
                yield from self._commit(batch)
                batch = []
        yield from self._commit(batch)
        if self._record.error and not self.report.degraded:
            yield from self._embed_waiting()
        self._finish(scan)
        self._follow()
        yield Event("index", 1, 1)

    def _embed_waiting(self) -> Iterator[Event]:
        """Embed what an earlier run could not."""
        tools = self._tools
        batch = tools.limits.batch_chunks
        try:
            with self._timed("embed"):
                yield from embed_pending(tools.catalog, self._collection, tools.embedder, tools.follow, batch)
        except (InvalidInput, ModelUnavailable) as error:
            self.report.degraded = str(error)

    def _may_differ(self, item: Item) -> bool:
        known = self._known.get(item.path)
        if known is None or known.status == "error" or known.fingerprint != item.fingerprint:
            return True
        return known.status == "indexed" and known.uri != item.uri  # another branch, or another source changed it

    def _prepare(self, item: Item) -> _Put | _Move | _Note:
        """Read and cut one file; whatever is wrong with it becomes a note and the rest goes on."""
        known = self._known.get(item.path)
        had = known.document_id if known else None
        try:
            with self._timed("read"):
                data = self._source.read(item)
        except PinakesError as error:
            return self._failed(item, str(error))
        digest = hashlib.sha256(data).hexdigest()
        if known and known.status == "indexed" and known.content_hash == digest and known.uri == item.uri:
            return _Note(replace(known, fingerprint=item.fingerprint))
        try:
            new = self._new_document(item, data, digest)
        except Unreadable as error:
            return _Note(FileRecord(item.path, item.fingerprint, digest, "skipped", str(error)), remove=had)
        except (PinakesError, MemoryError):  # not about this file
            raise
        except Exception as error:  # noqa: BLE001 - a bug of one reader must not keep the other files from being read
            _log.exception("%s could not be read", item.path)
            return self._failed(item, f"Reading it failed unexpectedly: {type(error).__name__}: {error}")
        if old := self._moved_from(item, new):
            return _Move(item, new, old)
        return _Put(item, new, is_new=had is None)

    def _failed(self, item: Item, reason: str) -> _Note:
        """Report a file that could not be read; what it gave before stays, and it is tried again each time."""
        self.report.failed.append(Skipped(item.path, reason))
        known = self._known.get(item.path)
        digest, had = (known.content_hash, known.document_id) if known else (None, None)
        return _Note(FileRecord(item.path, item.fingerprint, digest, "error", reason, had))

    def _new_document(self, item: Item, data: bytes, digest: str) -> NewDocument:
        rules, limits = self._tools.rules, self._tools.limits
        with self._timed("read"):
            document = self._tools.read(data, item.path)
        if len(document.text.strip()) < max(1, limits.min_text_chars):
            raise Empty(f"Only {len(document.text.strip())} characters of text (at least {limits.min_text_chars}).")
        with self._timed("chunk"):
            chunks = self._tools.chunk(document)
        from_path = fields_of(item.path, rules.path_templates)
        key = key_of(from_path, rules.document_key)
        metadata: dict[str, JSON] = {**item.metadata, **document.metadata, **from_path}
        if key:
            metadata[rules.key_field] = key
        title = document.title or PurePosixPath(item.path).stem
        return NewDocument(item.uri, item.path, document, chunks, digest, title, metadata, key, self._record.id)

    def _moved_from(self, item: Item, new: NewDocument) -> FileRecord | None:
        """Return the record of the same document at another place: of a vanished file, or of this one."""
        known = self._known.get(item.path)
        if known is None or known.document_id is None:
            return self._vanished_as(new)
        return known if known.uri != item.uri and self._is_still(known.document_id, new) else None

    def _is_still(self, document_id: int, new: NewDocument) -> bool:
        with self._timed("catalog"), self._tools.catalog.read() as connection:
            return documents.same_content(connection, document_id, new)

    def _vanished_as(self, new: NewDocument) -> FileRecord | None:
        """Return, once, the record of a vanished file that gave the same document."""
        for record in self._by_hash.get(new.content_hash, ()):
            if record.path in self._gone and record.document_id is not None and self._is_still(record.document_id, new):
                return self._gone.pop(record.path)
        return None

    def _commit(self, batch: Sequence[_Put | _Move | _Note]) -> Iterator[Event]:
        """Embed what is new in ``batch``, then write all of it in one transaction; the index follows now and then."""
        if not batch:
            return
        chunks = _chunks(batch)
        refused: dict[bytes, str] = {}
        vectors = yield from self._embed(chunks, refused)
        if refused:
            batch = [self._without(entry, refused) for entry in batch]
            chunks = _chunks(batch)
        with self._timed("catalog"), self._tools.catalog.write() as connection:
            if vectors and self._collection.model_id is not None:
                embeddings.store(connection, self._collection.model_id, vectors)
            records = [self._apply(connection, entry) for entry in batch]
            sources.note(connection, self._record.id, records)
            self._inherit(connection)
        self.report.chunks += len(chunks)
        self._unfollowed += len(chunks)
        if self._unfollowed >= _FOLLOW_AFTER_CHUNKS:
            self._follow()

    def _apply(self, connection: Connection, entry: _Put | _Move | _Note) -> FileRecord:
        if isinstance(entry, _Note):
            self._remove(connection, entry.record.path, entry.remove)
            return entry.record
        new = entry.new
        if isinstance(entry, _Move):
            document_id = entry.old.document_id
            assert document_id is not None
            self._groups.add(documents.move(connection, self._collection.id, document_id, new))
            sources.forget(connection, self._record.id, [entry.old.path])
            self.report.moved += 1
        else:
            document_id = documents.put(connection, self._collection.id, new)
            self.report.added += entry.is_new
            self.report.changed += not entry.is_new
        self._groups.add(new.group_key)
        self._placed.add(document_id)
        return FileRecord(new.path, entry.item.fingerprint, new.content_hash, "indexed", None, document_id)

    def _remove(self, connection: Connection, path: str, document_id: int | None) -> None:
        """Remove the document that the file at ``path`` gave, unless it stands elsewhere by now."""
        if document_id is None or document_id in self._placed:
            return
        if documents.stands_at(connection, document_id, self._record.id, self._record.location, path):
            self._groups.add(documents.remove(connection, document_id))
            self.report.removed += 1

    def _inherit(self, connection: Connection) -> None:
        """Give the groups that this transaction touched their metadata: a crash must not part the two."""
        if self._tools.rules.group_metadata:
            for key in self._groups - {""}:
                documents.inherit(connection, self._collection.id, key, self._tools.rules.group_metadata)
        self._groups.clear()

    def _without(self, entry: _Put | _Move | _Note, refused: Mapping[bytes, str]) -> _Put | _Move | _Note:
        """Return ``entry``, or a note that its file failed if the model refused a passage of it."""
        if isinstance(entry, _Put):
            for chunk in entry.new.chunks:
                if reason := refused.get(embedding_key(chunk)):
                    return self._failed(entry.item, reason)
        return entry

    def _embed(
        self, chunks: Sequence[Chunk], refused: dict[bytes, str]
    ) -> Generator[Event, None, dict[bytes, Float32]]:
        """Return embedding key → vector of the chunks that have none yet, yielding progress."""
        texts = {embedding_key(chunk): chunk.embedded_text for chunk in chunks}
        if not texts or self.report.degraded:
            self.report.pending += len(chunks)
            return {}
        try:
            known = self._embedded_before(texts)
            missing = {key: text for key, text in texts.items() if key not in known}
            with self._timed("embed"):
                vectors = yield from embed(self._tools.embedder, missing, refused)
        except ModelUnavailable as error:
            self.report.degraded = str(error)
            self.report.pending += len(chunks)
            return {}
        self.report.reused += len(chunks) - len(missing)
        self.report.embedded += len(vectors)
        if self._collection.model_id is None:
            self._collection = bind(self._tools.catalog, self._collection, self._tools.embedder)
        return vectors

    def _embedded_before(self, keys: Iterable[bytes]) -> set[bytes]:
        """Return those of ``keys`` that have a vector by this model, whichever collection they came with."""
        fingerprint = self._tools.embedder.fingerprint
        with self._timed("catalog"), self._tools.catalog.read() as connection:
            return embeddings.known(connection, collections.model_id(connection, fingerprint), keys)

    def _finish(self, scan: Scan) -> None:
        """Remove what vanished, give groups their metadata, and remember how far the source was read."""
        gone = list(self._gone.items())
        for start in range(0, len(gone), _REMOVED_PER_STEP):
            part = gone[start : start + _REMOVED_PER_STEP]
            with self._timed("catalog"), self._tools.catalog.write() as connection:
                for path, record in part:
                    self._remove(connection, path, record.document_id)
                sources.forget(connection, self._record.id, [path for path, _ in part])
                self._inherit(connection)
        with self._timed("catalog"), self._tools.catalog.write() as connection:
            skipped = [FileRecord(e.path, "", None, "skipped", e.reason) for e in scan.skipped if e.path != "."]
            sources.note(connection, self._record.id, skipped)
            failed = f"{len(self.report.failed)} files failed" if self.report.failed else None
            sources.finished(connection, self._record.id, scan.state, self.report.degraded or failed)
        touched = self.report.added + self.report.changed + self.report.moved
        with self._tools.catalog.read() as connection:
            left_out = sources.problems(connection, source_id=self._record.id)
            self.report.unchanged = sources.counts(connection, self._record.id).get("indexed", 0) - touched
        for status, entries in (("skipped", self.report.skipped), ("error", self.report.failed)):
            entries[:] = [Skipped(file.path, file.reason or "") for file in left_out if file.status == status]

    def _follow(self) -> None:
        with self._timed("index"):
            self._tools.follow()
        self._unfollowed = 0

    @contextmanager
    def _timed(self, stage: str) -> Iterator[None]:
        start = time.perf_counter()
        try:
            yield
        finally:
            self.report.seconds[stage] = self.report.seconds.get(stage, 0.0) + time.perf_counter() - start


def embed(
    embedder: Embedder, texts: Mapping[bytes, str], refused: dict[bytes, str] | None = None
) -> Generator[Event, None, dict[bytes, Float32]]:
    """Embed ``texts``, shortest first so that batches need little padding; return key → float32 (dim,).

    Texts that the model refuses have no vector then; the reasons are put into ``refused`` where it is given.

    Raises:
        ModelUnavailable: the model cannot be loaded or does not answer.
        InvalidInput: a text is longer than the model reads, and there is no ``refused``.
    """
    keys = sorted(texts, key=lambda key: len(texts[key]))
    vectors: dict[bytes, Float32] = {}
    for start in range(0, len(keys), _EMBEDDED_PER_EVENT):
        part = keys[start : start + _EMBEDDED_PER_EVENT]
        try:
            vectors |= zip(part, embedder.embed([texts[key] for key in part]), strict=True)
        except InvalidInput:
            if refused is None:
                raise
            vectors |= _one_by_one(embedder, {key: texts[key] for key in part}, refused)
        yield Event("embed", start + len(part), len(keys))
    return vectors


def _one_by_one(embedder: Embedder, texts: Mapping[bytes, str], refused: dict[bytes, str]) -> dict[bytes, Float32]:
    """Embed each text by itself, so that one the model refuses does not keep the others from their vectors."""
    vectors: dict[bytes, Float32] = {}
    for key, text in texts.items():
        try:
            vectors[key] = embedder.embed([text])[0]
        except InvalidInput as error:
            refused[key] = str(error)
    return vectors


def bind(catalog: Catalog, collection: CollectionRecord, embedder: Embedder) -> CollectionRecord:
    """Make ``embedder`` the model of ``collection``; return the collection as it is then."""
    with catalog.write() as connection:
        collections.bind_model(connection, collection.id, embedder.fingerprint, embedder.dimension)
        return collections.get(connection, collection.name)


def embed_pending(
    catalog: Catalog, collection: CollectionRecord, embedder: Embedder, follow: Callable[[], object], batch: int
) -> Iterator[Event]:
    """Embed every chunk that still has no vector; the index follows batch by batch.

    Raises:
        ModelUnavailable: the model cannot be loaded or does not answer; what was embedded is kept.
        InvalidInput: a passage is longer than the model reads.
    """
    with catalog.read() as connection:
        total, done = collections.count(connection, collection).pending, 0
    while True:
        with catalog.read() as connection:
            rows = embeddings.pending(connection, collection.id, collection.model_id, batch)
        if not rows:
            return
        try:
            vectors = yield from embed(embedder, dict(rows))
        except InvalidInput as error:
            raise InvalidInput(
                error.message, hint="Passages were cut before this model was there. Cut them anew: pinakes sync"
            ) from error
        collection = bind(catalog, collection, embedder) if collection.model_id is None else collection
        with catalog.write() as connection:
            assert collection.model_id is not None
            embeddings.store(connection, collection.model_id, vectors)
        follow()
        done += len(rows)
        yield Event("index", done, max(done, total))


def _gone(scan: Scan, known: Mapping[str, FileRecord]) -> dict[str, FileRecord]:
    """Return what is known of the files that a source no longer offers."""
    if scan.complete:
        there = {item.path for item in scan.items}
        unseen = tuple(entry.path for entry in scan.skipped if entry.path.endswith("/"))
        return {path: record for path, record in known.items() if path not in there and not path.startswith(unseen)}
    left = {*scan.removed, *(entry.path for entry in scan.skipped)}
    return {path: known[path] for path in left if path in known}


def _chunks(batch: Sequence[_Put | _Move | _Note]) -> list[Chunk]:
    return [chunk for entry in batch if isinstance(entry, _Put) for chunk in entry.new.chunks]


def _weight(batch: Sequence[_Put | _Move | _Note]) -> int:
    """Return how full a batch is: its chunks, and something for what has none."""
    return sum(len(entry.new.chunks) if isinstance(entry, _Put) else 1 for entry in batch)
