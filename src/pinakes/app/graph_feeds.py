"""What finds entities and relations in the documents of each collection."""

from __future__ import annotations

import json
import threading

from pinakes.catalog.collections import CollectionRecord
from pinakes.extraction import extraction_of
from pinakes.graph.feeding import GraphFeed
from pinakes.settings import Settings

_REMEMBERED = 50


class GraphFeeds:
    """The feed of each collection, made once for the settings that it has. Thread-safe."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._known: dict[tuple[str, str], GraphFeed] = {}
        self._lock = threading.Lock()

    def of(self, record: CollectionRecord) -> GraphFeed:
        """Return the feed of a collection; one without a graph has one that does nothing.

        Raises:
            InvalidSetting, PluginBroken: see ``extraction.extraction_of``.
        """
        kept = record.kept or {}
        key = record.name, json.dumps(kept, sort_keys=True)
        with self._lock:
            if key not in self._known:
                if len(self._known) >= _REMEMBERED:
                    self._known.clear()
                rules = self._settings.of_collection(record.name, kept).graph
                self._known[key] = GraphFeed(extraction_of(self._settings, record.name, rules))
            return self._known[key]
