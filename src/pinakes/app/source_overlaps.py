"""Sources of one collection that read the same files."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, TypeAlias
from urllib.parse import urlsplit

from pinakes.app import source_settings
from pinakes.catalog import Catalog, sources
from pinakes.catalog.sources import SourceRecord
from pinakes.ingestion.run_options import RunOptions
from pinakes.ingestion.shared_files import OtherSource
from pinakes.settings import Settings, SourceSettings
from pinakes.sources import git_urls

Relation: TypeAlias = Literal["same", "inside", "around"]
"""A source has the same place as another, lies inside it, or around it."""


@dataclass(frozen=True, slots=True)
class Overlap:
    """How a source lies to ``other``; ``path`` is where it lies inside that, "" otherwise."""

    other: SourceSettings
    relation: Relation
    path: str = ""


def name_of(source: SourceSettings) -> str:
    """Return what a source is called in messages: its own name, its part, or the end of its location."""
    return source.name or source.part or end_of(source.location)


def end_of(location: str) -> str:
    """Return the last part of a path or URL: the whole where it has none."""
    end = location.rstrip("/").replace("\\", "/").rpartition("/")[2].rpartition(":")[2]
    return end.removesuffix(".git") or location


def overlaps(source: SourceSettings, others: Iterable[SourceSettings]) -> list[Overlap]:
    """Return how ``source`` lies to those of the ``others`` that have files of it, whatever patterns either has.

    Links, ``.git`` and the spelling of a URL make no difference. Parts of one location are apart by intent.
    """
    mine = _SourcePlace.from_source(source)
    found = [
        _relation(mine, source, _SourcePlace.from_source(other), other)
        for other in others
        if other.place[:2] != source.place[:2]
    ]
    return [one for one in found if one is not None]


def overlapping(every: Sequence[SourceSettings]) -> list[list[SourceSettings]]:
    """Return for each source of a collection which of the others have files of it."""
    spots = [_SourcePlace.from_source(one) for one in every]
    return [
        [
            other
            for spot, other in zip(spots, every, strict=True)
            if other.place[:2] != source.place[:2] and _relation(mine, source, spot, other)
        ]
        for mine, source in zip(spots, every, strict=True)
    ]


def run_options_of(
    catalog: Catalog, settings: Settings, name: str, kept: SourceRecord, *, retry: bool = False, parts: bool = False
) -> RunOptions:
    """Return how a source is read, as ``source_settings.run_options_of``, with the other sources of its collection."""
    how = source_settings.run_options_of(settings, name, kept, retry=retry, parts=parts)
    return replace(how, others=others_of(catalog, settings, name, kept.collection_id, kept.place))


def others_of(
    catalog: Catalog, settings: Settings, name: str, collection_id: int, place: tuple[str, str, str]
) -> tuple[OtherSource, ...]:
    """Return the sources of a collection that are read beside that at ``place``; what they hold is left to them.

    Those that the settings do not name any more are not read: what they hold may be taken from them. Of parts of one
    location the last that reads a file has it.
    """
    with catalog.read() as connection:
        every = sources.list_all(connection, collection_id)
    return tuple(
        OtherSource(one.id, name_of(source_settings.settings_of(one)), one.kind, one.location)
        for one in every
        if one.place[:2] != place[:2] and not source_settings.is_removed(settings, name, one)
    )


@dataclass(frozen=True, slots=True)
class _SourcePlace:
    """Where a source is: ``real`` path and what tells it and each folder above it, or the ``url`` of a repository."""

    real: str = ""
    chain: tuple[object, ...] = ()
    url: tuple[str, str] = ("", "")
    is_bare: bool = False

    @classmethod
    def from_source(cls, source: SourceSettings) -> _SourcePlace:
        if source.kind in ("http", "push"):
            return cls()
        local = git_urls.local_path(source.location) if source.kind == "git" else Path(source.location)
        if local is None:
            return cls(url=_repository(source.location))
        real = os.path.realpath(local)
        bare = source.kind == "git" and not os.path.lexists(f"{real}/.git")
        return cls(real, tuple(map(_identity, (Path(real), *Path(real).parents))), is_bare=bare)

    def inside(self, other: _SourcePlace) -> str | None:
        """Return the path of this place below ``other``, None where it is not inside; "" is that place itself."""
        if not (self.real and other.real):
            return None
        parts = Path(self.real).parts
        if other.chain[0] is not None and other.chain[0] in self.chain:
            return "/".join(parts[len(parts) - self.chain.index(other.chain[0]) :])
        above = Path(other.real).parts
        return "/".join(parts[len(above) :]) if parts[: len(above)] == above else None


def _relation(mine: _SourcePlace, source: SourceSettings, spot: _SourcePlace, other: SourceSettings) -> Overlap | None:
    if source.kind == other.kind == "http":
        same = source.location.rstrip("/") == other.location.rstrip("/")
        listed = source.location in other.urls
        return Overlap(other, "same" if same else "inside", "") if same or listed else None
    if mine.url[1] and mine.url == spot.url:
        return Overlap(other, "same")
    path, back = mine.inside(spot), spot.inside(mine)
    if path == "":
        return Overlap(other, "same")
    if mine.is_bare or spot.is_bare:  # what lies in a bare repository are no files of others
        return None
    if path:
        return Overlap(other, "inside", path)
    return Overlap(other, "around") if back else None


def _identity(path: Path) -> object:
    """Return what tells a folder whichever way it is reached, a file by its folder and name; None where it is gone."""
    try:
        status = path.stat()
        if stat.S_ISDIR(status.st_mode):
            return status.st_dev, status.st_ino
        above = path.parent.stat()
    except OSError:
        return None
    return above.st_dev, above.st_ino, path.name


def _repository(url: str) -> tuple[str, str]:
    """Return host and path of a repository, however its URL is spelled."""
    parts = urlsplit(git_urls.repository_uri(url))
    return (parts.hostname or "").lower(), parts.path.rstrip("/").removesuffix(".git").strip("/")
