"""Blame: authors and dates of the lines of hits and documents, computed only on request.

Whoever asks waits for some time at most; what takes longer goes on behind the answer and is there the next time.
"""

from __future__ import annotations

import difflib
import logging
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from queue import SimpleQueue
from typing import TypeAlias

from pinakes.app import App
from pinakes.app.source_settings import effective_settings
from pinakes.catalog import collections, documents, manifest, sources
from pinakes.catalog.manifest import Stamp
from pinakes.core.errors import PinakesError, SourceError
from pinakes.core.late import changed
from pinakes.core.lru_cache import LruCache
from pinakes.core.records import Blame, Hit, Item, Metadata, Results
from pinakes.parsing import keeps_lines, read
from pinakes.parsing.decode import line_numbers
from pinakes.services import ingestion_runs
from pinakes.services.documents.reading import Text
from pinakes.sources.git import GitSource
from pinakes.sources.git_history import blamed, content, head_of, merged_lines, top_of
from pinakes.sources.git_process import Git

_log = logging.getLogger(__name__)

_REMEMBERED = 2000
_WORKERS = 2
_MOST_COMPARED_LINES = 5000
_LEAST_ALIKE = 0.5
"""Less than this share of a chunk among the lines of its file: the format has no lines of its own."""

NOT_COMMITTED = "not committed"
"""What stands for the subject of a commit where a line is in none."""

_NO_LINES = "Its format has no lines of its own."
_OTHER_LINES = "Its lines are not those of the committed file."

_Key: TypeAlias = tuple[str, str, str, str, int, int]


@dataclass(frozen=True, slots=True)
class _Lines:
    """Some lines of a document: where it was read from, its collection, and the commit it was read in."""

    stamp: Stamp
    collection: int
    uid: str
    commit: str
    first: int
    text: str

    @property
    def last(self) -> int:
        return self.first + self.text.rstrip("\n").count("\n")

    @property
    def key(self) -> _Key:
        stamp = self.stamp
        return stamp.location, stamp.path, f"{stamp.fingerprint} {stamp.digest}", self.commit, self.first, self.last


@dataclass(slots=True)
class _Task:
    lines: _Lines
    done: threading.Event
    blame: tuple[Blame, ...] | None = None
    reason: str = ""


class Blames:
    """Tells who wrote lines of documents that were read from git, or from a git checkout. Thread-safe."""

    def __init__(self, app: App) -> None:
        self._app = app
        self._lock = threading.Lock()
        self._known = LruCache[_Key, tuple[Blame, ...]](_REMEMBERED)
        self._under_way: dict[_Key, _Task] = {}
        self._tasks: SimpleQueue[_Task | None] = SimpleQueue()
        self._workers: list[threading.Thread] = []

    def of_results(self, results: Results, wait_s: float | None = None) -> Results:
        """Return ``results`` whose hits tell who wrote their lines, as far as that was found out in the time for it.

        ``wait_s``: how long to wait, None = ``search.blame_ms``. ``notes`` say what is lacking, and why.
        """
        asked = self._lines_of(results.hits)
        tasks = self._finished(asked.values(), wait_s)
        found = {place: tasks[lines.key] for place, lines in asked.items()}
        hits = [changed(hit, blame=found[i].blame) if i in found else hit for i, hit in enumerate(results.hits)]
        return replace(results, hits=tuple(hits), notes=(*results.notes, *_notes(found.values(), len(results.hits))))

    def of_text(self, text: Text, wait_s: float | None = None) -> tuple[tuple[Blame, ...], str]:
        """Return who wrote the lines of ``text``, and why that is not known where it is not."""
        document = text.document
        with self._app.catalog.read() as connection:
            stamp = manifest.stamps(connection, [document.uid]).get(document.uid)
        if stamp is None or stamp.kind not in ("git", "folder"):
            return (), "it was not read from git"
        commit = _commit_of(document.metadata)
        lines = _Lines(stamp, document.collection_id, document.uid, commit, text.start_line, text.text)
        [task] = self._finished([lines], wait_s).values()
        return task.blame or (), task.reason

    def close(self) -> None:
        """Begin with nothing more; what is under way comes to nothing when the program ends."""
        for _ in self._workers:
            self._tasks.put(None)

    def _lines_of(self, hits: Sequence[Hit]) -> dict[int, _Lines]:
        """Return the lines of those hits that were read from git or a folder, by their place among the hits."""
        with self._app.catalog.read() as connection:
            stamps = manifest.stamps(connection, {hit.document_id for hit in hits})
            ids = {one.name: one.id for one in collections.list_all(connection)}
        found = {}
        for place, hit in enumerate(hits):
            stamp = stamps.get(hit.document_id)
            if stamp is not None and stamp.kind in ("git", "folder") and hit.collection in ids:
                commit = _commit_of(hit.metadata)
                found[place] = _Lines(stamp, ids[hit.collection], hit.document_id, commit, hit.start_line, hit.text)
        return found

    def _finished(self, asked: Iterable[_Lines], wait_s: float | None) -> dict[_Key, _Task]:
        """Return what there is to say of some lines when the time is over, or before where all is known."""
        limit = self._app.settings.search.blame_ms / 1000 if wait_s is None else wait_s
        until = time.monotonic() + limit
        tasks = {lines.key: self._task(lines) for lines in asked}
        for task in tasks.values():
            if not task.done.wait(max(0.0, until - time.monotonic())):
                task.reason = f"finding out takes longer than {limit:g} s; it goes on, so ask again"
        return tasks

    def _task(self, lines: _Lines) -> _Task:
        with self._lock:
            known = self._known.get(lines.key)
            if known is not None:
                task = _Task(lines, threading.Event(), known)
                task.done.set()
                return task
            task = self._under_way.get(lines.key) or _Task(lines, threading.Event())
            if lines.key not in self._under_way:
                self._under_way[lines.key] = task
                self._tasks.put(task)
            while len(self._workers) < _WORKERS:
                worker = threading.Thread(target=self._work, name="pinakes-blame", daemon=True)
                self._workers.append(worker)
                worker.start()
            return task

    def _work(self) -> None:
        while (task := self._tasks.get()) is not None:
            try:
                task.blame, task.reason = self._found(task.lines), ""
            except PinakesError as error:
                task.reason = error.message.rstrip(".")
            except Exception:  # noqa: BLE001 - a bug must not end what others wait for
                _log.exception("blame of %s failed", task.lines.stamp.path)
                task.reason = "an internal error; the log has the details"
            finally:
                with self._lock:
                    self._under_way.pop(task.lines.key, None)
                    if task.blame is not None:
                        self._known.put(task.lines.key, task.blame)
                task.done.set()

    def _found(self, lines: _Lines) -> tuple[Blame, ...]:
        if not keeps_lines(lines.stamp.path):
            raise SourceError(_NO_LINES)
        return self._of_clone(lines) if lines.stamp.kind == "git" else self._of_checkout(lines)

    def _of_clone(self, lines: _Lines) -> tuple[Blame, ...]:
        stamp = lines.stamp
        with self._app.catalog.read() as connection:
            known = sources.list_all(connection, lines.collection)
            names = {one.id: one.name for one in collections.list_all(connection)}
        kept = [one for one in known if (one.kind, one.location) == (stamp.kind, stamp.location)]
        settings, name = self._app.settings, names.get(lines.collection, "")
        source = ingestion_runs.source_of(self._app, effective_settings(settings, name, kept[0])) if kept else None
        if not isinstance(source, GitSource):
            raise SourceError("Its source was removed.")
        with closing(source):
            data = source.read(Item(stamp.path, "", 0, stamp.fingerprint))
            limit = self._app.settings.ingest.git_timeout_s
            ask = lambda span: source.blame(stamp.path, stamp.fingerprint, lines.commit, span, limit)  # noqa: E731
            return _mapped(lines, data, self._numbers_of_blob(lines, data), ask)

    def _of_checkout(self, lines: _Lines) -> tuple[Blame, ...]:
        place = Path(lines.stamp.location).expanduser().absolute()
        file = (place / lines.stamp.path if place.is_dir() else place).resolve()
        top = top_of(file.parent)
        if top is None:
            raise SourceError("It lies in no git checkout.")
        limits = self._app.settings.ingest
        git = Git(str(top), self._app.home.path, limits.git_timeout_s)
        git_dir, path = top / ".git", file.relative_to(top).as_posix()
        commit = head_of(git, git_dir)
        data = content(git, git_dir, commit, path, limits.max_file_bytes)
        ask = lambda span: blamed(git, git_dir, commit, path, span, limits.git_timeout_s)  # noqa: E731
        return _mapped(lines, data, self._numbers(lines, self._rows_of(lines, data)), ask)

    def _rows_of(self, lines: _Lines, data: bytes) -> list[str]:
        """Return the lines of the text that a file is read as."""
        path = lines.stamp.path
        if not keeps_lines(path, data):
            raise SourceError(_NO_LINES)
        document = read(data, path, max_chars=self._app.settings.ingest.max_text_chars)
        if document.lines:
            raise SourceError(_NO_LINES)
        return _rows(document.text.removesuffix("\n"))

    def _numbers_of_blob(self, lines: _Lines, data: bytes) -> list[int | None]:
        """Return the number of each line in the file that it was read from; a chunk may be a part of a line."""
        own, first = _rows(lines.text.rstrip("\n")), lines.first - 1
        there = self._rows_of(lines, data)[first : first + len(own)]
        if len(there) < len(own) or any(mine not in its for mine, its in zip(own, there, strict=True)):
            raise SourceError(_OTHER_LINES)
        return [lines.first + i for i in range(len(own))]

    def _numbers(self, lines: _Lines, file: Sequence[str]) -> list[int | None]:
        """Return the number in the file of each line, None for those that it does not have."""
        own = _rows(lines.text.rstrip("\n"))
        first = lines.first - 1
        if own == list(file[first : first + len(own)]):
            return [lines.first + i for i in range(len(own))]
        with self._app.catalog.read() as connection:
            whole = _rows(documents.text_of(connection, lines.uid))
        if max(len(whole), len(file)) > _MOST_COMPARED_LINES or whole[first : first + len(own)] != own:
            return [None] * len(own)
        same: dict[int, int] = {}
        for block in difflib.SequenceMatcher(None, whole, list(file), autojunk=False).get_matching_blocks():
            same |= {block.a + i: block.b + i + 1 for i in range(block.size)}
        return [same.get(first + i) for i in range(len(own))]


def _mapped(
    lines: _Lines,
    data: bytes,
    numbers: Sequence[int | None],
    ask: Callable[[tuple[int, int]], tuple[Blame, ...]],
) -> tuple[Blame, ...]:
    """Return blame of lines of a document, from that of the lines of its file that have these ``numbers``."""
    there = [number for number in numbers if number is not None]
    if len(there) < _LEAST_ALIKE * len(numbers):
        raise SourceError(_OTHER_LINES)
    in_git = line_numbers(data)
    blame = ask((in_git[min(there) - 1], in_git[max(there) - 1]))
    of_file = {number: one for one in blame for number in range(one.start_line, one.end_line + 1)}
    unknown = Blame(0, 0, "", "", "", NOT_COMMITTED)
    found = [unknown if number is None else of_file.get(in_git[number - 1], unknown) for number in numbers]
    return merged_lines(
        replace(one, start_line=lines.first + i, end_line=lines.first + i) for i, one in enumerate(found)
    )


def _notes(tasks: Iterable[_Task], hits: int) -> list[str]:
    """Return why it is not known who wrote hits, each reason once."""
    every = list(tasks)
    reasons: dict[str, int] = {}
    for task in every:
        if task.blame is None:
            reasons[task.reason] = reasons.get(task.reason, 0) + 1
    if hits > len(every):
        reasons["not read from git"] = hits - len(every)
    return [f"of {count} chunks it is not known who wrote them: {reason}" for reason, count in reasons.items()]


def _commit_of(metadata: Metadata) -> str:
    commit = metadata.get("commit")
    return commit if isinstance(commit, str) and commit.isalnum() else "HEAD"


def _rows(text: str) -> list[str]:
    return [line.strip() for line in text.split("\n")]
