"""One collection answers a question, whatever happens to its index meanwhile."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from pinakes import search
from pinakes.app import App
from pinakes.catalog.collections import CollectionRecord
from pinakes.core.errors import IndexCorrupt
from pinakes.core.records import Results
from pinakes.indexes.updater import Superseded
from pinakes.search import SearchContext
from pinakes.services.audit import query_id


def answered_by(
    app: App, asked: search.Request | Callable[[CollectionRecord], search.Request], name: str, *, beside: bool
) -> Results:
    """Return what the collection ``name`` answers, or with ``beside`` its generation beside the one that serves.

    A damaged index is built anew first. Raises as ``search.search`` and ``App.index`` do.
    """
    tracer = search.Tracer()
    while True:
        with tracer.stage("follow"):
            record, index = app.index(name, wait=False, beside=beside)
        request = asked(record) if callable(asked) else asked
        try:
            return _ask(app, request, app.parts(record, index, tracer))
        except Superseded:  # the index was built anew while it was asked
            continue
        except IndexCorrupt as error:
            with tracer.stage("mend"):
                record, index = app.mend(record, error)
            return _ask(app, request, app.parts(record, index, tracer))


def _ask(app: App, request: search.Request, context: SearchContext) -> Results:
    """Answer by one generation, which decides on index, model and refiner, whatever is switched meanwhile."""
    record = context.collection
    if request.mode != "keyword":
        app.check_model(record)
    answer = replace(app.result_cache.get(request, context, search.search), query_id=query_id())
    return answer if request.bare else app.freshness.with_freshness(app.links.with_links(answer, record), record)
