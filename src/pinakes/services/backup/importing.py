"""A collection taken in from an archive: all of it in one transaction, or nothing."""

from __future__ import annotations

import time
import unicodedata
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import ValidationError

from pinakes.app import App
from pinakes.app.collection_models import recorded
from pinakes.app.source_settings import settings_of
from pinakes.catalog import Connection, IntegrityError, changes, collections, embeddings, entities, events, transfer
from pinakes.catalog import sources as known_sources
from pinakes.catalog.documents import NewDocument, embedding_key
from pinakes.catalog.entities import Decision
from pinakes.core import caller
from pinakes.core.batching import batches
from pinakes.core.errors import InvalidName, InvalidSetting, ModelUnavailable
from pinakes.core.records import JSON, Chunk, Document, Float32, ReadingNote
from pinakes.core.step_reports import OnStep, ignore_step
from pinakes.platform.archives import ArchiveReader, Stream, damaged, opened
from pinakes.services.backup.archive_format import (
    DOCUMENTS,
    FILES,
    KEYS,
    KIND,
    SOURCES,
    VECTORS,
    VERSIONS,
    ArchiveCounts,
    ArchivedCollection,
    ArchivedModel,
    DocumentLine,
    SourceLine,
    line_of,
    validation_message,
)
from pinakes.services.documents.masking import masked_new, masked_row
from pinakes.settings import EmbeddingSettings, Settings, SourceSettings
from pinakes.settings.kept import kept_graph, kept_settings
from pinakes.text.secrets.masking import masking_of

_LOCAL = frozenset({"deterministic", "onnx"})
"""Providers whose models run here. Others ask a server: which one, and with which key, no archive may decide."""

_AT_ONCE = 500
_UNIT = (0.97, 1.03)
_MOST_DOCUMENT_BYTES = 2_000_000


@dataclass(frozen=True, slots=True)
class Imported:
    """A collection that was taken in. ``pending`` chunks have no vector yet.

    ``renamed``: so many documents got new ids, since documents here have, or had, theirs. ``model`` made the vectors:
    that of the home (``own_model`` False) or one that the collection has of its own. ``sources`` are those that the
    next sync reads. ``notes`` say what is not as it was.
    """

    collection: str
    documents: int
    chunks: int
    vectors: int
    pending: int
    versions: int
    renamed: int
    model: str
    own_model: bool
    sources: tuple[str, ...]
    notes: tuple[str, ...]
    seconds: float


def take_in(
    app: App,
    file: Path | str,
    name: str | None = None,
    *,
    sources: bool = True,
    embed_anew: bool = False,
    on_step: OnStep = ignore_step,
) -> Imported:
    """Make the collection that ``file`` holds, under its own name or ``name``; nothing is embedded again.

    Where the model of this home is another than that of the archive, the collection keeps its own, if that runs here;
    else, and with ``embed_anew``, its chunks wait for vectors by the model of this home. Without ``sources`` its
    documents come from nowhere: no sync reads them again.

    Raises:
        NotFound: there is no such file.
        Unreadable: it is no archive of a collection, damaged, changed, or of a newer format.
        InvalidName: there is a collection of that name.
        StorageFull: there is no room for it.
        KeyboardInterrupt: it was stopped; with words where all of the collection is in already.
    """
    start, file = time.perf_counter(), Path(file)
    with _reporting_what_is_in(app) as arrived, opened(file, KIND) as archive:
        about = _about(archive, file)
        wanted = name or about.name
        model = _Model.chosen(app, None if embed_anew else about.model)
        archive.check_room(app.settings.home, "The archive")
        _check_name(app, wanted)
        with app.catalog.write() as connection:
            importer = _Importer(connection, app.settings, archive, file, about, on_step)
            importer.write(_free(connection, wanted), model, with_sources=sources)
            arrived.append(importer.collection)
        on_step("index", 0, 0)
        record, _ = app.index(unicodedata.normalize("NFC", wanted))
        with app.catalog.read() as connection:
            counts = collections.count(connection, record)
    return Imported(
        collection=record.name,
        documents=counts.documents,
        chunks=counts.chunks,
        vectors=importer.counts.vectors,
        pending=counts.pending,
        versions=importer.counts.versions,
        renamed=sum(old != new for old, new in importer.uids.items()),
        model=record.fingerprint,
        own_model=record.embedding is not None,
        sources=tuple(importer.places),
        notes=_notes(about, model, embed_anew=embed_anew),
        seconds=round(time.perf_counter() - start, 2),
    )


@contextmanager
def _reporting_what_is_in(app: App) -> Iterator[list[int]]:
    """Have whoever stops this know that nothing is to be done again, where a collection of these ids is there."""
    arrived: list[int] = []
    try:
        yield arrived
    except KeyboardInterrupt as stop:
        with app.catalog.read() as connection:
            names = [one.name for one in collections.list_all(connection) if one.id in arrived]
        if not names:
            raise
        words = f"stopped, but {names[0]} is in, all of it; its index is built at the first search"
        raise KeyboardInterrupt(words) from stop


@dataclass(frozen=True, slots=True)
class _Model:
    """The model that a collection is to have: by ``own`` settings, None = that of the home; ``archived`` None: none."""

    archived: ArchivedModel | None = None
    own: Mapping[str, JSON] | None = None

    @classmethod
    def chosen(cls, app: App, archived: ArchivedModel | None) -> _Model:
        """Return the model by which the vectors of an archive can be used here, if there is one."""
        if archived is None:
            return cls()
        try:
            here: str | None = app.embedder.fingerprint
        except ModelUnavailable:
            here = None
        if here == archived.fingerprint:
            return cls(archived)
        usual = recorded(app.settings.embedding)
        try:
            own = recorded(EmbeddingSettings.model_validate({**archived.settings, "path": None}))
        except ValidationError:
            return cls()
        if own == {**usual, "path": None}:
            return cls(archived) if here is None else cls()
        of_a_server = own.keys() & {"url", "key_variable", "fallback"}
        return cls(archived, own) if own.get("provider") in _LOCAL and not of_a_server else cls()


class _Importer:
    """Writes what one archive holds into the catalogue, and counts it."""

    def __init__(
        self,
        connection: Connection,
        settings: Settings,
        archive: ArchiveReader,
        file: Path,
        about: ArchivedCollection,
        on_step: OnStep,
    ) -> None:
        self._masking = masking_of(settings.ingest)
        self.counts = ArchiveCounts()
        self.uids: dict[str, str] = {}
        self.places: list[str] = []
        self.collection = 0
        self._connection = connection
        self._home = settings.home
        self._archive = archive
        self._file = file
        self._about = about
        self._on_step = on_step
        self._sources: list[int] = []

    def write(self, name: str, model: _Model, *, with_sources: bool) -> None:
        """Write everything."""
        try:
            self._write(name, model, with_sources=with_sources)
        except IntegrityError as error:
            raise damaged(self._file, f"it holds something twice: {error.orig}") from error

    def _write(self, name: str, model: _Model, *, with_sources: bool) -> None:
        connection, about = self._connection, self._about
        record = collections.create(connection, name, about.description, _settings(self._file, about))
        self.collection = record.id
        if model.own is not None:
            transfer.keep_model(connection, record.id, model.own)
        self._write_sources(wanted=with_sources)
        self._write_documents()
        self._write_files(wanted=with_sources)
        if about.history:
            self._write_versions()
        else:
            transfer.begin_versions(connection, record.id, caller.current().label)
        for decision in about.decisions:
            entities.decide(connection, record.id, Decision(**decision.model_dump()))
        self._write_vectors(model.archived)
        self._check_counts(model)
        changes.record_everything(connection, record.id)
        events.copied(connection, record.id, caller.current().label)

    def _write_sources(self, *, wanted: bool) -> None:
        for line in self._lines(SOURCES):
            self.counts.sources += 1
            if wanted:
                placed = self._with_local_path(line)
                self._sources.append(transfer.put_source(self._connection, self.collection, placed.model_dump()))
                self.places.append(placed.location)
        for kept in known_sources.list_all(self._connection, self.collection):
            try:
                settings_of(kept)
            except ValidationError as error:
                raise damaged(self._file, f"its source {kept.location!r}: {validation_message(error)}") from error

    def _with_local_path(self, line: SourceLine) -> SourceLine:
        """Return a source with its path as this home keeps it, unless another one stands there."""
        try:
            source = SourceSettings.model_validate({"kind": line.kind, "location": line.location})
        except ValidationError as error:
            raise damaged(self._file, f"its source {line.location!r}: {validation_message(error)}") from error
        place = source.seen_from(self._home).location
        return line if place in self.places else line.model_copy(update={"location": place})

    def _write_documents(self) -> None:
        batch: list[DocumentLine] = []
        size = 0
        for line in self._lines(DOCUMENTS):
            batch.append(line)
            size += len(line.text)
            if len(batch) >= _AT_ONCE or size > _MOST_DOCUMENT_BYTES:
                self._put(batch)
                batch, size = [], 0
        self._put(batch)

    def _put(self, batch: list[DocumentLine]) -> None:
        uids = transfer.free_uids(self._connection, [line.uid for line in batch])
        if len(uids) != len(batch) or not self.uids.keys().isdisjoint(uids):
            raise damaged(self._file, "two of its documents have the same id")
        self.uids |= uids
        for line in batch:
            new = masked_new(self._document(line), self._masking)
            transfer.put_document(self._connection, self.collection, new, line.model_dump(include=_AS_IT_WAS))
            self.counts.documents += 1
            self.counts.chunks += len(line.chunks)
            self._on_step("documents", self.counts.documents, self._about.counts.documents)

    def _document(self, line: DocumentLine) -> NewDocument:
        pages = tuple(line.pages or ())
        notes = tuple(ReadingNote(**note.model_dump()) for note in line.notes or ())
        read = Document(line.text, line.title, line.kind, line.language, line.metadata, pages)
        document = replace(read, notes=notes, lines=tuple(line.lines or ()), reader=line.reader)
        chunks = [self._chunk(line, number) for number in range(len(line.chunks))]
        return NewDocument(
            uri=line.uri,
            path=line.path,
            document=document,
            chunks=chunks,
            content_hash=line.content_hash,
            title=line.title,
            metadata=line.metadata,
            group_key=line.group_key,
            source_id=self._source(line.source),
            summary=line.summary,
            summary_by=line.summary_by,
            given=line.given,
            uid=self.uids[line.uid],
            created_at=line.created_at,
            chunker=line.chunker,
            tokens=line.token_count,
        )

    def _chunk(self, line: DocumentLine, number: int) -> Chunk:
        given = line.chunks[number]
        values = given.model_dump(exclude={"key"})
        values |= {"heading_path": tuple(given.heading_path), "symbols": tuple(given.symbols)}
        chunk = Chunk(ordinal=number, text=line.text[given.start : given.end], **values)
        if embedding_key(chunk).hex() != given.key:
            raise damaged(self._file, f"a chunk of {line.path!r} is not the one that its key names")
        return chunk

    def _write_files(self, *, wanted: bool) -> None:
        for batch in batches(self._lines(FILES), _AT_ONCE):
            self.counts.files += len(batch)
            uids = [self.uids.get(line.document, "") for line in batch if line.document]
            ids = transfer.document_ids(self._connection, self.collection, uids)
            of_source: dict[int, list[tuple[dict[str, JSON], int | None]]] = {}
            for line in batch if wanted else ():
                source_id = self._source(line.source)
                document = ids.get(self.uids.get(line.document or "", ""))
                of_source.setdefault(source_id or 0, []).append((line.model_dump(), document))
            for source_id, rows in of_source.items():
                transfer.put_files(self._connection, source_id, rows)

    def _write_versions(self) -> None:
        for batch in batches(self._lines(VERSIONS), _AT_ONCE):
            gone = list(dict.fromkeys(line.uid for line in batch if line.uid not in self.uids))
            self.uids |= transfer.free_uids(self._connection, gone)
            dumped = [line.model_dump() for line in batch]
            clean = [{**row, **masked_row(row, self._masking), "uid": self.uids[row["uid"]]} for row in dumped]
            rows = [(row, self._source(row["source"])) for row in clean]
            transfer.put_versions(self._connection, self.collection, rows)
            self.counts.versions += len(batch)

    def _write_vectors(self, model: ArchivedModel | None) -> None:
        """Write the vectors of texts that the collection has; others an archive has no business to bring."""
        if model is None:
            return
        known = transfer.dimension_of(self._connection, model.fingerprint)
        if known not in (None, model.dimension):
            raise damaged(self._file, f"vectors by {model.fingerprint} have {known} numbers, not {model.dimension}")
        model_id = collections.bind_model(self._connection, self.collection, model.fingerprint, model.dimension)
        with self._archive.member(VECTORS) as vectors, self._archive.member(KEYS) as keys:
            total = self._rows(vectors, model.dimension)
            for batch in batches(map(self._key, keys.lines()), _AT_ONCE):
                rows = self._floats(vectors.exactly(len(batch) * model.dimension * 2), model.dimension)
                mine = transfer.wanted_keys(self._connection, self.collection, batch)
                stored = {key: row for key, row in zip(batch, rows, strict=True) if key in mine}
                embeddings.store(self._connection, model_id, stored)
                self.counts.vectors += len(batch)
                self._on_step("vectors", self.counts.vectors, total)
            if self.counts.vectors != total or vectors.read(1):
                raise damaged(self._file, f"{VECTORS!r} and {KEYS!r} do not belong together")

    def _rows(self, vectors: Stream, dimension: int) -> int:
        """Return how many rows the array has whose header comes next."""
        try:
            fits = np.lib.format.read_magic(vectors) == (1, 0)
            shape, fortran_order, kind = np.lib.format.read_array_header_1_0(vectors)
        except ValueError:
            fits, shape, fortran_order, kind = False, (), False, np.dtype("<f2")
        if not fits or fortran_order or kind != np.dtype("<f2") or len(shape) != 2 or shape[1] != dimension:
            raise damaged(self._file, f"{VECTORS!r} is no float16 array with {dimension} columns")
        return int(shape[0])

    def _key(self, line: bytes) -> bytes:
        try:
            key = bytes.fromhex(line.decode("ascii"))
        except ValueError:
            key = b""
        if len(key) != 16:
            raise damaged(self._file, f"{KEYS!r} has a line that is no key")
        return key

    def _floats(self, data: bytes, dimension: int) -> Float32:
        rows: Float32 = np.frombuffer(data, "<f2").astype(np.float32).reshape(-1, dimension)
        with np.errstate(all="ignore"):
            lengths = np.linalg.norm(rows, axis=1)
        if not bool(np.all((lengths > _UNIT[0]) & (lengths < _UNIT[1]))):
            raise damaged(self._file, "it has vectors that are not of unit length")
        return rows

    def _source(self, number: int | None) -> int | None:
        """Return the id of the source of this number; None where sources are left out."""
        if number is None:
            return None
        if number >= self.counts.sources:
            raise damaged(self._file, f"it has no source {number}")
        return self._sources[number] if self._sources else None

    def _lines(self, member: str) -> Iterator[Any]:
        with self._archive.member(member) as stream:
            for number, line in enumerate(stream.lines(), start=1):
                try:
                    yield line_of(member, line)
                except ValueError as error:
                    raise damaged(self._file, f"line {number} of {member!r}: {error}") from error

    def _check_counts(self, model: _Model) -> None:
        here, wanted = self.counts.model_dump(), self._about.counts.model_dump()
        left_out = () if model.archived is not None else ("vectors",)
        wrong = [what for what, count in wanted.items() if what not in left_out and here[what] != count]
        if wrong:
            raise damaged(self._file, f"it has {here[wrong[0]]} {wrong[0]}, not {wanted[wrong[0]]}")


def _about(archive: ArchiveReader, file: Path) -> ArchivedCollection:
    try:
        return ArchivedCollection.model_validate(archive.manifest.get("collection"))
    except ValidationError as error:
        raise damaged(file, f"its manifest: {validation_message(error)}") from error


def _settings(file: Path, about: ArchivedCollection) -> dict[str, JSON]:
    try:
        graph = {"graph": kept_graph(about.graph)} if about.graph else {}
        return {**kept_settings(about.settings), **graph}
    except InvalidSetting as error:
        raise damaged(file, f"its settings: {error.message}") from error


def _free(connection: Connection, name: str) -> str:
    try:
        return collections.free(connection, name)
    except InvalidName as error:
        raise InvalidName(error.message, hint="Give it another name: --as NAME") from error


def _check_name(app: App, name: str) -> None:
    """Refuse a name before anything is read."""
    with app.catalog.read() as connection:
        _free(connection, name)


def _notes(about: ArchivedCollection, model: _Model, *, embed_anew: bool) -> tuple[str, ...]:
    if about.model is None:
        return ()
    if model.archived is None:
        why = "as was wanted" if embed_anew else f"those of the archive are by {about.model.fingerprint}"
        return (f"its chunks wait for vectors by the model of this home: {why}",)
    if model.own is not None:
        return (f"it keeps the model that it was embedded by, {about.model.fingerprint}, whatever the settings name",)
    return ()


_AS_IT_WAS = {"inherited", "version", "updated_at"}
