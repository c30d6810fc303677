"""What collections are filled from: the sources that the settings name, and those that the catalogue remembers."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from pinakes.catalog import Catalog, collections, sources
from pinakes.catalog.sources import SourceRecord
from pinakes.embedding import counts_tokens
from pinakes.home import Home
from pinakes.ingest import Event
from pinakes.locks import awaited
from pinakes.ports import Embedder
from pinakes.settings import Settings, SourceSettings
from pinakes.sources import recognise
from pinakes.types import JSON

_log = logging.getLogger(__name__)

_MARKS = {"max_file_bytes", "metadata", "tags"}
"""Settings of a source that are remembered with it where they are given."""

READING_VERSION = 3
"""Raised when readers or chunkers change so much that every document should be read again."""


def settings_of(kept: SourceRecord) -> SourceSettings:
    """Return the settings of a source that the catalogue remembers."""
    options = {name: kept.options[name] for name in ("ref", "include", "exclude", *_MARKS) if name in kept.options}
    return SourceSettings.model_validate({"kind": kept.kind, "location": kept.location, **options})


def options_of(
    settings: Settings, name: str, own: Mapping[str, JSON] | None, source: SourceSettings, embedder: Embedder
) -> dict[str, JSON]:
    """Return all that decides what a source's files become; a change makes them be read again.

    ``own`` are the settings that the collection ``name`` was made with; ``embedder`` counts the tokens of passages.
    """
    rules = settings.of_collection(name, own)
    return {
        **source.model_dump(mode="json", include={"ref", "include", "exclude"}),
        **source.model_dump(mode="json", include=_MARKS, exclude_defaults=True),
        "rules": rules.model_dump(mode="json", include={"path_templates", "document_key", "key_field"}),
        "group_metadata": rules.group_metadata,
        "chunking": settings.chunking_of(name, own).model_dump(mode="json"),
        "min_text_chars": settings.ingest.min_text_chars,
        "counted_by": embedder.fingerprint if counts_tokens(embedder) else "estimate",
        "reading": READING_VERSION,
    }


def added(
    catalog: Catalog,
    settings: Settings,
    name: str,
    location: str,
    ref: str | None,
    include: Sequence[str],
    exclude: Sequence[str],
) -> SourceSettings:
    """Return the source that is meant by adding ``location`` to a collection.

    What is not given is as it is configured, else as it was when the source was last added; ``ref`` as configured.
    Include and exclude of the collection's first configured source fit any copy of it.

    Raises:
        NotFound, InvalidInput: the location cannot be used.
    """
    source = recognise(location, ref)
    with catalog.read() as connection:
        record = collections.find(connection, name)
        kept = sources.everything(connection, record.id) if record else []
    configured = settings.of_collection(name).sources
    same = [one for one in configured if _place(one) == _place(source)]
    before = next((one for one in (*same, *map(settings_of, kept)) if _place(one) == _place(source)), None)
    given: dict[str, Any] = {}
    if before is not None:
        given = before.model_dump(exclude={"kind", "location", "ref", "watch"})
    elif configured:
        given = configured[0].model_dump(include={"include", "exclude"})
    if include or exclude:
        given |= {"include": tuple(include), "exclude": tuple(exclude)}
    return source.model_copy(update={**given, "ref": ref or next((one.ref for one in same), None)})


def wanted(catalog: Catalog, settings: Settings, collection: str | None = None) -> list[tuple[str, SourceSettings]]:
    """Return (collection, source) of all that one or every collection is filled from.

    What the settings say of a source stands behind what is remembered of it, see ``once``. A collection that was filled
    from other places only is not filled from those of the settings.

    Raises:
        NotFound: there is no such collection.
    """
    if collection is not None and collection not in settings.collections:
        with catalog.read() as connection:
            collections.get(connection, collection)
    known = _known(catalog)
    places = {name: {_place(kept) for kept in every} for name, every in known.items()}
    remembered = [(name, settings_of(kept)) for name, every in known.items() for kept in every]
    configured = [
        (name, source.model_copy(update={"watch": False}))  # which is not remembered: it makes no other source
        for name, rules in settings.collections.items()
        if not places.get(name) or places[name] & {_place(source) for source in rules.sources}
        for source in rules.sources
    ]
    return [one for one in (*remembered, *configured) if collection in (None, one[0])]


def once(every: Iterable[tuple[str, SourceSettings]]) -> list[tuple[str, SourceSettings]]:
    """Return each source of each collection once, as it is named last."""
    return list({(name, *_place(source)): (name, source) for name, source in every}.values())


def unread(catalog: Catalog, settings: Settings) -> list[str]:
    """Return the configured collections whose sources were not all read to the end yet, as they are configured."""
    known = _known(catalog).items()
    read = {(name, settings_of(kept)) for name, every in known for kept in every if kept.state is not None}
    waiting = {name for name, source in once(wanted(catalog, settings)) if (name, source) not in read}
    return [name for name, rules in settings.collections.items() if rules.sources and name in waiting]


@contextmanager
def alone(
    home: Home, name: str, source: SourceSettings, on_event: Callable[[Event], object] | None = None
) -> Iterator[None]:
    """Keep other processes from reading the same source into the same collection; wait while one does.

    Without this both would embed the same texts.

    Raises:
        StorageFull: the lock's file cannot be made.
    """
    lock = home.reading(name, source.kind, source.location)
    said = False

    def on_wait() -> None:
        nonlocal said
        if not said:
            _log.warning("another process is reading this source: waiting (%s)", source.location)
            said = True
        if on_event is not None:
            on_event(Event("wait", 0, 0, source.location))

    with awaited(lock, f"The lock of {source.location!r}", on_wait):
        yield


def _known(catalog: Catalog) -> dict[str, list[SourceRecord]]:
    with catalog.read() as connection:
        return {record.name: sources.everything(connection, record.id) for record in collections.everything(connection)}


def _place(source: SourceSettings | SourceRecord) -> tuple[str, str]:
    return source.kind, source.location
