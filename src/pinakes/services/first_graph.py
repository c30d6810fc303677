"""The first graph of a collection, so that no question waits for it."""

from __future__ import annotations

import logging
from collections.abc import Callable

from pinakes.app import App
from pinakes.catalog import entities
from pinakes.catalog.collections import CollectionRecord
from pinakes.core.errors import PinakesError
from pinakes.graph import following
from pinakes.ingestion import Event

_log = logging.getLogger(__name__)


def compute_first(app: App, record: CollectionRecord, on_event: Callable[[Event], object] | None = None) -> None:
    """Compute the graph of a collection that has rules of one and none yet; later changes follow it.

    Where it cannot be computed, a warning says so, and whoever asks the graph is told.
    """
    if app.catalog.unwritable:
        return
    try:
        extraction = app.graphs.of(record).extraction
        if extraction is None:
            return
        with app.catalog.read() as connection:
            if entities.state(connection, record.id).computed_at:
                return
        if on_event is not None:
            on_event(Event("graph", 0, 0))
        following.follow(app.catalog, record, extraction)
    except PinakesError as error:
        _log.warning("collection %r has no graph yet: %s", record.name, error.message)
