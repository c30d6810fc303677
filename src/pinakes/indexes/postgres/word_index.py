"""The keyword half of the engine ``postgres``: rankings over one state of its segments, and the next state."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import groupby
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from pinakes.catalog.index_tables import word_table
from pinakes.catalog.index_tables.sessions import Session, Sessions
from pinakes.core.batching import batches
from pinakes.core.errors import Busy
from pinakes.core.ports import KeywordQuery
from pinakes.core.records import HELD, IndexEntry, Int64, Ranking
from pinakes.indexes.keyword.clauses import (
    MOST_PHRASE_TERMS,
    SPELLED,
    TEXT,
    VocabularyLexicon,
    query_of,
    stream_of,
)
from pinakes.indexes.keyword.stored_terms import TermWriter
from pinakes.indexes.postgres import segments
from pinakes.indexes.postgres.bm25_queries import Queries, Query
from pinakes.indexes.postgres.segments import CHUNKS, DOCUMENTS, MOST_TEXTS, Segment
from pinakes.indexes.postgres.texts import Snapshot, TermsNow, Texts, read_segments
from pinakes.settings import SearchSettings
from pinakes.text import identifiers
from pinakes.text.analysis import Analyzer, QueryTerm
from pinakes.text.identifiers import has_parts

_Kinds: TypeAlias = Mapping[int, Texts]
"""Kind of segments → its texts."""

_MOST_NAMES = 200
_MERGED_AT_ONCE = 4
"""So many segments of about a size become one."""

_TRIES = 5


class WordIndex:
    """The words of one index. Thread-safe."""

    def __init__(self, sessions: Sessions, number: int, analyzer: Analyzer, terms: TermWriter) -> None:
        self._sessions, self._number, self._analyzer, self._terms = sessions, number, analyzer, terms
        self._texts: _Kinds | None = None

    def texts(self, turn: int) -> _Kinds:
        """Return chunks and documents as of a turn or later."""
        now = self._texts
        if now is None or now[CHUNKS].snapshot.turn < turn:
            known = {} if now is None else {one.number: one for one in now[CHUNKS].snapshot.segments}
            snapshot = Snapshot(self._sessions, self._number, turn, read_segments(self._sessions, self._number, known))
            now = {kind: Texts(snapshot, kind, self._analyzer.stems) for kind in (CHUNKS, DOCUMENTS)}
            self._texts = now
        return now

    def forget(self) -> None:
        """Read everything again when it is asked for."""
        self._texts = None

    def answers(
        self, turn: int, queries: Sequence[tuple[KeywordQuery, Int64 | None]], search: SearchSettings
    ) -> list[Ranking]:
        """Return a ranking for each query and the documents that pass its filter, in one round trip or none."""
        for _ in range(_TRIES):
            try:
                texts = self.texts(turn)
                asked = [self._query(texts, query, search) for query, _ in queries]
                return [
                    ranked(texts[_kind(query)], one, query.limit, documents, query.among)
                    for (query, documents), one in zip(queries, self._made(texts, asked, search), strict=True)
                ]
            except TermsNow:
                self._texts = None
        raise Busy("The index in PostgreSQL was changed again and again while it was read.", hint="Ask again.")

    def _query(self, texts: _Kinds, query: KeywordQuery, search: SearchSettings) -> _Asked:
        if query.evidence in ("phrases", "definitions"):
            return self._rows(query)
        kind = _kind(query)
        terms = self._analyzer.query(query.text)
        stream = stream_of(terms)
        phrase = search.phrase_boost > 0 and 1 < len(stream) <= MOST_PHRASE_TERMS
        keys = [key for one in (CHUNKS, DOCUMENTS) for key in texts[one].prepare(terms)]  # both are asked in a search
        rows = [tuple(stream)] if phrase else []
        rows += [phrase for term in terms for phrase in term.phrases] if kind == CHUNKS else []
        in_row = [segments.key_of(CHUNKS, TEXT, name) for row in rows for name in row]
        return _Asked(kind, terms, keys, in_row)

    def _rows(self, query: KeywordQuery) -> _Asked:
        names = query.text.split()[:_MOST_NAMES] if query.evidence == "definitions" else []
        phrases = [query.text] if query.evidence == "phrases" else [name for name in names if has_parts(name)]
        ones: list[tuple[Query, float]] = [(Queries.term_query(None, "symbols", name), 1.0) for name in names]
        keys, in_row = [segments.key_of(CHUNKS, "symbols", name) for name in names], list[bytes]()
        for words in phrases:
            readings = [terms for terms in dict.fromkeys(map(tuple, self._analyzer.readings(words))) if terms]
            each = [(_SHOULD, Queries.phrase_query(None, TEXT, terms)) for terms in readings]
            if each:
                ones.append((Queries.boolean_query(each), 1.0 if query.evidence == "phrases" else HELD))
            in_row += [segments.key_of(CHUNKS, TEXT, term) for terms in readings for term in terms]
        every = [(_SHOULD, Queries.const_score_query(one, score)) for one, score in ones]
        return _Asked(CHUNKS, (), keys, in_row, Queries.boolean_query(every) if every else None)

    def _made(self, texts: _Kinds, asked: Sequence[_Asked], search: SearchSettings) -> Iterator[Query | None]:
        """Read all that the queries need at once; yield them as they are evaluated, None where nothing is asked."""
        keys = [key for one in asked for key in one.keys]
        texts[CHUNKS].snapshot.load(keys, [key for one in asked for key in one.in_row])
        for one in asked:
            if one.made is not None or not one.terms:
                yield one.made
                continue
            of = texts[one.kind]
            query = query_of(one.terms, None, of.vocabulary, search, of.fields, Queries)
            yield of.remembering((tuple(one.terms), search), query)

    def prepared(self, added: Sequence[IndexEntry]) -> list[Prepared]:
        """Return segments of these chunks and of their documents, to be added: what takes long, and needs no lock."""
        chunks, found = self._terms.chunks(added), list[Prepared]()
        for kind, texts in ((CHUNKS, chunks), (DOCUMENTS, self._terms.documents(chunks))):
            for some in batches(texts, MOST_TEXTS):
                rows, postings = segments.made(kind, some)
                found.append(Prepared(kind, rows, list(segments.blocks(postings))))
        return found

    def apply(
        self, session: Session, gone: Iterable[int], added: Sequence[Prepared], known: Sequence[Segment]
    ) -> tuple[int, int]:
        """Remove documents, add segments; return how many more chunks and documents there are."""
        now = read_segments(session, self._number, {one.number: one for one in known})
        before = _counts(now)
        removed = np.unique(np.fromiter(gone, np.int64))
        now = [self._without(session, one, removed) for one in now]
        now += [self._written(session, one.kind, one.rows, one.blocks) for one in added]
        for kind in (CHUNKS, DOCUMENTS):
            now = self._merged(session, now, kind)
        after = _counts(now)
        return after[0] - before[0], after[1] - before[1]

    def _without(self, session: Session, segment: Segment, removed: Int64) -> Segment:
        hit = np.isin(segment.documents, removed) & segment.alive if len(removed) else np.zeros(0, np.bool_)
        if not hit.any():
            return segment
        alive = segment.alive & ~hit
        word_table.set_dead(session, self._number, segment.number, segments.dead_of(alive))
        return Segment(segment.number, segment.kind, segment.rows, alive)

    def _written(
        self, session: Session, kind: int, rows: npt.NDArray[np.void], blocks: Iterable[word_table.Block]
    ) -> Segment:
        alive = np.ones(len(rows), np.bool_)
        header, dead = segments.header_of(rows), segments.dead_of(alive)
        number = word_table.add_segment(session, self._number, kind, header, dead, blocks)
        return Segment(number, kind, rows, alive)

    def _merged(self, session: Session, now: list[Segment], kind: int) -> list[Segment]:
        """Merge segments of about a size, and those that are mostly removed texts, until there are few of each size."""
        while chosen := _chosen([one for one in now if one.kind == kind]):
            numbers = [one.number for one in chosen]
            now = [one for one in now if one.number not in numbers]
            rows = segments.merged_rows(chosen)
            if len(rows):
                stored = segments.merged(chosen, word_table.of_segments(session, self._number, numbers))
                now.append(self._written(session, kind, rows, segments.blocks(stored)))
            word_table.drop_segments(session, self._number, numbers)
        return now

    def lacking(self, turn: int, entries: Iterable[IndexEntry]) -> list[int]:
        """Return the ids of chunks that some of their own words do not lead to."""
        texts = self.texts(turn)[CHUNKS]
        places = {int(one.ids[at]): (one, int(at)) for one in texts.segments for at in np.flatnonzero(one.alive)}
        found = []
        for words in self._terms.chunks(entries):
            there = places.get(words.chunk_id)
            keys = {segments.key_of(CHUNKS, TEXT, term) for term in f"{words.header} {words.body}".split()}
            texts.snapshot.load(keys)
            if there is None or not all(_holds(texts, key, *there) for key in keys):
                found.append(words.chunk_id)
        return found

    def lexicon(self, turn: int, search: SearchSettings) -> PostgresLexicon:
        """Return the words of all documents."""
        texts = self.texts(turn)
        return PostgresLexicon(texts[DOCUMENTS], self._analyzer, partial(self._prepare, texts, search))

    def _prepare(self, texts: _Kinds, search: SearchSettings, text: str, others: Iterable[str]) -> None:
        """Read at once what the words of a query, the names in it, and words by themselves need, and ``others``."""
        names = " ".join(identifiers.names(text))
        asked = [
            self._query(texts, KeywordQuery(text, 1), search),
            self._rows(KeywordQuery(names, 1, evidence="definitions")),
        ]
        words = [term for word in dict.fromkeys([*text.split(), *others]) for term in self._analyzer.word_terms(word)]
        keys = [key for kind in (CHUNKS, DOCUMENTS) for key in texts[kind].prepare(words)]
        keys += [key for one in asked for key in one.keys]
        texts[CHUNKS].snapshot.load(keys, [key for one in asked for key in one.in_row])


@dataclass(frozen=True, slots=True)
class Prepared:
    """A segment to be written: what it says of its texts, and the blocks of their terms."""

    kind: int
    rows: npt.NDArray[np.void]
    blocks: Sequence[word_table.Block]


class _Asked:
    """A query on its way: the terms it is of, what has to be read, and the query where that is made already."""

    __slots__ = ("in_row", "keys", "kind", "made", "terms")

    def __init__(
        self,
        kind: int,
        terms: Sequence[QueryTerm],
        keys: Sequence[bytes],
        in_row: Sequence[bytes],
        made: Query | None = None,
    ) -> None:
        self.kind, self.terms, self.keys, self.in_row, self.made = kind, terms, keys, in_row, made


class PostgresLexicon(VocabularyLexicon):
    """Implements ``ports.Lexicon`` for one state of an index."""

    def __init__(self, texts: Texts, analyzer: Analyzer, prepare: Callable[[str, Iterable[str]], object]) -> None:
        super().__init__(texts.vocabulary, analyzer)
        self._texts, self._prepare = texts, prepare

    def counts(self, words: Sequence[str]) -> list[int]:
        self._texts.snapshot.load(segments.key_of(DOCUMENTS, SPELLED, word) for word in words)
        return [self._texts.doc_freq(SPELLED, word) for word in words]

    def prepare(self, text: str, words: Iterable[str] = ()) -> None:
        self._prepare(text, words)

    def prepare_near(self, words: Sequence[str], prefixes: Sequence[str]) -> None:
        keys, firsts = ([segments.key_of(DOCUMENTS, SPELLED, one) for one in some] for some in (words, prefixes))
        self._texts.snapshot.load_near(DOCUMENTS, keys, firsts)

    def beginning(self, prefix: str) -> list[tuple[str, int]]:
        return self._texts.terms_with_prefix(SPELLED, prefix)


def ranked(texts: Texts, query: Query | None, limit: int, documents: Int64 | None, among: Int64 | None) -> Ranking:
    """Return the best ``limit`` texts, of those that score alike the lowest ids first."""
    ids, owners, scores = [], [], []
    only = documents if among is None else np.unique(among)
    if query is not None and (only is None or len(only)):
        for segment in texts.segments:
            found = query(texts, segment)
            hits = np.flatnonzero((found > 0) & segment.alive)
            of, score = segment.ids[hits], found[hits]
            if only is not None:
                kept = np.isin(of if among is not None else segment.documents[hits], only)
                hits, of, score = hits[kept], of[kept], score[kept]
            if len(score) > limit:
                kept = score >= np.partition(score, len(score) - limit)[len(score) - limit]
                hits, of, score = hits[kept], of[kept], score[kept]
            ids.append(of)
            owners.append(segment.documents[hits])
            scores.append(score)
    if not ids:
        return Ranking(np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0, np.float32))
    every, score = np.concatenate(ids), np.concatenate(scores).astype(np.float32)
    best = np.lexsort((every, -score))[:limit]
    return Ranking(every[best], np.concatenate(owners)[best], score[best])


def _kind(query: KeywordQuery) -> int:
    return DOCUMENTS if query.evidence == "documents" else CHUNKS


def _holds(texts: Texts, key: bytes, segment: Segment, at: int) -> bool:
    found = texts.snapshot.held(key).get(segment.number)
    return found is not None and bool(np.isin(at, found.places))


def _counts(now: Sequence[Segment]) -> tuple[int, int]:
    chunks, documents = (sum(int(one.alive.sum()) for one in now if one.kind == kind) for kind in (CHUNKS, DOCUMENTS))
    return chunks, documents


def _chosen(found: Sequence[Segment]) -> list[Segment]:
    """Return segments that are to become one, [] where there are few of each size."""
    alive = {one.number: int(one.alive.sum()) for one in found}
    for one in found:
        if 2 * alive[one.number] < len(one):
            return [one]
    small = sorted((one for one in found if 2 * alive[one.number] <= MOST_TEXTS), key=lambda one: alive[one.number])
    for _, group in groupby(small, key=lambda one: alive[one.number].bit_length() // 2):
        alike = list(group)
        if len(alike) < _MERGED_AT_ONCE:
            continue
        chosen, total = [], 0
        for one in alike:
            if total + alive[one.number] > MOST_TEXTS:
                break
            chosen.append(one)
            total += alive[one.number]
        if len(chosen) > 1:
            return sorted(chosen, key=lambda one: one.number)
    return []


_SHOULD = None
"""How a clause occurs that a text may have or not."""
