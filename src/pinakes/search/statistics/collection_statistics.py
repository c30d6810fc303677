"""Statistics of collections for ranking: counts, fields, totals; cached until a text in them changes."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from pinakes.catalog import Connection, contents, document_queries, selection
from pinakes.catalog.collections import CollectionRecord
from pinakes.core.lru_cache import LruCache
from pinakes.core.ports import Index
from pinakes.core.records import Filter
from pinakes.search.statistics.collection_cache import CollectionCache
from pinakes.search.statistics.document_features import FeatureCache

_REMEMBERED_TOTALS = 256
_REMEMBERED_COLLECTIONS = 64
_REMEMBERED_GROUPS = 10_000
_MOSTLY = 0.99
"""A few chunks may wait for their vectors, as those of a document that was just added."""


class CollectionStatistics:
    """Caches what collections contain until a text in them changes. Thread-safe. ``features``: of documents."""

    def __init__(self) -> None:
        self.features = FeatureCache()
        self._counts = CollectionCache[Filter, int](_REMEMBERED_TOTALS)
        self._fields = CollectionCache[tuple[()], frozenset[str]](_REMEMBERED_TOTALS)
        self._common = CollectionCache[int, tuple[str, ...]](_REMEMBERED_TOTALS)
        self._totals = LruCache[tuple[int, int, int | None, int], contents.Totals](_REMEMBERED_COLLECTIONS)
        self._embedded = LruCache[tuple[int, int | None, int], bool](_REMEMBERED_COLLECTIONS)
        self._preceding = CollectionCache[str, Mapping[int, int]](_REMEMBERED_GROUPS)

    def fields(self, connection: Connection, collection: CollectionRecord) -> frozenset[str]:
        """Return the names of the metadata fields in use in ``collection``."""
        return self._fields.get(collection, (), lambda: frozenset(selection.field_names(connection, collection.id)))

    def common_fields(self, connection: Connection, collection: CollectionRecord, most: int) -> Collection[str]:
        """Return the metadata fields; if there are more than ``most``, only the most common, which is slower."""
        every = self.fields(connection, collection)
        if len(every) <= most:
            return every
        return self._common.get(
            collection, most, lambda: tuple(selection.common_field_names(connection, collection.id)[:most])
        )

    def count(self, connection: Connection, collection: CollectionRecord, where: Filter) -> int:
        """Return how many chunks of ``collection`` pass ``where``."""

        def counted() -> int:
            chosen = selection.matching(connection, collection.id, where) if where else None
            return selection.count_chunks(connection, collection.id, chosen)

        return self._counts.get(collection, where, counted)

    def preceding_chunks(
        self, connection: Connection, collection: CollectionRecord, groups: Collection[str]
    ) -> Mapping[str, Mapping[int, int]]:
        """Return group → document id → number of chunks of the group before that document."""
        known = self._preceding.values_of(collection)
        known.setdefault("", {})  # for documents without a group
        if missing := [one for one in groups if one not in known]:
            known |= document_queries.preceding_chunks(connection, collection.id, missing)
        return known

    def totals(self, connection: Connection, collection: CollectionRecord, vectors: int) -> contents.Totals:
        """Count the contents of ``collection``, of which the index has ``vectors``; a change invalidates the cache."""
        key = (collection.id, collection.line, collection.model_id, collection.head)
        return self._totals.get_or_make(key, lambda: contents.totals(connection, collection, vectors))

    def is_embedded(self, collection: CollectionRecord, index: Index) -> bool:
        """Return whether ``index`` has a model vector for (nearly) every chunk of ``collection``."""

        def looked_up() -> bool:
            held = index.describe()
            vectors, chunks = held.get("exact_vectors", held.get("vectors")), held.get("keyword_chunks")
            return isinstance(vectors, int) and isinstance(chunks, int) and vectors >= _MOSTLY * chunks

        return self._embedded.get_or_make((collection.id, collection.model_id, index.position()), looked_up)
