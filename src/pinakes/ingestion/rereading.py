"""Which unchanged files of a source are read again: older readers or chunkers made their documents."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from pinakes import chunking, parsing
from pinakes.catalog import Connection, sources
from pinakes.catalog.sources import FileRecord, SourceRecord
from pinakes.core.records import JSON


@dataclass(frozen=True, slots=True)
class Rereading:
    """Paths of files that are read again.

    ``documents``: older versions of readers or chunkers made theirs. ``skipped``: an older reader could not read them,
    or a plug-in that reads them was not there.
    ``scan_all``: the source was not read to its end since, so that it is asked for all that it has: others tell only
    what changed.
    """

    documents: frozenset[str] = frozenset()
    skipped: frozenset[str] = frozenset()
    scan_all: bool = False

    @classmethod
    def of_source(cls, connection: Connection, record: SourceRecord, known: Mapping[str, FileRecord]) -> Rereading:
        """Return what is to be read again of a source, of which ``known`` is what it had."""
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
    """Say whether a file was opened and left out by a reader that was of an older version then.

    Of a plug-in also whether it was of another version, or not there, so that the file may have been read as text.
    """
    module = parsing.module_of(file.path)
    if not parsing.is_ours(module):
        return parsing.versions()[module] != before.get(module)
    if file.status != "skipped" or file.code is None or parsing.refusal(file.path):
        return False
    return parsing.VERSIONS.get(module, 1) > int(before.get(module, 1))
