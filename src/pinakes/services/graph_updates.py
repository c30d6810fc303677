"""Updates of graphs where no server does them: after a run, and before the first question."""

from __future__ import annotations

import logging
from collections.abc import Callable

from pinakes.app import App
from pinakes.catalog.collections import CollectionRecord
from pinakes.core.errors import PinakesError
from pinakes.graph import following
from pinakes.ingestion.report import Event

_log = logging.getLogger(__name__)


def follow_graph(app: App, record: CollectionRecord, on_event: Callable[[Event], object] | None = None) -> None:
    """Bring the graph of a collection up to date, if its settings have one.

    Where that cannot be done, a warning says so, and whoever asks the graph is told.
    """
    if app.catalog.unwritable:
        return
    try:
        extraction = app.graphs.of(record).extraction
        if extraction is None:
            return
        with app.catalog.read() as connection:
            if not following.is_behind(connection, record, extraction):
                return
        if on_event is not None:
            on_event(Event("graph", 0, 0))
        following.follow(app.catalog, record, extraction)
    except PinakesError as error:
        _log.warning("the graph of %r is not up to date: %s", record.name, error.message)
