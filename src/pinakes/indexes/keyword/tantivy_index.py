"""A Tantivy index: BM25 (k1 1.2, b 0.75) over text, title and path of every chunk, or of every document.

Terms come from ``pinakes.text.analysis`` and are stored separated by spaces, so that every engine and every explanation
uses the same terms. All processes share the folder; one process writes at a time.
"""

from __future__ import annotations

import copy
import json
import re
import shutil
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
import tantivy
from filelock import FileLock

from pinakes.core.errors import NO_DESCRIPTORS, NO_ROOM, IndexCorrupt, StorageFull, no_descriptors, storing
from pinakes.core.records import HELD, Int64, Ranking
from pinakes.indexes.keyword.clauses import (
    EXACT,
    METADATA,
    SPELLED,
    TEXT,
    VARIANTS,
    QueryVocabulary,
    TantivyLexicon,
    query_of,
)
from pinakes.indexes.keyword.stored_terms import StoredTerms
from pinakes.indexes.keyword.write_buffer import BufferedEntry, WriteBuffer
from pinakes.indexes.storage import checksums
from pinakes.indexes.storage.versions import Analysis
from pinakes.platform.disk import folder_bytes
from pinakes.platform.locks import locked
from pinakes.platform.permissions import make_private
from pinakes.settings import SearchSettings
from pinakes.text.analysis import Analyzer, QueryTerm
from pinakes.text.analysis.languages import Stems
from pinakes.text.identifiers import has_parts

_INDEX_NAME = "The keyword index"
_HEAP_BYTES = 64_000_000
_SET_MAX = 1000
"""Up to this many ids, a filter is part of the query; with more, hits are filtered afterwards."""

_CLAUSES_MAX = 200
"""Up to this many ids are looked up individually; with more, one pass over all ids is faster."""

_MAX_NAMES = 200

_LONGEST_TERM = 10_000
"""Longer terms may be dropped by Tantivy."""

_NOTHING = "·"
"""The filler that pads the variants of a text to the number of its terms, so that BM25 sees the same length."""

_SYSTEM_ERROR = re.compile(r"(?:os error |Os \{ code: )(\d+)")


@dataclass(frozen=True, slots=True)
class _State:
    """The content of ``position.json``: the last change applied, and the last change that modified the index.

    ``meta``: checksum of Tantivy's description of the index; ``schema``: checksum of its schema, which never changes.
    None if an older version wrote the file.
    """

    position: int = 0
    committed: int = 0
    meta: int | None = None
    schema: int | None = None


class KeywordIndex:
    """BM25 ranking of the chunks of one collection generation, or of its documents.

    An index of chunks also finds phrases and definitions; an index of documents also has the lexicon.
    """

    def __init__(
        self,
        folder: Path,
        of: Literal["chunks", "documents"],
        analyzer: Analysis,
        *,
        search: SearchSettings,
        lock_timeout_s: float,
    ) -> None:
        self._folder = folder
        self._of_chunks = of == "chunks"
        self._search = search
        self._analyzer = analyzer
        self._present = analyzer if isinstance(analyzer, Analyzer) else None
        self._stems = Stems() if self._present is None else self._present.stems
        self._writing = threading.Lock()
        self._reloading = threading.Lock()
        self._lock = FileLock(f"{folder}.lock", timeout=lock_timeout_s)
        self._state_file, self._meta = folder / "position.json", folder / "meta.json"
        self._read: tuple[tuple[int, int], _State] | None = None
        self._index: Any = None
        self._written: Any = None
        self._fields: frozenset[str] = frozenset()
        self._seen = -1
        self._vocabulary: tuple[int, QueryVocabulary] | None = None
        self._last: tuple[tuple[str, int], Any] = ("", -1), None
        self._buffer = WriteBuffer()
        self._open()

    def position(self) -> int:
        """Return the number of the last change applied to the shared folder."""
        return self._read_state().position

    def apply(self, removed: Sequence[int], added: Sequence[StoredTerms], position: int) -> None:
        """Write changes that no other process has written yet; if there are none, only the position advances.

        Raises:
            IndexCorrupt: the folder was deleted; taking the lock would create it again.
        """
        if position <= self.position():
            return
        if not self._folder.is_dir():
            raise _corrupt(FileNotFoundError(f"there is no folder {self._folder}"))
        with self._writing, locked(self._lock, _INDEX_NAME):
            state = self._read_state()
            if position <= state.position:
                return
            buffer = self._buffer
            if removed or added:
                if buffer.committed != state.committed:
                    buffer = WriteBuffer()
                    with _translated():  # it writes anew which files there are, as it knew them when it was opened
                        self._written = self._fresh()
                self._buffer = WriteBuffer()
                self._write_state(replace(state, meta=None))  # if the process is killed, its writes are not damage
                with _translated():
                    self._write(removed, added, buffer)
                buffer.committed = position
                try:
                    schema = checksums.schema_crc(self._meta) if state.schema is None else state.schema
                    state = _State(position, position, checksums.crc_of(self._meta), schema)
                except FileNotFoundError as error:  # another process takes the folder away
                    raise _corrupt(error) from error
            self._write_state(replace(state, position=position))
            self._buffer = buffer

    def search(self, query: str, limit: int, documents: Int64 | None, among: Int64 | None) -> Ranking:
        """Return the ``limit`` best chunks by BM25, restricted to ``documents`` or to the chunks ``among``."""
        with _translated():
            searcher = self._searcher()
            wanted = self._query(query, searcher)
        return self._best(wanted, limit, documents, among, searcher)

    def _query(self, query: str, searcher: Any) -> Any:
        """Return the Tantivy query, None if ``query`` has no terms; the latest one is cached."""
        asked, wanted = self._last
        if asked != (query, self._seen):
            terms, asked, wanted = self._query_terms(query), (query, self._seen), None
            if terms:
                vocabulary = self._vocabulary_of(searcher)
                wanted = query_of(terms, self._index.schema, vocabulary, self._search, self._fields)
            self._last = asked, wanted
        return wanted

    def definitions(self, names: Sequence[str], limit: int, documents: Int64 | None, among: Int64 | None) -> Ranking:
        """Rank chunks by how many of ``names`` they define; names of several words that they contain score ``HELD``."""
        schema, ones = self._index.schema, []
        for name in names[:_MAX_NAMES]:
            ones.append((tantivy.Query.term_query(schema, "symbols", name, "basic"), 1.0))
            if has_parts(name) and (wanted := self._phrase_query(name)) is not None:
                ones.append((wanted, HELD))
        every = [(tantivy.Occur.Should, tantivy.Query.const_score_query(one, score)) for one, score in ones]
        return self._best(tantivy.Query.boolean_query(every) if every else None, limit, documents, among)

    def phrase(self, words: str, limit: int, documents: Int64 | None, among: Int64 | None) -> Ranking:
        """Return the chunks that contain ``words`` as a phrase, all with score 1.

        The words are analysed both as text and as query, which treat letters that may be articles differently: "vitamin
        a".
        """
        wanted = self._phrase_query(words)
        one = None if wanted is None else tantivy.Query.const_score_query(wanted, 1.0)
        return self._best(one, limit, documents, among)

    def _phrase_query(self, words: str) -> Any:
        """Return the phrase query for ``words``; None if they have no terms."""
        schema, wanted = self._index.schema, []
        readings = [self._analyzer.terms(words)] if self._present is None else self._present.readings(words)
        for terms in dict.fromkeys(map(tuple, readings)):
            if len(terms) > 1:
                wanted.append(tantivy.Query.phrase_query(schema, TEXT, list(terms)))
            elif terms:
                wanted.append(tantivy.Query.term_query(schema, TEXT, terms[0], "position"))
        return tantivy.Query.boolean_query([(tantivy.Occur.Should, one) for one in wanted]) if wanted else None

    def _vocabulary_of(self, searcher: Any) -> QueryVocabulary:
        """Return the query vocabulary of the current state of the index."""
        known = self._vocabulary
        if known is None or known[0] != self._seen:
            known = self._vocabulary = (self._seen, QueryVocabulary(searcher, self._fields, self._stems))
        return known[1]

    def _query_terms(self, query: str) -> list[QueryTerm]:
        """Return the terms of a query; an older analyser provides them without further forms."""
        if self._present is None:
            return list(map(QueryTerm, self._analyzer.query_terms(query)))
        return self._present.query(query)

    def _best(
        self, wanted: Any, limit: int, documents: Int64 | None, among: Int64 | None, searcher: Any = None
    ) -> Ranking:
        if wanted is None or (documents is not None and not len(documents)) or (among is not None and not len(among)):
            nothing = np.empty(0, np.int64)
            return Ranking(nothing, nothing, np.empty(0, np.float32))
        if among is not None:
            wanted = _only(self._index.schema, wanted, "chunk_id", among)
        elif documents is not None and len(documents) <= _SET_MAX:
            wanted = _only(self._index.schema, wanted, "document_id", documents)
            documents = None
        with _translated():
            return _run(searcher or self._searcher(), wanted, limit, documents)

    def with_settings(self, search: SearchSettings) -> KeywordIndex:
        """Return the same index with other search settings."""
        other = copy.copy(self)
        vars(other).update(_search=search, _last=(("", -1), None))
        return other

    def lexicon(self) -> TantivyLexicon:
        """Return the lexicon of all documents in the current state."""
        with _translated():
            searcher = self._searcher()
            vocabulary = self._vocabulary_of(searcher)
            return TantivyLexicon(searcher, self._index.schema, self._analyzer, vocabulary)

    def ids(self) -> Int64:
        """Return the sorted ids of all chunks, or of all documents."""
        with _translated():
            searcher = self._searcher()
            hits = searcher.search(tantivy.Query.all_query(), limit=max(1, searcher.num_docs), count=False).hits
            return np.sort(_column(searcher, "chunk_id", [address for _, address in hits]))

    def describe(self) -> dict[str, str | int]:
        """Return the number of chunks or documents, and the bytes on disk."""
        count, size = ("keyword_chunks", "keyword_bytes") if self._of_chunks else ("documents", "document_bytes")
        with _translated():
            return {count: self._searcher().num_docs, size: folder_bytes(self._folder)}

    def damaged(self) -> list[tuple[str, str]]:
        """Return (name, problem) of the files that differ from what was written."""
        with self._writing, locked(self._lock, _INDEX_NAME):
            return list(checksums.damaged_files(self._folder, self._read_state().meta))

    def lacking(self, chunks: Sequence[StoredTerms]) -> list[int]:
        """Return the ids of the chunks that a search for their own words would not find."""
        schema, must, found = self._index.schema, tantivy.Occur.Must, []
        with _translated():
            searcher = self._searcher()
            for words in chunks:
                terms = [term for term in {*words.header.split(), *words.body.split()} if len(term) <= _LONGEST_TERM]
                ones = [tantivy.Query.term_query(schema, TEXT, term, "basic") for term in terms]
                ones.append(tantivy.Query.term_query(schema, "chunk_id", words.chunk_id))
                every = tantivy.Query.boolean_query([(must, one) for one in ones])
                if searcher.search(every, limit=1, count=True).count != 1:
                    found.append(words.chunk_id)
        return found

    def _read_state(self) -> _State:
        """Return the content of the position file, read again only if it changed, since searches need it often."""
        try:
            stat = self._state_file.stat()
            file = stat.st_ino, stat.st_mtime_ns
            if self._read is None or self._read[0] != file:
                found = checksums.unsealed(self._state_file.read_text("utf-8"))
                position = int(found["position"])
                committed = int(found.get("committed", position))
                self._read = file, _State(position, committed, found.get("meta"), found.get("schema"))
            return self._read[1]
        except FileNotFoundError:
            return _State()
        except (ValueError, KeyError, TypeError, OSError) as error:
            if isinstance(error, OSError) and error.errno in NO_DESCRIPTORS:
                raise no_descriptors() from error
            raise _corrupt(error) from error

    def _open(self) -> None:
        """Open an existing index, whose older format may have fewer fields, or create one with all fields."""
        if not self._exists():
            with locked(self._lock, _INDEX_NAME), storing(_INDEX_NAME), _translated():
                if not self._exists():
                    shutil.rmtree(self._folder, ignore_errors=True)
                    make_private(self._folder)
                    tantivy.Index(_schema(of_chunks=self._of_chunks), path=str(self._folder))
                    self._write_state(
                        _State(meta=checksums.crc_of(self._meta), schema=checksums.schema_crc(self._meta))
                    )
        self._check()
        with _translated():
            self._index = self._fresh()
            self._fields = _fields_of(self._meta, self._read_state().schema)
            self._index.reload()

    def _fresh(self) -> Any:
        """Open the index as it is on the disk, without a thread that looks for changes."""
        index = tantivy.Index.open(str(self._folder))
        index.config_reader("manual")
        return index

    def _check(self) -> None:
        """Check that no file is damaged: Tantivy would give wrong answers, or abort the process.

        Raises:
            IndexCorrupt: a file is damaged.
        """
        if any(checksums.damaged_files(self._folder, self._read_state().meta)):
            for name, problem in self.damaged():  # again, with the lock held
                raise _corrupt(ValueError(f"the file {name} is damaged, {problem}"))

    def _write_state(self, state: _State) -> None:
        with storing(_INDEX_NAME):
            _replace(self._state_file, checksums.sealed(asdict(state)))

    def _exists(self) -> bool:
        return self._folder.is_dir() and tantivy.Index.exists(str(self._folder))

    def _searcher(self) -> Any:
        """Return a searcher over the latest commit of any process.

        After the folder was dropped for another generation, the last searcher stays in use.
        """
        committed = self._read_state().committed
        if committed != self._seen:
            with self._reloading:
                try:
                    self._index.reload()
                    self._seen = committed
                except ValueError:
                    if self._state_file.exists():
                        raise
        return self._index.searcher()

    def _write(self, removed: Sequence[int], added: Sequence[StoredTerms], buffer: WriteBuffer) -> None:
        fresh: dict[int, list[BufferedEntry]] = {}
        for words in added:
            fresh.setdefault(words.document_id, []).append(self._entry(words))
        written = buffer.follow({*removed, *fresh}, fresh)
        writer = self._written.writer(heap_size=_HEAP_BYTES, num_threads=1)
        try:
            # By query: ``delete_documents_by_term`` takes a number for a signed one and then deletes nothing.
            gone = sorted({*removed, *written})
            writer.delete_documents_by_query(tantivy.Query.term_set_query(self._index.schema, "document_id", gone))
            for entries in written.values():
                for entry in entries:
                    writer.add_document(entry.made)
            writer.commit()
        except BaseException:
            # A traceback may keep the writer alive, and with it Tantivy's own lock.
            with suppress(ValueError):
                writer.rollback()
            with suppress(ValueError):
                writer.wait_merging_threads()
            raise
        writer.wait_merging_threads()

    def _entry(self, words: StoredTerms) -> BufferedEntry:
        made = tantivy.Document()
        made.add_unsigned("chunk_id", words.chunk_id)
        made.add_unsigned("document_id", words.document_id)
        text = f"{words.header} {words.body}"
        names = words.symbols if self._of_chunks else " ".join(words.spelled)
        texts = {
            TEXT: text,
            "title": words.title,
            "path": words.path,
            "symbols" if self._of_chunks else SPELLED: names,
            VARIANTS: words.variants,
            EXACT: words.exact,
            METADATA: words.metadata,
        }
        for field in self._fields.intersection(texts):
            made.add_text(field, texts[field])
        if VARIANTS in self._fields:
            made.add_text(VARIANTS, f"{_NOTHING} " * (text.count(" ") - words.variants.count(" ")))
        return BufferedEntry(made, len(text) + len(names) + len(words.variants) + len(words.exact))


@contextmanager
def _translated() -> Iterator[None]:
    """Translate Tantivy's errors. Damaged files can make it panic, which Python sees as a ``BaseException``."""
    try:
        yield
    except BaseException as error:
        if not isinstance(error, ValueError) and type(error).__name__ != "PanicException":
            raise
        number = _SYSTEM_ERROR.search(str(error))
        if number and int(number[1]) in NO_DESCRIPTORS:
            raise no_descriptors() from error
        if number and int(number[1]) in NO_ROOM:
            raise StorageFull(f"{_INDEX_NAME} cannot be written: {error}.", hint="Free disk space.") from error
        raise _corrupt(error) from error


def _corrupt(error: BaseException) -> IndexCorrupt:
    return IndexCorrupt(f"{_INDEX_NAME} cannot be read: {error}.", hint="Rebuild it: pinakes reindex")


def _schema(*, of_chunks: bool) -> Any:
    builder = tantivy.SchemaBuilder()
    builder.add_unsigned_field("chunk_id", indexed=True, fast=True)
    builder.add_unsigned_field("document_id", indexed=True, fast=True)
    builder.add_text_field("text", tokenizer_name="whitespace", index_option="position" if of_chunks else "freq")
    builder.add_text_field("title", tokenizer_name="whitespace", index_option="freq")
    builder.add_text_field("path", tokenizer_name="whitespace", index_option="freq")
    builder.add_text_field("symbols" if of_chunks else SPELLED, tokenizer_name="whitespace", index_option="basic")
    builder.add_text_field(VARIANTS, tokenizer_name="whitespace", index_option="freq")
    if of_chunks:
        builder.add_text_field(EXACT, tokenizer_name="whitespace", index_option="basic")
    builder.add_text_field(METADATA, tokenizer_name="whitespace", index_option="freq")
    return builder.build()


def _fields_of(meta: Path, crc: int | None) -> frozenset[str]:
    """Return the field names that an index was built with; ``crc``: checksum of its schema, if known.

    Raises:
        ValueError: Tantivy's description of the index cannot be read, or was changed.
    """
    try:
        schema = json.loads(meta.read_text("utf-8"))["schema"]
        if crc is not None and checksums.schema_crc(meta) != crc:
            raise ValueError("the checksum of its schema differs")
        return frozenset(field["name"] for field in schema)
    except (OSError, KeyError, TypeError) as error:
        raise ValueError(f"its schema cannot be read: {error}") from error


def _only(schema: Any, query: Any, field: str, ids: Int64) -> Any:
    """Restrict ``query`` to these ids, with unchanged scores."""
    if len(ids) <= _CLAUSES_MAX:
        each = [(tantivy.Occur.Should, tantivy.Query.term_query(schema, field, one)) for one in ids.tolist()]
        members = tantivy.Query.boolean_query(each)
    else:
        members = tantivy.Query.term_set_query(schema, field, ids.tolist())
    return tantivy.Query.boolean_query(
        [(tantivy.Occur.Must, query), (tantivy.Occur.Must, tantivy.Query.const_score_query(members, 0.0))]
    )


def _run(searcher: Any, query: Any, limit: int, documents: Int64 | None) -> Ranking:
    """Return the best ``limit`` hits; if ``documents`` is given, request more until enough belong to them."""
    asked = limit
    while True:
        hits = searcher.search(query, limit=max(1, min(asked, searcher.num_docs or 1)), count=False).hits
        addresses = [address for _, address in hits]
        ids, owners = _column(searcher, "chunk_id", addresses), _column(searcher, "document_id", addresses)
        scores = np.array([score for score, _ in hits], np.float32)
        if documents is not None:
            kept = np.isin(owners, documents)
            ids, owners, scores = ids[kept], owners[kept], scores[kept]
        if documents is None or len(ids) >= limit or len(hits) < asked:
            best = np.lexsort((ids, -scores))[:limit]
            return Ranking(ids[best], owners[best], scores[best])
        asked *= 4


def _column(searcher: Any, field: str, addresses: Sequence[Any]) -> Int64:
    values = searcher.fast_field_values(field, addresses)
    if None in values:
        raise ValueError(f"a chunk has no {field}")
    return np.array(values, np.int64)


def _replace(path: Path, text: str) -> None:
    """Write a file atomically."""
    temporary = path.with_suffix(".tmp")
    temporary.write_text(text, "utf-8")
    temporary.replace(path)
