"""References to documents: id, uri, path, the place of the file, or the end of the path."""

from __future__ import annotations

import posixpath
import unicodedata
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote

from sqlalchemy import ColumnElement, Connection, and_, or_, select

from pinakes.catalog import sources
from pinakes.catalog.document_queries import DocumentRecord
from pinakes.catalog.path_conditions import ends_with
from pinakes.catalog.schema import documents as table
from pinakes.catalog.schema import fields
from pinakes.core.filters import normal_text

_FILE = "file://"


def find(connection: Connection, collection_id: int, reference: str) -> list[DocumentRecord]:
    """Return the documents that ``reference`` names; several where it does not tell them apart.

    What it is to the letter (id, uri, path, group) comes first, then where a file lies (an absolute path, ``file://``),
    then the end of a path; each as written before other cases of letters. A sign of patterns means itself.
    """
    from pinakes.catalog import documents

    if not reference.strip():
        return documents.find(connection, collection_id, reference)
    for test in _tests(connection, collection_id, reference):
        if found := documents.where(connection, collection_id, test):
            return found
    return []


def spellings(reference: str) -> list[str]:
    """Return the paths that ``reference`` may be: as written, or without ``./``, ``//``, ``..``, backslashes."""
    written = (reference, reference.replace("\\", "/"))
    paths = [reference, *(posixpath.normpath(one).lstrip("/") for one in written if one.strip("./"))]
    return list(dict.fromkeys(unicodedata.normalize(form, path) for path in paths for form in ("NFC", "NFD")))


def _tests(connection: Connection, collection_id: int, reference: str) -> Iterator[ColumnElement[bool]]:
    names = [reference, *spellings(reference)]
    yield or_(table.c.uid == reference, table.c.uri == reference, table.c.path == reference)
    yield table.c.group_key == reference
    yield table.c.path.in_(names)
    if place := absolute(reference):
        yield table.c.uri.in_([place.as_uri(), reference])
        below = list(_references_in_sources(connection, collection_id, place))
        if below:
            yield or_(*below)
    if reference.startswith(_FILE):
        return
    ends = [name.strip("/") for name in names if name.strip("/")]
    ending = or_(*(ends_with(table.c.path, end) for end in ends))
    from pinakes.catalog import documents

    rows = documents.where(connection, collection_id, ending)
    exact = [row.id for row in rows if any(row.path.endswith(f"/{end}") for end in ends)]
    yield table.c.id.in_(exact or [row.id for row in rows])
    folded = select(fields.c.document_id).where(
        fields.c.collection_id == collection_id,
        fields.c.name == "path",
        or_(fields.c.value.in_(map(normal_text, ends)), *(ends_with(fields.c.value, normal_text(end)) for end in ends)),
    )
    yield table.c.id.in_(folded)


def absolute(reference: str) -> Path | None:
    """Return the absolute path that ``reference`` is, None where it is none."""
    path = reference
    if reference.startswith(_FILE):
        path = unquote(reference.removeprefix(_FILE).removeprefix("localhost"))
    try:
        place = Path(path).expanduser()
    except RuntimeError:  # a home that nobody has
        return None
    return Path(posixpath.normpath(place)) if place.is_absolute() and "\0" not in path else None


def _references_in_sources(connection: Connection, collection_id: int, place: Path) -> Iterator[ColumnElement[bool]]:
    """Yield for each source of the collection that ``place`` lies below what its document is called there."""
    for source_id, root in roots(connection, collection_id):
        if place.is_relative_to(root):
            path = place.relative_to(root).as_posix()
            path = place.name if path == "." else path
            yield and_(table.c.source_id == source_id, table.c.path.in_(spellings(path)))


def roots(connection: Connection, collection_id: int) -> Iterator[tuple[int, Path]]:
    """Yield the id of each source that lies at a place, with that, and with where it leads if that is elsewhere."""
    for source in sources.list_all(connection, collection_id):
        if root := absolute(source.location):
            yield from ((source.id, one) for one in dict.fromkeys((root, _real(root))))


def _real(path: Path) -> Path:
    """Return where ``path`` leads; itself if that cannot be told."""
    try:
        return path.resolve()
    except (OSError, RuntimeError):
        return path
