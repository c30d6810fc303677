"""One collection answers a question, whatever happens to its index meanwhile."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from pinakes import search
from pinakes.audit import query_id
from pinakes.catalog.collections import CollectionRecord
from pinakes.errors import IndexCorrupt
from pinakes.follow import Superseded
from pinakes.search import Parts
from pinakes.shelves import Shelves
from pinakes.types import Results


def answered_by(
    shelves: Shelves, asked: search.Request | Callable[[CollectionRecord], search.Request], name: str, *, beside: bool
) -> Results:
    """Return what the collection ``name`` answers, or with ``beside`` its generation beside the one that serves.

    A damaged index is built anew first. Raises as ``search.search`` and ``Shelves.index`` do.
    """
    tracer = search.Tracer()
    while True:
        with tracer.stage("follow"):
            record, index = shelves.index(name, wait=False, beside=beside)
        request = asked(record) if callable(asked) else asked
        try:
            return _ask(shelves, request, shelves.parts(record, index, tracer))
        except Superseded:  # the index was built anew while it was asked
            continue
        except IndexCorrupt as error:
            with tracer.stage("mend"):
                record, index = shelves.mend(record, error)
            return _ask(shelves, request, shelves.parts(record, index, tracer))


def _ask(shelves: Shelves, request: search.Request, parts: Parts) -> Results:
    """Answer by one generation, which decides on index, model and refiner, whatever is switched meanwhile."""
    record = parts.collection
    if request.mode != "keyword":
        shelves.check_model(record)
    answer = replace(shelves.result_cache.get(request, parts, search.search), query_id=query_id())
    return answer if request.bare else shelves.freshness.told(shelves.links.told(answer, record), record)
