"""The ingestion of one source: skip unchanged files, parse, chunk, embed, commit, update the index.

Documents are committed in batches, each with its chunks, vectors, versions, manifest rows and change
records in one transaction, so a crash loses at most the batch in flight and the next run redoes it.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator, Sequence, Set
from contextlib import closing, suppress
from dataclasses import replace
from itertools import groupby

from pinakes.catalog import (
    Connection,
    collections,
    document_fields,
    documents,
    embeddings,
    history,
    shared_files,
    sources,
)
from pinakes.catalog.collections import CollectionRecord
from pinakes.catalog.documents import embedding_key
from pinakes.catalog.sources import FileRecord, SourceRecord
from pinakes.core.errors import InvalidInput, ModelUnavailable, PinakesError
from pinakes.core.ports import Source
from pinakes.core.records import Chunk, Float32, Item, Scan, Skipped
from pinakes.ingestion.embedding import bind_model, ctrl_c_delayed, embed, has_pending, keep, keeping, refusal
from pinakes.ingestion.file_changes import Entry, Move, Note, Put, chunks_in, documents_in, vanished_files, weight
from pinakes.ingestion.file_reading import FileReader
from pinakes.ingestion.report import Event, Report
from pinakes.ingestion.rereading import Rereading, present_versions
from pinakes.ingestion.run_options import RunOptions
from pinakes.ingestion.run_tools import Tools, keeping_of
from pinakes.ingestion.scan import check_place, is_there, scanned
from pinakes.ingestion.shared_files import held_by_others
from pinakes.platform import memory

_REMOVED_PER_STEP = 500
_FOLLOW_AFTER_CHUNKS = 4096
"""Chunks after which the index is updated; each update costs a commit. A search updates it at once."""

_BYTES_PER_CHUNK = 700
"""Bytes of a typical chunk of prose or code; used to estimate the size of a run before reading anything."""


class Ingest:
    """One run over one source of one collection."""

    def __init__(
        self,
        tools: Tools,
        collection: CollectionRecord,
        record: SourceRecord,
        source: Source,
        options: RunOptions | None = None,
    ) -> None:
        self._tools = tools
        self._options = options or RunOptions()
        self._collection = collection
        self._record = record
        self._source = source
        self._known: dict[str, FileRecord] = {}
        self._rereading = Rereading()
        self._gone: dict[str, FileRecord] = {}
        self._placed: set[int] = set()
        self._groups: set[str] = set()
        self._chunks_since_update = 0
        self._keeping = keeping_of(tools.history)
        self._deferring = False
        self._refused: dict[bytes, str] = {}
        self.report = Report(collection.name, record.location, part=record.part)

    def run(self) -> Iterator[Event]:
        """Run the ingestion, yielding events; ``report`` is complete when the generator ends.

        Raises:
            SourceError: the source cannot be reached; nothing was changed.
        """
        with closing(self._source):
            yield Event("scan", 0, 0, self._record.location)
            self._tools.follow()  # before any change, to detect an index that is newer than the catalogue
            with self.report.timed("scan"):
                scan = yield from self._scan()
            yield from self._run(scan)

    def _scan(self) -> Generator[Event, None, Scan]:
        """Ask the source for its files, including those that failed before."""
        with self._tools.catalog.read() as connection:
            self._known = sources.manifest(connection, self._record.id)
            self._rereading = Rereading.of_source(connection, self._record, self._known)
        due = {path for path, record in self._known.items() if self._options.is_due(record)}
        try:
            since = self._options.since(self._record.state, self._record.report)
            since = None if self._rereading.scan_all and self._options.whole else since
            scan = yield from scanned(self._source, since)
            interrupted = self._options.was_interrupted(self._record.report)
            if not scan.complete and (interrupted or not due <= {item.path for item in scan.items}):
                scan = yield from scanned(self._source, None)
            check_place(scan, self._known, self._record.location, self._collection.name)
            return scan
        except PinakesError as error:
            with self._tools.catalog.write() as connection:
                never_read = self._record.state is None and not self._known
                if never_read and not self._tools.rules.sources:  # probably a typing mistake: do not keep the source
                    sources.drop(connection, self._record.id)
                    collections.drop_if_empty(connection, self._collection.id)
                else:
                    sources.finished(connection, self._record.id, None, error.message)
                    sources.save_report(
                        connection, self._record.id, self._options.ended(self.report, self._record.report, error)
                    )
            raise

    def _run(self, scan: Scan) -> Iterator[Event]:
        held, wanted = self._without_shared([item for item in scan.items if self._may_differ(item)])
        self._gone = {} if self._options.keeps_gone else vanished_files(scan, self._known)
        self.report.excluded = [entry.reason for entry in scan.skipped if entry.path == "."]
        if not scan.complete and (wanted or self._gone):
            with self._tools.catalog.write() as connection:
                sources.begun(connection, self._record.id, self._options.begun(self._record.report))
        yield Event("scan", len(scan.items), len(scan.items), f"{len(wanted)} to read")
        self._deferring = self._is_large(wanted)
        run = self._tools, self._record, self._source, self._options, self.report
        reader = FileReader(*run, self._known, self._rereading, self._gone)
        batch: list[Entry] = []
        with self._tools.open_parser(wanted) as parser:
            for done, (item, entry) in enumerate(reader.entries(wanted, parser), start=1):
                batch.append(entry)
                yield Event("read", done, len(wanted), item.path)
                if weight(batch) >= self._tools.limits.batch_chunks:
                    yield from self._commit(batch)
                    batch = []
        yield from self._commit([*batch, *held])
        self._finish(scan)
        if not self.report.degraded and self._has_pending():
            yield from self._embed_waiting()
        self._report_refused()
        self._store_report()
        self._update_index()
        yield Event("index", 1, 1)

    def _embed_waiting(self) -> Iterator[Event]:
        """Embed the chunks that this run deferred, and those that earlier runs left pending."""
        deferred, embedded, before, waiting = self.report.pending, 0, 0, self._pending_count()
        try:
            with self.report.timed("embed"):
                for event in self._tools.embed_waiting(self._update_index_sometimes):
                    if event.stage == "embed":
                        embedded += event.done - before
                        before = event.done if event.done < event.total else 0
                    yield event
        except (InvalidInput, ModelUnavailable) as error:
            self.report.degraded = str(error)
        left = self._pending_count()
        embedded = max(0, min(embedded, waiting - left))  # without those that the model refused
        self.report.pending = min(deferred, left)
        self.report.embedded += embedded
        self.report.reused += max(0, deferred - self.report.pending - embedded)  # repeated texts

    def _report_refused(self) -> None:
        """Report the chunks that the model refused, if nothing else explains pending chunks."""
        if self._refused and not self.report.degraded:
            with self._tools.catalog.read() as connection:
                error = refusal(connection, self._collection, self._refused)
            self.report.degraded = str(error) if error else None

    def _has_pending(self) -> bool:
        with self._tools.catalog.read() as connection:
            return has_pending(connection, collections.get(connection, self._collection.name))

    def _pending_count(self) -> int:
        """Return how many chunks of the collection have no vector of its model."""
        with self._tools.catalog.read() as connection:
            return collections.count(connection, collections.get(connection, self._collection.name)).pending

    def _is_large(self, wanted: Sequence[Item]) -> bool:
        """Return whether the run is so large that embedding is deferred until everything is committed."""
        expected = sum(item.size_bytes for item in wanted) // _BYTES_PER_CHUNK
        return self._tools.defer_chunks is not None and expected >= self._tools.defer_chunks

    def _may_differ(self, item: Item) -> bool:
        known = self._known.get(item.path)
        if (
            known is None
            or known.fingerprint != item.fingerprint
            or item.path in self._rereading
            or self._options.is_due(known)
            or known.code == shared_files.HELD  # checked again below
        ):
            return True
        return known.status == "indexed" and known.uri != item.uri  # changed by another branch or source

    def _without_shared(self, wanted: Sequence[Item]) -> tuple[list[Note], list[Item]]:
        """Return notes on files that another source of the collection holds, and the remaining files."""
        place, others = self._record.place[:2], self._options.others
        held = held_by_others(self._tools.catalog, self._collection.id, place, others, wanted)
        known = {path: replace(self._known[path], uri=None) for path in held.keys() & self._known.keys()}
        notes = [Note(record) for path, record in held.items() if known.get(path) != record]
        return notes, [item for item in wanted if item.path not in held]

    def _commit(self, batch: Sequence[Entry]) -> Iterator[Event]:
        """Embed the new chunks of ``batch``, then commit all in one transaction; update the index now and then."""
        if not batch:
            return
        chunks = chunks_in(batch)
        self._tools.graph.name(self._tools.catalog, self._collection.id, documents_in(batch))
        with ctrl_c_delayed(self._tools.embedder):
            vectors = yield from self._embed(chunks)
            with self.report.timed("catalog"), self._tools.catalog.write() as connection:
                keep(connection, self._tools.embedder, vectors)
                sources.note(connection, self._record.id, list(self._applied(connection, batch)))
                self._inherit(connection)
            yield Event("commit", len(batch), len(batch))
        self.report.chunks += len(chunks)
        if not self._deferring:
            self._update_index_sometimes(len(chunks))

    def _applied(self, connection: Connection, batch: Sequence[Entry]) -> Iterator[FileRecord]:
        """Do what the entries say, in order, documents that follow one another at once."""
        for kind, entries in groupby(batch, type):
            if kind is Put:
                yield from self._put(connection, [entry for entry in entries if isinstance(entry, Put)])
            else:
                yield from (self._apply(connection, entry) for entry in entries if not isinstance(entry, Put))

    def _put(self, connection: Connection, puts: Sequence[Put]) -> Iterator[FileRecord]:
        ids = documents.put_all(connection, self._collection.id, [entry.new for entry in puts], self._keeping)
        for entry, document_id in zip(puts, ids, strict=True):
            self.report.added += entry.is_new
            self.report.changed += not entry.is_new
            self.report.reread += entry.new.path in self._rereading.documents
            yield self._file_record(entry, document_id)

    def _apply(self, connection: Connection, entry: Move | Note) -> FileRecord:
        if isinstance(entry, Note):
            self._remove(connection, entry.record.path, entry.remove)
            return entry.record
        document_id = entry.old.document_id
        assert document_id is not None
        self._groups.add(documents.move(connection, self._collection.id, document_id, entry.new, self._keeping))
        if entry.rechunk:
            documents.rewrite(connection, document_id, entry.new, self._keeping)
        sources.forget(connection, self._record.id, [entry.old.path])
        self.report.moved += 1
        return self._file_record(entry, document_id)

    def _file_record(self, entry: Put | Move, document_id: int) -> FileRecord:
        new = entry.new
        self._groups.add(new.group_key)
        self._placed.add(document_id)
        return FileRecord(new.path, entry.item.fingerprint, new.content_hash, "indexed", None, document_id)

    def _remove(self, connection: Connection, path: str, document_id: int | None) -> None:
        """Remove the document of the file at ``path``, unless another file has it now."""
        if document_id is None or document_id in self._placed:
            return
        if documents.is_file_at(connection, document_id, self._record.id, path):
            self._groups.add(documents.remove(connection, document_id, self._keeping))
            self.report.removed += 1

    def _inherit(self, connection: Connection) -> None:
        """Give the groups touched by this transaction their metadata, in the same transaction in case of a crash."""
        document_fields.inherit(connection, self._collection.id, self._groups, self._tools.rules.group_metadata)
        self._groups.clear()

    def _embed(self, chunks: Sequence[Chunk]) -> Generator[Event, None, dict[bytes, Float32]]:
        """Return embedding key → vector of the chunks without a vector, yielding progress."""
        texts = {embedding_key(chunk): chunk.embedded_text for chunk in chunks}
        if not texts or self.report.degraded or self._deferring:
            self.report.pending += len(chunks)
            return {}
        known, refused = set[bytes](), dict[bytes, str]()
        try:
            known = self._embedded_before(texts)
            missing = {key: text for key, text in texts.items() if key not in known}
            with self.report.timed("embed"):
                kept = keeping(self._tools.catalog, self._collection, self._tools.embedder)
                vectors = yield from embed(self._tools.embedder, missing, refused, kept)
        except ModelUnavailable as error:
            self.report.degraded = str(error)
            self._count_kept(chunks, known)
            return {}
        self.report.reused += len(chunks) - len(missing)
        self.report.embedded += len(vectors)
        self.report.pending += len(refused)
        self._refused |= refused
        if self._collection.model_id is None:
            self._collection = bind_model(self._tools.catalog, self._collection, self._tools.embedder)
        return vectors

    def _count_kept(self, chunks: Sequence[Chunk], before: Set[bytes]) -> None:
        """Count the pending chunks after the model failed, and those embedded before."""
        now: Set[bytes] = before
        with suppress(ModelUnavailable):
            now = self._embedded_before(embedding_key(chunk) for chunk in chunks)
        waiting = sum(embedding_key(chunk) not in now for chunk in chunks)
        self.report.pending += waiting
        self.report.embedded += len(now) - len(before)
        self.report.reused += len(chunks) - waiting - (len(now) - len(before))

    def _embedded_before(self, keys: Iterable[bytes]) -> set[bytes]:
        """Return the ``keys`` that have a vector of this model, from any collection."""
        fingerprint = self._tools.embedder.fingerprint
        with self.report.timed("catalog"), self._tools.catalog.read() as connection:
            return embeddings.known_keys(connection, collections.model_id(connection, fingerprint), keys)

    def _finish(self, scan: Scan) -> None:
        """Remove vanished documents, give groups their metadata, and store the state of the source."""
        gone = list(self._gone.items())
        for start in range(0, len(gone), _REMOVED_PER_STEP):
            part = gone[start : start + _REMOVED_PER_STEP]
            with self.report.timed("catalog"), self._tools.catalog.write() as connection:
                there = (record.document_id for path, record in part if is_there(self._record, path))
                handed = shared_files.next_holders(connection, self._record, set(filter(None, there)) - self._placed)
                shared_files.hand_over(connection, self._collection.id, handed)
                for path, record in part:
                    if record.document_id not in handed:
                        self._remove(connection, path, record.document_id)
                sources.forget(connection, self._record.id, [path for path, _ in part])
                self._inherit(connection)
        with self.report.timed("catalog"), self._tools.catalog.write() as connection:
            skipped = [FileRecord(e.path, "", None, "skipped", e.reason) for e in scan.skipped if e.path != "."]
            sources.note(connection, self._record.id, skipped)
            sources.finished(connection, self._record.id, scan.state, sources.failures(len(self.report.failed)))
            if self._options.whole:
                sources.read_by(connection, self._record.id, present_versions())
            history.sweep(connection, self._collection.id, self._keeping)
        touched = self.report.added + self.report.changed + self.report.moved
        with self._tools.catalog.read() as connection:
            left_out = sources.problems(connection, source_id=self._record.id)
            self.report.unchanged = sources.counts(connection, self._record.id).get("indexed", 0) - touched
        for status, entries in (("skipped", self.report.skipped), ("error", self.report.failed)):
            entries[:] = [Skipped(f.path, f.reason or "", f.code or "") for f in left_out if f.status == status]

    def _store_report(self) -> None:
        """Store how the run ended, and why chunks are pending."""
        with self.report.timed("catalog"), self._tools.catalog.write() as connection:
            if self.report.degraded:
                sources.finished(connection, self._record.id, None, self.report.degraded)
            sources.save_report(connection, self._record.id, self._options.ended(self.report, self._record.report))

    def _update_index_sometimes(self, chunks: int) -> None:
        self._chunks_since_update += chunks
        if self._chunks_since_update >= _FOLLOW_AFTER_CHUNKS:
            self._update_index()
            memory.give_back()

    def _update_index(self) -> None:
        with self.report.timed("index"):
            self._tools.follow()
        self._chunks_since_update = 0
