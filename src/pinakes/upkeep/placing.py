"""Where a document that is put in by a path belongs: as a file of a source, or by itself."""

from __future__ import annotations

import posixpath
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from pinakes import overlaps, sourcing
from pinakes.catalog import collections, contents, sources
from pinakes.errors import InvalidInput, PinakesError
from pinakes.ports import Lookable
from pinakes.settings import SourceSettings
from pinakes.settings.sources import whole_path
from pinakes.shelves import Shelves
from pinakes.sources import urls

_NAMED = 5


@dataclass(frozen=True, slots=True)
class Placed:
    """Where a document is put: its ``uri`` and ``path``, and ``uid`` of the one that stands there, None where none."""

    uri: str
    path: str
    uid: str | None = None


def placed(shelves: Shelves, name: str, given: str) -> Placed:
    """Return where what is put in at the path or uri ``given`` belongs in the collection ``name``.

    A path on this machine and a ``file://`` URI are the file of the folder that is a source and around it, however they
    are spelled; so is a path that is relative to such a folder, where that has the file.

    Raises:
        InvalidInput: documents of several sources have that path.
    """
    with shelves.catalog.read() as connection:
        record = collections.find(connection, name)
        there = contents.at(connection, record.id, given) if record else []
        kept = sources.everything(connection, record.id) if record else []
    if len(there) == 1:
        [(uid, uri)] = there
        return Placed(uri, given, uid)
    if there:
        raise _ambiguous(given, [uri for _, uri in there])
    if record is None:
        return Placed(given, given)
    folders = [sourcing.settings_of(one) for one in kept if one.kind == "folder"]
    files = {uri: path for source in folders for uri, path in _files(shelves, source, given)}
    with shelves.catalog.read() as connection:
        found = [(uri, path, contents.at(connection, record.id, uri)) for uri, path in files.items()]
    found = [one for one in found if one[2]] or found[:1]
    if len(found) > 1:
        raise _ambiguous(given, [uri for uri, _, _ in found])
    for uri, path, documents in found:
        return Placed(uri, path, documents[0][0] if documents else None)
    return Placed(given, given)


def _files(shelves: Shelves, source: SourceSettings, given: str) -> list[tuple[str, str]]:
    """Return uri and path by which a folder knows the file ``given``; one that is relative has to be there."""
    try:
        local = urls.local_path(given)
        if local is None:
            return []
        if given.startswith("~") or local.is_absolute():
            return _inside(source, whole_path(str(local), Path("/")))
        path = posixpath.normpath(given)
        with closing(shelves.source(source)) as opened:
            scan = opened.look([path], None) if isinstance(opened, Lookable) else opened.scan(None)
    except (OSError, ValueError, PinakesError):
        return []
    return [(item.uri, item.path) for item in scan.items if item.path == path]


def _inside(source: SourceSettings, location: str) -> list[tuple[str, str]]:
    """Return uri and path of a file by its whole path, where it lies in a folder, or is that one file."""
    for one in overlaps.overlaps(SourceSettings(kind="folder", location=location), [source]):
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
