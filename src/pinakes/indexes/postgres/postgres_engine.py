"""Words and vectors in the catalogue's PostgreSQL; all homes of a catalogue share an index."""

from __future__ import annotations

import copy
import json
import logging
import threading
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from hashlib import sha256

import numpy as np

from pinakes.catalog import Catalog
from pinakes.catalog.index_tables import registry, vector_table
from pinakes.catalog.index_tables.registry import Head
from pinakes.catalog.index_tables.sessions import Session, Sessions
from pinakes.core.errors import IndexCorrupt, InvalidSetting, PinakesError
from pinakes.core.lru_cache import LruCache
from pinakes.core.ports import KeywordQuery, Lexicon, VectorQuery, Vectors
from pinakes.core.records import Filter, IndexEntry, Int64, Ranking, VectorEntry
from pinakes.indexes.keyword.stored_terms import TermWriter
from pinakes.indexes.opening import Opening, is_empty, kept_elsewhere, note_elsewhere
from pinakes.indexes.postgres.segments import CHUNKS, DOCUMENTS, Segment
from pinakes.indexes.postgres.texts import sorted_ids
from pinakes.indexes.postgres.vector_cache import VectorCache, ranking_of
from pinakes.indexes.postgres.word_index import Prepared, WordIndex
from pinakes.settings import IndexSettings, SearchSettings
from pinakes.text import analysis
from pinakes.text.analysis import english

_FORMAT = 3
"""The version of the tables; an index of another one is built anew."""

_REMEMBERED_FILTERS = 32

_log = logging.getLogger(__name__)


class PostgresEngine:
    """Implements ``ports.KeywordEngine`` and ``ports.VectorEngine``.

    Where it is one half beside another engine, it keeps only what that half needs.
    """

    def __init__(self, opening: Opening) -> None:
        """Make the tables where there are none.

        Raises:
            InvalidSetting: the catalogue is not in PostgreSQL, or vectors are wanted and pgvector is not there.
        """
        catalog = opening.catalog
        if catalog is None or not catalog.is_shared:
            raise InvalidSetting(
                "The index engine 'postgres' needs a catalogue in PostgreSQL, and catalog.url names none.",
                hint="Set catalog.url (docs/postgresql.md), or index.engine: local.",
            )
        self._opening, self._catalog, self._settings = opening, catalog, opening.settings.postgres
        self._search, self._parts = opening.settings.search, opening.parts
        self._analyzer = english()
        self._sessions = Sessions(catalog, opening.settings.catalog)
        dimension = opening.dimension if "vector" in opening.parts else 0
        self._dimension, has_words = dimension, "keyword" in opening.parts
        self._key = self._note(f"{opening.folder.name}-{self._made_by()}")
        self._number, made = registry.opened(self._sessions, self._key, catalog.home, dimension, words=has_words)
        if made:
            _log.info("the index %r is new in PostgreSQL", self._key)
        terms = TermWriter(self._analyzer, opening.languages)
        self._words = WordIndex(self._sessions, self._number, self._analyzer, terms) if has_words else None
        self._head: tuple[int, Head] | None = None
        self._vector_cache = VectorCache(-1, dimension)
        self._passing = LruCache[tuple[Filter, int], Int64](_REMEMBERED_FILTERS)
        self._has_graph = self._building = False
        self._starting, self._one_builds = threading.Lock(), threading.Lock()

    def position(self) -> int:
        return self._now().position

    def apply(
        self, removed: Iterable[int], added: Iterable[IndexEntry], position: int, vectors: Iterable[VectorEntry] = ()
    ) -> None:
        removed, added, vectors = list(removed), list(added), list(vectors)
        if position <= self._now().position:
            return
        gone = sorted({*removed, *(entry.document_id for entry in added)})
        known: Sequence[Segment] = ()
        fresh: Sequence[Prepared] = ()
        if self._words is not None and gone:  # before others wait for the lock
            known, fresh = self._words.texts(0)[CHUNKS].snapshot.segments, self._words.prepared(added)
        with self._sessions.writing() as session:
            head = registry.locked_head(session, self._number)
            if head is None:
                raise self._dropped()
            if position > head.position:
                now = replace(head, position=position)
                if gone or vectors:
                    now = replace(now, turn=head.turn + 1)
                if self._words is not None and gone:
                    chunks, documents = self._words.apply(session, gone, fresh, known)
                    now = replace(now, chunks=now.chunks + chunks, documents=now.documents + documents)
                if self._dimension:
                    more = self._apply_vectors(session, gone, added, vectors)
                    now = replace(now, vectors=now.vectors + more)
                    if self._words is None:
                        now = replace(now, documents=vector_table.count_documents(session, self._number))
                registry.advance(session, self._number, now)
        self._head = None

    def _apply_vectors(
        self, session: Session, gone: Sequence[int], added: Sequence[IndexEntry], vectors: Sequence[VectorEntry]
    ) -> int:
        """Write the vectors of a change; return how many more there are."""
        number, more, dropped = self._number, 0, set(gone)
        if gone:
            more -= vector_table.remove(session, number, gone)
        alone = {one.chunk_id: one for one in vectors if one.document_id not in dropped}
        if alone:
            more -= vector_table.take_out(session, number, list(alone))
        fresh = [(one.chunk_id, one.document_id, one.exact, one.vector) for one in alone.values()]
        fresh += [(one.chunk_id, one.document_id, one.exact, one.vector) for one in added if one.vector is not None]
        if fresh:
            more += vector_table.add(session, number, fresh)
            vector_table.add_up(session, number, sorted({document for _, document, _, _ in fresh}))
        return more

    def keyword(self, *queries: KeywordQuery) -> list[Ranking]:
        assert self._words is not None
        given = [(query, None if query.among is not None else self._documents(query.where)) for query in queries]
        return self._words.answers(self._turn(), given, self._search)

    def vector(self, *queries: VectorQuery) -> list[Ranking]:
        return [self._nearest(query) for query in queries]

    def vectors(self, chunks: Int64, documents: Int64 | None = None) -> Vectors:
        ids, owners = chunks.tolist(), [] if documents is None else documents.tolist()
        if not self._dimension:
            own, sums = (np.full((len(one), self._opening.dimension), np.nan, np.float32) for one in (ids, owners))
            return Vectors(own, None, sums)
        cache = self._vectors_now()
        missing = [one for one in ids if one not in cache.own], [one for one in owners if one not in cache.sums]
        if any(missing):
            cache.keep(vector_table.of_chunks(self._sessions, self._number, *missing), *missing)
        return cache.vectors(ids, owners)

    def contents(self) -> Mapping[str, Int64]:
        found: dict[str, Int64] = {}
        if self._words is not None:
            texts = self._words.texts(self._turn())
            found |= {"keyword": sorted_ids(texts[CHUNKS].segments), "documents": sorted_ids(texts[DOCUMENTS].segments)}
        if "vector" in self._parts:
            rows = vector_table.ids(self._sessions, self._number) if self._dimension else []
            found["vector"] = np.array([chunk for chunk, _ in rows], np.int64)
            found["exact"] = np.array([chunk for chunk, exact in rows if exact], np.int64)
        return found

    def describe(self) -> Mapping[str, str | int]:
        head, about = self._now(), dict[str, str | int]()
        if len(self._parts) > 1:
            about["engine"] = "postgres"
        about |= {"postgres_index": self._number}
        if self._words is not None:
            about |= {"analyser": analysis.VERSION, "keyword_chunks": head.chunks, "documents": head.documents}
        if self._dimension:
            about["vectors"] = head.vectors
            is_exact = head.vectors <= self._settings.exact_max_vectors or not self._graph()
            about["vector_search"] = "exact" if is_exact else "approximate (HNSW)"
        about["postgres_bytes"] = registry.disk_bytes(self._sessions, self._number)
        return about

    def damaged(self) -> Mapping[str, Sequence[tuple[str, str]]]:
        """Return that the graph was dropped, which the next search builds again; what is asked next is read anew."""
        self._has_graph, self._head = False, None
        if self._words is not None:
            self._words.forget()
        if self._dimension and self._now().graph and not self._graph():
            name = f"engine_{self._number}_graph"
            return {"vector": [(name, "the HNSW index is gone; it is built again at the next search by vectors")]}
        return {}

    def lacking(self, entries: Iterable[IndexEntry]) -> list[int]:
        return [] if self._words is None else self._words.lacking(self._turn(), entries)

    def lexicon(self) -> Lexicon | None:
        return None if self._words is None else self._words.lexicon(self._turn(), self._search)

    def with_settings(self, index: IndexSettings, search: SearchSettings) -> PostgresEngine:  # noqa: ARG002
        other = copy.copy(self)
        vars(other).update(_search=search)
        return other

    def build_graph(self) -> bool:
        """Build the HNSW index of the vectors, where there is none; return False where another home does so.

        What this process builds in the background is waited for.
        """
        if not self._dimension or self._dimension > vector_table.MOST_DIMENSIONS:
            return False
        with self._one_builds:
            self._has_graph = vector_table.build_graph(self._sessions, self._number, self._settings)
        return self._has_graph

    def close(self) -> None:
        """Nothing is unwritten."""

    def _now(self) -> Head:
        """Return how the index stands: as it was read, while nothing was committed to the catalogue since."""
        version = self._catalog.version()
        known = self._head
        if known is None or known[0] != version:
            head = registry.head(self._sessions, self._number)
            if head is None:
                raise self._dropped()
            known = self._head = version, head
        return known[1]

    def _turn(self) -> int:
        known = self._head
        return (known[1] if known else self._now()).turn

    def _documents(self, where: Filter | None) -> Int64 | None:
        """Return the ids of the documents that pass a filter, None for all."""
        if not where:
            return None
        return self._passing.get_or_make((where, self._turn()), lambda: self._opening.select(where))

    def _vectors_now(self) -> VectorCache:
        cache, turn = self._vector_cache, self._turn()
        if cache.turn != turn or cache.is_full:
            cache = self._vector_cache = VectorCache(turn, self._dimension)
        return cache

    def _nearest(self, query: VectorQuery) -> Ranking:
        documents = None if query.among is not None else self._documents(query.where)
        if is_empty(documents) or is_empty(query.among) or len(query.vector) != self._dimension or not query.limit:
            return ranking_of([], 0)
        cache, prefetch = self._vectors_now(), np.empty(0, np.int64) if query.prefetch is None else query.prefetch
        asked = vector_table.NearestChunks(query.vector, query.limit, documents, prefetch, query.among)
        if query.among is None and self._is_by_graph(documents):
            rows = vector_table.nearest_by_graph(self._sessions, self._number, asked, self._settings)
            cache.keep(rows, prefetch.tolist())
            if len(found := ranking_of(rows, query.limit)) >= query.limit:
                return found
        rows = vector_table.nearest_exactly(self._sessions, self._number, asked)
        cache.keep(rows, prefetch.tolist())
        return ranking_of(rows, query.limit)

    def _is_by_graph(self, documents: Int64 | None) -> bool:
        """Say whether the graph is to be searched; where there should be one and is none, it is built from now on."""
        head = (self._head or (0, self._now()))[1]
        if head.vectors <= self._settings.exact_max_vectors or self._dimension > vector_table.MOST_DIMENSIONS:
            return False
        if not self._graph():
            self._build_soon()
            return False
        if documents is None:
            return True
        each = head.vectors / max(1, head.documents) if head.documents else 1.0
        return len(documents) * each > self._settings.exact_max_filtered

    def _graph(self) -> bool:
        self._has_graph = self._has_graph or vector_table.has_graph(self._sessions, self._number)
        return self._has_graph

    def _build_soon(self) -> None:
        with self._starting:
            if self._building:
                return
            self._building = True
        threading.Thread(target=self._build, name="pinakes-graph", daemon=True).start()

    def _build(self) -> None:
        try:
            self.build_graph()
        except PinakesError as error:
            _log.warning("the HNSW index of %r was not built, all vectors are compared: %s", self._key, error)
        finally:
            self._building = False

    def _made_by(self) -> str:
        opening = self._opening
        made: list[object] = [_FORMAT, sorted(self._parts)]
        if "vector" in self._parts:
            made += [opening.dimension, opening.label]
        if "keyword" in self._parts:
            made += [analysis.VERSION, *opening.languages]
        return sha256(json.dumps(made).encode()).hexdigest()[:12]

    def _note(self, key: str) -> str:
        """Note in the folder what the index is called, so that it is let go with it; return the name."""
        before = kept_elsewhere(self._opening.folder).get("postgres", key)
        if before != key:
            registry.released(self._sessions, before, self._catalog.home)
        note_elsewhere(self._opening.folder, "postgres", key)
        return key

    def _dropped(self) -> IndexCorrupt:
        return IndexCorrupt(f"The index {self._key!r} was dropped from PostgreSQL.", hint="pinakes reindex")


def release(catalog: Catalog, settings: object, key: str) -> None:
    """Let go of the index of this ``key``, as its folder is removed; the last home that does so drops it."""
    registry.released(Sessions(catalog, settings), key, catalog.home)  # type: ignore[arg-type]
