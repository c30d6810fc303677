"""The sources of a home: status of each, time of its next run, and selection by name."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta, tzinfo
from typing import Literal, TypeAlias

from pinakes.app import App, source_settings
from pinakes.app.source_overlaps import end_of, name_of, overlapping
from pinakes.catalog import Connection, collections, sources
from pinakes.catalog.collections import CollectionRecord
from pinakes.catalog.sources import SourceRecord
from pinakes.catalog.sources import failures as failures
from pinakes.core import caller, schedules
from pinakes.core.errors import InvalidInput, NotFound
from pinakes.core.records import JSON
from pinakes.platform.locks import is_free
from pinakes.services.sync.watched import (
    WatchedFolder,
    WatchedFolders,
    WatchStatus,
    knowledge_base,
    knowledge_base_there,
)
from pinakes.settings import Settings, SourceSettings, SyncSettings
from pinakes.sources import read_at
from pinakes.sources.locations import path_from_here

State: TypeAlias = Literal["unread", "read", "failed", "reading", "pushed", "no longer configured"]

Place: TypeAlias = tuple[str, str, str, str]
"""Collection, kind, location and part of a source."""

LONGEST_PAUSE_S = 3600.0
"""A source that cannot be read is tried again after so long, at least."""


@dataclass(frozen=True, slots=True)
class FailingFile:
    """A file that could not be read: why, how often in a row, and when it is tried again (ISO 8601, UTC)."""

    path: str
    reason: str
    tries: int
    retry_at: str | None


@dataclass(frozen=True, slots=True)
class SourceStatus:
    """How a source stands. Times are ISO 8601 in UTC, None where there is none.

    ``state``: "unread" was never read to its end, "failed" could not be reached the last time (``error``, ``failures``
    times in a row), "pushed" gets its documents by calls, "no longer configured" stays as it is, and is not read.
    ``by``: "settings" name it, or it was "added". ``ref`` and ``commit`` are what a git source was read at.
    ``include`` and ``exclude`` are its patterns; ``overlaps`` names other sources of its collection with files of it.
    ``documents`` came from it, its ``files`` are counted by status, ``skipped`` by reason; ``failing`` files are tried
    again. ``last_sync`` is when it was last read to its end, ``last_try`` when that was last begun and came to an end,
    good or bad; ``last_run`` is what that run counted. ``next_run`` is by its ``schedule`` or after a failure.
    """

    name: str
    collection: str
    kind: str
    location: str
    state: State
    by: Literal["settings", "added"]
    schedule: str = ""
    on_delete: str = "delete"
    part: str = ""
    include: Sequence[str] = ()
    exclude: Sequence[str] = ()
    overlaps: Sequence[str] = ()
    ref: str | None = None
    commit: str | None = None
    last_sync: str | None = None
    last_try: str | None = None
    next_run: str | None = None
    documents: int = 0
    files: Mapping[str, int] = field(default_factory=dict)
    skipped: Mapping[str, int] = field(default_factory=dict)
    failing: Sequence[FailingFile] = ()
    error: str | None = None
    failures: int = 0
    followed: str | None = None
    last_run: Mapping[str, JSON] | None = None

    @property
    def place(self) -> Place:
        """What tells it from every other."""
        return self.collection, self.kind, self.location, self.part


@dataclass(frozen=True, slots=True)
class SyncPlan:
    """A source of a collection, as far as it is known: by the settings, by the catalogue (``kept``), or by both.

    ``record``: the collection, None where it is not there yet.
    """

    collection: str
    source: SourceSettings
    kept: SourceRecord | None
    by: Literal["settings", "added"]
    record: CollectionRecord | None

    @property
    def place(self) -> Place:
        """What tells it from every other."""
        return self.collection, *self.source.place

    @property
    def name(self) -> str:
        """What it is called in messages."""
        return name_of(self.source)


class Syncing:
    """The sources of a home, those of the settings and those that were added. Safe to share between threads."""

    def __init__(self, app: App) -> None:
        self._app = app

    @property
    def settings(self) -> Settings:
        """The settings of the home."""
        return self._app.settings

    def list_all(self, collection: str | None = None) -> list[SourceStatus]:
        """Return how each source stands that the caller may see, by collection and name.

        Raises:
            NotFound: there is no such collection.
        """
        zone, at = schedules.zone_of(self.settings.sync.timezone), datetime.now(UTC)
        sees, followed = caller.current().sees, WatchedFolders(self._app).statuses()
        with self._app.catalog.read() as connection:
            if collection and not (sees(collection) and collection in self.settings.collections):
                collections.get(connection, collection)
            every = _every(connection, self.settings)
            counted = sources.document_counts(connection)
            found = [self._status_of(connection, one, counted, followed, zone, at) for one in every]
        seen = _with_overlaps([one for one in without_names(found) if sees(one.collection)])
        chosen = [one for one in seen if collection in (None, one.collection)]
        return sorted(chosen, key=lambda one: (one.collection, one.name, one.location))

    def find(self, name: str) -> SourceStatus:
        """Return the source that is called so, or lies there.

        Raises:
            NotFound: there is none.
            InvalidInput: there are several.
        """
        every = self.list_all()
        there = path_from_here(name)
        for fits in (
            lambda one: one.name == name,
            lambda one: f"{one.collection}/{one.name}" == name,
            lambda one: one.location in (name, there),
        ):
            found = [one for one in every if fits(one)]
            if len(found) > 1:
                places = ", ".join(f"{one.collection}/{one.name}" for one in found)
                raise InvalidInput(f"{name!r} is in several collections.", hint=f"Say which: {places}.")
            if found:
                return found[0]
        known = ", ".join(one.name for one in every)
        raise NotFound(f"There is no source {name!r}.", hint=f"There is {known}." if known else "There is none yet.")

    def wanted(self, collection: str | None, names: Sequence[str] = ()) -> list[tuple[str, SourceSettings]]:
        """Return collection and source of all that a sync reads: those with these names, without names every one.

        Raises:
            as ``sources_named``, and NotFound: there is no such collection.
        """
        found = self.sources_named(names)
        if not names:
            found = source_settings.configured_sources(self._app.catalog, self.settings, collection)
            found += knowledge_base_there(self.settings, collection)
        return source_settings.without_repeats(found)

    def unread(self) -> list[str]:
        """Return the configured collections with sources that were not yet read completely as configured now."""
        return source_settings.unread_collections(self._app.catalog, self.settings)

    def sources_named(self, names: Iterable[str]) -> list[tuple[str, SourceSettings]]:
        """Return collection and source of all that are called so.

        Raises:
            NotFound, InvalidInput: see ``find``.
            InvalidInput: documents are pushed there.
        """
        chosen = [self.find(name) for name in names]
        for one in chosen:
            if one.state == "pushed":
                raise InvalidInput(f"{one.name!r} cannot be read: documents are put there by calls.")
        return [(one.collection, self.source(one)) for one in chosen]

    def source(self, status: SourceStatus) -> SourceSettings:
        """Return the settings of a source, as they are now."""
        rules = self.settings.collections.get(status.collection)
        for source in rules.sources if rules else ():
            if (status.collection, *source.place) == status.place:
                return source
        base = knowledge_base(self.settings)
        if base is not None and (base.collection, *base.source.place) == status.place:
            return base.source
        with self._app.catalog.read() as connection:
            record = collections.get(connection, status.collection)
            for kept in sources.list_all(connection, record.id):
                if (status.collection, *kept.place) == status.place:
                    return source_settings.settings_of(kept)
        raise NotFound(f"The source {status.name!r} is gone.", hint="See what there is: pinakes sources")

    def version(self) -> int:
        """Return a number that is another one once anything of the home has changed."""
        return self._app.catalog.version()

    def plans(self) -> list[SyncPlan]:
        """Return all sources that are read, with what is needed to tell when; names are not made different."""
        with self._app.catalog.read() as connection:
            every = _every(connection, self.settings)
        return [
            one
            for one in every
            if one.source.kind != "push"
            and not (
                one.kept and one.by == "added" and source_settings.is_removed(self.settings, one.collection, one.kept)
            )
        ]

    def paths_to_retry(self, place: Place, at: datetime) -> list[str]:
        """Return the files of a source that failed and are to be tried again by ``at``."""
        name, *of = place
        with self._app.catalog.read() as connection:
            found = [one.id for one in sources.of_name(connection, name) if one.place == tuple(of)]
            files = [file for number in found for file in sources.failing(connection, number)]
        return [file.path for file in files if file.retry_at and datetime.fromisoformat(file.retry_at) <= at]

    def first_retries(self) -> dict[Place, str]:
        """Return place of a source → when the first of its failed files is to be tried again."""
        with self._app.catalog.read() as connection:
            due = sources.first_retry(connection)
            names = {record.id: record.name for record in collections.list_all(connection)}
            kept = {one.id: one for one in sources.list_all(connection) if one.id in due}
        places = {number: (names.get(one.collection_id, ""), *one.place) for number, one in kept.items()}
        return {place: due[number] for number, place in places.items()}

    def _status_of(
        self,
        connection: Connection,
        one: SyncPlan,
        counted: Mapping[int, int],
        followed: Mapping[str, WatchStatus],
        zone: tzinfo,
        at: datetime,
    ) -> SourceStatus:
        source, kept, collection = one.source, one.kept, one.collection
        watch_status = followed.get(WatchedFolder(collection, source).key) if source.kind == "folder" else None
        configured = one.by == "settings"
        status = SourceStatus(
            name=source.name,
            collection=collection,
            kind=source.kind,
            location=source.location,
            state="pushed" if source.kind == "push" else "unread",
            by=one.by,
            schedule=source.schedule if configured else "",
            on_delete=source.on_delete,
            part=source.part,
            include=source.include,
            exclude=source.exclude,
            ref=source.ref,
        )
        due = next_run(source, kept, self.settings.sync, zone, at) if configured else None
        status = replace(status, next_run=due.isoformat(timespec="seconds") if due else None)
        if source.kind == "push":
            return replace(status, documents=sources.unsourced(connection, one.record.id) if one.record else 0)
        if kept is None:
            return status
        ref, commit = read_at(kept.kind, kept.state)
        report = kept.report or {}
        return replace(
            status,
            name=source.name or str(report.get("name", "")),
            state=self._state(one, kept),
            ref=source.ref or ref,
            commit=commit,
            last_sync=report.get("read_at", kept.synced_at),
            last_try=kept.synced_at,
            documents=counted.get(kept.id, 0),
            files=sources.counts(connection, kept.id),
            skipped=sources.reasons(connection, kept.id),
            failing=tuple(
                FailingFile(file.path, file.reason or "", file.tries, file.retry_at)
                for file in sources.failing(connection, kept.id)
            ),
            error=kept.error,
            failures=int(report.get("failures", 0)),
            followed=watch_status.doing if watch_status else None,
            last_run=kept.report,
        )

    def _state(self, one: SyncPlan, kept: SourceRecord) -> State:
        if not is_free(self._app.home.reading(one.collection, kept.place)):
            return "reading"
        if one.by == "added" and source_settings.is_removed(self.settings, one.collection, kept):
            return "no longer configured"
        if sources.unreached(kept):
            return "failed"
        return "unread" if kept.state is None else "read"


def next_run(
    source: SourceSettings, kept: SourceRecord | None, sync: SyncSettings, zone: tzinfo, at: datetime
) -> datetime | None:
    """Return when a source is to be read by its schedule, None where it has none; what is past is due now.

    Everything comes from what is kept of the last run, so that all processes say the same. A time of the last run that
    is still to come, since the clock was put back, counts as now.
    """
    if not source.schedule:
        return None
    if kept is None or kept.synced_at is None:
        return at
    schedule, last = schedules.parse(source.schedule), min(datetime.fromisoformat(kept.synced_at), at)
    place = " ".join(filter(None, kept.place))
    if failures := int((kept.report or {}).get("failures", 0)):
        longest = min(sync.retry_longest_s, LONGEST_PAUSE_S)
        return last + timedelta(seconds=schedules.pause_s(failures, sync.retry_first_s, longest, place))
    due = schedule.after(last, zone)
    return due + timedelta(seconds=schedules.jitter_s(schedule, due, zone, sync.jitter_s, place))


def without_names(every: Sequence[SourceStatus]) -> list[SourceStatus]:
    """Give each source a name that no other of its collection has.

    That is its own, else its part, else the end of its location, else all that tells where it lies.
    """
    short = [replace(one, name=one.name or one.part or end_of(one.location)) for one in every]
    often = Counter(one.name for one in short)
    longer = [replace(one, name=f"{one.collection}:{one.name}") if often[one.name] > 1 else one for one in short]
    often = Counter(one.name for one in longer)
    whole = (f"{one.location} ({one.part})" if one.part else one.location for one in longer)
    return [replace(one, name=name) if often[one.name] > 1 else one for one, name in zip(longer, whole, strict=True)]


def _with_overlaps(every: Sequence[SourceStatus]) -> list[SourceStatus]:
    """Return how sources stand, with the names of those of the same collection that have files of each."""
    done = []
    for collection in dict.fromkeys(one.collection for one in every):
        of = [one for one in every if one.collection == collection]
        places = [SourceSettings.model_validate({"kind": one.kind, "location": one.location}) for one in of]
        names = {id(place): one.name for place, one in zip(places, of, strict=True)}
        for one, others in zip(of, overlapping(places), strict=True):
            done.append(replace(one, overlaps=tuple(names[id(other)] for other in others)))
    return done


def _every(connection: Connection, settings: Settings) -> list[SyncPlan]:
    """Return all sources: those of the settings in their order, then those that were added."""
    records = {record.name: record for record in collections.list_all(connection)}
    kept = {
        (name, *one.place): one for name, record in records.items() for one in sources.list_all(connection, record.id)
    }
    found = [
        SyncPlan(name, one, kept.pop((name, *one.place), None), "settings", records.get(name))
        for name, rules in settings.collections.items()
        for one in rules.sources
    ]
    base = knowledge_base(settings)
    if base is not None:
        ours = kept.pop((base.collection, *base.source.place), None)
        found.append(SyncPlan(base.collection, base.source, ours, "settings", records.get(base.collection)))
    added = (
        SyncPlan(place[0], source_settings.settings_of(one), one, "added", records[place[0]])
        for place, one in kept.items()
    )
    return [*found, *added]
