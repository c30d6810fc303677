"""Writes planned changes: chunk, embed, commit in one transaction, update the index.

What takes time is done outside of the transaction. Inside it each plan is asked again: where a document is another by
then, it is left as it is and all of this is done once more for it, so that of two writers none undoes the other.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from typing import Literal

from pinakes.app import App
from pinakes.catalog import (
    Connection,
    collections,
    contents,
    document_fields,
    documents,
    embeddings,
    full_documents,
    history,
)
from pinakes.catalog.collections import CollectionRecord
from pinakes.catalog.documents import OWN_SUMMARIES, NewDocument, embedding_key, summary_key
from pinakes.catalog.full_documents import StoredDocument
from pinakes.chunking import chunker_of
from pinakes.core.errors import Busy, InvalidInput, ModelUnavailable, PinakesError
from pinakes.core.generators import result_of
from pinakes.core.ports import Embedder
from pinakes.core.records import Chunk, Float32, ReadingNote
from pinakes.ingestion.embedding import embed, keep, readable
from pinakes.ingestion.run_tools import Tools, keeping_of
from pinakes.metadata import ERRORS, retyped
from pinakes.models.summarizers import writer_of
from pinakes.models.token_counts import token_counter
from pinakes.services import ingestion_runs
from pinakes.services.documents.index_update import catch_up
from pinakes.services.documents.planned_changes import Plan, PlannedChange, as_new
from pinakes.services.run_progress import drain
from pinakes.services.summaries import Summaries
from pinakes.settings import FieldType

_ATTEMPTS = 50


@dataclass(frozen=True, slots=True)
class WriteResult:
    """What became of a plan. ``degraded`` says why chunks wait for their vectors.

    ``embed_s``: how long the model took for all that was written with it, in seconds. ``notes``: what of it was masked
    or left out.
    """

    content: StoredDocument
    outcome: Literal["created", "updated", "unchanged"]
    degraded: str | None = None
    embed_s: float = 0.0
    notes: tuple[ReadingNote, ...] = ()


@dataclass(frozen=True, slots=True)
class _Ready:
    """A document as it is to be written, and what it was made for."""

    new: NewDocument
    prepared: PlannedChange

    @property
    def is_needless(self) -> bool:
        base = self.prepared.base
        as_it_is = replace(self.new, document=replace(self.new.document, notes=()), chunker="", findings=None)
        return base is not None and not self.prepared.rechunk and as_it_is == as_new(base)


@dataclass(slots=True)
class _Batch:
    """Plans on their way: those to do, those done. ``vectors`` are to be kept with what is written."""

    plans: dict[int, Plan]
    done: dict[int, WriteResult | PinakesError]
    ready: dict[int, _Ready] = field(default_factory=dict)
    vectors: Mapping[bytes, Float32] = field(default_factory=dict)
    degraded: str | None = None
    deferred: bool = False
    reused: Mapping[int, Set[bytes]] = field(default_factory=dict)
    """Keys of vectors that were there already."""
    binds: bool = False
    """The collection gets the model that embedded this."""
    behind: bool = False
    """Whether chunks of long documents are embedded behind the answer."""
    embed_s: float = 0.0

    def finish(self, number: int, result: WriteResult | PinakesError) -> None:
        """Be done with a plan."""
        self.done[number] = result
        self.plans.pop(number, None)
        self.ready.pop(number, None)

    def degrade(self, reason: str) -> None:
        """Have all that was written say why it cannot be found in full yet."""
        for number, one in self.done.items():
            if isinstance(one, WriteResult):
                self.done[number] = replace(one, degraded=reason)


class DocumentWriter:
    """Writes documents into the collections of a home. Thread-safe."""

    def __init__(self, app: App, summaries: Summaries) -> None:
        self._app = app
        self._summaries = summaries

    def write(
        self, name: str, plans: Sequence[Plan | PinakesError], *, create: bool = False
    ) -> list[WriteResult | PinakesError]:
        """Carry out ``plans``; return what became of each, in their order. An error in place of a plan stays one.

        Raises:
            NotFound: there is no such collection, and it is not to be made (``create``).
            InvalidName: it is to be made, and cannot be called so.
            ModelMismatch: it was embedded by another model.
        """
        done = {number: plan for number, plan in enumerate(plans) if isinstance(plan, PinakesError)}
        batch = _Batch({number: plan for number, plan in enumerate(plans) if not isinstance(plan, PinakesError)}, {})
        batch.done.update(done)
        if batch.plans:
            self._carry_out(name, batch, create)
        return [batch.done[number] for number in range(len(plans))]

    def inherit(self, connection: Connection, record: CollectionRecord, groups: Collection[str]) -> None:
        """Give the documents of these groups the metadata of their group, where the collection has such."""
        document_fields.inherit(connection, record.id, groups, self._app.rules(record).group_metadata)

    def _carry_out(self, name: str, batch: _Batch, create: bool) -> None:
        for _ in range(_ATTEMPTS):
            record = self._collection(name, create)
            tools = ingestion_runs.tools(self._app, record)
            self._prepare(record, tools, batch)
            if batch.ready:
                self._embed(record, tools, batch)
                self._commit(record, tools, batch)
            if not batch.plans:
                break
        for number in list(batch.plans):
            batch.finish(number, Busy("Others change this document all the time.", hint="Try again."))
        written = any(isinstance(one, WriteResult) and one.outcome != "unchanged" for one in batch.done.values())
        if written and (later := catch_up(self._app, name)):
            batch.degrade(later)
        elif batch.deferred or batch.behind:
            self._embed_waiting(name, batch)

    def _collection(self, name: str, create: bool) -> CollectionRecord:
        """Return the collection to write to; one that is not there yet is made together with its first document."""
        description = self._app.settings.of_collection(name).description
        with self._app.catalog.read() as connection:
            found = collections.planned(connection, name, description) if create else collections.get(connection, name)
        if found.id:
            self._app.check_model(found)
        return found

    def _prepare(self, record: CollectionRecord, tools: Tools, batch: _Batch) -> None:
        """Ask the plans what they want, and cut what is to be cut."""
        batch.ready = {}
        with self._app.catalog.read() as connection:
            wanted = dict(_planned(connection, record, batch))
        counter = token_counter(self._app.settings.cache)
        with tools.open_parser(()) as parser:
            for number, prepared in wanted.items():
                chunks: Sequence[Chunk] = ()
                if prepared.rechunk:
                    chunks = parser.chunks(replace(prepared.new.document, title=prepared.chunk_title))
                try:
                    tokens = counter.count(prepared.new.document.text) if prepared.rechunk else None
                    self._check_length(tokens or 0, prepared)
                    chunker = chunker_of(prepared.new.document) if prepared.rechunk else ""
                    cut = replace(prepared.new, chunks=chunks, chunker=chunker, tokens=tokens)
                    new = _typed(cut, tools.rules.fields)
                    batch.ready[number] = _Ready(tools.graph.read(self._summarized(new)), prepared)
                except PinakesError as error:
                    batch.finish(number, error)

    def _check_length(self, tokens: int, prepared: PlannedChange) -> None:
        most, base = self._app.settings.documents.max_tokens, prepared.base
        is_stored = base is not None and base.text == prepared.new.document.text
        if most and tokens > most and not is_stored:
            raise InvalidInput(
                "Document exceeds max tokens", hint=f"It has {tokens}, at most {most} may be (documents.max_tokens)."
            )

    def _summarized(self, new: NewDocument) -> NewDocument:
        """Return ``new`` with a summary where a model writes those; sentences of the text are taken on reading."""
        settings = self._app.settings
        if new.summary is not None or writer_of(settings.summary, settings.chat) != "chat":
            return replace(new, summary=new.summary or "")
        symbols = [name for chunk in new.chunks for name in chunk.symbols]
        made = self._summaries.writer.summarize(new.document, symbols)
        return replace(new, summary=made.text, summary_by="chat") if made.by == "chat" else replace(new, summary="")

    def _embed(self, record: CollectionRecord, tools: Tools, batch: _Batch) -> None:
        """Embed what has no vector by the model of the collection, which it gets by that."""
        refused: dict[bytes, str] = {}
        texts: dict[int, dict[bytes, str]] = {}
        batch.vectors, batch.reused, batch.binds = {}, {}, False
        if batch.degraded:
            return
        try:
            texts = {number: _texts(one.new, tools.embedder) for number, one in batch.ready.items()}
            wanted = {key: text for each in texts.values() for key, text in each.items()}
            if not wanted:
                return
            missing = self._missing(tools.embedder, wanted)
            batch.reused = {number: each.keys() - missing.keys() for number, each in texts.items()}
            if self._app.embeds_later and tools.defer_chunks:
                for key in self._embedded_later(batch, missing):
                    del missing[key]
            if missing and tools.defer_chunks is not None and len(missing) >= tools.defer_chunks:
                batch.deferred = True
                return
            start = time.perf_counter()
            batch.vectors = result_of(embed(tools.embedder, missing, refused, kept=batch.vectors.update))
            batch.embed_s += time.perf_counter() - start
            batch.binds = record.model_id is None
        except ModelUnavailable as error:
            batch.degraded = str(error)
            batch.binds = bool(batch.vectors) and record.model_id is None  # what was paid for until then
        for number, each in texts.items():
            if reason := next((refused[key] for key in each if key in refused), None):
                batch.finish(number, InvalidInput(reason))

    def _embedded_later(self, batch: _Batch, missing: Mapping[bytes, str]) -> set[bytes]:
        """Return what of ``missing`` nobody is to wait for: chunks of long documents, which a server embeds later."""
        most, left = self._app.settings.documents.embed_at_once, set[bytes]()
        for one in batch.ready.values():
            waiting = {embedding_key(chunk) for chunk in one.new.chunks} & missing.keys()
            left |= waiting if len(waiting) > most else set()
        batch.behind |= bool(left)
        return left

    def _missing(self, embedder: Embedder, texts: Mapping[bytes, str]) -> dict[bytes, str]:
        fingerprint = embedder.fingerprint
        with self._app.catalog.read() as connection:
            known = embeddings.known_keys(connection, collections.model_id(connection, fingerprint), texts)
        return {key: text for key, text in texts.items() if key not in known}

    def _commit(self, record: CollectionRecord, tools: Tools, batch: _Batch) -> None:
        """Write what still is as it was when it was prepared.

        Raises:
            NotFound: the collection, which had documents, was deleted meanwhile.
        """
        for number, one in list(batch.ready.items()):
            if one.is_needless and one.prepared.base is not None:
                batch.finish(number, WriteResult(one.prepared.base, "unchanged", notes=one.prepared.notes))
        if not batch.ready:
            return
        if record.id:
            tools.graph.name(self._app.catalog, record.id, (one.new for one in batch.ready.values()))
        with self._app.catalog.write() as connection:
            now = collections.planned(connection, record.name, record.description)
            if now.id == record.id:
                collections.hold(connection, now.id)
                self._write(connection, now, tools, batch, binds=batch.binds and now.line == record.line)
                return
            if record.written:
                collections.reload(connection, record)
            if batch.vectors:  # it was made meanwhile, or dropped as empty: the next attempt needs them
                keep(connection, tools.embedder, batch.vectors)

    def _write(
        self, connection: Connection, record: CollectionRecord, tools: Tools, batch: _Batch, *, binds: bool
    ) -> None:
        is_new = not record.id
        if is_new:
            record = collections.ensure(connection, record.name, record.description)
        if binds:
            collections.bind_model(connection, record.id, tools.embedder.fingerprint, tools.embedder.dimension)
        if batch.vectors:
            keep(connection, tools.embedder, batch.vectors)
        dropped = self._dropped(connection, tools.embedder, batch)
        written = [
            self._put(connection, record, batch, number)
            for number, again in _planned(connection, record, batch)
            if number in batch.ready and again.based_on == batch.ready[number].prepared.based_on
            if number not in dropped
        ]
        self.inherit(connection, record, {group for groups in written for group in groups})
        history.sweep(connection, record.id, keeping_of(tools.history))
        if is_new and not written:
            collections.drop_if_empty(connection, record.id)

    def _dropped(self, connection: Connection, embedder: Embedder, batch: _Batch) -> set[int]:
        """Return the plans that counted on vectors which went with another collection meanwhile."""
        keys = {key for each in batch.reused.values() for key in each}
        if not keys:
            return set()
        known = embeddings.known_keys(connection, collections.model_id(connection, embedder.fingerprint), keys)
        return {number for number, each in batch.reused.items() if not each <= known}

    def _put(self, connection: Connection, record: CollectionRecord, batch: _Batch, number: int) -> Iterable[str]:
        """Write one document; return the groups it was in and is in."""
        new, prepared = batch.ready[number].new, batch.ready[number].prepared
        base, keeping = prepared.base, keeping_of(self._app.settings.history)
        if base is None:
            document_id = documents.add(connection, record.id, new, keeping)
            if prepared.by_file and new.source_id is not None:
                documents.take_back(connection, document_id, new.source_id, new.path)
        else:
            document_id = base.id
            inherited, op, rechunk = base.inherited, prepared.op, prepared.rechunk
            documents.rewrite(connection, document_id, new, keeping, op=op, inherited=inherited, rechunk=rechunk)
        if prepared.content is not None:
            contents.pushed(connection, document_id, prepared.content.size_bytes, prepared.content.digest)
        content = full_documents.of_id(connection, document_id)
        outcome: Literal["created", "updated"] = "updated" if base else "created"
        batch.finish(number, WriteResult(content, outcome, batch.degraded, batch.embed_s, prepared.notes))
        return new.group_key, base.group_key if base else ""

    def _embed_waiting(self, name: str, batch: _Batch) -> None:
        """Make what was left waiting searchable, and embed it, as after a large run over files."""
        try:
            sample = self._app.settings.documents.embed_at_once if batch.behind else None
            rest = not self._app.embeds_later
            drain(ingestion_runs.embed_waiting(self._app, name, rest=rest, sample=sample))
        except (Busy, InvalidInput, ModelUnavailable) as error:
            batch.degrade(str(error))


def _planned(connection: Connection, record: CollectionRecord, batch: _Batch) -> Iterator[tuple[int, PlannedChange]]:
    """Yield what the plans want now; be done with those that cannot be carried out."""
    for number, plan in list(batch.plans.items()):
        try:
            prepared = plan(connection, record.id)
        except PinakesError as error:
            batch.finish(number, error)
        else:
            yield number, prepared


def _texts(new: NewDocument, embedder: Embedder) -> dict[bytes, str]:
    """Return key → text of all that is to have a vector."""
    texts = {embedding_key(chunk): chunk.embedded_text for chunk in new.chunks}
    if new.summary and new.summary_by in OWN_SUMMARIES:
        texts[summary_key(new.summary)] = readable(new.summary, embedder)
    return texts


def _typed(new: NewDocument, types: Mapping[str, FieldType]) -> NewDocument:
    """Return a document whose typed fields hold values of their types."""
    if not types:
        return new
    given = {name: value for name, value in retyped(new.given or {}, types).items() if name != ERRORS}
    return replace(new, metadata=retyped(new.metadata, types), given=new.given and given)
