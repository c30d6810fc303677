"""The sources of collections: those that the settings name, and those that the catalogue remembers."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Any

from pydantic import ValidationError

from pinakes.catalog import Catalog, collections, sources
from pinakes.catalog.home import Home
from pinakes.catalog.sources import SourceRecord
from pinakes.core.errors import InvalidInput
from pinakes.core.ports import Embedder
from pinakes.core.records import JSON
from pinakes.ingestion.report import Event
from pinakes.ingestion.run_options import RunOptions
from pinakes.models.embedders.token_counter import counted_by
from pinakes.parsing import passwords_in, remedied
from pinakes.platform.locks import try_acquire
from pinakes.settings import ChunkingSettings, Settings, SourceSettings
from pinakes.sources.locations import recognise

_log = logging.getLogger(__name__)

_STEP_S = 0.5

_NUMBERED_BEFORE = "reading"
"""A number that stood for all readers and chunkers, before documents recorded theirs."""

_MARKS = {"max_file_bytes", "metadata", "tags", "depth", "link_template", "urls", "open_network_only"}
"""Settings of a source that are remembered with it where they are given."""


def settings_of(kept: SourceRecord) -> SourceSettings:
    """Return the settings of a source that the catalogue remembers."""
    options = {name: kept.options[name] for name in ("ref", "include", "exclude", *_MARKS) if name in kept.options}
    place = {"kind": kept.kind, "location": kept.location, "part": kept.part}
    return SourceSettings.model_validate({**place, **options})


def effective_settings(settings: Settings, name: str, kept: SourceRecord) -> SourceSettings:
    """Return the settings of a source that is remembered, with what is not: that is as the settings have it now."""
    remembered, configured = settings_of(kept), _configured(settings, name, kept)
    if configured is None:
        return remembered
    now = {field: getattr(configured, field) for field in (*_unremembered(), "open_network_only")}
    return remembered.model_copy(update=now)


def run_options_of(
    settings: Settings, name: str, kept: SourceRecord, *, retry: bool = False, parts: bool = False
) -> RunOptions:
    """Return how a source of the collection ``name`` is read; ``retry``: what failed before is tried at once.

    ``parts``: only some of its paths are looked at, and what failed there is tried.
    """
    configured = _configured(settings, name, kept)
    return RunOptions(
        sync=settings.sync,
        name=configured.name if configured else str((kept.report or {}).get("name", "")),
        configured=configured is not None,
        retry=retry or parts,
        keeps_gone=keeps_gone(settings, name, kept),
        remedied=frozenset() if parts else remedied_now(settings),
        whole=not parts,
    )


def keeps_gone(settings: Settings, name: str, place: SourceSettings | SourceRecord) -> bool:
    """Say whether documents of a source of the collection ``name`` stay whose files are gone."""
    configured = _configured(settings, name, place)
    return configured is not None and configured.on_delete == "keep"


def earlier_part(settings: Settings, name: str, source: SourceSettings) -> str | None:
    """Return the part that a source of the collection ``name`` may have had: none, if now each there has one."""
    there = [one for one in settings.of_collection(name).sources if (one.kind, one.location) == source.place[:2]]
    return "" if source.part and all(one.part for one in there) else None


def remedied_now(settings: Settings) -> frozenset[str]:
    """Return the codes of errors that files were skipped for and may not come again: see ``readers.remedied``."""
    return remedied(passwords_in(settings.ingest.passwords_variable), ocr=settings.ingest.ocr == "auto")


def is_removed(settings: Settings, name: str, kept: SourceRecord) -> bool:
    """Say whether the settings named a source of the collection ``name`` when it was read, and do not any more."""
    return bool((kept.report or {}).get("configured")) and _configured(settings, name, kept) is None


def options_of(
    settings: Settings, name: str, own: Mapping[str, JSON] | None, source: SourceSettings, embedder: Embedder
) -> dict[str, JSON]:
    """Return all that decides what a source's files become; a change makes them be read again.

    ``own`` are the settings that the collection ``name`` was made with; ``embedder`` counts the tokens of chunks.
    """
    rules = settings.of_collection(name, own)
    return {
        **source.model_dump(mode="json", include={"ref", "include", "exclude"}),
        **source.model_dump(mode="json", include=_MARKS, exclude_defaults=True),
        "rules": rules.model_dump(mode="json", include={"path_templates", "document_key", "key_field"}),
        **rules.model_dump(mode="json", include={"metadata_rules", "fields"}, exclude_defaults=True),
        "group_metadata": rules.group_metadata,
        "chunking": settings.chunking_of(name, own).model_dump(mode="json"),
        "min_text_chars": settings.reading_of(name, own).min_text_chars,
        **settings.ingest.model_dump(include={"passwords_variable", "ocr"}, exclude_defaults=True),
        "counted_by": counted_by(embedder),
    }


def same_options(old: Mapping[str, JSON], new: Mapping[str, JSON]) -> bool:
    """Say whether files become the same by options of a source, of which an older version recorded ``old``.

    Settings that it did not know are as they are by default.
    """
    return _completed(old) == _completed(new)


def _completed(options: Mapping[str, JSON]) -> dict[str, JSON]:
    found = {name: value for name, value in options.items() if name not in (_NUMBERED_BEFORE, "open_network_only")}
    with suppress(ValidationError):
        found["chunking"] = ChunkingSettings.model_validate(found.get("chunking", {})).model_dump(mode="json")
    return found


def with_source(
    catalog: Catalog,
    settings: Settings,
    name: str,
    location: str,
    ref: str | None,
    include: Sequence[str],
    exclude: Sequence[str],
    kind: str | None = None,
) -> SourceSettings:
    """Return the source that is meant by adding ``location`` to a collection.

    What is not given is as it is configured, else as it was when the source was last added; ``ref`` as configured.
    Include and exclude of the collection's first configured source fit any copy of it, and so does the depth.

    Raises:
        NotFound, InvalidInput: the location cannot be used, or has several sources that are read by their names.
    """
    source = recognise(location, ref, kind)
    with catalog.read() as connection:
        kept = sources.of_name(connection, name)
    configured = settings.of_collection(name).sources
    copied = [one for one in configured if not _is_listed(settings, name, one)]
    before = _one_of([*configured, *map(settings_of, kept)], source)
    given: dict[str, Any] = {}
    if before is not None:
        given = before.model_dump(exclude={"name", "kind", "location", "ref", "watch"})
    elif copied:
        given = copied[0].model_dump(include={"include", "exclude", *(("depth",) if source.kind == "git" else ())})
    if include or exclude:
        given |= {"include": tuple(include), "exclude": tuple(exclude)}
    named = before if before in configured else None
    return source.model_copy(update={**given, "ref": ref or (named.ref if named else None)})


def configured_sources(
    catalog: Catalog, settings: Settings, collection: str | None = None
) -> list[tuple[str, SourceSettings]]:
    """Return (collection, source) of all that one or every collection is filled from.

    What the settings say of a source stands behind what is remembered of it, see ``once``. A collection that was filled
    by hand from other places only is not filled from those that its settings name, the list ``sources`` apart. Sources
    that the settings name no longer are left alone, and so are those into which documents are pushed.

    Raises:
        NotFound: there is no such collection.
    """
    if collection is not None and collection not in settings.collections:
        with catalog.read() as connection:
            collections.get(connection, collection)
    known = {
        name: [kept for kept in every if not is_removed(settings, name, kept)]
        for name, every in _remembered(catalog).items()
    }
    places = {name: {kept.place for kept in every} for name, every in known.items()}
    remembered = [(name, settings_of(kept)) for name, every in known.items() for kept in every]
    configured = [
        (name, source.model_copy(update={"watch": False}))  # which is not remembered: it makes no other source
        for name, rules in settings.collections.items()
        for source in rules.sources
        if source.kind != "push"
        if not places.get(name)
        or places[name] & {one.place for one in rules.sources}
        or _is_listed(settings, name, source)
    ]
    return [one for one in (*remembered, *configured) if collection in (None, one[0])]


def without_repeats(every: Iterable[tuple[str, SourceSettings]]) -> list[tuple[str, SourceSettings]]:
    """Return each source of each collection once, as it is named last."""
    return list({(name, *source.place): (name, source) for name, source in every}.values())


def unread_collections(catalog: Catalog, settings: Settings) -> list[str]:
    """Return the configured collections whose sources were not all read to the end yet, as they are configured."""
    known = _remembered(catalog).items()
    read = {(name, settings_of(kept)) for name, every in known for kept in every if kept.state is not None}
    waiting = {
        name
        for name, source in without_repeats(configured_sources(catalog, settings))
        if (name, _as_remembered(source)) not in read
    }
    return [name for name, rules in settings.collections.items() if rules.sources and name in waiting]


@contextmanager
def source_lock(
    home: Home, name: str, source: SourceSettings, on_event: Callable[[Event], object] | None = None
) -> Iterator[None]:
    """Keep other processes from reading the same source into the same collection; wait while one does.

    Without this both would embed the same texts.

    Raises:
        StorageFull: the lock's file cannot be made.
    """
    lock, reported = home.reading(name, source.place), False
    while not try_acquire(lock, f"The lock of {source.location!r}", _STEP_S):
        if not reported:
            _log.warning("another process is reading this source: waiting (%s)", source.location)
            reported = True
        if on_event is not None:
            on_event(Event("wait", 0, 0, source.location))
    try:
        yield
    finally:
        lock.release()


def _remembered(catalog: Catalog) -> dict[str, list[SourceRecord]]:
    with catalog.read() as connection:
        return {record.name: sources.list_all(connection, record.id) for record in collections.list_all(connection)}


def _one_of(every: Iterable[SourceSettings], typed: SourceSettings) -> SourceSettings | None:
    """Return which of these is meant by a typed location: the one without a part, else the only one.

    Raises:
        InvalidInput: it has several parts.
    """
    there = {one.part: one for one in reversed([*every]) if (one.kind, one.location) == (typed.kind, typed.location)}
    if len(there) > 1 and "" not in there:
        raise InvalidInput(
            f"{typed.location} has several sources here: {', '.join(sorted(there))}.",
            hint="Read them by their names, as `pinakes sources` lists them: pinakes sync NAME",
        )
    return there.get("") or next(iter(there.values()), None)


def _configured(settings: Settings, name: str, place: SourceSettings | SourceRecord) -> SourceSettings | None:
    """Return what the settings say of the source of a collection at this place, None where they do not name it."""
    every = settings.collections[name].sources if name in settings.collections else ()
    return next((one for one in every if one.place == place.place), None)


def _is_listed(settings: Settings, name: str, source: SourceSettings) -> bool:
    """Say whether a source is in the list ``sources``, and so is meant for just this collection."""
    placed = {(one.collection or settings.collection, *one.place) for one in settings.sources}
    return (name, *source.place) in placed


def _unremembered() -> set[str]:
    """Return the settings of a source that the catalogue does not remember: they do not change what files become."""
    return set(SourceSettings.model_fields) - {"kind", "location", "part", "ref", "include", "exclude", *_MARKS}


def _as_remembered(source: SourceSettings) -> SourceSettings:
    fields = SourceSettings.model_fields
    return source.model_copy(update={field: fields[field].default for field in _unremembered()})
