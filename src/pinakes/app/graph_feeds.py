"""What finds entities and relations in the documents of each collection, and what searches ask of them."""

from __future__ import annotations

import json
import logging
import threading
from typing import TYPE_CHECKING

from pinakes.catalog import Catalog, Connection, collections
from pinakes.catalog.collections import CollectionRecord
from pinakes.core.errors import InvalidSetting, PluginBroken
from pinakes.core.records import JSON
from pinakes.settings import GraphRules, Settings, read_profile

if TYPE_CHECKING:
    from pinakes.graph.entity_retriever import EntityRetriever
    from pinakes.graph.feeding import GraphFeed

_log = logging.getLogger(__name__)

_REMEMBERED = 50


class GraphFeeds:
    """The feed of each collection, made once for the settings that it has. Thread-safe."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._known: dict[tuple[str, str], GraphFeed] = {}
        self._given: dict[str, dict[str, JSON] | None] = {}
        self._retrievers: dict[tuple[int, str], EntityRetriever] = {}
        self._lock = threading.Lock()

    def of(self, record: CollectionRecord) -> GraphFeed:
        """Return the feed of a collection; one without a graph has one that does nothing.

        Raises:
            InvalidSetting, PluginBroken: see ``extraction.extraction_of``.
        """
        from pinakes.extraction import extraction_of
        from pinakes.graph.feeding import GraphFeed

        kept = record.kept or {}
        key = record.name, json.dumps(kept, sort_keys=True)
        with self._lock:
            if key not in self._known:
                if len(self._known) >= _REMEMBERED:
                    self._known.clear()
                rules = self._settings.of_collection(record.name, kept).graph
                self._known[key] = GraphFeed(extraction_of(self._settings, record.name, rules))
            return self._known[key]

    def keep(self, connection: Connection, record: CollectionRecord) -> CollectionRecord:
        """Have a collection keep the rules of its graph that a profile gives, so that it has them without the profile.

        What the home itself says needs no keeping: it always holds.
        """
        if not self.are_to_keep(record):
            return record
        kept = {**(record.kept or {}), "graph": self._of_profile(record.name)}
        return collections.change(connection, record, description=record.description, kept=kept)

    def are_to_keep(self, record: CollectionRecord) -> bool:
        """Say whether a profile gives other rules than those that a collection keeps."""
        given = self._of_profile(record.name)
        return given is not None and (record.kept or {}).get("graph") != given

    def portable(self, record: CollectionRecord) -> dict[str, JSON] | None:
        """Return the rules of a graph for another home: with the names of its lists, without files and plug-ins.

        Where lists or plug-ins cannot be read: the rules that the collection keeps. None where it has no graph.
        """
        try:
            extraction = self.of(record).extraction
        except (InvalidSetting, PluginBroken) as error:
            _log.warning("the graph of %r goes without its lists: %s", record.name, error.message)
            kept = (record.kept or {}).get("graph")
            return {name: one for name, one in kept.items() if name not in ("lists", "extractors")} if kept else None
        if extraction is None:
            return None
        rules = extraction.rules.model_dump(mode="json", exclude_unset=True, exclude={"lists", "extractors"})
        for one in extraction.listings:
            names = rules["types"][one.entity.type].setdefault("names", {})
            names[one.entity.name] = list(one.aliases)
        return rules

    def _of_profile(self, name: str) -> dict[str, JSON] | None:
        if name not in self._given:
            layer = read_profile(self._settings.profile) if self._settings.profile else {}
            rules = GraphRules.model_validate(layer.get("collections", {}).get(name, {}).get("graph", {}))
            self._given[name] = rules.model_dump(mode="json", exclude_unset=True) if rules.types else None
        return self._given[name]

    def retriever_of(self, catalog: Catalog, record: CollectionRecord) -> EntityRetriever | None:
        """Return what searches ask of the entities of a collection; None where its settings name no types."""
        kept = record.kept or {}
        rules = self._settings.of_collection(record.name, kept).graph
        if not rules.types:
            return None
        from pinakes.graph.entity_retriever import EntityRetriever

        key = record.id, json.dumps(kept, sort_keys=True)
        with self._lock:
            if key not in self._retrievers:
                if len(self._retrievers) >= _REMEMBERED:
                    self._retrievers.clear()
                self._retrievers[key] = EntityRetriever(catalog, record, rules)
            return self._retrievers[key]
