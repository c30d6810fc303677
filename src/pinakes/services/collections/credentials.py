"""Credentials that a home holds from before they were masked on the way in: found, masked in place, and wiped.

A purge that is killed is done again: what is masked stays masked, and collections whose indexes are to be built anew
are noted in a file of the home first.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from pinakes.app import App
from pinakes.catalog import Connection, audit, collections
from pinakes.catalog import credentials as held
from pinakes.core.errors import InvalidInput, ModelUnavailable, NotFound
from pinakes.core.records import JSON
from pinakes.services import ingestion_runs
from pinakes.services.documents.masking import masked_columns
from pinakes.services.run_progress import drain
from pinakes.text.secrets import Detector, lines_of
from pinakes.text.secrets.masking import CODE, Masking

_NOTED: Final = "purging.json"
_COPIES: Final = ("sources", "git", "web")
_OF_CHUNK: Final = tuple("ordinal start end start_line end_line token_count header heading_path symbols".split())
_WRITING: Final = ("export", "backup")


@dataclass(frozen=True, slots=True)
class HeldCredential:
    """A credential in a home: its ``kind`` in words, and where it is.

    ``where`` names the table: "documents", "versions", "audit", "events" and so on. ``line`` is that of the text, None
    where it is not in a text.
    """

    where: str
    kind: str
    collection: str = ""
    path: str = ""
    version: int | None = None
    line: int | None = None


@dataclass(frozen=True, slots=True)
class Purged:
    """What a purge found and masked. ``rebuilt`` names the collections whose indexes were built anew.

    ``elsewhere``: places that may still have it, since nothing is changed there: copies of sources, archives.
    ``degraded`` says why chunks wait for their vectors, None where they do not.
    """

    found: tuple[HeldCredential, ...]
    rebuilt: tuple[str, ...]
    elsewhere: tuple[str, ...]
    degraded: str | None = None


class Credentials:
    """The credentials that a home holds. Safe to share between threads."""

    def __init__(self, app: App) -> None:
        self._app = app

    def scan(self) -> list[HeldCredential]:
        """Return the credentials that the catalogue holds, whatever ``ingest.secrets`` says."""
        detector, found = _detector(self._app), list[HeldCredential]()
        with self._app.catalog.read() as connection:
            for document_id in held.document_ids(connection):
                if (one := held.document(connection, document_id)) is not None:
                    place, values = one
                    found += _named(
                        place, {name: value for name, value in values.items() if name != "chunks"}, detector
                    )
            for place, values in held.each_other(connection):
                found += _named(place, values, detector)
        return found

    def purge(self) -> Purged:
        """Mask the credentials that the catalogue holds, build the indexes that had them anew, and wipe free pages."""
        masking, found = Masking(_detector(self._app)), self.scan()
        note = self._app.settings.home / _NOTED
        touched = sorted({one.collection for one in found if one.where == "documents"} | set(_noted(note)))
        if touched:
            note.write_text(json.dumps(touched), "utf-8")
        with self._app.catalog.read() as connection:
            ids = held.document_ids(connection) if found else []
        for document_id in ids:
            _mask_document(self._app, document_id, masking)
        if found:
            with self._app.catalog.read() as connection:  # masking takes long, and writers would wait for it
                masked = list(_masked_others(connection, masking))
            with self._app.catalog.write() as connection:
                for place, changed in masked:
                    held.mask_other(connection, place, changed)
        degraded = _indexed(self._app, touched)
        self._app.catalog.erase_deleted()
        note.unlink(missing_ok=True)
        return Purged(tuple(found), tuple(touched), tuple(self.elsewhere()), degraded)

    def elsewhere(self) -> list[str]:
        """Return the places that may hold what the catalogue held: copies of sources, archives that were written."""
        home = self._app.settings.home
        copies = [str(home / name) for name in _COPIES if any(one.suffix != ".lock" for one in (home / name).glob("*"))]
        archives = [str(path) for path in sorted(home.glob("*.zip"))]
        with self._app.catalog.read() as connection:
            written = [file for name in _WRITING for file in audit.files_of(connection, name)]
        return [*copies, *dict.fromkeys([*archives, *written])]


def _detector(app: App) -> Detector:
    return Detector(app.settings.ingest.secrets_allowed)


def _named(place: held.RowReference, values: Mapping[str, JSON], detector: Detector) -> list[HeldCredential]:
    """Return what is in one row, each finding once: in the text by its line, else by the row."""
    text = values.get("text")
    found = list[HeldCredential]()
    if isinstance(text, str):
        inside = detector.find(text)
        lines = lines_of(text, inside)
        found = [_credential(place, one.kind, detector, line) for one, line in zip(inside, lines, strict=True)]
    rest = {name: value for name, value in values.items() if name != "text" and value}
    if Masking(detector).value(rest) != rest:
        kinds = [one.kind for one in detector.find(held.shortened(rest))] or ["a password or token"]
        found += [_credential(place, kind, detector) for kind in kinds]
    return found


def _credential(place: held.RowReference, kind: str, detector: Detector, line: int | None = None) -> HeldCredential:
    return HeldCredential(place.table, kind, place.collection, detector.mask(place.path), place.version, line)


def _mask_document(app: App, document_id: int, masking: Masking) -> None:
    with app.catalog.read() as connection:
        if not _masked(held.document(connection, document_id), masking)[0]:
            return
    with app.catalog.write() as connection:
        one = held.document(connection, document_id)
        changed, cut = _masked(one, masking)
        if one is not None and changed:
            message = "a credential that was stored before was masked"
            notes = [{"code": CODE, "message": message, "line": None, "count": 1}]
            held.mask_document(connection, one[0], changed, cut, notes)


def _masked(
    one: tuple[held.RowReference, held.Row] | None, masking: Masking
) -> tuple[dict[str, Any], list[tuple[int, held.Row]]]:
    """Return the columns of a document that are others once it is masked, and those of its chunks."""
    if one is None:
        return {}, []
    _, values = one
    rows = values["chunks"]
    plain = {name: value for name, value in values.items() if name != "chunks"}
    masked = {name: _of_column(name, value, masking) for name, value in plain.items()}
    changed = {name: value for name, value in masked.items() if value != plain[name]}
    if not changed:
        return {}, []
    return changed, [(row["id"], _chunk(row, masked["text"], masking)) for row in rows]


def _of_column(name: str, value: JSON, masking: Masking) -> JSON:
    return masking.text(value) if isinstance(value, str) and name != "parameters" else masking.value(value)


def _chunk(row: Mapping[str, JSON], text: str, masking: Masking) -> held.Row:
    written, key = masked_columns({name: row[name] for name in _OF_CHUNK}, text, masking)
    return {**written, "embedding_key": key}


def _masked_others(connection: Connection, masking: Masking) -> Iterator[tuple[held.RowReference, held.Row]]:
    """Yield the places besides documents that hold credentials, each with its changed columns."""
    for place, values in held.each_other(connection):
        masked = {name: _of_column(name, value, masking) for name, value in values.items()}
        if changed := {name: value for name, value in masked.items() if value != values[name]}:
            yield place, changed


def _noted(note: Path) -> list[str]:
    """Return the collections that a purge which was killed left to be indexed anew."""
    with suppress(OSError, ValueError):
        return [str(name) for name in json.loads(note.read_text("utf-8"))]
    return []


def _indexed(app: App, names: list[str]) -> str | None:
    """Build the indexes of these collections anew, and embed what is masked; return why that cannot be."""
    degraded = None
    for name in names:
        try:
            with app.catalog.read() as connection:
                record = collections.get(connection, name)
            drain(app.rebuilder.rebuild(record))
            drain(ingestion_runs.embed_waiting(app, name))
        except NotFound:
            continue
        except (InvalidInput, ModelUnavailable) as error:
            degraded = str(error)
    return degraded
