"""Reading files and cutting them into chunks: here what is plain, in other processes what may go wrong, or is much.

Such a process runs ``serve``: it is sent one file after the other, with how it is to be cut, and answers each. Whatever
brings it down concerns one file only; its limits are those of ``workers``.
"""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError, ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Final, TypeAlias, cast

from pinakes import parsing
from pinakes.chunking import chunk, chunker_of, sizing_for
from pinakes.core.errors import Empty, PinakesError, Unreadable
from pinakes.core.ports import Embedder
from pinakes.core.records import Chunk, Document, Item, ParsedDocument
from pinakes.models.embedders import open_embedder
from pinakes.models.token_counts import token_counter
from pinakes.parsing.workers import Process, SandboxedWorker, WorkerProcesses, WorkerStopped
from pinakes.platform.memory import collect_seldom, share_arenas
from pinakes.settings import DEFAULT_MODEL, ChunkingSettings, EmbeddingSettings, IngestSettings
from pinakes.text.analysis import estimated_token_starts
from pinakes.text.secrets.masking import masking_of

WORTH_BYTES: Final = 4_000_000
"""Where there is so much to read, about two seconds of work, everything is read by processes."""

_LONG_BYTES: Final = 100_000
"""A longer file is read by a process, whatever it is. Nothing but headings, so many, take a second."""

_LONG_CODE_BYTES: Final = 20_000
"""The same of code: parsing what only looks like it may take time and memory by the square of its length."""

_HEAD_BYTES: Final = 8192
_CONTROLS: Final = bytes(range(32))

_FILES_AHEAD: Final = 256

_USUAL_MAX_TOKENS = 254
"""What the default model reads: how large chunks become while it is not known which model will embed them."""


@dataclass(frozen=True, slots=True)
class ParseOptions:
    """All that decides what a file becomes; ``counted``: by the model's tokenizer, else tokens are estimated."""

    limits: IngestSettings
    chunking: ChunkingSettings
    embedding: EmbeddingSettings
    cache: Path
    counted: bool


Work: TypeAlias = tuple[ParseOptions | IngestSettings, bytes, str]
"""A file to be read and cut, or by settings alone only read: its content and path."""


def _is_default(embedding: EmbeddingSettings) -> bool:
    """Say whether texts are measured by the model that embeds them, whose tokens need to be found but once."""
    return embedding.provider == "onnx" and embedding.model == DEFAULT_MODEL and embedding.path is None


class InProcess:
    """Reads and cuts in this process, when the result is asked for."""

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
        """Return a function that does the work. See ``ingest.Cutter``."""
        return partial(self.cut, data, path)

    def cut(self, data: bytes, path: str) -> ParsedDocument:
        """Read and cut one file.

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
        tokens = self._counter.count(document.text)  # first: the chunker needs the same tokens
        # What has no title of its own, as most code, is known by its path: chunks of it say where they stand.
        chunks = self.chunks(document if document.title else replace(document, title=path))
        return ParsedDocument(
            document, chunks, middle - start, time.perf_counter() - middle, chunker_of(document), tokens
        )

    def chunks(self, document: Document) -> list[Chunk]:
        """Cut a document that needs no reading."""
        return chunk(document, self._sizing)


class ProcessPool:
    """Reads and cuts in other processes, each kept busy by a thread of this one; what is ``plain`` in this one.

    ``all_of_it``: what is plain, too, since there is so much.
    """

    files_ahead = _FILES_AHEAD

    def __init__(
        self, options: ParseOptions, here: InProcess, workers: WorkerProcesses, *, all_of_it: bool = False
    ) -> None:
        self._recipe = options
        self._here = here
        self._workers = workers
        self._all_of_it = all_of_it
        self._threads = ThreadPoolExecutor(workers.most, thread_name_prefix="pinakes-cut")
        self._lock = threading.Lock()
        self._at_work: set[Process] = set()
        self._usable, self._closing = True, False

    def begin(self, data: bytes, path: str) -> Callable[[], ParsedDocument]:
        """Hand a file to the next process that is free, or leave it for this one. See ``ingest.Cutter``."""
        if self._all_of_it or not plain(data, path):
            return self._threads.submit(self._cut, data, path).result
        return self._here.begin(data, path)

    def chunks(self, document: Document) -> list[Chunk]:
        """Cut a document that needs no reading, in this process."""
        return self._here.chunks(document)

    def close(self) -> None:
        """End the processes that are still at work; what was not begun is dropped."""
        self._threads.shutdown(wait=False, cancel_futures=True)
        with self._lock:
            self._closing = True
            for process in self._at_work:
                process.kill()
        self._threads.shutdown()

    def _cut(self, data: bytes, path: str) -> ParsedDocument:
        done = _asked(self._lent, (self._recipe, data, path)) if self._usable else None
        if done is not None:
            return cast("ParsedDocument", done)
        if self._closing:
            raise CancelledError
        self._usable = False
        return self._here.cut(data, path)

    @contextmanager
    def _lent(self) -> Iterator[Process]:
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
def cutting(
    options: ParseOptions, embedder: Embedder, workers: WorkerProcesses, wanted: Sequence[Item]
) -> Iterator[InProcess | ProcessPool]:
    """Give what reads and cuts the files ``wanted``, for as long as the block takes."""
    here = InProcess(options, embedder)
    if not workers.most:
        yield here
        return
    much = len(wanted) > 1 and sum(item.size_bytes for item in wanted) >= WORTH_BYTES
    beside = ProcessPool(options, here, workers, all_of_it=much)
    try:
        yield beside
    finally:
        beside.close()


def plain(data: bytes, path: str) -> bool:
    """Say whether a file is read without a converter, and is so short that nothing can take long."""
    head = data[:_HEAD_BYTES].translate(None, _CONTROLS)  # a script, in whatever encoding
    is_code = b"#!" in head or parsing.language_of(path) is not None
    return len(data) <= (_LONG_CODE_BYTES if is_code else _LONG_BYTES) and not parsing.converts(path, data)


def read(data: bytes, path: str, limits: IngestSettings, workers: WorkerProcesses) -> Document:
    """Read one file as ``readers.read`` does, in a process where it is not ``plain``.

    Raises:
        Unreadable: it cannot be read, or not within the limits.
    """
    if not workers.most or plain(data, path):
        return _read(data, path, limits)
    try:
        done = _asked(workers.lent, (limits, data, path))
    except (ChildProcessError, TimeoutError) as error:
        raise Unreadable(str(error), hint="Mend the file, or raise the limit.") from error
    return _read(data, path, limits) if done is None else cast("Document", done)


def _asked(lent: Callable[[], AbstractContextManager[Process]], work: Work) -> ParsedDocument | Document | None:
    """Return what a process makes of a file, None where none can be started.

    Raises:
        Unreadable: it cannot be read.
        Stopped: it ended the process, or needs more memory than that may have.
        TimeoutError: it took too long.
    """
    for again in (True, False):
        with lent() as process:
            if not process.ready():
                return None
            try:
                return _answered(process.ask(work))
            except WorkerStopped as error:
                if not (again and error.again):
                    raise
    return None


def _answered(answer: object) -> ParsedDocument | Document:
    if isinstance(answer, PinakesError):
        raise answer
    if isinstance(answer, MemoryError):
        raise WorkerStopped("Reading it needs more memory than it may have (ingest.memory_mb).")
    if not isinstance(answer, ParsedDocument | Document):
        raise RuntimeError(answer)
    return answer


def serve(descriptor: int, lifeline: int, memory_mb: int, nice: int) -> None:
    """Be such a process: read file after file, until nobody asks any more."""
    logging.getLogger().addHandler(logging.NullHandler())
    share_arenas()
    here = _Latest()
    try:
        confined = SandboxedWorker(descriptor, lifeline, memory_mb, nice)
        collect_seldom()
        while True:
            confined.answer(_answer(here, *confined.next()))
    except (EOFError, OSError):
        os._exit(0)  # at once, whatever threads a converter has


class _Latest:
    """The recipe that came last, with what cuts by it."""

    def __init__(self) -> None:
        self._recipe: ParseOptions | None = None
        self._here: InProcess | None = None

    def parser_for(self, options: ParseOptions) -> InProcess:
        """Return what cuts by ``recipe``."""
        if self._here is None or options != self._recipe:
            self._recipe, self._here = options, InProcess(options, open_embedder(options.embedding, options.cache))
        return self._here


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
    latest: _Latest, how: ParseOptions | IngestSettings, data: bytes, path: str
) -> ParsedDocument | Document | PinakesError | MemoryError | str:
    try:
        return latest.parser_for(how).cut(data, path) if isinstance(how, ParseOptions) else _read(data, path, how)
    except PinakesError as error:
        error.__cause__ = error.__context__ = None
        return error
    except MemoryError:
        return MemoryError()
    except Exception as error:  # noqa: BLE001 - told to the other side, which reports it for this file
        return f"{type(error).__name__}: {error}"
