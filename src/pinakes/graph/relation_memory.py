"""A cache of relations, documents and names of entities for searches, valid until the graph changes."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping
from itertools import groupby
from typing import Any, Final, TypeAlias, TypeVar

from pinakes.catalog import Connection, graph_lookups, tied_documents
from pinakes.catalog.graph_lookups import Hop
from pinakes.core.graph_paths import Direction

_MOST_KEPT: Final = 50_000
"""So many relations, documents and names are kept; what is read after that begins anew."""

_Ranked: TypeAlias = tuple[float, int, int, str, int, Hop]
"""What orders a relation as ``graph_lookups.hops`` does, and the relation."""

Known = TypeVar("Known")


class RelationMemory:
    """Answers of the catalogue on single entities, each read once. Thread-safe.

    Searches go on from the same entities again and again. Whoever holds it lets it go when the graph changes.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._held: dict[Hashable, dict[int, Any]] = {}
        self._count = 0

    def hops(
        self,
        connection: Connection,
        entity_ids: Collection[int],
        types: Collection[str] = (),
        direction: Direction = "both",
        min_confidence: float = 0.0,
        until: str = "",
    ) -> list[Hop]:
        """Return what ``graph_lookups.hops`` does."""
        key = "hops", tuple(sorted(types)), direction, min_confidence, until
        known, missing = self._known(key, entity_ids)
        ranked: list[_Ranked] = [one for some in known.values() for one in some]
        if missing:
            found = graph_lookups.hops(connection, missing, types, direction, min_confidence, until)
            fresh = [_ranked(one) for one in found]
            if len(found) < graph_lookups.MOST_ROWS:  # else some relations of these entities are not among them
                self._remember(key, _by_end(fresh, missing, direction))
            ranked += fresh
        ranked.sort()
        return [one for one, _ in groupby(each[-1] for each in ranked)][: graph_lookups.MOST_ROWS]

    def mentioning(
        self, connection: Connection, entity_ids: Collection[int], until: str = ""
    ) -> list[tuple[int, int, float]]:
        """Return what ``tied_documents.mentioning`` does."""
        key, most = ("mentioning", until), tied_documents.MOST_ROWS
        known, missing = self._known(key, entity_ids)
        ranked: list[tuple[float, int, int]] = [one for some in known.values() for one in some]
        if missing:
            fresh: dict[int, list[tuple[float, int, int]]] = {one: [] for one in missing}
            for entity, document, often in tied_documents.mentioning(connection, missing, until):
                fresh.setdefault(entity, []).append((-often, document, entity))
            found = [one for some in fresh.values() for one in some]
            if len(found) < most:  # else some documents of these entities are not among them
                self._remember(key, fresh)
            ranked += found
        return [(entity, document, -often) for often, document, entity in sorted(ranked)[:most]]

    def about(self, connection: Connection, entity_ids: Collection[int], until: str = "") -> list[tuple[int, int]]:
        """Return what ``tied_documents.about`` does."""

        def read(missing: Collection[int]) -> dict[int, list[int]]:
            found: dict[int, list[int]] = {one: [] for one in missing}
            for entity, document in tied_documents.about(connection, missing, until):
                found.setdefault(entity, []).append(document)
            return found

        found = self._each(("about", until), entity_ids, read)
        return [(entity, document) for document, entity in sorted((one, at) for at in found for one in found[at])]

    def naming(self, connection: Connection, entity_ids: Collection[int]) -> dict[int, int]:
        """Return what ``tied_documents.naming`` does."""
        return self._each("naming", entity_ids, lambda missing: tied_documents.naming(connection, missing))

    def names_of(self, connection: Connection, entity_ids: Collection[int]) -> dict[int, tuple[str, str]]:
        """Return what ``graph_lookups.names_of`` does."""
        return self._each("names", entity_ids, lambda missing: graph_lookups.names_of(connection, missing))

    def _each(
        self, key: Hashable, ids: Collection[int], read: Callable[[Collection[int]], Mapping[int, Known]]
    ) -> dict[int, Known]:
        """Return id → what is known under ``key``, read for those of which it is not."""
        known, missing = self._known(key, ids)
        if missing:
            found = read(missing)
            self._remember(key, found)
            known |= found
        return known

    def _known(self, key: Hashable, ids: Collection[int]) -> tuple[dict[int, Any], list[int]]:
        """Return id → what is kept under ``key``, and the ids of which nothing is."""
        wanted = sorted(set(ids))
        with self._lock:
            held = self._held.get(key, {})
            known = {one: held[one] for one in wanted if one in held}
        return known, [one for one in wanted if one not in known]

    def _remember(self, key: Hashable, found: Mapping[int, Any]) -> None:
        count = sum(1 + (len(one) if isinstance(one, list) else 0) for one in found.values())
        with self._lock:
            if self._count + count > _MOST_KEPT:
                self._held.clear()
                self._count = 0
            if count <= _MOST_KEPT:
                self._held.setdefault(key, {}).update(found)
                self._count += count


def _ranked(one: Hop) -> _Ranked:
    return -one.confidence, -one.statements, one.source_id, one.type, one.target_id, one


def _by_end(ranked: Iterable[_Ranked], ids: Collection[int], direction: Direction) -> dict[int, list[_Ranked]]:
    """Return each of ``ids`` → its relations among ``ranked`` in this direction."""
    found: dict[int, list[_Ranked]] = {one: [] for one in ids}
    for each in ranked:
        for end, side in ((each[-1].source_id, "out"), (each[-1].target_id, "in")):
            if direction in (side, "both") and end in found:
                found[end].append(each)
    return found
