"""Background work at the start of a server: load models and indexes, read sources that were never read."""

from __future__ import annotations

import logging
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path

from pinakes.core.errors import ModelUnavailable, NotFound, PinakesError
from pinakes.core.records import JSON
from pinakes.core.wording import counted
from pinakes.ingestion.report import Event, Report
from pinakes.jobs.queue import Job, Stopped, job_key
from pinakes.jobs.worker import Running, Task
from pinakes.library import Library
from pinakes.platform.disk import folder_bytes
from pinakes.services.collections.status import CollectionStatus
from pinakes.services.run_progress import LINE_EVERY_S, RunProgress
from pinakes.settings import Settings

_log = logging.getLogger(__name__)

_FILES_PER_LINE = 50
_MOST_COLLECTIONS = 20
_ENDPOINTS = ("/search", "/health", "/stats", "/docs", "/mcp")
_STOP_TIMEOUT_S = 8.0


class Startup(Task):
    """How one server starts, and how far that is: models and indexes are loaded, sources are read as jobs. Thread-safe.

    Without ``reads`` the sources are left to others.
    """

    kind = "first read"

    def __init__(
        self,
        library: Library,
        *,
        reindex: bool = False,
        reads: bool = True,
        url: str = "",
        say: Callable[[str], None] | None = None,
        on_failure: Callable[[], None] | None = None,
    ) -> None:
        self._library, self._loading = library, library.loading
        self._reindex = reindex
        self._url = url
        self._say = say or partial(print, file=sys.stderr, flush=True)
        self._on_failure = on_failure
        known = {record.name for record in library.collections()} if reindex else set()
        self._waiting = {*library.unread(), *known} if reads else set()
        self._failures: list[PinakesError] = []
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="pinakes-startup", daemon=True)
        self._events: dict[str, Event] = {}
        self._progress = RunProgress()
        self._said = 0.0
        self._by_words: set[str] = set()
        self._warm, self._answers = threading.Event(), threading.Event()
        self._heads = self._loading.heads()
        self.model_loaded = False
        self.failure: PinakesError | None = None

    def start(self) -> None:
        """Begin, in a thread of its own."""
        self._thread.start()

    def end(self) -> None:
        """Ask the work to end."""
        self._stop.set()

    def stop(self) -> bool:
        """Ask the work to end and wait a little; say whether it did."""
        self.end()
        if self._thread.is_alive():
            self._thread.join(_STOP_TIMEOUT_S)
        return not self._thread.is_alive()

    @property
    def running(self) -> bool:
        """Whether anything is still to be done."""
        return self.failure is None and (not self._warm.is_set() or bool(self._waiting))

    @property
    def reading(self) -> bool:
        """Whether documents are still to be read."""
        return self.failure is None and bool(self._waiting)

    def ready(self, collection: str, wait_s: float = 0) -> bool:
        """Say whether ``collection`` can be searched, at least by words; wait for models, not for documents.

        Where other servers have the same documents, also not for the index.
        """
        there = collection not in self._waiting or collection in self._by_words
        return there and self._answers.wait(wait_s) and self.failure is None

    def behind(self) -> int:
        """Return how many indexes have not reached the changes that were the newest when this server started."""
        if self._heads:
            self._heads = self._heads if self._loading.behind(self._heads) else {}
        return self._loading.behind(self._heads) if self._heads else 0

    @property
    def answers_all(self) -> bool:
        """Whether models are loaded, and indexes are as they should be for a server that others ask."""
        return self.failure is None and self._warm.is_set() and not self.behind()

    def wait(self) -> None:
        """Wait until models and indexes are loaded, or that failed."""
        self._warm.wait()

    def progress(self) -> dict[str, JSON]:
        """Return stage → done and total of what is going on."""
        return {stage: {"done": event.done, "total": event.total} for stage, event in self._events.copy().items()}

    def words(self) -> str:
        """Return the progress in words, "" where there is none to tell."""
        event, fetched = self._events.get("read") or self._events.get("scan"), self._events.get("fetch")
        if event is None or not event.total:
            return f"{fetched.done} of {fetched.total} pages fetched" if fetched else ""
        read = f"{event.done} of {event.total} files read"
        return self._progress.words() if "embed" in self._events and event.done else read

    def due_jobs(self) -> Iterable[Job]:
        """Return a job for each collection whose sources were never read, once models and indexes are loaded."""
        names = sorted(self._waiting) if self._warm.is_set() and self.failure is None else []
        return [Job(job_key(self.kind, name), self.kind, {"collection": name}) for name in names]

    def accepts(self, job: Job) -> bool:
        """Say whether a collection is still to be read."""
        return job.arguments["collection"] in self._waiting and self.failure is None

    def run(self, running: Running) -> None:
        """Read the sources of a collection."""
        name = str(running.job.arguments["collection"])
        with self._starting():
            if self._reindex or name in self._library.unread():  # else another process has read them
                self._failures += self._read(name, running)
            self._waiting.discard(name)
            if not self._waiting:
                self._conclude()

    def _run(self) -> None:
        with suppress(Stopped), self._starting():
            self._warm_up()
            self._welcome()
            if self._waiting:
                self._loading.check_writable()  # that nothing can be read into the home is told at once

    @contextmanager
    def _starting(self) -> Iterator[None]:
        """Take note where starting fails: else the server would be starting for ever."""
        try:
            yield
        except Stopped:
            raise
        except PinakesError as error:
            self._fail(error)
        except Exception as error:  # noqa: BLE001 - whatever it is
            _log.exception("starting failed")
            failure = PinakesError(f"Starting failed: {error!r}.", hint="The server's log has the details.")
            failure.__cause__ = error
            self._fail(failure)

    def _fail(self, failure: PinakesError) -> None:
        self.failure = failure
        self._warm.set()  # whoever waits is told at once
        self._answers.set()
        if self._on_failure is not None:
            self._on_failure()

    def _warm_up(self) -> None:
        records = self._library.collections()
        try:
            self._loading.load_models(records, usual=not records or bool(self._waiting))
            self.model_loaded = True
        except ModelUnavailable as error:
            self._say(f"Searching by keywords only: {error}")
        with self._loading.answering():
            if self._heads:
                self._answers.set()
            for record in self._library.collections():
                if self._stop.is_set():
                    raise Stopped
                if record.name not in self._waiting:
                    self._loading.load_index(record.name)
        self._warm.set()
        self._answers.set()

    def _welcome(self) -> None:
        """Say what can be searched at once, and what to do where there is nothing."""
        names = [record.name for record in self._library.collections() if record.name not in self._waiting]
        ready = [status for name in names for status in self._library.status(name)]
        if ready:
            self._say(overview(self._library.settings, ready))
        elif not self._waiting:
            self._say("There is nothing to search yet. Add documents, also while the server runs: pinakes add PATH")

    def _conclude(self) -> None:
        """Tell that all is read; where that leaves nothing to serve, and nothing is to come, raise why."""
        if (
            self._failures
            and not any(status.documents for status in self._library.status())
            and not self._more_may_come()
        ):
            raise self._failures[0]
        for error in self._failures:
            self._say(str(error))
        if self._url:
            self._say("\n".join(["Endpoints:", *(f"  {self._url}{path}" for path in _ENDPOINTS)]))

    def _read(self, name: str, running: Running) -> list[PinakesError]:
        """Read the sources of a collection; return what went wrong."""
        start = self._said = time.perf_counter()
        self._announce(name)
        self._progress = RunProgress()

        def note(event: Event) -> None:
            running.note(event.stage, event.done, event.total)
            self._note(event, name)

        try:
            reports = self._library.sync(name, note)
            if self._reindex:
                self._library.reindex(name, on_event=note)
        finally:
            self._events.clear()
        failures = [report.error for report in reports if report.error]
        status = self._library.status(name)[0]
        if not status.documents:
            where = ", ".join(str(source["location"]) for source in status.sources)
            nothing = NotFound(
                f"Nothing to read was found in {where}.", hint="Check the location and its include globs."
            )
            return failures or [nothing]
        self._say(statistics(self._library.settings, status, reports, time.perf_counter() - start))
        return failures

    def _announce(self, name: str) -> None:
        label, rules = _label(self._library.settings, name), self._library.settings.of_collection(name)
        for source in rules.sources:
            there = Path(source.location).exists() if source.kind == "folder" else self._is_cloned()
            repo = " repo" if source.kind == "git" else ""
            self._say(f"{label}{repo} found." if there else f"{label}: getting {source.location} …")

    def _is_cloned(self) -> bool:
        folder = self._library.settings.home / "sources"
        return folder.is_dir() and any(entry.is_dir() for entry in folder.iterdir())

    def _more_may_come(self) -> bool:
        """Say whether documents come while the server runs: in a folder that is followed, by schedule, by calls."""
        settings = self._library.settings
        every = [source for rules in settings.collections.values() for source in rules.sources]
        coming = any(one.watch or one.schedule or one.kind == "push" for one in every)
        return coming or settings.knowledge_base.enabled

    def _note(self, event: Event, name: str) -> None:
        """Take note of what happens; what is being embedded in a first ingest of ``name`` is found by words."""
        self._events[event.stage] = event
        self._progress.see(event)
        if (
            event.stage == "embed"
            and not self._reindex
            and name not in self._by_words
            and self._loading.has_words(name)
        ):
            self._by_words.add(name)
        if event.stage == "read" and event.done and event.done % _FILES_PER_LINE == 0:
            self._say(f"  {event.done} of {event.total} files read")
            self._said = time.perf_counter()
        elif time.perf_counter() - self._said >= LINE_EVERY_S:
            self._said = time.perf_counter()
            self._say(f"  {self._progress.words()}")


def statistics(settings: Settings, status: CollectionStatus, reports: list[Report], seconds: float) -> str:
    """Return the figures that close a first run, in words."""
    label = _label(settings, status.name)
    skipped = sum(len(report.skipped) for report in reports)
    failed = sum(len(report.failed) for report in reports)
    lines = {
        label: status.groups or status.documents,
        "Files": status.documents,
        "Chunks": status.chunks,
        "Chunks of each on average": f"{status.chunks / (status.groups or status.documents):.1f}",
        "Vectors": f"{status.exact + status.approximate}{f' ({status.exact} exact)' if status.approximate else ''}",
        "Skipped files": skipped,
        "Failed files": failed,
        "Search modes": "hybrid, vector, keyword",
        "Fusion": settings.search.fusion,
        "Index size": f"{folder_bytes(settings.home / 'index') / 1e6:.1f} MB",
        "Time": f"{seconds:.1f} s",
    }
    return "\n".join([f"{label} indexed:", *(f"  {name}: {value}" for name, value in lines.items())])


def overview(settings: Settings, held: Sequence[CollectionStatus]) -> str:
    """Return what the collections hold, in words: a line each."""
    shown = held[:_MOST_COLLECTIONS]
    width = max(len(status.name) for status in shown)
    lines = [f"  {status.name:<{width}}  {_contents_text(settings, status)}" for status in shown]
    if len(held) > len(shown):
        lines.append(f"  and {len(held) - len(shown)} more: pinakes status")
    return "\n".join(["Ready to be searched:", *lines])


def _contents_text(settings: Settings, status: CollectionStatus) -> str:
    things = settings.of_collection(status.name).label or ("document" if status.documents == 1 else "documents")
    words = f"{status.groups or status.documents:,} {things}, {counted(status.chunks, 'chunk')}"
    if status.approximate:
        words += f", {status.approximate:,} of them approximate for now"
    if status.waiting:
        words += f", {status.waiting:,} {'' if status.approximate else 'of them '}found by words only"
    unreachable = sum(bool(source["unreached"]) for source in status.sources)
    return words + (f"; {unreachable} of its sources could not be read: pinakes status" if unreachable else "")


def _label(settings: Settings, name: str) -> str:
    return settings.of_collection(name).label or name
