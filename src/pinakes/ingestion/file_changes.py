"""The result of reading each file of a run: a document to store, a moved document, or a note."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from pinakes.catalog.documents import NewDocument
from pinakes.catalog.sources import FileRecord
from pinakes.core.records import Chunk, Item, Scan


@dataclass(frozen=True, slots=True)
class Put:
    """A file that was parsed and chunked, to be stored in the catalogue."""

    item: Item
    new: NewDocument
    is_new: bool


@dataclass(frozen=True, slots=True)
class Move:
    """A document that changes its place: its content is that of a vanished file, or its uri changed.

    ``rechunk``: its chunks differ at the new place.
    """

    item: Item
    new: NewDocument
    old: FileRecord
    rechunk: bool = False


@dataclass(frozen=True, slots=True)
class Note:
    """A file without a document; ``remove``: id of the document that it had before."""

    record: FileRecord
    remove: int | None = None


Entry: TypeAlias = Put | Move | Note


def vanished_files(scan: Scan, known: Mapping[str, FileRecord]) -> dict[str, FileRecord]:
    """Return path → record of the known files that the source no longer lists."""
    there = {item.path for item in scan.items}
    unseen = tuple(entry.path for entry in scan.skipped if entry.path.endswith("/"))
    among: Iterable[str] = known
    if not scan.complete:
        left = {*scan.removed, *(entry.path for entry in scan.skipped if not entry.path.endswith("/"))}
        whole = any(path.endswith("/") for path in left)
        among = (path for path in known if not left.isdisjoint((path, *_folders_of(path)))) if whole else left
    return {path: known[path] for path in among if path in known and path not in there and not path.startswith(unseen)}


def _folders_of(path: str) -> Iterator[str]:
    """Yield the parent folders of ``path``, each with a trailing slash."""
    return (path[: end + 1] for end, char in enumerate(path) if char == "/")


def chunks_in(batch: Sequence[Entry]) -> list[Chunk]:
    """Return the new chunks of a batch, in its order."""
    return [chunk for entry in batch for chunk in chunks_of(entry)]


def documents_in(batch: Sequence[Entry]) -> list[NewDocument]:
    """Return the documents of a batch, in its order."""
    return [entry.new for entry in batch if not isinstance(entry, Note)]


def chunks_of(entry: Entry) -> Sequence[Chunk]:
    """Return the new chunks of an entry; a document that only moves has none."""
    return entry.new.chunks if isinstance(entry, Put) or (isinstance(entry, Move) and entry.rechunk) else ()


def weight(batch: Sequence[Entry]) -> int:
    """Return the size of a batch: its chunks, and one for each entry without chunks."""
    return sum(len(entry.new.chunks) if isinstance(entry, Put) else 1 for entry in batch)
