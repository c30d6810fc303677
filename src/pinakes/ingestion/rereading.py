"""Rereading: which unchanged files are read again because older readers or chunkers made their documents."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from pinakes import chunking, parsing
from pinakes.catalog import Connection, sources
from pinakes.catalog.sources import FileRecord, SourceRecord
from pinakes.core.records import JSON


@dataclass(frozen=True, slots=True)
class Rereading:
    """Paths of unchanged files to read again.

    ``documents``: their documents were made by older readers or chunkers. ``skipped``: an older reader could not read
    them, or the plug-in that reads them was missing. ``scan_all``: since the versions changed, the source was never
    scanned to its end, so it must list all files, not only changed ones.
    """

    documents: frozenset[str] = frozenset()
    skipped: frozenset[str] = frozenset()
    scan_all: bool = False

    @classmethod
    def of_source(cls, connection: Connection, record: SourceRecord, known: Mapping[str, FileRecord]) -> Rereading:
        """Return what to read again of a source; ``known``: its files in the last run."""
        present = present_versions()
        made = [[f"{name}:{number}" for name, number in table.items()] for table in present.values()]
        documents = frozenset(
            row.path
            for row in sources.made_otherwise(connection, record.id, *made)
            if known[row.path].status == "indexed"
            and (parsing.is_older(row.reader, row.path) or chunking.is_older(row.chunker, row.kind, row.language))
        )
        if record.read_by == present:
            return cls(documents)
        before = (record.read_by or {}).get("readers", {})
        skipped = frozenset(path for path, file in known.items() if _is_worth_another_try(file, before))
        return cls(documents, skipped, scan_all=bool(documents or skipped))

    def __contains__(self, path: str) -> bool:
        return path in self.documents or path in self.skipped


def present_versions() -> dict[str, dict[str, int | str]]:
    """Return the versions of all readers and chunkers."""
    return {"readers": parsing.versions(), "chunkers": dict(chunking.VERSIONS)}


def _is_worth_another_try(file: FileRecord, before: Mapping[str, JSON]) -> bool:
    """Return whether a file was skipped by an older version of a reader.

    For a plug-in also if it had another version or was missing, since the file may have been read as text.
    """
    module = parsing.module_of(file.path)
    if not parsing.is_ours(module):
        return parsing.versions()[module] != before.get(module)
    if file.status != "skipped" or file.code is None or parsing.refusal(file.path):
        return False
    return parsing.VERSIONS.get(module, 1) > int(before.get(module, 1))
