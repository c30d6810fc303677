"""Summaries of documents: given, written by a model, or extracted from their texts.

Sentences are taken when somebody looks, and by a server ahead of that: it costs about a millisecond, nothing at all
while documents are added, and they are always those of the text as it is, by the rules of this program: they are not
stored, so that no version of them is. What a model wrote is kept in the catalogue.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from pinakes.app import App
from pinakes.catalog import Connection, document_queries, documents, embeddings, summaries
from pinakes.catalog.collections import CollectionRecord
from pinakes.catalog.document_queries import DocumentRecord
from pinakes.core.errors import InvalidInput, ModelUnavailable
from pinakes.core.lru_cache import LruCache
from pinakes.core.ports import Summarizer
from pinakes.core.records import Document, DocumentKind, Float32, Metadata, Summary, SummaryWriter
from pinakes.ingestion.report import Event
from pinakes.models.chat import Usage
from pinakes.models.summarizers import Extractive, open_summarizer, writer_of
from pinakes.models.summarizers.chat_model import ChatSummarizer
from pinakes.models.summarizers.extractive import LOOKED_AT_CHARS, MAX_LOOKED_AT_CHARS, is_data

_REMEMBERED = 20_000
_AHEAD_BATCH = 10
_FIELDS = ("summary", "description", "abstract")
"""What files call the summary that they carry themselves, in front matter for instance."""

_MIN_GIVEN_CHARS, _MAX_GIVEN_CHARS = 20, 1500


@dataclass(frozen=True, slots=True)
class Summarized(Event):
    """What became of one document, called ``detail``, at ``path``: the model wrote its summary, or ``failed`` to.

    Neither where there was nothing to be asked: it has a summary, or no text. ``why`` it failed, "" where it did not.
    """

    path: str = ""
    written: bool = False
    why: str = ""

    @property
    def failed(self) -> bool:
        """Whether the model was to write a summary, and did not."""
        return bool(self.why)


class Summaries:
    """Gives every document a summary. Thread-safe."""

    def __init__(self, app: App) -> None:
        self._app = app
        self._writer: Summarizer | None = None
        self._lock = threading.Lock()
        self._known = LruCache[tuple[int, int, str], Summary](_REMEMBERED)

    @property
    def writer(self) -> Summarizer:
        """What writes summaries of documents that are put without one; it may take as long as a chat model does.

        Raises:
            InvalidSetting: the chat model's address cannot be one.
        """
        with self._lock:
            if self._writer is None:
                settings = self._app.settings
                self._writer = open_summarizer(settings.summary, settings.chat)
            return self._writer

    @property
    def spent(self) -> Usage:
        """What the summaries that a model wrote took so far."""
        return self._writer.spent if isinstance(self._writer, ChatSummarizer) else Usage()

    def summaries_of(self, connection: Connection, wanted: Sequence[DocumentRecord]) -> dict[int, Summary]:
        """Return document id → summary; nobody is asked for one that is not there yet."""
        found = {one.id: summary for one in wanted if (summary := _stored_summary(one) or self._known.get(_key(one)))}
        missing = [one for one in wanted if one.id not in found]
        if not missing:
            return found
        texts = document_queries.beginnings(connection, [one.id for one in missing], LOOKED_AT_CHARS)
        return found | {one.id: self._made(connection, one, texts.get(one.id, "")) for one in missing}

    def ahead(self, name: str, after: int = 0) -> Iterator[int]:
        """Make the summaries of a collection's documents behind the id ``after``, as far as they can be remembered.

        Yields the id of the last document after every few, some milliseconds of work, for the caller to let others go
        first.

        Raises:
            NotFound: there is no such collection.
        """
        record = self._app.record(name)
        while len(self._known) < _REMEMBERED:
            with self._app.catalog.read() as connection:
                found = document_queries.following(connection, record.id, after, _AHEAD_BATCH)
                self.summaries_of(connection, found)
            if not found:
                return
            yield (after := found[-1].id)

    def write(self, name: str, *, again: bool = False) -> Iterator[Summarized]:
        """Have the chat model write the summaries that documents of a collection lack, telling of each.

        ``again``: also those that it wrote before. Given ones stay. Nothing is done where no model writes summaries; a
        document that the model fails on goes without, and is asked for again the next time.

        Raises:
            NotFound: there is no such collection.
        """
        settings = self._app.settings
        record = self._app.record(name)
        if writer_of(settings.summary, settings.chat) != "chat":
            return
        with self._app.catalog.read() as connection:
            wanted = document_queries.without_summary(connection, record.id, again=again)
        for done, document_id in enumerate(wanted, start=1):
            yield replace(self._write_one(record, document_id), done=done, total=len(wanted))
        if wanted:
            self._app.index(name)

    def _write_one(self, record: CollectionRecord, document_id: int) -> Summarized:
        """Have the summary of one document written; say what became of it."""
        catalog, event = self._app.catalog, Summarized("summarize", 0, 0)
        with catalog.read() as connection:
            brief = document_queries.of_ids(connection, [document_id]).get(document_id)
            if brief is None or authored(brief.metadata):
                return event
            text = documents.text(connection, document_id)
        event = replace(event, detail=brief.title, path=brief.path)
        writer = self.writer
        if not text.strip() or not isinstance(writer, ChatSummarizer):
            return event
        try:
            summary = writer.written(_document(brief, text))
        except ModelUnavailable as error:
            return replace(event, why=str(error))
        vectors = self._embedded(record, summary)
        with catalog.write() as connection:
            if vectors and record.model_id is not None:
                embeddings.store(connection, record.model_id, vectors)
            summaries.write(connection, document_id, summary, "chat")
        return replace(event, written=True)

    def _embedded(self, record: CollectionRecord, text: str) -> dict[bytes, Float32]:
        """Return the vector of a summary by its key; none where there is no model."""
        embedder = self._app.embedder_of(record)
        try:
            starts = embedder.token_starts(text)
            read = text[: int(starts[embedder.max_tokens])] if len(starts) > embedder.max_tokens else text
            return {documents.summary_key(text): embedder.embed([read])[0]}
        except (InvalidInput, ModelUnavailable):
            return {}

    def _made(self, connection: Connection, brief: DocumentRecord, text: str) -> Summary:
        settings = self._app.settings.summary
        if settings.writer == "none":
            return Summary("", "none")
        extractive, symbols = (
            Extractive(settings.max_sentences),
            document_queries.symbols(connection, brief.id) if brief.kind == "code" else (),
        )
        document = _document(brief, text)
        if len(text) == LOOKED_AT_CHARS and not (is_data(document) or extractive.sentences(document, symbols)):
            document = _document(
                brief, document_queries.beginnings(connection, [brief.id], MAX_LOOKED_AT_CHARS)[brief.id]
            )
        made = extractive.summarize(document, symbols)
        self._known.put(_key(brief), made)
        return made


def authored(metadata: Metadata) -> str:
    """Return the summary that a document carries in its metadata, "" where it has none."""
    for name in _FIELDS:
        value = metadata.get(name)
        if isinstance(value, str) and len(text := " ".join(value.split())) >= _MIN_GIVEN_CHARS:
            return text[:_MAX_GIVEN_CHARS]
    return ""


def _stored_summary(brief: DocumentRecord) -> Summary | None:
    if brief.summary:
        return Summary(brief.summary, _WRITERS.get(brief.summary_by, "given"))
    text = authored(brief.metadata)
    return Summary(text, "given") if text else None


def _key(brief: DocumentRecord) -> tuple[int, int, str]:
    return brief.id, brief.version, brief.title


def _document(brief: DocumentRecord, text: str) -> Document:
    return Document(text, brief.title, _KINDS.get(brief.kind, "text"), brief.language)


_WRITERS: Mapping[str, SummaryWriter] = {"chat": "chat", "extractive": "extractive"}
_KINDS: Mapping[str, DocumentKind] = {"markdown": "markdown", "code": "code"}
