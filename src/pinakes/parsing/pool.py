"""Parses and chunks files: plain ones in this process; risky or large ones, or many, in worker processes.

A worker process runs ``serve``: it receives files with their parse options, one at a time, and answers each. A crash
affects one file only; ``workers`` sets its limits.
"""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError, ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path, PurePosixPath
from typing import Final, TypeAlias, cast

from pinakes import parsing
from pinakes.chunking import chunk, chunker_of, sizing_for
from pinakes.core.errors import Empty, PinakesError, Unreadable
from pinakes.core.parsed_files import ParsedDocument
from pinakes.core.ports import Embedder
from pinakes.core.records import Chunk, Document, Item
from pinakes.extraction import planned
from pinakes.models.embedders import open_embedder
from pinakes.models.token_counts import token_counter
from pinakes.parsing.limits import lacks_memory
from pinakes.parsing.workers import Process, SandboxedWorker, WorkerProcesses, WorkerStopped
from pinakes.platform.memory import collect_seldom, share_arenas
from pinakes.settings import DEFAULT_MODEL, ChunkingSettings, EmbeddingSettings, IngestSettings
from pinakes.text.analysis import estimated_token_starts
from pinakes.text.secrets.masking import masking_of

WORTH_BYTES: Final = 4_000_000
"""Total bytes, about two seconds of work, above which all files are parsed by worker processes."""

_LONG_BYTES: Final = 100_000
"""Longer files are parsed by a worker process. A file of this size with only headings takes a second."""

_LONG_CODE_BYTES: Final = 20_000
"""The same for code: parsing text that only resembles code may take quadratic time and memory."""

_HEAD_BYTES: Final = 8192
_CONTROLS: Final = bytes(range(32))

_FILES_AHEAD: Final = 256

_USUAL_MAX_TOKENS = 254
"""The limit of the default model, which sizes chunks while the embedding model is unknown."""


@dataclass(frozen=True, slots=True)
class ParseOptions:
    """Everything that determines the result of parsing; ``counted``: by the model's tokenizer, else estimated.

    ``graph``: the plan of what worker processes find in texts for the knowledge graph, empty for nothing.
    """

    limits: IngestSettings
    chunking: ChunkingSettings
    embedding: EmbeddingSettings
    cache: Path
    counted: bool
    graph: bytes = b""


Work: TypeAlias = tuple[ParseOptions | IngestSettings, bytes, str]
"""Options, content and path of a file; with ``IngestSettings`` alone, the file is read but not chunked."""


def _is_default(embedding: EmbeddingSettings) -> bool:
    """Return whether the embedding model is the default, whose tokenizer also counts budgets."""
    return embedding.provider == "onnx" and embedding.model == DEFAULT_MODEL and embedding.path is None


class InProcess:
    """Parses and chunks in this process, when the result is requested."""

    files_ahead = 0

    def __init__(self, options: ParseOptions, embedder: Embedder) -> None:
        self._limits = options.limits
        counted = options.counted
        starts = embedder.token_starts if counted else estimated_token_starts
        most = embedder.max_tokens if counted else _USUAL_MAX_TOKENS
        self._counter = token_counter(options.cache)
        if counted and not self._counter.estimated and _is_default(options.embedding):
            starts = self._counter.starts
        self._sizing = sizing_for(options.chunking, starts, most)

    def begin(self, data: bytes, path: str) -> Callable[[], ParsedDocument]:
        """Return a function that parses the file. See ``ingestion.run_tools.FileParser``."""
        return partial(self.cut, data, path)

    def cut(self, data: bytes, path: str) -> ParsedDocument:
        """Parse and chunk one file.

        Raises:
            Unreadable: it cannot be read, or has too little text.
        """
        limits = self._limits
        start = time.perf_counter()
        document = _read(data, path, limits)
        length = len(document.text.strip())
        if length < max(1, limits.min_text_chars):
            raise Empty(f"Only {length} characters of text (at least {limits.min_text_chars}).")
        middle = time.perf_counter()
        tokens = self._counter.count(document.text)  # before chunking, which reuses the tokens
        # Documents without a title, such as most code, use their path as the title of their chunks.
        chunks = self.chunks(document if document.title else replace(document, title=path))
        return ParsedDocument(
            document, chunks, middle - start, time.perf_counter() - middle, chunker_of(document), tokens
        )

    def chunks(self, document: Document) -> list[Chunk]:
        """Chunk a parsed document."""
        return chunk(document, self._sizing)


class ProcessPool:
    """Parses and chunks in worker processes, each driven by a thread; ``plain`` files in this process.

    ``all_of_it``: plain files in worker processes, too, because there are so many.
    """

    files_ahead = _FILES_AHEAD

    def __init__(
        self, options: ParseOptions, in_process: InProcess, workers: WorkerProcesses, *, all_of_it: bool = False
    ) -> None:
        self._options = options
        self._in_process = in_process
        self._workers = workers
        self._all_of_it = all_of_it
        self._threads = ThreadPoolExecutor(workers.most, thread_name_prefix="pinakes-cut")
        self._lock = threading.Lock()
        self._at_work: set[Process] = set()
        self._usable, self._closing = True, False

    def begin(self, data: bytes, path: str) -> Callable[[], ParsedDocument]:
        """Submit a file to the next free process, or defer it to this one. See ``ingestion.run_tools.FileParser``."""
        if self._all_of_it or not plain(data, path):
            return self._threads.submit(self._cut, data, path).result
        return self._in_process.begin(data, path)

    def chunks(self, document: Document) -> list[Chunk]:
        """Chunk a parsed document, in this process."""
        return self._in_process.chunks(document)

    def close(self) -> None:
        """Kill the busy processes, and drop files that were not started."""
        self._threads.shutdown(wait=False, cancel_futures=True)
        with self._lock:
            self._closing = True
            for process in self._at_work:
                process.kill()
        self._threads.shutdown()

    def _cut(self, data: bytes, path: str) -> ParsedDocument:
        done = _request(self._borrowed_process, (self._options, data, path)) if self._usable else None
        if done is not None:
            return cast("ParsedDocument", done)
        if self._closing:
            raise CancelledError
        self._usable = False
        return self._in_process.cut(data, path)

    @contextmanager
    def _borrowed_process(self) -> Iterator[Process]:
        with self._lock:
            if self._closing:
                raise CancelledError
            process = self._workers.take()
            self._at_work.add(process)
        try:
            yield process
        finally:
            with self._lock:
                self._at_work.discard(process)
            self._workers.give(process)


@contextmanager
def open_parser(
    options: ParseOptions, embedder: Embedder, workers: WorkerProcesses, wanted: Sequence[Item]
) -> Iterator[InProcess | ProcessPool]:
    """Provide a parser for the files ``wanted`` within the block."""
    in_process = InProcess(options, embedder)
    if not workers.most:
        yield in_process
        return
    much = len(wanted) > 1 and sum(item.size_bytes for item in wanted) >= WORTH_BYTES
    beside = ProcessPool(options, in_process, workers, all_of_it=much)
    try:
        yield beside
    finally:
        beside.close()


def plain(data: bytes, path: str) -> bool:
    """Return whether a file is read without a converter, and is so short that parsing is always fast."""
    head = data[:_HEAD_BYTES].translate(None, _CONTROLS)  # detects scripts in any encoding
    is_code = b"#!" in head or parsing.language_of(path) is not None
    return len(data) <= (_LONG_CODE_BYTES if is_code else _LONG_BYTES) and not parsing.converts(path, data)


def read(data: bytes, path: str, limits: IngestSettings, workers: WorkerProcesses) -> Document:
    """Read one file like ``parsing.read``, in a worker process unless it is ``plain``.

    Raises:
        Unreadable: it cannot be read, or not within the limits.
    """
    if not workers.most or plain(data, path):
        return _read(data, path, limits)
    try:
        done = _request(workers.lent, (limits, data, path))
    except (ChildProcessError, TimeoutError) as error:
        raise Unreadable(str(error), hint="Mend the file, or raise the limit.") from error
    return _read(data, path, limits) if done is None else cast("Document", done)


def _request(lent: Callable[[], AbstractContextManager[Process]], work: Work) -> ParsedDocument | Document | None:
    """Return the result of a worker process for a file, None if no process can be started.

    Raises:
        Unreadable: it cannot be read.
        WorkerStopped: it crashed the process, or exceeded its memory limit.
        TimeoutError: it exceeded the time limit.
    """
    for again in (True, False):
        with lent() as process:
            if not process.ready():
                return None
            try:
                return _checked(process.ask(work))
            except WorkerStopped as error:
                if not (again and error.again):
                    raise
    return None


def _checked(answer: object) -> ParsedDocument | Document:
    if isinstance(answer, PinakesError):
        raise answer
    if isinstance(answer, MemoryError):
        raise WorkerStopped("Reading it needs more memory than it may have (ingest.memory_mb).")
    if not isinstance(answer, ParsedDocument | Document):
        raise RuntimeError(answer)
    return answer


def serve(descriptor: int, lifeline: int, memory_mb: int, nice: int) -> None:
    """Run a worker process: parse file after file, until there are no more requests."""
    logging.getLogger().addHandler(logging.NullHandler())
    share_arenas()
    in_process = _ParserCache()
    try:
        confined = SandboxedWorker(descriptor, lifeline, memory_mb, nice)
        collect_seldom()
        while True:
            confined.answer(_answer(in_process, *confined.next()))
    except (EOFError, OSError):
        os._exit(0)  # exit immediately, even if a converter has threads


class _ParserCache:
    """Caches the parser for the latest options."""

    def __init__(self) -> None:
        self._options: ParseOptions | None = None
        self._in_process: InProcess | None = None

    def parser_for(self, options: ParseOptions) -> InProcess:
        """Return the parser for ``options``."""
        if self._in_process is None or options != self._options:
            self._options, self._in_process = (
                options,
                InProcess(options, open_embedder(options.embedding, options.cache)),
            )
        return self._in_process

    def cut(self, options: ParseOptions, data: bytes, path: str) -> ParsedDocument:
        """Parse and chunk one file, and find what its text says of the graph."""
        parsed = self.parser_for(options).cut(data, path)
        if not options.graph:
            return parsed
        start = time.perf_counter()
        title = parsed.document.title or PurePosixPath(path).stem
        with suppress(MemoryError):  # the parent finds it
            found = planned(options.graph).in_text(path, title, parsed.document, {}, parsed.chunks)
            return replace(parsed, findings=found, extract_s=time.perf_counter() - start)
        return parsed


def _read(data: bytes, path: str, limits: IngestSettings) -> Document:
    return parsing.read(
        data,
        path,
        max_chars=limits.max_text_chars,
        timeout_s=limits.read_timeout_s,
        passwords=parsing.passwords_in(limits.passwords_variable),
        ocr=limits.ocr == "auto",
        mask=masking_of(limits).document,
    )


def _answer(
    parsers: _ParserCache, options: ParseOptions | IngestSettings, data: bytes, path: str
) -> ParsedDocument | Document | PinakesError | MemoryError | str:
    try:
        return parsers.cut(options, data, path) if isinstance(options, ParseOptions) else _read(data, path, options)
    except Exception as error:  # noqa: BLE001 - returned to the parent, which reports it for this file
        if lacks_memory(error):
            return MemoryError()
        if isinstance(error, PinakesError):
            error.__cause__ = error.__context__ = None
            return error
        return f"{type(error).__name__}: {error}"
