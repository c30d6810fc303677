"""The graph as a retriever: chunks that share entities with the best chunks of a search, or with its question."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from functools import partial
from typing import Any, Final, TypeVar

from pinakes.catalog import Catalog, Connection, entities, graph_lookups, graph_state, tied_documents
from pinakes.catalog.collections import CollectionRecord
from pinakes.catalog.graph_lookups import NamedEntity
from pinakes.core.graph_records import STRUCTURE, TOPIC, EntityName, folded
from pinakes.core.lru_cache import LruCache
from pinakes.graph.query_names import Linked, SimilarNames, linked
from pinakes.graph.traversal import entities_within
from pinakes.settings import GraphRules

SPREAD: Final = 0.05
"""Scale of the weights of the best chunks that the graph goes on from: one that is this much below the best has 1/e."""

_MOST_SEEDS: Final = 50
"""From so many entities it goes on, the strongest first."""

_CHUNKS_OF_ENTITY: Final = 100
_MOST_CHUNKS: Final = 200
_REMEMBERED: Final = 256

Kept = TypeVar("Kept")


def owner_ids(connection: Connection, collection_id: int, owner: str) -> frozenset[int]:
    """Return the ids of the entities that are called as the ``owner`` (TYPE:NAME), whether texts name it or not."""
    kind, _, name = owner.partition(":")
    called = graph_lookups.called(connection, collection_id, {folded(name)})
    main = entities.canonical_of(connection, collection_id, {EntityName(kind, name).key})
    return frozenset({one.id for one in called if one.type != TOPIC} | set(main.values()))


class EntityRetriever:
    """The entities of one collection, as searches ask for them. Thread-safe.

    Answers are kept until the graph changes, the latest ``_REMEMBERED`` of them.
    """

    def __init__(self, catalog: Catalog, record: CollectionRecord, rules: GraphRules) -> None:
        self._catalog, self._collection_id, self.rules = catalog, record.id, rules
        self._lock = threading.Lock()
        self._state: Hashable = None
        self._computed = False
        self._answers = LruCache[Hashable, Any](_REMEMBERED)

    def refresh(self) -> Hashable:
        """Return what changes with the graph, and forget the answers where it is another than before."""
        with self._catalog.read_each() as connection:
            known = graph_state.state(connection, self._collection_id)
            decided = entities.last_decision(connection, self._collection_id)
        state = (known.recipe, known.computed_at, known.position, known.decided, decided)
        with self._lock:
            if state != self._state:
                self._state, self._answers = state, LruCache(_REMEMBERED)
        return state

    def is_computed(self) -> bool:
        """Return whether the graph has followed its documents once, since when names are known."""
        if not self._computed:
            with self._catalog.read_each() as connection:
                self._computed = bool(graph_state.state(connection, self._collection_id).computed_at)
        return self._computed

    def kept(self, key: Hashable, make: Callable[[], Kept], keep: Callable[[Kept], bool] = lambda _: True) -> Kept:
        """Return the answer that is kept under ``key`` since ``refresh``, made where there is none.

        ``keep``: whether a new one is kept.
        """
        answers = self._answers  # another by the time that the graph changes
        known: Kept | None = answers.get(key)
        if known is not None:
            return known
        found = make()
        if keep(found):
            answers.put(key, found)
        return found

    def links(self, query: str, is_word: Callable[[str], bool] = lambda _: False) -> list[Linked]:
        """Return the entities that ``query`` names, also those misspelt in words that ``is_word`` does not know."""
        return self.kept(("links", query), partial(self._linked, query, is_word))

    def topics(self, query: str) -> list[Linked]:
        """Return the topics that ``query`` names."""
        return self.kept(("topics", query), partial(self._linked_topics, query))

    def related(
        self, links: Sequence[Linked], best: Mapping[int, float], documents: int
    ) -> dict[int, tuple[int, float]]:
        """Return chunk id → (document id, strength 0 to 1) of chunks that share entities with the question or ``best``.

        ``best``: chunk id → weight 0 to 1 of the best chunks of a search. An entity has the weight of the chunk, times
        the confidence of the mention, times the square of its rarity: log(1 + N / n) / log(1 + N), n of the N
        ``documents`` naming it. From those of the question it goes one relation further, times its confidence. A chunk
        has the weight of its strongest entity, times the confidence of the mention there.
        """
        key = ("related", tuple(one.entity.id for one in links), tuple(sorted(best.items())), documents)
        return self.kept(key, partial(self._related, links, best, documents))

    def naming(self, links: Sequence[Linked], chunk_ids: Sequence[int]) -> dict[int, set[str]]:
        """Return chunk id → types of the entities in ``links`` that it names; chunks that name none are missing."""
        ids = {one.entity.id for one in links}
        found: dict[int, set[str]] = {}
        if ids and chunk_ids:
            with self._catalog.read_each() as connection:
                for one in tied_documents.mentions_of_chunks(connection, chunk_ids):
                    if one.entity_id in ids:
                        found.setdefault(one.chunk_id, set()).add(one.type)
        return found

    def owner_ids(self) -> frozenset[int]:
        """Return the ids of the entity that "we" means, which nearly all documents are about."""
        return self.kept("owner", self._owners) if self.rules.owner else frozenset()

    def _owners(self) -> frozenset[int]:
        with self._catalog.read_each() as connection:
            return owner_ids(connection, self._collection_id, self.rules.owner)

    def _called(self, names: Collection[str]) -> Sequence[NamedEntity]:
        """Return what is called so, topics included: entities and topics of a question take one statement together."""

        def read() -> Sequence[NamedEntity]:
            with self._catalog.read_each() as connection:
                return graph_lookups.called(connection, self._collection_id, names)

        return self.kept(("called", frozenset(names)), read)

    def _entities_called(self, names: Collection[str]) -> list[NamedEntity]:
        return [one for one in self._called(names) if one.type != TOPIC]

    def _topics_called(self, names: Collection[str]) -> list[NamedEntity]:
        return [one for one in self._called(names) if one.type == TOPIC]

    def _linked(self, query: str, is_word: Callable[[str], bool]) -> list[Linked]:
        return linked(query, self._entities_called, lambda: self.kept("similar", self._similar_names), is_word)

    def _linked_topics(self, query: str) -> list[Linked]:
        return linked(query, self._topics_called, lambda: SimilarNames([]), lambda _: True)

    def _similar_names(self) -> SimilarNames:
        """Return the names that may be misspelt: of types that allow other spellings."""
        types = [kind for kind, one in self.rules.types.items() if one.merge]
        if not types:
            return SimilarNames([])
        with self._catalog.read_each() as connection:
            return SimilarNames(graph_lookups.all_names(connection, self._collection_id, types))

    def _related(
        self, links: Sequence[Linked], best: Mapping[int, float], documents: int
    ) -> dict[int, tuple[int, float]]:
        excluded = self.owner_ids()
        seeds: dict[int, float] = {}

        def keep(entity_id: int, weight: float) -> None:
            if entity_id not in excluded:
                seeds[entity_id] = max(weight, seeds.get(entity_id, 0.0))

        with self._catalog.read_each() as connection:
            for one in tied_documents.mentions_of_chunks(connection, best):
                if one.type in STRUCTURE:
                    continue
                keep(one.entity_id, best[one.chunk_id] * one.confidence * rarity(one.documents, documents) ** 2)
            named = {one.entity.id: rarity(one.entity.documents, documents) ** 2 for one in links}
            hops_of = partial(graph_lookups.hops, connection, min_confidence=self.rules.expand_confidence)
            for near in entities_within(hops_of, named, 1, excluded) if named else ():
                keep(near.entity_id, near.confidence)
            for entity_id, weight in named.items():
                keep(entity_id, weight)
            strongest = sorted(seeds, key=lambda one: (-seeds[one], one))[:_MOST_SEEDS]
            mentions = graph_lookups.mentioning(connection, strongest, _CHUNKS_OF_ENTITY)
        found: dict[int, tuple[int, float]] = {}
        for each in mentions:
            weight = min(1.0, seeds[each.entity_id] * each.confidence)
            if weight > found.get(each.chunk_id, (0, 0.0))[1]:
                found[each.chunk_id] = each.document_id, weight
        kept = sorted(found, key=lambda one: (-found[one][1], one))[:_MOST_CHUNKS]
        return {one: found[one] for one in kept}


def rarity(naming: int, documents: int) -> float:
    """Return 0 to 1: 1 for an entity that one document names, less the more do."""
    return math.log(1 + documents / max(1, naming)) / math.log(1 + max(1, documents))
