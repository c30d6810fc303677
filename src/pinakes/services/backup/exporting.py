"""A collection written as one archive, as it stands at one moment, while others go on reading and writing."""

from __future__ import annotations

import io
import json
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from pinakes.app import App
from pinakes.app.collection_models import recorded
from pinakes.catalog import Connection, collections, entities, transfer
from pinakes.catalog.collections import CollectionRecord
from pinakes.core.batching import batches
from pinakes.core.records import JSON
from pinakes.core.step_reports import OnStep, ignore_step
from pinakes.platform.archives import ArchiveWriter, MemberWriter, written
from pinakes.services.backup.archive_format import (
    DOCUMENTS,
    FILES,
    KEYS,
    KIND,
    SOURCES,
    VECTORS,
    VERSIONS,
    ArchiveCounts,
)
from pinakes.services.documents.masking import masked_lines, masked_row
from pinakes.settings.kept import KEPT
from pinakes.text.secrets.masking import Masking, masking_of

_VECTORS_AT_ONCE = 256


@dataclass(frozen=True, slots=True)
class Exported:
    """An archive that was written: where, how large (bytes), what it holds, and how long it took.

    ``pending`` chunks have no vector yet.
    """

    collection: str
    file: str
    bytes: int
    documents: int
    chunks: int
    vectors: int
    pending: int
    sources: int
    versions: int
    model: str
    seconds: float


def export(
    app: App,
    name: str,
    file: Path | str,
    *,
    history: bool = False,
    force: bool = False,
    on_step: OnStep = ignore_step,
) -> Exported:
    """Write the collection ``name`` to ``file``; with ``history`` also what its documents were.

    All of it is read in one transaction. What is in memory does not grow with the collection. The index, a generation
    beside the one that answers and settings of files are not part of it.

    Raises:
        NotFound: there is no such collection.
        InvalidInput: something is at ``file``, unless ``force`` lets go of it.
        StorageFull: it cannot be written.
    """
    start, file = time.perf_counter(), Path(file)
    with app.catalog.read() as connection:
        record = collections.get(connection, name)
        with written(file, KIND, force=force) as archive:
            exporter = _Exporter(archive, connection, record, on_step, masking_of(app.settings.ingest))
            exporter.write(history=history)
            manifest = _manifest_of(app, record, exporter.counts, history=history)
            decided = exporter.decisions()
            archive.about["collection"] = {**manifest, "decisions": decided} if decided else manifest
        pending = collections.count(connection, record).pending
    counts = exporter.counts
    return Exported(
        collection=record.name,
        file=str(file),
        bytes=file.stat().st_size,
        documents=counts.documents,
        chunks=counts.chunks,
        vectors=counts.vectors,
        pending=pending,
        sources=counts.sources,
        versions=counts.versions,
        model=record.fingerprint,
        seconds=round(time.perf_counter() - start, 2),
    )


class _Exporter:
    """Writes the members of one archive, and counts what is in them."""

    def __init__(
        self,
        archive: ArchiveWriter,
        connection: Connection,
        record: CollectionRecord,
        on_step: OnStep,
        masking: Masking,
    ) -> None:
        self.counts = ArchiveCounts()
        self._masking = masking
        self._archive = archive
        self._connection = connection
        self._record = record
        self._on_step = on_step
        self._numbers: dict[int | None, int | None] = {None: None}

    def write(self, *, history: bool) -> None:
        """Write everything."""
        self._write_sources()
        self._write_documents()
        self._write_files()
        if history:
            self._write_versions()
        self._write_vectors()

    def decisions(self) -> list[dict[str, JSON]]:
        """Return what was decided about names of the graph, without those that have a secret in them."""
        held = [asdict(one) for one in entities.decisions(self._connection, self._record.id)]
        return [one for one in held if self._masking.value(one) == one]

    def _write_sources(self) -> None:
        with self._archive.member(SOURCES) as member:
            for source_id, values in transfer.each_source(self._connection, self._record.id):
                self._numbers[source_id] = self.counts.sources
                self.counts.sources += 1
                _add(member, values)

    def _write_documents(self) -> None:
        total = collections.count(self._connection, self._record).documents
        with self._archive.member(DOCUMENTS) as member:
            for source_id, values in transfer.each_document(self._connection, self._record.id):
                _add(member, {**self._masked(values), "source": self._numbers.get(source_id)})
                self.counts.documents += 1
                self.counts.chunks += len(values["chunks"])
                self._on_step("documents", self.counts.documents, total)

    def _write_files(self) -> None:
        with self._archive.member(FILES) as member:
            for source_id, number in self._numbers.items():
                for values in transfer.each_file(self._connection, source_id) if source_id is not None else ():
                    _add(member, {**values, "source": number})
                    self.counts.files += 1

    def _write_versions(self) -> None:
        with self._archive.member(VERSIONS) as member:
            for source_id, values in transfer.each_version(self._connection, self._record.id):
                _add(member, {**values, **masked_row(values, self._masking), "source": self._numbers.get(source_id)})
                self.counts.versions += 1

    def _masked(self, values: dict[str, JSON]) -> dict[str, JSON]:
        """Return a document with what is secret in it masked, if it was stored before that was done."""
        changed = masked_row(values, self._masking)
        if changed:
            text = str(changed.get("text", values["text"]))
            changed["chunks"] = masked_lines(values["chunks"], text, self._masking)
        return {**values, **changed}

    def _write_vectors(self) -> None:
        """Write the vectors as an array, and the keys of its rows, a line each."""
        collection, model = self._record.id, self._record.model_id
        if model is None:
            return
        total = transfer.count_vectors(self._connection, collection, model)
        with self._archive.member(VECTORS, packed=False) as member:
            member.write(_header(total, self._record.dimension))
            vectors = (vector for _, vector in transfer.each_vector(self._connection, collection, model))
            for part in batches(vectors, _VECTORS_AT_ONCE):
                member.write(transfer.halves(part))
                self.counts.vectors += len(part)
                self._on_step("vectors", self.counts.vectors, total)
        with self._archive.member(KEYS) as member:
            keys = (key for key, _ in transfer.each_vector(self._connection, collection, model))
            for part in batches(keys, _VECTORS_AT_ONCE):
                member.write(b"".join(key.hex().encode() + b"\n" for key in part))


def _manifest_of(app: App, record: CollectionRecord, counts: ArchiveCounts, *, history: bool) -> dict[str, JSON]:
    """Return what the manifest says of a collection. A model's folder is that of this machine: it is left out."""
    own = dict(record.embedding or recorded(app.settings.embedding))
    model = {"fingerprint": record.fingerprint, "dimension": record.dimension, "settings": {**own, "path": None}}
    return {
        "name": record.name,
        "description": app.settings.of_collection(record.name).description or record.description,
        "settings": {name: value for name, value in (record.kept or {}).items() if name in KEPT},
        "graph": app.graphs.portable(record),
        "history": history,
        "model": model if record.model_id is not None else None,
        "counts": counts.model_dump(),
    }


def _add(member: MemberWriter, values: Mapping[str, JSON]) -> None:
    member.write(json.dumps(values, ensure_ascii=False, separators=(",", ":")).encode() + b"\n")


def _header(rows: int, dimension: int) -> bytes:
    """Return the beginning of a .npy file of float16 (rows, dimension)."""
    file = io.BytesIO()
    shape = {"descr": "<f2", "fortran_order": False, "shape": (rows, dimension)}
    np.lib.format.write_array_header_1_0(file, shape)
    return file.getvalue()
