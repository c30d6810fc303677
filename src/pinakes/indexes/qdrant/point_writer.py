"""Writes changes into a Qdrant collection: first the points, then the position of the index.

Several processes and machines may follow the same catalogue into one collection. Of a machine one writes at a time, by
a file lock. Machines notice each other: who finds at the end that somebody else wrote meanwhile puts the position back
to where it was, so that what both wrote is applied once more.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from qdrant_client import models

from pinakes.core.batching import batches
from pinakes.core.records import Float32, IndexEntry, VectorEntry
from pinakes.indexes.keyword.stored_terms import StoredTerms, TermWriter
from pinakes.indexes.qdrant import points, sparse
from pinakes.indexes.qdrant.connection import Server
from pinakes.indexes.qdrant.points import Head, Names

_DRIFT = 0.1
"""By so much an average length may differ from the one that points were weighted by."""

_SCROLLED = 1000


@dataclass(frozen=True)
class Writer:
    """Writes what one index keeps. ``parts``: "keyword", "vector" or both."""

    server: Server
    collection: str
    parts: Names
    terms: TermWriter

    def head(self) -> Head | None:
        """Return how the index stands, None where the collection is none of an index."""
        found = self.server.call(lambda client: client.retrieve(self.collection, [points.HEAD_ID], with_payload=True))
        try:
            return Head.from_payload(found[0].payload or {}) if found else None
        except (KeyError, TypeError, ValueError):
            return None

    def create(self, dimension: int, head: Head) -> None:
        """Make the collection, empty."""
        settings = self.server.settings
        self.server.call(
            lambda client: client.create_collection(
                self.collection,
                vectors_config=points.vectors_config(dimension, settings) if "vector" in self.parts else {},
                sparse_vectors_config=points.sparse_config() if "keyword" in self.parts else None,
            )
        )
        for field, kind in () if self.server.in_memory else points.payload_indexes(self.parts).items():
            self.server.call(
                lambda client, field=field, kind=kind: client.create_payload_index(  # type: ignore[misc]
                    self.collection, field, kind, wait=True
                )
            )
        self._upsert(head)

    def apply(
        self,
        head: Head,
        removed: Sequence[int],
        added: Sequence[IndexEntry],
        position: int,
        vectors: Sequence[VectorEntry],
    ) -> Head:
        """Write changes on top of ``head``; return how the index stands then."""
        before, counts_words = head, "keyword" in self.parts and bool(removed or added)
        if counts_words and not before.begun:
            self._note(begun=True)
        replaced = {*removed, *(entry.document_id for entry in added)}
        head, gone = self._without(head, replaced)
        head, fresh = self._points(head, added)
        for some in batches(fresh, self.server.settings.batch_points):
            self._send([models.UpsertOperation(upsert=models.PointsList(points=some))])
        kept = {point.id for point in fresh}
        for some in batches([number for number in gone if number not in kept], _SCROLLED):
            self._send([models.DeleteOperation(delete=models.PointIdsList(points=some))])
        if "vector" in self.parts:
            self._set_vectors([one for one in vectors if one.document_id not in replaced])
        if counts_words or head.before:
            head = self._weighted_anew(self._measured(head) if before.begun else head)
        return self._stood_at(before, replace(head, position=position, begun=before.begun and not counts_words))

    def _without(self, head: Head, documents: Iterable[int]) -> tuple[Head, list[Any]]:
        """Return ``head`` without these documents, and the points that they have."""
        gone: list[Any] = []
        lengths: dict[str, list[int]] = {points.CHUNK: [], points.WHOLE: []}
        for some in batches(documents, _SCROLLED):
            theirs = models.Filter(must=[points.is_any(points.DOCUMENT, some)])
            for record in self.scroll(theirs, [points.KIND, points.LENGTH]):
                gone.append(record.id)
                payload = record.payload or {}
                lengths[payload[points.KIND]].append(payload.get(points.LENGTH, 0))
        return head.counting(lengths[points.CHUNK], lengths[points.WHOLE], -1), gone

    def _points(self, head: Head, added: Sequence[IndexEntry]) -> tuple[Head, list[models.PointStruct]]:
        """Return ``head`` with these chunks and their documents, and their points."""
        chunks: list[StoredTerms] = self.terms.chunks(added) if "keyword" in self.parts else []
        documents = {one.document_id: one for one in self.terms.documents(chunks)}
        owners = dict.fromkeys(entry.document_id for entry in added)
        lengths = list(map(sparse.length, chunks)) or [0] * len(added)
        whole = [sparse.length(documents[one]) if documents else 0 for one in owners]
        head = head.counting(lengths, whole, 1)
        if not any(head.averages):
            head = replace(head, averages=head.now())
        dense = "vector" in self.parts
        sums = _sums(added) if dense else {}
        content = self.server.settings.content
        found = [
            points.of_chunk(entry, chunks[row] if chunks else None, head, dense=dense, content=content)
            for row, entry in enumerate(added)
        ]
        found += [points.of_document(one, documents.get(one), sums.get(one), head) for one in owners]
        return head, found

    def _set_vectors(self, given: Sequence[VectorEntry]) -> None:
        """Give chunks that are there other vectors, and their documents the sums of these."""
        for documents in batches(dict.fromkeys(one.document_id for one in given), self.server.settings.batch_points):
            theirs = [points.is_any(points.DOCUMENT, documents), points.matches(points.KIND, points.CHUNK)]
            sums: dict[int, list[Float32]] = {one: [] for one in documents}
            mine = {one.chunk_id: one for one in given if one.document_id in sums}
            fresh = dict[int, VectorEntry]()
            for record in self.scroll(models.Filter(must=[*theirs]), [points.DOCUMENT], vectors=[points.DENSE]):
                entry, vector = mine.get(record.id), (record.vector or {}).get(points.DENSE)
                if entry is not None:
                    fresh[record.id] = entry
                if entry is not None or vector is not None:
                    owner = (record.payload or {})[points.DOCUMENT]
                    sums[owner].append(np.asarray(vector if entry is None else entry.vector, np.float32))
            self._write_vectors(list(fresh.values()), {one: np.sum(rows, axis=0) for one, rows in sums.items() if rows})

    def _write_vectors(self, given: Sequence[VectorEntry], sums: dict[int, Float32]) -> None:
        rows = [models.PointVectors(id=one.chunk_id, vector={points.DENSE: one.vector.tolist()}) for one in given]
        rows += [
            models.PointVectors(id=points.number_of(one), vector={points.SUM: total.tolist()})
            for one, total in sums.items()
        ]
        for some in batches(rows, self.server.settings.batch_points):
            self._send([models.UpdateVectorsOperation(update_vectors=models.UpdateVectors(points=some))])
        states = {
            points.OWN: [one.chunk_id for one in given if one.exact],
            points.APPROXIMATE: [one.chunk_id for one in given if not one.exact],
        }
        self._send(
            [
                models.SetPayloadOperation(set_payload=models.SetPayload(payload={points.VECTOR: state}, points=ids))
                for state, ids in states.items()
                if ids
            ]
        )

    def _weighted_anew(self, head: Head) -> Head:
        """Weight all words by the average lengths as they are, where these have moved too far; go on with it, too.

        The new averages are written first: whoever goes on after a crash finds the points that lack them.
        """
        if head.before is None:
            drifts = [abs(now / max(was, 1.0) - 1) for now, was in zip(head.now(), head.averages, strict=True)]
            if max(drifts) <= _DRIFT:
                return head
            head = replace(head, scale=head.scale + 1, before=head.averages, averages=head.now())
            self._note(scale=head.scale, before=head.before, averages=head.averages)
        assert head.before is not None
        stale = models.Filter(
            must=[models.FieldCondition(key=points.SCALE, range=models.Range(lt=head.scale))],
        )
        names, size = [points.WORDS, points.DOCUMENT_WORDS], self.server.settings.batch_points
        while some := self._page(stale, [points.KIND, points.LENGTH], names, size, None)[0]:
            rows = [
                models.PointVectors(
                    id=record.id,
                    vector={
                        name: sparse.rescaled(
                            vector, record.payload[points.LENGTH], head.before[which], head.averages[which]
                        )
                        for which, name in enumerate(names)
                        if (vector := record.vector.get(name)) is not None
                    },
                )
                for record in some
            ]
            ids = [record.id for record in some]
            self._send(
                [
                    models.UpdateVectorsOperation(update_vectors=models.UpdateVectors(points=rows)),
                    models.SetPayloadOperation(
                        set_payload=models.SetPayload(payload={points.SCALE: head.scale}, points=ids)
                    ),
                ]
            )
        return replace(head, before=None)

    def _measured(self, head: Head) -> Head:
        """Return ``head`` with the lengths of all points counted anew."""
        lengths: dict[str, list[int]] = {points.CHUNK: [], points.WHOLE: []}
        has_words = models.Filter(must=[models.FieldCondition(key=points.SCALE, range=models.Range(gte=0))])
        for record in self.scroll(has_words, [points.KIND, points.LENGTH]):
            lengths[record.payload[points.KIND]].append(record.payload[points.LENGTH])
        none = replace(head, counts=(0, 0), tokens=(0, 0))
        return none.counting(lengths[points.CHUNK], lengths[points.WHOLE], 1)

    def _stood_at(self, before: Head, head: Head) -> Head:
        """Write ``head`` unless somebody else wrote meanwhile; then have the changes since ``before`` applied again."""
        head = replace(head, turn=before.turn + 1, writer=uuid.uuid4().hex)
        unchanged = models.Filter(must=[points.matches(f"{points.HEAD}.turn", before.turn)])
        self._send([models.UpsertOperation(upsert=models.PointsList(points=[head.point()], update_filter=unchanged))])
        found = self.head()
        if found is None or found.writer == head.writer:
            return head
        from_start = found.scale != head.scale  # words may be weighted by averages that nobody knows any more
        position = 0 if from_start else min(found.position, before.position)
        back = replace(found, position=position, turn=found.turn + 1, begun=True)
        self._upsert(back)
        return back

    def scroll(self, where: models.Filter, payload: list[str], vectors: list[str] | None = None) -> Iterator[Any]:
        """Yield all points that pass, with these fields of their payload, and these vectors."""
        after: Any = None
        size = _SCROLLED if vectors is None else self.server.settings.batch_points
        while True:
            found, after = self._page(where, payload, vectors, size, after)
            yield from found
            if after is None:
                return

    def _page(
        self, where: models.Filter, payload: list[str], vectors: list[str] | None, size: int, after: Any
    ) -> tuple[list[Any], Any]:
        return self.server.call(
            lambda client: client.scroll(
                self.collection,
                scroll_filter=where,
                limit=size,
                offset=after,
                with_payload=payload,
                with_vectors=vectors or False,
            )
        )

    def _note(self, **values: Any) -> None:
        """Note some of how the index stands; the rest stays as others may have written it meanwhile."""
        noted = models.SetPayload(payload=values, points=[points.HEAD_ID], key=points.HEAD)
        self._send([models.SetPayloadOperation(set_payload=noted)])

    def _upsert(self, head: Head) -> None:
        self._send([models.UpsertOperation(upsert=models.PointsList(points=[head.point()]))])

    def _send(self, operations: Sequence[Any]) -> None:
        if operations:
            self.server.call(lambda client: client.batch_update_points(self.collection, operations, wait=True))


def _sums(added: Sequence[IndexEntry]) -> dict[int, Float32]:
    """Return the sum of the vectors of each document's chunks, of those that have any."""
    found: dict[int, list[Float32]] = {}
    for entry in added:
        if entry.vector is not None:
            found.setdefault(entry.document_id, []).append(entry.vector)
    return {document: np.sum(rows, axis=0, dtype=np.float32) for document, rows in found.items()}
