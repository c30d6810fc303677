"""Reads the files of a run: each is parsed and chunked, or noted, and becomes an entry to commit."""

from __future__ import annotations

import hashlib
import logging
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import PurePosixPath

from pinakes.catalog import documents
from pinakes.catalog.documents import NewDocument
from pinakes.catalog.sources import FileRecord, SourceRecord
from pinakes.core.errors import PinakesError, PluginBroken, TooLarge, Unreadable
from pinakes.core.parsed_files import ParsedDocument
from pinakes.core.ports import Source
from pinakes.core.records import Item, ReadingNote, Skipped
from pinakes.ingestion.file_changes import Entry, Move, Note, Put
from pinakes.ingestion.report import Report
from pinakes.ingestion.rereading import Rereading
from pinakes.ingestion.run_options import RunOptions
from pinakes.ingestion.run_tools import FileParser, Tools
from pinakes.ingestion.source_metadata import with_source_metadata
from pinakes.metadata import ERRORS, RuleSubject, ruled, typed
from pinakes.metadata.templates import fields_of, key_of
from pinakes.text.secrets.masking import masking_of

_log = logging.getLogger(__name__)

_AHEAD_BYTES = 8_000_000
"""Total bytes of the files that are parsed concurrently."""


@dataclass(slots=True)
class FileReader:
    """Reads the files of one run. What happens to each is added to ``report``.

    ``known``: path → file, as earlier runs read it. ``gone``: those that vanished; one that was moved is taken out.
    """

    tools: Tools
    record: SourceRecord
    source: Source
    options: RunOptions
    report: Report
    known: Mapping[str, FileRecord]
    rereading: Rereading
    gone: dict[str, FileRecord]
    _by_hash: dict[str, list[FileRecord]] = field(default_factory=dict, init=False)

    def __post_init__(self) -> None:
        for record in self.gone.values():
            self._by_hash.setdefault(record.content_hash or "", []).append(record)

    def entries(self, wanted: Sequence[Item], parser: FileParser) -> Iterator[tuple[Item, Entry]]:
        """Parse and chunk all files in order, as many concurrently as ``parser`` takes."""
        ahead: deque[tuple[Item, Callable[[], Entry]]] = deque()
        size = 0
        for item in wanted:
            ahead.append((item, self._submit(item, parser)))
            size += item.size_bytes
            while len(ahead) > parser.files_ahead or (ahead and size > _AHEAD_BYTES):
                first, entry_of = ahead.popleft()
                size -= first.size_bytes
                yield first, entry_of()
        yield from ((item, entry_of()) for item, entry_of in ahead)

    def _submit(self, item: Item, parser: FileParser) -> Callable[[], Entry]:
        """Submit one file; an error with it becomes a note, and the run continues."""
        known = self.known.get(item.path)
        try:
            with self.report.timed("read"):
                data = self.source.read(item)
        except PinakesError as error:
            return partial(self._failed, item, str(error))
        digest = hashlib.sha256(data).hexdigest()
        same = known and known.status == "indexed" and known.content_hash == digest and known.uri == item.uri
        if known and same and item.path not in self.rereading:
            return partial(Note, replace(known, fingerprint=item.fingerprint))
        return partial(self._prepare, item, digest, parser.begin(data, item.path))

    def _prepare(self, item: Item, digest: str, cut: Callable[[], ParsedDocument]) -> Entry:
        """Return the entry to commit for one file, waiting for ``cut``."""
        known = self.known.get(item.path)
        had = known.document_id if known else None
        try:
            made = self._wait_for(cut)
            self._check_length(made, is_new=had is None)
            new = self._new_document(item, made, digest)
        except Unreadable as error:
            record = FileRecord(item.path, item.fingerprint, digest, "skipped", str(error), code=error.code)
            return Note(record, remove=had)
        except (ChildProcessError, TimeoutError, PluginBroken) as error:
            return self._failed(item, str(error))
        except (PinakesError, MemoryError):  # not caused by this file
            raise
        except Exception as error:  # noqa: BLE001 - a bug of one reader must not keep the other files from being read
            _log.exception("%s could not be read", item.path)
            return self._failed(item, f"Reading it failed unexpectedly: {type(error).__name__}: {error}")
        if move := self._find_move(item, new):
            return move
        return Put(item, new, is_new=had is None)

    def _check_length(self, cut: ParsedDocument, *, is_new: bool) -> None:
        most = self.tools.longest.get(self.record.location, 0)
        if most and is_new and cut.tokens > most:
            raise TooLarge(
                f"Document exceeds max tokens: it has {cut.tokens}, at most {most} may be (documents.max_tokens)."
            )

    def _wait_for(self, cut: Callable[[], ParsedDocument]) -> ParsedDocument:
        """Wait for the result; attribute the waiting time to what was done in proportion to its work."""
        start = time.perf_counter()
        work = {"read": 1.0}
        try:
            done = cut()
            work = {"read": done.read_s, "chunk": done.chunk_s, "extract": done.extract_s}
        finally:
            waited = time.perf_counter() - start
            for phase, seconds in work.items():
                self.report.spend(phase, waited * seconds / max(sum(work.values()), 1e-9))
        return done

    def _failed(self, item: Item, reason: str) -> Note:
        """Report a file that could not be read; its previous document stays, and it is tried again later."""
        self.report.failed.append(Skipped(item.path, reason))
        return Note(self.options.failed(item, self.known.get(item.path), reason))

    def _new_document(self, item: Item, cut: ParsedDocument, digest: str) -> NewDocument:
        rules, document = self.tools.rules, cut.document
        from_path = fields_of(item.path, rules.path_templates)
        key = key_of(from_path, rules.document_key)
        own = {**item.metadata, **document.metadata, **from_path}
        found = ruled(RuleSubject(item.path, document, own, item.metadata), rules.metadata_rules, rules.fields)
        metadata = typed(with_source_metadata(found, self.record.options, item), rules.fields)
        metadata = masking_of(self.tools.limits).value(metadata)
        self.report.unlike += [Skipped(item.path, reason) for reason in metadata.get(ERRORS, ())]
        self.report.notes += [(item.path, note) for note in document.notes]
        metadata |= {rules.key_field: key} if key else {}
        title = document.title or PurePosixPath(item.path).stem
        new = NewDocument(item.uri, item.path, document, cut.chunks, digest, title, metadata, key, self.record.id)
        with self.report.timed("extract"):
            new = self.tools.graph.read(replace(new, chunker=cut.chunker, tokens=cut.tokens), cut.findings)
        problems = new.findings.problems if new.findings else ()
        self.report.notes += [(item.path, ReadingNote("graph", problem)) for problem in problems]
        return new

    def _find_move(self, item: Item, new: NewDocument) -> Move | None:
        """Return the move of an existing document to ``item``, from a vanished file or another uri; None if none."""
        known = self.known.get(item.path)
        if known is not None and known.document_id is not None:
            same = known.uri != item.uri and self._has_same_content(known.document_id, new)
            return Move(item, new, known) if same else None
        for rechunk in (False, True):  # chunks of a document without a title contain its path
            for old in self._by_hash.get(new.content_hash, ()):
                if (
                    old.path in self.gone
                    and old.document_id
                    and self._has_same_content(old.document_id, new, rechunk=rechunk)
                ):
                    return Move(item, new, self.gone.pop(old.path), rechunk)
        return None

    def _has_same_content(self, document_id: int, new: NewDocument, *, rechunk: bool = False) -> bool:
        same = documents.same_text if rechunk else documents.same_content
        with self.report.timed("catalog"), self.tools.catalog.read() as connection:
            return same(connection, document_id, new)
