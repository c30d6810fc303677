"""The place of a document that is put by a path: a file of a source, or a document of its own."""

from __future__ import annotations

import posixpath
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from pinakes.app import App, source_overlaps, source_settings
from pinakes.catalog import collections, contents, sources
from pinakes.core.errors import InvalidInput, PinakesError
from pinakes.core.ports import Lookable
from pinakes.services import ingestion_runs
from pinakes.settings import SourceSettings
from pinakes.settings.sources import whole_path
from pinakes.sources import git_urls

_NAMED = 5


@dataclass(frozen=True, slots=True)
class Placement:
    """Where a document is put: its ``uri`` and ``path``, and ``uid`` of the one that stands there, None where none."""

    uri: str
    path: str
    uid: str | None = None


def placement(app: App, name: str, given: str) -> Placement:
    """Return where what is put in at the path or uri ``given`` belongs in the collection ``name``.

    A path on this machine and a ``file://`` URI are the file of the folder that is a source and around it, however they
    are spelled; so is a path that is relative to such a folder, where that has the file.

    Raises:
        InvalidInput: documents of several sources have that path.
    """
    with app.catalog.read() as connection:
        record = collections.find(connection, name)
        there = contents.at(connection, record.id, given) if record else []
        kept = sources.list_all(connection, record.id) if record else []
    if len(there) == 1:
        [(uid, uri)] = there
        return Placement(uri, given, uid)
    if there:
        raise _ambiguous(given, [uri for _, uri in there])
    if record is None:
        return Placement(given, given)
    folders = [source_settings.settings_of(one) for one in kept if one.kind == "folder"]
    files = {uri: path for source in folders for uri, path in _files(app, source, given)}
    with app.catalog.read() as connection:
        found = [(uri, path, contents.at(connection, record.id, uri)) for uri, path in files.items()]
    found = [one for one in found if one[2]] or found[:1]
    if len(found) > 1:
        raise _ambiguous(given, [uri for uri, _, _ in found])
    for uri, path, documents in found:
        return Placement(uri, path, documents[0][0] if documents else None)
    return Placement(given, given)


def _files(app: App, source: SourceSettings, given: str) -> list[tuple[str, str]]:
    """Return uri and path by which a folder knows the file ``given``; one that is relative has to be there."""
    try:
        local = git_urls.local_path(given)
        if local is None:
            return []
        if given.startswith("~") or local.is_absolute():
            return _places_in_folder(source, whole_path(str(local), Path("/")))
        path = posixpath.normpath(given)
        with closing(ingestion_runs.source_of(app, source)) as opened:
            scan = opened.look([path], None) if isinstance(opened, Lookable) else opened.scan(None)
    except (OSError, ValueError, PinakesError):
        return []
    return [(item.uri, item.path) for item in scan.items if item.path == path]


def _places_in_folder(source: SourceSettings, location: str) -> list[tuple[str, str]]:
    """Return uri and path of a file by its whole path, where it lies in a folder, or is that one file."""
    for one in source_overlaps.overlaps(SourceSettings(kind="folder", location=location), [source]):
        if one.relation == "inside":
            return [(f"{Path(source.location).as_uri().rstrip('/')}/{quote(one.path)}", one.path)]
        if one.relation == "same" and Path(source.location).is_file():
            return [(Path(source.location).as_uri(), Path(source.location).name)]
    return []


def _ambiguous(given: str, uris: list[str]) -> InvalidInput:
    named = ", ".join(uris[:_NAMED])
    return InvalidInput(
        f"{given!r} is the path of {len(uris)} documents: {named}{', …' if len(uris) > _NAMED else ''}.",
        hint="Give the uri of the one that is meant.",
    )
