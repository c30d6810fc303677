"""A keyword engine in one SQLite file: FTS5."""

from __future__ import annotations

import json
import sqlite3
import threading
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from pinakes import IndexCorrupt
from pinakes.core.ports import KeywordQuery
from pinakes.core.records import HELD, IndexEntry, Int64, Ranking, VectorEntry
from pinakes.indexes.opening import Opening
from pinakes.text.analysis import Analyzer
from pinakes.text.identifiers import has_parts

_SCHEMA = """
CREATE TABLE IF NOT EXISTS state (position INTEGER);
CREATE TABLE IF NOT EXISTS chunks (id INTEGER PRIMARY KEY, document INTEGER, symbols TEXT);
CREATE INDEX IF NOT EXISTS of_document ON chunks (document);
CREATE VIRTUAL TABLE IF NOT EXISTS chunk_words USING fts5(terms, tokenize = 'ascii');
CREATE VIRTUAL TABLE IF NOT EXISTS document_words USING fts5(terms, tokenize = 'ascii');
"""


class SqliteEngine:
    """Implements ``pinakes.core.ports.KeywordEngine``. Processes share the file."""

    def __init__(self, opening: Opening) -> None:
        opening.folder.mkdir(parents=True, exist_ok=True)
        self._documents_where = opening.documents
        self._analyzer = Analyzer()
        self._lock = threading.RLock()
        file = opening.folder / "index.db"
        self._db = sqlite3.connect(file, timeout=30, isolation_level=None, check_same_thread=False)
        try:
            self._db.executescript(f"PRAGMA journal_mode = WAL; {_SCHEMA}")
        except sqlite3.DatabaseError as error:
            raise IndexCorrupt(f"{file} is damaged: {error}.", hint="Run: pinakes reindex") from error
        with self._lock, self._db:
            self._db.execute("BEGIN IMMEDIATE")
            self._db.execute("INSERT INTO state SELECT 0 WHERE NOT EXISTS (SELECT * FROM state)")

    def position(self) -> int:
        """Return the change number up to which every change has been applied."""
        with self._lock:
            return int(self._db.execute("SELECT position FROM state").fetchone()[0])

    def apply(
        self,
        removed: Iterable[int],
        added: Iterable[IndexEntry],
        position: int,
        vectors: Iterable[VectorEntry] = (),
    ) -> None:
        """Drop documents, add chunks, and stand at ``position``, all in one transaction."""
        added = list(added)
        texts: dict[int, list[str]] = {}
        for entry in added:
            texts.setdefault(entry.document_id, [entry.title]).append(entry.text)
        with self._lock, self._db:
            self._db.execute("BEGIN IMMEDIATE")
            if position <= self.position():
                return
            gone = [(key,) for key in {*removed, *texts}]
            of_document = "SELECT id FROM chunks WHERE document = ?"
            self._db.executemany(f"DELETE FROM chunk_words WHERE rowid IN ({of_document})", gone)
            self._db.executemany("DELETE FROM document_words WHERE rowid = ?", gone)
            self._db.executemany("DELETE FROM chunks WHERE document = ?", gone)
            self._db.executemany("INSERT INTO chunks VALUES (?, ?, ?)", map(_row, added))
            self._db.executemany(
                "INSERT INTO chunk_words (rowid, terms) VALUES (?, ?)",
                [(entry.chunk_id, self._terms(f"{entry.header} {entry.text}")) for entry in added],
            )
            self._db.executemany(
                "INSERT INTO document_words (rowid, terms) VALUES (?, ?)",
                [(key, self._terms(" ".join(parts))) for key, parts in texts.items()],
            )
            self._db.execute("UPDATE state SET position = ?", (position,))

    def keyword(self, *queries: KeywordQuery) -> list[Ranking]:
        """Answer each of ``queries``."""
        with self._lock:
            return [self._ranked(self._scores(query), query) for query in queries]

    def contents(self) -> Mapping[str, Int64]:
        """Return the sorted ids that each part of the index holds."""
        with self._lock:
            return {
                "keyword": self._ids("SELECT rowid FROM chunk_words ORDER BY 1"),
                "documents": self._ids("SELECT rowid FROM document_words ORDER BY 1"),
            }

    def describe(self) -> Mapping[str, str | int]:
        """Say what the index is made of and how large it is."""
        counts = self.contents()
        return {"keyword_chunks": len(counts["keyword"]), "keyword_documents": len(counts["documents"])}

    def close(self) -> None:
        """Release the file; everything is written by then."""
        with self._lock:
            self._db.close()

    def _scores(self, query: KeywordQuery) -> dict[int, float]:
        if query.evidence == "definitions":
            return self._definitions(set(query.text.split()))
        if query.evidence == "phrases":
            return dict.fromkeys(self._matching(f'"{self._terms(query.text)}"'), 1.0)
        terms = dict.fromkeys(_token(term.text) for term in self._analyzer.query(query.text))
        return self._matching(" OR ".join(terms), "document_words" if query.evidence == "documents" else "chunk_words")

    def _definitions(self, names: set[str]) -> dict[int, float]:
        rows = self._db.execute("SELECT id, symbols FROM chunks WHERE symbols != '[]'")
        scores = {key: float(len(names.intersection(json.loads(symbols)))) for key, symbols in rows}
        for name in filter(has_parts, names):
            for key in self._matching(f'"{self._terms(name)}"'):
                scores[key] = scores.get(key, 0.0) + HELD
        return {key: score for key, score in scores.items() if score}

    def _matching(self, expression: str, table: str = "chunk_words") -> dict[int, float]:
        """Return id → BM25 of what matches an expression of FTS5."""
        if not expression.strip('" '):
            return {}
        found = self._db.execute(f"SELECT rowid, -bm25({table}) FROM {table} WHERE {table} MATCH ?", (expression,))
        return dict(found.fetchall())

    def _ranked(self, scores: Mapping[int, float], query: KeywordQuery) -> Ranking:
        """Return the best of ``scores`` that the query allows."""
        if query.evidence == "documents":
            owner = {key: key for key in scores}
        else:
            owner = dict(self._db.execute("SELECT id, document FROM chunks"))
        allowed = set(scores)
        if query.among is not None:
            allowed &= set(query.among.tolist())
        elif query.where:
            documents = set(self._documents_where(query.where).tolist())
            allowed = {key for key in allowed if owner[key] in documents}
        best = sorted(allowed, key=lambda key: (-scores[key], key))[: query.limit]
        return Ranking(
            np.array(best, np.int64),
            np.array([owner[key] for key in best], np.int64),
            np.array([scores[key] for key in best], np.float32),
        )

    def _ids(self, statement: str) -> Int64:
        return np.array([row[0] for row in self._db.execute(statement)], np.int64)

    def _terms(self, text: str) -> str:
        return " ".join(map(_token, self._analyzer.terms(text)))


def _token(term: str) -> str:
    """Return a term of the analyser as a word that FTS5 leaves as it is."""
    return term.encode("utf-8", "surrogatepass").hex()


def _row(entry: IndexEntry) -> Sequence[Any]:
    return entry.chunk_id, entry.document_id, json.dumps(list(entry.symbols))
