"""One collection answers a question, whatever happens to its index meanwhile."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TypeVar

from pinakes import search
from pinakes.app import App
from pinakes.catalog.collections import CollectionRecord
from pinakes.core.errors import IndexCorrupt
from pinakes.core.records import Results
from pinakes.indexes.updater import Superseded
from pinakes.search import SearchContext
from pinakes.services.audit import query_id

Result = TypeVar("Result")


def answered_by(
    app: App, asked: search.Request | Callable[[CollectionRecord], search.Request], name: str, *, beside: bool
) -> Results:
    """Return what the collection ``name`` answers, or with ``beside`` its generation beside the one that serves.

    Raises as ``search.search`` and ``App.index`` do.
    """

    def ask(context: SearchContext) -> Results:
        return _ask(app, asked(context.collection) if callable(asked) else asked, context)

    answer, degraded = with_context(app, name, ask, beside=beside)
    return replace(answer, degraded=joined(answer.degraded, degraded)) if degraded else answer


def with_context(
    app: App, name: str, ask: Callable[[SearchContext], Result], *, beside: bool = False
) -> tuple[Result, str | None]:
    """Return what ``ask`` says of a collection as it is now, and why documents may be missing, None where none is.

    A damaged index is built anew first. ``ask`` is called again where the index was replaced while it was asked.
    """
    tracer = search.Tracer()
    while True:
        with tracer.stage("follow"):
            record, index = app.index(name, wait=False, beside=beside)
        degraded = _partly_read(app, record) if app.followers.starting else None
        try:
            return ask(app.parts(record, index, tracer)), degraded
        except Superseded:
            continue
        except IndexCorrupt as error:
            with tracer.stage("mend"):
                record, index = app.mend(record, error)
            return ask(app.parts(record, index, tracer)), None


def joined(*reasons: str | None) -> str | None:
    """Return in one line why an answer is incomplete, None without a reason."""
    return "; ".join(filter(None, reasons)) or None


def _partly_read(app: App, record: CollectionRecord) -> str | None:
    """Return that the index of a server that has just started lacks documents, None where it does not."""
    if record.id not in app.followers.unready():
        return None
    return "this server has just started, and its index does not have all documents yet"


def _ask(app: App, request: search.Request, context: SearchContext) -> Results:
    """Answer by one generation, which decides on index, model and refiner, whatever is switched meanwhile."""
    record = context.collection
    if request.mode != "keyword":
        app.check_model(record)
    if context.graph is not None and not context.graph.is_computed():
        from pinakes.services.graph_updates import follow_graph  # with all that reads texts for a graph

        follow_graph(app, record)
    answer = replace(app.result_cache.get(request, context, search.search), query_id=query_id())
    return answer if request.bare else app.freshness.with_freshness(app.links.with_links(answer, record), record)
