"""The extractors and graph retrievers of each collection."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, TypeVar

from pinakes.catalog import Catalog
from pinakes.catalog.collections import CollectionRecord
from pinakes.core.errors import InvalidSetting, PluginBroken
from pinakes.core.records import JSON
from pinakes.settings import GraphRules, Settings

if TYPE_CHECKING:
    from pinakes.graph.entity_retriever import EntityRetriever
    from pinakes.graph.feeding import GraphFeed

_log = logging.getLogger(__name__)

_REMEMBERED = 50

Made = TypeVar("Made")


@dataclass(frozen=True, slots=True)
class _CacheEntry(Generic[Made]):
    """What was made for a collection of such a name and such settings."""

    name: str
    kept: Mapping[str, JSON] | None
    made: Made


class GraphFeeds:
    """The feed of each collection, made once for the settings that it has. Thread-safe."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._known: dict[int, _CacheEntry[GraphFeed]] = {}
        self._retrievers: dict[int, _CacheEntry[EntityRetriever | None]] = {}
        self._lock = threading.Lock()

    def of(self, record: CollectionRecord) -> GraphFeed:
        """Return the feed of a collection; one without a graph has one that does nothing.

        Raises:
            InvalidSetting, PluginBroken: see ``extraction.extraction_of``.
        """
        from pinakes.extraction import extraction_of
        from pinakes.graph.feeding import GraphFeed

        return self._made(
            self._known, record, lambda rules: GraphFeed(extraction_of(self._settings, record.name, rules))
        )

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

    def retriever_of(self, catalog: Catalog, record: CollectionRecord) -> EntityRetriever | None:
        """Return what searches ask of the entities of a collection; None where its settings name no types."""
        return self._made(
            self._retrievers, record, lambda rules: _retriever(catalog, record, rules) if rules.types else None
        )

    def _made(
        self, known: dict[int, _CacheEntry[Made]], record: CollectionRecord, make: Callable[[GraphRules], Made]
    ) -> Made:
        """Return what ``known`` has for a collection and its settings, made from these if it has nothing."""
        there = known.get(record.id)
        if there is None or (there.name, there.kept) != (record.name, record.kept):
            # Outside of the lock: reading lists and compiling patterns takes long, and harms nobody if done twice.
            made = make(self._settings.of_collection(record.name, record.kept or {}).graph)
            there = self._remember(known, record.id, _CacheEntry(record.name, record.kept, made))
        return there.made

    def _remember(self, known: dict[int, _CacheEntry[Made]], key: int, made: _CacheEntry[Made]) -> _CacheEntry[Made]:
        """Keep what was made, and return it; what another thread made for the same settings meanwhile stays."""
        with self._lock:
            there = known.get(key)
            if there is not None and (there.name, there.kept) == (made.name, made.kept):
                return there
            if len(known) >= _REMEMBERED:
                known.clear()
            known[key] = made
            return made


def _retriever(catalog: Catalog, record: CollectionRecord, rules: GraphRules) -> EntityRetriever:
    from pinakes.graph.entity_retriever import EntityRetriever

    return EntityRetriever(catalog, record, rules)
