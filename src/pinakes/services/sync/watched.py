"""Watched folders: which they are, the progress of each, and reading them again."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Final, Literal, TypeAlias

from pinakes.app import App, source_settings
from pinakes.catalog import collections, manifest, sources
from pinakes.catalog.engine import now
from pinakes.catalog.jobs import job_key
from pinakes.catalog.manifest import SourceFile as SourceFile
from pinakes.catalog.sources import SourceRecord
from pinakes.core import caller
from pinakes.core.ports import Lookable, Source
from pinakes.core.records import JSON
from pinakes.ingestion.report import Event, Report
from pinakes.ingestion.scan import check_place
from pinakes.jobs.queue import Queue
from pinakes.services import ingestion_runs
from pinakes.services.run_progress import drain
from pinakes.settings import Settings, SourceSettings

WATCH: Final = "watch"
"""The kind of the jobs that follow folders."""

Doing: TypeAlias = Literal["reading", "watching", "polling", "waiting"]
"""Changes are being read; the system tells of them; they are looked for; the folder is not there, or cannot be read."""


@dataclass(frozen=True, slots=True)
class WatchedFolder:
    """A folder whose documents go to a collection for as long as it is followed."""

    collection: str
    source: SourceSettings

    @property
    def key(self) -> str:
        """The key of the job that follows it."""
        return job_key(WATCH, self.collection, self.source.location)

    @property
    def root(self) -> Path:
        """The folder, or the single file."""
        return Path(self.source.location).expanduser().absolute()


@dataclass(frozen=True, slots=True)
class WatchStatus:
    """What the process that follows a folder is doing. ``message`` says why, where there is a reason to say it."""

    doing: Doing
    since: str = field(default_factory=now)
    message: str = ""


def knowledge_base(settings: Settings) -> WatchedFolder | None:
    """Return the folder of the knowledge base, None where it is not in use."""
    rules = settings.knowledge_base
    if not rules.enabled:
        return None
    kept = rules.model_dump(include={"include", "exclude", "max_file_bytes", "tags", "metadata"})
    source = SourceSettings(kind="folder", location=rules.location(settings.home), **kept)
    return WatchedFolder(rules.collection or settings.collection, source)


def knowledge_base_there(settings: Settings, collection: str | None = None) -> list[tuple[str, SourceSettings]]:
    """Return collection and source of the knowledge base, where it is in use, wanted, and its folder is there."""
    base = knowledge_base(settings)
    if base is None or collection not in (None, base.collection) or not base.root.is_dir():
        return []
    return [(base.collection, base.source)]


def watched_in(settings: Settings) -> list[WatchedFolder]:
    """Return the folders that the settings want followed: sources of collections, and the knowledge base."""
    wanted = [
        WatchedFolder(name, source.model_copy(update={"watch": False}))
        for name, rules in settings.collections.items()
        for source in rules.sources
        if source.watch and source.kind == "folder"
    ]
    base = knowledge_base(settings)
    once = {(one.collection, one.root): one for one in [*wanted, *([base] if base else [])]}
    return list(once.values())


class WatchedFolders:
    """The folders of a home that are followed: how far it is with each, and reading them. Thread-safe."""

    def __init__(self, app: App) -> None:
        self._app = app

    def statuses(self) -> dict[str, WatchStatus]:
        """Return how it goes with each folder that some process follows, by ``WatchedFolder.key``."""
        every = Queue(self._app.catalog, self._app.settings.home).list_all()
        return {
            job.key: WatchStatus(**{"doing": "reading", "since": job.created_at, **job.progress})
            for job in every
            if job.kind == WATCH and job.is_held
        }

    def being_read_first(self) -> bool:
        """Say whether the folder of the knowledge base is to be read, but never was; not where it cannot be reached."""
        base = knowledge_base(self._app.settings)
        if base is None:
            return False
        with self._app.catalog.read() as connection:
            read = any(one.synced_at for one in sources.list_all(connection) if one.location == base.source.location)
        watch_status = None if read else self.statuses().get(base.key)
        return not (read or (watch_status is not None and watch_status.doing == "waiting"))

    def described(self) -> list[dict[str, JSON]]:
        """Return how it goes with each followed folder of the settings, of collections that the caller may use."""
        found = self.statuses()
        return [
            {"collection": one.collection, "folder": str(one.root)}
            | (asdict(found[one.key]) if one.key in found else {"doing": "nothing"})
            for one in watched_in(self._app.settings)
            if caller.current().sees(one.collection)
        ]

    def read_again(
        self,
        watched: WatchedFolder,
        paths: Collection[str] | None = None,
        on_event: Callable[[Event], object] = lambda _: None,
    ) -> Report:
        """Read what changed in a folder, or what did at ``paths`` and below.

        Raises:
            SourceError: the folder cannot be reached; nothing was changed.
            ModelMismatch: the collection was embedded by another model.
        """
        name, source = watched.collection, watched.source
        with source_settings.source_lock(self._app.home, name, source, on_event):
            run = ingestion_runs.ingest(self._app, *ingestion_runs.remember(self._app, name, source), paths)
            drain(run.run(), on_event)
        return run.report

    def files(
        self, watched: WatchedFolder, most: int, failing: Sequence[str], *, offset: int, only: str
    ) -> tuple[Mapping[str, int], Sequence[SourceFile], str | None]:
        """Return of the files of a folder how many have each status, some, and when all were last looked at.

        Nothing where it was never read. See ``manifest.lines``.
        """
        with self._app.catalog.read() as connection:
            kept = sources.of_name(connection, watched.collection)
            place = watched.source.kind, watched.source.location
            ours = next((one for one in kept if (one.kind, one.location) == place), None)
            if ours is None:
                return {}, (), None
            counts = sources.counts(connection, ours.id, failing)
            listed = manifest.lines(connection, ours.id, most, failing, offset=offset, only=only)
        return counts, listed, ours.synced_at

    def source(self, watched: WatchedFolder) -> Source:
        """Open a folder; nothing is read yet."""
        return ingestion_runs.source_of(self._app, watched.source)

    def concerns(self, watched: WatchedFolder, paths: Collection[str]) -> bool:
        """Say whether something at ``paths`` may have to be read or forgotten: rules leave out much that changes.

        Raises:
            SourceError: the folder cannot be reached.
        """
        with closing(ingestion_runs.source_of(self._app, watched.source)) as source:
            if not isinstance(source, Lookable):
                return True
            scan = source.look(paths, None)
        return scan.complete or bool(scan.items or scan.removed) or any(entry.path != "." for entry in scan.skipped)

    def make_sure(self, watched: WatchedFolder) -> SourceRecord:
        """Return what is kept of a folder that is there, and still the one that it was.

        Raises:
            SourceError: the folder cannot be reached, or is another one.
        """
        _, kept = ingestion_runs.remember(self._app, watched.collection, watched.source)
        with self._app.catalog.read() as connection:
            known = sources.manifest(connection, kept.id)
        with closing(ingestion_runs.source_of(self._app, watched.source)) as source:
            check_place(source.scan(kept.state), known, kept.location, watched.collection)
        return kept

    def start_over(self, watched: WatchedFolder) -> tuple[int, Report]:
        """Remove all documents of a folder, forget its files, and read all of it; return how many were removed.

        Raises:
            SourceError: the folder cannot be reached, or is not the one that it was; nothing was removed.
            ModelMismatch: the collection was embedded by another model.
        """
        name, source = watched.collection, watched.source
        with source_settings.source_lock(self._app.home, name, source):
            kept = self.make_sure(watched)
            with self._app.catalog.write() as connection:
                removed = manifest.empty(connection, kept.id)
            run = ingestion_runs.ingest(self._app, *ingestion_runs.remember(self._app, name, source))
            drain(run.run())
        return removed, run.report

    def note_trouble(self, watched: WatchedFolder, message: str) -> None:
        """Let ``status`` say why a folder that was read before is not followed."""
        with self._app.catalog.write() as connection:
            record = collections.find(connection, watched.collection)
            if record is None:
                return
            known = manifest.source_id(connection, record.id, watched.source.kind, watched.source.location)
            if known is not None:
                sources.finished(connection, known, None, message)


def summary(report: Report) -> str:
    """Return what a run did in words, "" where it changed nothing."""
    counts = {
        "added": report.added,
        "changed": report.changed,
        "moved": report.moved,
        "removed": report.removed,
    }
    return ", ".join(f"{count:,} {name}" for name, count in counts.items() if count)
