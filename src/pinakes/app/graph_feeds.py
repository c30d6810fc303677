"""What finds entities and relations in the documents of each collection, and what searches ask of them."""

from __future__ import annotations

import json
import threading

from pinakes.catalog import Catalog
from pinakes.catalog.collections import CollectionRecord
from pinakes.extraction import extraction_of
from pinakes.graph.entity_retriever import EntityRetriever
from pinakes.graph.feeding import GraphFeed
from pinakes.settings import Settings

_REMEMBERED = 50


class GraphFeeds:
    """The feed of each collection, made once for the settings that it has. Thread-safe."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._known: dict[tuple[str, str], GraphFeed] = {}
        self._retrievers: dict[tuple[int, str], EntityRetriever] = {}
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

    def retriever_of(self, catalog: Catalog, record: CollectionRecord) -> EntityRetriever | None:
        """Return what searches ask of the entities of a collection; None where its settings name no types."""
        kept = record.kept or {}
        rules = self._settings.of_collection(record.name, kept).graph
        if not rules.types:
            return None
        key = record.id, json.dumps(kept, sort_keys=True)
        with self._lock:
            if key not in self._retrievers:
                if len(self._retrievers) >= _REMEMBERED:
                    self._retrievers.clear()
                self._retrievers[key] = EntityRetriever(catalog, record, rules)
            return self._retrievers[key]
