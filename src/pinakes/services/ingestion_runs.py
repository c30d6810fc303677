"""Ingestion runs of collections: opening their sources, running, and embedding what waits."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Generator
from functools import partial

from pinakes.app import App, source_settings, spending
from pinakes.app.collection_models import check_model
from pinakes.app.source_overlaps import run_options_of
from pinakes.app.source_settings import earlier_part, effective_settings, same_options
from pinakes.app.spending import CostEstimate
from pinakes.catalog import collections, sources
from pinakes.catalog.collections import CollectionRecord
from pinakes.catalog.sources import SourceRecord
from pinakes.core.ports import Embedder, Lookable, Remote, Source, Vocabulary
from pinakes.core.records import JSON
from pinakes.ingestion.embedding import Waiting, tell_sources
from pinakes.ingestion.progressive import Backlog
from pinakes.ingestion.report import Event
from pinakes.ingestion.run import Ingest
from pinakes.ingestion.run_tools import Tools
from pinakes.models.embedders import token_counter
from pinakes.parsing.pool import ParseOptions, open_parser
from pinakes.settings import EmbeddingSettings, SourceSettings
from pinakes.sources import open_source
from pinakes.sources.partial import PartialSource

_BATCHES_IN_A_ROUND = 8
_LOOK_AGAIN_S = 0.5
_CHUNKS_OF_A_SMALL_RUN, _TOKENS_OF_A_CHUNK = 64, 512
"""Fewer are embedded elsewhere before they are in the catalogue; more are put there first, so that costs are known."""


def remember(app: App, name: str, source: SourceSettings) -> tuple[CollectionRecord, SourceRecord]:
    """Record a collection and a source of it.

    Raises:
        ModelMismatch: the collection was embedded by another model than the settings name.
        InvalidInput, InvalidSetting: the source cannot be used; its location may have a secret, so it is not kept.
    """
    source_of(app, source).close()
    with app.catalog.read() as connection:
        known = collections.find(connection, name)
    options = options_of(app, name, known, source)
    fingerprint = app.fingerprint_of(known)  # may fetch the model, which nobody else should wait for
    with app.catalog.write() as connection:
        record = collections.ensure(connection, name, app.settings.of_collection(name).description)
        record = app.profile_rules.keep(connection, record)
        if known is None or record.line == known.line:
            check_model(record, fingerprint)
        was = earlier_part(app.settings, name, source)
        kept = sources.remember(connection, record.id, source.place, options, was=was, same=same_options)
    return record, kept


def options_of(app: App, name: str, known: CollectionRecord | None, source: SourceSettings) -> dict[str, JSON]:
    """Return all that decides what the files of a source become; ``known`` is the collection where it is there."""
    _, embedder = _cuts(app, known)
    return source_settings.options_of(app.settings, name, known.kept if known else None, source, embedder)


def ingest(
    app: App,
    record: CollectionRecord,
    kept: SourceRecord,
    paths: Collection[str] | None = None,
    *,
    retry: bool = False,
) -> Ingest:
    """Return a run over one source, or over what it has at ``paths`` and below, to be started with its ``run``.

    ``retry``: files that failed before, or lacked what is there by now, are tried at once; those at ``paths`` are.
    """
    source = source_of(app, effective_settings(app.settings, record.name, kept))
    if paths is not None and isinstance(source, Lookable):
        source = PartialSource(source, paths)
    how = run_options_of(app.catalog, app.settings, record.name, kept, retry=retry, parts=paths is not None)
    return Ingest(tools(app, record), record, kept, source, how)


def embed_waiting(
    app: App,
    name: str,
    *,
    through: Callable[[Embedder], Embedder] = lambda embedder: embedder,
    on_batch: Callable[[int], object] | None = None,
    rest: bool = True,
    wait: bool = False,
    sample: int | None = None,
) -> Generator[Event, None, None]:
    """Embed what waits for a vector, yielding events; where that is much, make it searchable first.

    ``through`` gives what does the work in place of an embedder, being the same model. ``on_batch`` is told of
    every batch, how many chunks it had, and has the index follow; without it the index follows each batch.
    Without ``rest``, and in the mode "lazy", the work ends once all is searchable. Where another process is at
    it the only event is "elsewhere"; with ``wait`` there are events "wait" until it is done or has ended.
    ``sample``: so many chunks that wait are much, and enough for a sample, instead of what the settings say.

    Raises:
        ModelMismatch: the collection was embedded by another model than the settings name.
        ModelUnavailable: the model cannot be had.
        TooCostly: it costs more than is spent unasked, and nobody ``agreed``.
        InvalidInput: chunks are longer than the model reads; all others are embedded.
    """
    while True:
        record = app.record(name)
        with app.embedding(record) as alone:
            embedder = through(app.embedder_of(record))
            left = not alone or (yield from _embed_alone(app, record, embedder, on_batch, rest, sample))
        if not left and app.record(name).line == record.line:
            return
        if left:
            yield Event("wait" if wait else "elsewhere", 0, 0, name)
            if not wait:
                return
            time.sleep(_LOOK_AGAIN_S)


def _embed_alone(
    app: App,
    started: CollectionRecord,
    embedder: Embedder,
    on_batch: Callable[[int], object] | None,
    rest: bool,
    sample: int | None,
) -> Generator[Event, None, bool]:
    """Embed what waits; now and then see whether so much has come meanwhile that it is to be searchable first.

    Ends when another generation answers: that has another model. Returns whether others still embed a part.
    """
    name, settings = started.name, app.settings
    few = {} if sample is None else {"progressive_chunks": sample, "sample_chunks": max(sample, 1)}
    follow = partial(app.index, name)
    if on_batch is None:
        follow()  # before changes are made: an index newer than the catalogue shows only now
    backlog = Backlog(
        catalog=app.catalog,
        name=name,
        embedder=embedder,
        settings=settings.embedding.model_copy(update=few),
        approximator=app.approximator_of,
        follow=follow,
        settle=lambda: app.followers.forget(app.record(name)),
    )
    wanted = partial(app.refiner_of(started).take_recorded, started)
    waiting = Waiting(app.catalog, started, embedder, on_batch or (lambda _: follow()), wanted, claims=app.claims)
    if isinstance(embedder, Remote) and not rest:
        return False
    again, left, more = False, False, backlog.has_pending()
    if more:
        check_cost(app, started)
    while more and (record := app.record(name)).line == started.line:
        app.check_model(record)
        searchable = _is_progressive(app, record) and (yield from backlog.make_searchable(again=again))
        waiting.collection = app.reload(started)
        if searchable:
            if settings.embedding.mode == "lazy" or not rest:
                if rest:
                    waiting.embed_summaries()  # no search would ever embed these
                break
            yield from backlog.enlarge_sample()
        more, again = (yield from waiting.embed(settings.ingest.batch_chunks, _BATCHES_IN_A_ROUND)), True
        left = not more and waiting.left_to_others()
    tell_sources(app.catalog, name)
    waiting.check()
    return left


def cost_estimate(app: App, record: CollectionRecord) -> CostEstimate | None:
    """Return what embedding what waits in a generation is going to cost; None for a model that runs here.

    Raises:
        ModelUnavailable: the model has no name yet, and cannot be had.
    """
    settings = app.settings.embedding
    most = settings.sample_chunks if settings.mode == "lazy" else None
    return spending.estimate(app.catalog, record, app.embedder_of(record), settings, most)


def check_cost(app: App, record: CollectionRecord) -> None:
    """Make sure that embedding what waits may be paid for.

    Raises:
        TooCostly: it costs more than is spent unasked, and nobody ``agreed``.
    """
    if not app.agreed:
        spending.check(cost_estimate(app, record))


def is_lazy(app: App, record: CollectionRecord) -> bool:
    """Say whether new chunks of a collection are to be embedded only when a search meets them."""
    approximator = app.approximator_of(record)
    return app.settings.embedding.mode == "lazy" and approximator is not None and approximator.map() is not None


def source_of(app: App, settings: SourceSettings) -> Source:
    """Open a source; nothing is read yet."""
    limits, home = app.settings.ingest, app.settings.home
    return open_source(
        settings,
        work=app.home.source(settings.kind, settings.location, settings.ref),
        max_file_bytes=settings.max_file_bytes or limits.max_file_bytes,
        git_timeout_s=limits.git_timeout_s,
        avoid=(home, home / "index", home / "sources", app.settings.cache),
        fetch=app.settings.fetch,
    )


def tools(app: App, record: CollectionRecord) -> Tools:
    """Return what writing into a collection works with."""
    return Tools(
        catalog=app.catalog,
        embedder=app.embedder_of(record),
        open_parser=partial(open_parser, *_parse_options(app, record), app.workers),
        follow=partial(app.index, record.name),
        embed_waiting=lambda on_batch: embed_waiting(app, record.name, on_batch=on_batch, rest=not app.embeds_later),
        defer_chunks=_defer_chunks(app, record),
        limits=app.settings.ingest,
        rules=app.rules(record),
        history=app.settings.history,
        graph=app.graphs.of(record),
        longest={app.settings.knowledge_base.location(app.settings.home): app.settings.documents.max_tokens},
    )


def _parse_options(app: App, record: CollectionRecord) -> tuple[ParseOptions, Embedder]:
    settings = app.settings
    model, embedder = _cuts(app, record)
    chunking = settings.chunking_of(record.name, record.kept)
    counts = token_counter.counts_tokens(embedder)
    plan = app.graphs.of(record).plan
    reading = settings.reading_of(record.name, record.kept)
    return ParseOptions(reading, chunking, model, settings.cache, counts, plan), embedder


def _cuts(app: App, record: CollectionRecord | None) -> tuple[EmbeddingSettings, Embedder]:
    """Return the model whose tokens decide how files are cut, with its settings.

    While the generation that answered before is kept, chunks have to suit both models, so that either can
    answer: that which reads less decides, of equals the one that came first.
    """
    if record is None:
        return app.settings.embedding, app.embedder
    with app.catalog.read() as connection:
        other = collections.beside(connection, record.name)
    suiting = [record]
    if other is not None and other.state == "previous" and app.fingerprint_of(other) == other.fingerprint:
        suiting.append(other)
        suiting.sort(key=lambda one: (token_counter.reads(app.embedder_of(one)), one.line))
    return app.model_of(suiting[0]), app.embedder_of(suiting[0])


def _is_progressive(app: App, record: CollectionRecord) -> bool:
    mode = app.settings.embedding.mode
    return mode == "lazy" or (mode == "progressive" and isinstance(app.embedder_of(record), Vocabulary))


def _defer_chunks(app: App, record: CollectionRecord) -> int | None:
    """Return from how many new chunks on they are first put into the catalogue and then embedded; None: never."""
    embedder = app.embedder_of(record)
    if isinstance(embedder, Remote) and not _is_progressive(app, record):
        cheap = not spending.asks(embedder, _CHUNKS_OF_A_SMALL_RUN * _TOKENS_OF_A_CHUNK, app.settings.embedding)
        return _CHUNKS_OF_A_SMALL_RUN if cheap else 0
    if not _is_progressive(app, record):
        return None
    return 0 if is_lazy(app, record) else app.settings.embedding.progressive_chunks
