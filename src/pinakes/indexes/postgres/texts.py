"""The words of one state of an index: its segments, and the postings of the terms that were asked for."""

from __future__ import annotations

import threading
from collections.abc import Hashable, Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Final, TypeAlias

import numpy as np

from pinakes.catalog.index_tables import word_table
from pinakes.catalog.index_tables.sessions import Row, Session, Sessions
from pinakes.core.lru_cache import LruCache
from pinakes.core.records import Float32
from pinakes.indexes.keyword.clauses import EXACT, METADATA, SPELLED, TEXT, VARIANTS, QueryVocabulary
from pinakes.indexes.keyword.stored_terms import LANGUAGE
from pinakes.indexes.postgres import segments
from pinakes.indexes.postgres.bm25_queries import Query
from pinakes.indexes.postgres.segments import CHUNKS, Postings, Segment
from pinakes.text.analysis import LANGUAGES, QueryTerm
from pinakes.text.analysis.languages import Stems

_MOST_CACHED_BYTES: Final = 64_000_000
_MOST_BEGINNING: Final = 1000
_MOST_BEGINNINGS: Final = 256
_MOST_SCORES: Final = 64
"""So many segments keep the scores of a query: a search asks for them twice. Each takes 256 KB at most."""

_TEXTS_FIELDS: Final = (TEXT, "title", "path", METADATA, VARIANTS)

Held: TypeAlias = Mapping[int, Postings]
"""Segment → where a term stands in it."""


class TermsNow(Exception):
    """The segments were changed meanwhile by another process; read them again."""


class Snapshot:
    """All segments of an index after some change. Thread-safe; what it reads of them later is of the same state."""

    def __init__(self, sessions: Sessions, number: int, turn: int, found: Sequence[Segment]) -> None:
        self.turn, self.segments = turn, found
        self._sessions, self._number = sessions, number
        self._held: dict[bytes, Held] = {}
        self._with_positions: set[bytes] = set()
        self._bytes = 0
        self._lock = threading.Lock()
        self._begun = LruCache[tuple[int, bytes], list[tuple[bytes, int]]](_MOST_BEGINNINGS)
        self._known = {segment.number for segment in found}

    def of(self, kind: int) -> list[Segment]:
        """Return the segments of a kind."""
        return [segment for segment in self.segments if segment.kind == kind]

    def load(self, keys: Iterable[bytes], positions: Iterable[bytes] = ()) -> None:
        """Read the postings of these terms, in one round trip, unless all are there.

        Raises:
            TermsNow: the segments are not those any more.
        """
        with_positions = [key for key in dict.fromkeys(positions) if key not in self._with_positions]
        missing = [key for key in dict.fromkeys(keys) if key not in self._held]
        missing += [key for key in with_positions if key not in missing]
        if not missing:
            return
        self._keep(missing, with_positions, word_table.of_terms(self._sessions, self._number, missing, with_positions))

    def _keep(self, keys: Sequence[bytes], with_positions: Sequence[bytes], rows: Sequence[Row]) -> None:
        found: dict[bytes, dict[int, Postings]] = {key: {} for key in keys}
        size = 0
        for key, segment, names, counts, stored, at in rows:
            if segment not in self._known:
                raise TermsNow
            term = bytes(key)
            one = segments.read_term(segments.terms_of(names).index(term), counts, stored, at)
            found[term][segment] = one
            size += 4 * len(one.places) + 2 * len(one.positions if one.positions is not None else ()) + 400
        with self._lock:
            if self._bytes + size > _MOST_CACHED_BYTES:
                self._held, self._with_positions, self._bytes = {}, set(), 0
            self._held |= found
            self._with_positions |= set(with_positions)
            self._bytes += size

    def held(self, key: bytes, *, positions: bool = False) -> Held:
        """Return where a term stands."""
        held = self._held.get(key)
        if held is None or (positions and key not in self._with_positions):
            self.load([key], [key] if positions else [])
            held = self._held[key]
        return held

    def count(self, keys: Sequence[bytes]) -> dict[bytes, int]:
        """Return in how many texts terms stand, removed ones counted."""
        found: dict[bytes, int] = {}
        for key, _, names, counts in word_table.counts(self._sessions, self._number, keys):
            term = bytes(key)
            count = segments.counts_of(counts)[segments.terms_of(names).index(term)]
            found[term] = found.get(term, 0) + int(count)
        return found

    def beginning(self, kind: int, first: bytes) -> list[tuple[bytes, int]]:
        """Return the terms of a kind that begin so, with how many texts have them, removed ones counted."""
        known = self._begun.get((kind, first))
        if known is None:
            self.load_near(kind, [], [first])
            known = self._begun.get((kind, first))
        return known or []

    def load_near(self, kind: int, keys: Iterable[bytes], beginnings: Iterable[bytes]) -> None:
        """Read the postings of terms, and the terms that begin so, in one round trip, unless all are there."""
        missing = [key for key in dict.fromkeys(keys) if key not in self._held]
        firsts = [first for first in dict.fromkeys(beginnings) if self._begun.get((kind, first)) is None]
        if not (missing or firsts):
            return
        among = [segment.number for segment in self.of(kind)]
        ranges = [(first, _beyond(first)) for first in firsts]
        rows, begun = word_table.of_terms_and_ranges(
            self._sessions, self._number, missing, among, ranges, _MOST_BEGINNING + 1
        )
        self._keep(missing, [], rows)
        for (first, beyond), blocks in zip(ranges, begun, strict=True):
            found: dict[bytes, int] = {}
            for names, counts in blocks:
                for term, count in zip(segments.terms_of(names), segments.counts_of(counts).tolist(), strict=True):
                    if first <= term < beyond:
                        found[term] = found.get(term, 0) + count
            self._begun.put((kind, first), sorted(found.items())[:_MOST_BEGINNING])


def _beyond(first: bytes) -> bytes:
    """Return what follows all that begins with ``first``."""
    return first[:-1] + bytes([first[-1] + 1]) if first[-1] < 255 else first + b"\xff" * 8


class Texts:
    """All chunks, or all documents, of a snapshot: the ``Statistics`` of scores, and what a vocabulary asks."""

    def __init__(self, snapshot: Snapshot, kind: int, stems: Stems) -> None:
        self.snapshot, self.kind = snapshot, kind
        self.segments = snapshot.of(kind)
        self.num_docs = sum(int(segment.alive.sum()) for segment in self.segments)
        self._averages = {field: self._average(field) for field in segments.MEASURED}
        self._counted = lru_cache(20_000)(self._count)
        self._keys = lru_cache(2000)(self._keys_of)
        self._scores = LruCache[tuple[Hashable, int], Float32](_MOST_SCORES)
        self._languages = self._of_languages()
        self.vocabulary = QueryVocabulary(self, self.fields, stems)

    @property
    def fields(self) -> frozenset[str]:
        """The fields of its terms."""
        return frozenset((*segments.MEASURED, *((EXACT, "symbols") if self.kind == CHUNKS else (SPELLED,))))

    def average(self, field: str) -> float:
        return self._averages[field]

    def doc_freq(self, field: str, term: str) -> int:
        if field == VARIANTS and term.startswith(LANGUAGE):
            return self._languages.get(term, 0)
        return self._counted(field, term)

    def terms_with_prefix(self, field: str, prefix: str) -> list[tuple[str, int]]:
        """Return the terms of a field that begin with ``prefix``, with their document frequencies."""
        found = self.snapshot.beginning(self.kind, segments.key_of(self.kind, field, prefix))
        return [(segments.term_of(key), count) for key, count in found]

    def postings(self, segment: Segment, field: str, term: str, *, positions: bool = False) -> Postings | None:
        return self.snapshot.held(segments.key_of(self.kind, field, term), positions=positions).get(segment.number)

    def prepare(self, terms: Sequence[QueryTerm]) -> list[bytes]:
        """Return the keys of all forms of the terms of a query."""
        return list(dict.fromkeys(key for term in terms for key in self._keys(term)))

    def remembering(self, asked: Hashable, query: Query) -> Query:
        """Return a query that keeps its last scores, by what was ``asked``."""
        return lambda texts, segment: self._scores.get_or_make((asked, segment.number), lambda: query(texts, segment))

    def _keys_of(self, term: QueryTerm) -> list[bytes]:
        written = EXACT if self.kind == CHUNKS else SPELLED
        found = [(term.text, field) for field in _TEXTS_FIELDS]
        found += [(other, field) for other in term.others for field in (TEXT, VARIANTS)]
        found += [(other, TEXT) for phrase in term.phrases for other in phrase]
        found += [(word, written) for word in (term.exact, *term.inflected)]
        for language in self.vocabulary.languages if term.word else ():
            found.append((f"{language}:{self.vocabulary.stem(language, term.word)}", VARIANTS))
        return [segments.key_of(self.kind, field, one) for one, field in found if one]

    def _count(self, field: str, term: str) -> int:
        held = self.snapshot.held(segments.key_of(self.kind, field, term))
        return sum(int(one.alive[held[one.number].places].sum()) for one in self.segments if one.number in held)

    def _average(self, field: str) -> float:
        total = sum(int(segment.rows[field][segment.alive].sum()) for segment in self.segments)
        return total / max(1, self.num_docs)

    def _of_languages(self) -> dict[str, int]:
        if not self.num_docs:
            return {}
        names = [LANGUAGE + one for one in sorted(LANGUAGES)]
        counts = self.snapshot.count([segments.key_of(self.kind, VARIANTS, name) for name in names])
        return {segments.term_of(key): count for key, count in counts.items()}


def read_segments(session: Session | Sessions, number: int, known: Mapping[int, Segment]) -> list[Segment]:
    """Return the segments of an index as they are now; ``known`` spares reading what never changes."""
    rows = word_table.segments(session, number)
    fresh = [one for one, _, _ in rows if one not in known]
    headers: dict[int, bytes] = dict(word_table.headers(session, number, fresh)) if fresh else {}
    found = []
    for one, kind, dead in rows:
        if one not in known and one not in headers:
            continue  # merged between the two
        held = known[one].rows if one in known else segments.rows_of(headers[one])
        found.append(Segment(one, kind, held, segments.alive_of(dead, len(held))))
    return found


def sorted_ids(found: Sequence[Segment]) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """Return the sorted ids of the texts that are not removed."""
    alive = [segment.ids[segment.alive] for segment in found]
    return np.sort(np.concatenate(alive)) if alive else np.empty(0, np.int64)
