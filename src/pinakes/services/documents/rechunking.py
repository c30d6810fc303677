"""Rechunks documents that come from no file, after the chunking settings changed."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import closing

from pinakes.app import App
from pinakes.catalog import documents, full_documents
from pinakes.catalog.collections import CollectionRecord
from pinakes.chunking import chunker_of, is_older
from pinakes.core.batching import batches
from pinakes.core.errors import InvalidInput, ModelMismatch, ModelUnavailable
from pinakes.ingestion.report import Event
from pinakes.ingestion.run_tools import Tools
from pinakes.models.embedders.token_counter import counts_tokens
from pinakes.models.token_counts import token_counter
from pinakes.services import ingestion_runs
from pinakes.services.documents.planned_changes import as_new

_log = logging.getLogger(__name__)

_AT_ONCE = 64


def rechunk(app: App, name: str, *, only_older: bool = False) -> Iterator[Event]:
    """Cut the documents of a collection that were put one by one as they would be cut now, then embed what is new.

    ``only_older``: those that an older version of their chunker cut. That is no new version of them. Nothing is done
    without the model that counts the tokens of the collection.

    Raises:
        NotFound: there is no such collection.
    """
    record = app.record(name)
    with app.catalog.read() as connection:
        every = full_documents.without_file(connection, record.id)
    uids = [uid for uid, chunker, kind, language in every if not only_older or is_older(chunker, kind, language)]
    if not uids or not _counts_as_before(app, record):
        return
    tools, changed = ingestion_runs.tools(app, record), 0
    for number, part in enumerate(batches(uids, _AT_ONCE)):
        changed += _rechunk_some(app, record, tools, part)
        yield Event("index", number * _AT_ONCE + len(part), len(uids))
    if not changed:
        return
    tools.follow()
    try:
        with closing(ingestion_runs.embed_waiting(app, name, rest=not app.embeds_later, wait=True)) as events:
            yield from events
    except (InvalidInput, ModelUnavailable) as error:
        _log.warning("new chunks wait for their vectors: %s", error)


def _rechunk_some(app: App, record: CollectionRecord, tools: Tools, uids: list[str]) -> int:
    """Rechunk some documents; return how many had other chunks before. One that others change meanwhile is left."""
    with app.catalog.read() as connection:
        contents = full_documents.of_uids(connection, record.id, uids)
    counter = token_counter(app.settings.cache)
    with tools.open_parser(()) as parser:
        cut = {uid: parser.chunks(as_new(content).document) for uid, content in contents.items()}
    with app.catalog.read() as connection:
        same = {uid for uid, content in contents.items() if documents.is_cut(connection, content.id, cut[uid])}
    with app.catalog.write() as connection:
        now = full_documents.of_uids(connection, record.id, list(contents)).values()
        mine = [one for one in now if (one.version, one.text) == (contents[one.uid].version, contents[one.uid].text)]
        for content in mine:
            chunker = chunker_of(as_new(content).document)
            tokens = counter.count(content.text)
            if content.uid in same:
                documents.note_chunker(connection, content.id, chunker, tokens)
            else:
                documents.rechunk(connection, record.id, content.id, cut[content.uid], chunker, tokens)
    return sum(content.uid not in same for content in mine)


def _counts_as_before(app: App, record: CollectionRecord) -> bool:
    """Say whether tokens are counted by the model of a collection; by others, all would be cut otherwise."""
    try:
        app.check_model(record)
    except ModelMismatch as error:
        _log.warning("documents that were put one by one are not cut anew: %s", error)
        return False
    return not record.fingerprint or counts_tokens(app.embedder_of(record))
