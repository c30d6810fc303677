"""Adds a location to a collection: which source is read, all or a part, and what that changes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path, PurePath
from shlex import quote

from pinakes.app import App, source_overlaps, source_settings
from pinakes.app.source_overlaps import Overlap, name_of
from pinakes.app.spending import Charges
from pinakes.catalog import collections, shared_files, sources
from pinakes.catalog.sources import FileRecord, SourceRecord
from pinakes.core.errors import InvalidInput, WouldRemove
from pinakes.core.ports import Lookable
from pinakes.core.records import JSON
from pinakes.core.wording import counted, first_of
from pinakes.ingestion.file_changes import vanished_files
from pinakes.ingestion.report import Event, Report
from pinakes.services import ingestion_runs
from pinakes.services.graph_updates import follow_graph
from pinakes.services.run_progress import drain
from pinakes.services.sync.watched import knowledge_base
from pinakes.settings import SourceSettings
from pinakes.sources.globs import Rules
from pinakes.sources.locations import recognise

AS_SOURCE = "--as-source"
YES = "--yes"
_NAMED = 5
_CHANGING = ("include", "exclude", "ref")


@dataclass(frozen=True, slots=True)
class AddRequest:
    """What is to be added: a location with what was said of it. See ``Library.add``."""

    location: str
    ref: str | None = None
    kind: str | None = None
    include: Sequence[str] = ()
    exclude: Sequence[str] = ()
    as_source: bool = False


@dataclass(frozen=True, slots=True)
class PlannedSource:
    """What adding a location means: ``source`` is read, all of it, or what it has at ``paths`` and below.

    ``replaces``: single files in that folder that were sources by themselves, and are its files from now on.
    """

    source: SourceSettings
    paths: tuple[str, ...] | None = None
    replaces: tuple[SourceSettings, ...] = ()


def addition(app: App, name: str, wanted: AddRequest) -> PlannedSource:
    """Return what adding a location to the collection ``name`` means.

    What lies inside a folder that is a source is read by that source; so is the place of a source by another path.

    Raises:
        NotFound, InvalidInput: the location cannot be used, or a source of the collection has its files, and it is not
            said that it is to be one of its own (``as_source``).
    """
    typed = recognise(wanted.location, wanted.ref, wanted.kind)
    include, exclude = (_from_top(patterns, typed.location) for patterns in (wanted.include, wanted.exclude))
    wanted, known = replace(wanted, include=include, exclude=exclude), _known(app, name)
    if any(one.place[:2] == typed.place[:2] for one in known):
        return PlannedSource(_settled(app, name, wanted))
    found = source_overlaps.overlaps(typed, known)
    for one in found:
        if one.relation == "same" and one.other.kind == typed.kind and not wanted.as_source:
            return PlannedSource(_settled(app, name, replace(wanted, location=one.other.location, kind=typed.kind)))
    if (page_of := _holder_of_page(app, name, typed, known)) and not wanted.as_source:
        if wanted.include or wanted.exclude:
            raise _refusal(typed, name, Overlap(page_of, "inside"))
        return PlannedSource(_settled(app, name, AddRequest(page_of.location, kind="http")))
    if wanted.as_source or not found:
        return PlannedSource(_settled(app, name, wanted))
    files = [one.other for one in found if _is_file_in(app, name, one, typed)]
    if len(files) == len(found):
        return PlannedSource(_settled(app, name, wanted), replaces=tuple(files))
    found = [one for one in found if one.other not in files]
    around = [one for one in found if one.relation == "inside" and one.other.kind == typed.kind]
    if not around or wanted.include or wanted.exclude:
        raise _refusal(typed, name, found[0] if not around else around[0])
    return _part_of_source(app, name, typed, around)


def _from_top(patterns: Sequence[str], location: str) -> tuple[str, ...]:
    """Return patterns, those that begin with the absolute path of the source as patterns from its top."""
    top = f"{location.rstrip('/')}/"
    if not top.startswith("/") or top == "/":
        return tuple(patterns)
    return tuple(one.replace(top, "/", 1) if one.removeprefix("!").startswith(top) else one for one in patterns)


def before(app: App, name: str, source: SourceSettings) -> dict[str, JSON]:
    """Return what of patterns and ref is another in ``source`` than when it was last read: setting → what it was."""
    kept = _kept(app, name, source)
    if kept is None:
        return {}
    was = source_settings.settings_of(kept)
    other = {name: getattr(was, name) for name in _CHANGING if getattr(was, name) != getattr(source, name)}
    return {name: list(value) if isinstance(value, tuple) else value for name, value in other.items()}


def check(app: App, name: str, source: SourceSettings) -> None:
    """Make sure that reading ``source`` with other patterns, or another ref, than before removes no documents.

    Raises:
        WouldRemove: it does.
        SourceError: the source cannot be reached.
    """
    kept, was = _kept(app, name, source), before(app, name, source)
    removed = _lost_documents(app, name, kept, source) if kept is not None and was else ()
    if not removed:
        return
    other = "; ".join(
        f"{name} was {shown_value(old)}, becomes {shown_value(getattr(source, name))}" for name, old in was.items()
    )
    raise WouldRemove(
        f"{source.location}: {other}. That removes {counted(len(removed), 'document')}: {first_of(removed, _NAMED)}.",
        hint=f"Nothing was changed. To do it: {YES}. To see more of it: --dry-run",
    )


def _complete_report(
    app: App, name: str, source: SourceSettings, report: Report, was: Mapping[str, JSON], paths: Sequence[str]
) -> None:
    """Have a report say what of a source is read, by which patterns, and which other sources have its files."""
    report.paths, report.before = list(paths), dict(was)
    report.include, report.exclude = list(source.include), list(source.exclude)
    report.overlaps = [name_of(one.other) for one in source_overlaps.overlaps(source, _known(app, name))]


def replace_files(app: App, name: str, found: PlannedSource) -> None:
    """Have the documents of single files go to the folder that is read now, as far as that reads these files."""
    if not found.replaces:
        return
    with closing(ingestion_runs.source_of(app, found.source)) as opened:
        scan = opened.scan(None)
    offered = {item.path for item in scan.items} | {entry.path for entry in scan.skipped}
    record, kept = ingestion_runs.remember(app, name, found.source)
    for one in found.replaces:
        old = _kept(app, name, one)
        if old is None or PurePath(one.location).name not in offered:
            continue
        with source_settings.source_lock(app.home, name, one), app.catalog.write() as connection:
            known = sources.manifest(connection, old.id)
            held = [
                replace(file, status="skipped", code=shared_files.HELD) for file in known.values() if file.document_id
            ]
            sources.note(connection, kept.id, held)
            ids = {file.document_id for file in known.values() if file.document_id}
            shared_files.hand_over(connection, record.id, shared_files.next_holders(connection, old, ids))
            sources.drop(connection, old.id)


def read(
    app: App,
    name: str,
    source: SourceSettings,
    on_event: Callable[[Event], object] | None,
    *,
    retry: bool,
    paths: Sequence[str] | None = None,
) -> Report:
    """Read a source into a collection, or what it has at ``paths`` and below. ``retry``: also files that failed.

    Raises:
        SourceError: it cannot be reached.
        ModelMismatch: the collection was embedded by another model.
    """
    charges = Charges(app.embedders)
    with source_settings.source_lock(app.home, name, source, on_event):
        was = before(app, name, source)
        record, kept = ingestion_runs.remember(app, name, source)
        run = ingestion_runs.ingest(app, record, kept, paths, retry=retry)
        _complete_report(app, name, source, run.report, was, paths or ())
        drain(run.run(), on_event)
    follow_graph(app, app.reload(record), on_event)
    charges.put_into(run.report)
    return run.report


def _settled(app: App, name: str, wanted: AddRequest) -> SourceSettings:
    given = wanted.ref, wanted.include, wanted.exclude, wanted.kind
    return source_settings.with_source(app.catalog, app.settings, name, wanted.location, *given)


def _known(app: App, name: str) -> list[SourceSettings]:
    """Return the sources of a collection: those that it was filled from, then those of the settings."""
    settings = app.settings
    with app.catalog.read() as connection:
        kept = sources.of_name(connection, name)
    base = knowledge_base(settings)
    bases = [base.source] if base is not None and base.collection == name else []
    every = [*map(source_settings.settings_of, kept), *bases, *settings.of_collection(name).sources]
    return list({one.place: one for one in every if one.kind != "push"}.values())


def _kept(app: App, name: str, source: SourceSettings) -> SourceRecord | None:
    with app.catalog.read() as connection:
        every = sources.of_name(connection, name)
    return next((one for one in every if one.place == source.place), None)


def _holder_of_page(
    app: App, name: str, typed: SourceSettings, known: Sequence[SourceSettings]
) -> SourceSettings | None:
    """Return the source that has read a page, as one that a sitemap lists."""
    if typed.kind != "http":
        return None
    with app.catalog.read() as connection:
        record = collections.find(connection, name)
        kept = {one.id: one for one in sources.list_all(connection, record.id)} if record else {}
        found = shared_files.holders(connection, record.id, kept.keys(), [typed.location]) if record else {}
    places = {kept[one.source_id].place for one in found.values()}
    return next((one for one in known if one.place in places and not one.part), None)


def _is_file_in(app: App, name: str, one: Overlap, folder: SourceSettings) -> bool:
    """Say whether a source is a single file in a folder, with nothing of its own, that was added by hand."""
    place = Path(one.other.location)
    if one.relation != "around" or (folder.kind, one.other.kind) != ("folder", "folder") or not place.is_file():
        return False
    configured = any(each.place == one.other.place for each in app.settings.of_collection(name).sources)
    plain = one.other == SourceSettings(kind="folder", location=one.other.location)
    return plain and not configured and Path(folder.location).samefile(place.parent)


def _part_of_source(app: App, name: str, typed: SourceSettings, around: Sequence[Overlap]) -> PlannedSource:
    """Return how what lies inside known folders is read by one of these: that which holds most of it.

    Raises:
        InvalidInput: its rules leave it out, or the settings do not name it any more.
    """
    kept = [_kept(app, name, one.other) for one in around]
    with app.catalog.read() as connection:
        held = [
            shared_files.held_below(connection, one.id, at.path) if one else 0
            for one, at in zip(kept, around, strict=True)
        ]
    record, one = max(zip(kept, around, held, strict=True), key=lambda each: (each[2], -len(each[1].path)))[:2]
    if record is not None and source_settings.is_removed(app.settings, name, record):
        raise _refusal(typed, name, one)
    source = _settled(app, name, AddRequest(one.other.location, kind=one.other.kind))
    with closing(ingestion_runs.source_of(app, source)) as opened:
        scan = opened.look([one.path], None) if isinstance(opened, Lookable) else opened.scan(None)
    there = [*(item.path for item in scan.items), *(entry.path for entry in scan.skipped)]
    if not any(path == one.path or path.startswith(f"{one.path}/") for path in there):
        raise InvalidInput(
            f"{typed.location!r} lies in the source {name_of(source)!r} of collection {name!r}, and is left out by its "
            f"rules{_patterns(source)}.",
            hint=f"Change these, or add it as a source of its own: {AS_SOURCE}",
        )
    return PlannedSource(source, None if _is_unread(app, name, record, source) else (one.path,))


def _is_unread(app: App, name: str, kept: SourceRecord | None, source: SourceSettings) -> bool:
    """Say whether all of a source is to be read: it never was, or is to be read in another way."""
    if kept is None or kept.state is None:
        return True
    with app.catalog.read() as connection:
        record = collections.find(connection, name)
    return not source_settings.same_options(kept.options, ingestion_runs.options_of(app, name, record, source))


def _refusal(typed: SourceSettings, name: str, one: Overlap) -> InvalidInput:
    """Return the refusal of a second source over the files of a known one."""
    other, called = one.other, name_of(one.other)
    words = {"same": "is the place of", "inside": "lies in", "around": "holds the files of"}[one.relation]
    other_kind = "" if other.kind == "folder" else f" ({other.kind})"
    how = f"Read that one again: pinakes sync {quote(called)}."
    if one.relation == "around":
        how = f"To have one source for all: pinakes sources remove {quote(called)}, then add it."
    elif one.other.kind == typed.kind:
        how = f"Its patterns hold there{_patterns(other)}; to change them, add {other.location} with others."
    return InvalidInput(
        f"{typed.location!r} {words} the source {called!r}{other_kind} of collection {name!r}, {other.location}: "
        "nothing was added.",
        hint=f"{how} To have both, each file read by the first that has it: {AS_SOURCE}",
    )


def _lost_documents(app: App, name: str, kept: SourceRecord, source: SourceSettings) -> tuple[str, ...]:
    """Return the paths of the documents that a source would lose, read as ``source`` says."""
    with app.catalog.read() as connection:
        known = sources.manifest(connection, kept.id)
    if source_settings.keeps_gone(app.settings, name, source):
        return ()
    if source.kind == "http":  # pages are not fetched twice to learn what their addresses tell
        rules = Rules(source.include, source.exclude)
        gone = {path: one for path, one in known.items() if not rules.includes(path) or rules.why_not_listed(path)}
    else:
        with closing(ingestion_runs.source_of(app, source)) as opened:
            gone = vanished_files(opened.scan(None), known)
    return _documents(app, kept, gone)


def _documents(app: App, kept: SourceRecord, gone: dict[str, FileRecord]) -> tuple[str, ...]:
    """Return the paths of those of these files whose documents no other source goes on with."""
    ids = {one.document_id: path for path, one in gone.items() if one.document_id is not None}
    with app.catalog.read() as connection:
        own = shared_files.held_by(connection, kept.id, ids)
        other = shared_files.next_holders(connection, kept, own)
    return tuple(sorted(ids[one] for one in own - other.keys()))


def _patterns(source: SourceSettings) -> str:
    words = [f"{field} {shown_value(value)}" for field in ("include", "exclude") if (value := getattr(source, field))]
    return f" ({'; '.join(words)})" if words else ""


def shown_value(value: JSON) -> str:
    """Return patterns, or a ref, in words."""
    if isinstance(value, (tuple, list)):
        return " ".join(map(str, value)) or "none"
    return str(value or "none")
