"""Exports of other systems, as folders or ZIP archives, and the common base of their sources."""

from __future__ import annotations

import posixpath
import re
import tempfile
import zipfile
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import IO, Any, ClassVar, Final, Protocol
from urllib.parse import quote

from pinakes.core.errors import SourceError, TooLarge, Unreadable, storing
from pinakes.core.records import JSON, Item, Scan, Skipped
from pinakes.settings import SourceSettings
from pinakes.sources.file_stat import fingerprint
from pinakes.sources.globs import Rules, Tally, folders_of

KINDS: Final = ("slack", "confluence", "notion")

HASHED: Final = re.compile(r"(?P<name>.*?)[ _-]?(?P<id>[0-9a-f]{32})(?P<rest>(?:_all)?\.(?:md|csv|html))", re.I)
"""File names in a Notion export: title, id, extension."""

CANNOT_READ: Final = (OSError, EOFError, KeyError, ValueError, RuntimeError, zipfile.BadZipFile, zlib.error)
"""Errors of reading a damaged, encrypted or unsupported file of a folder or an archive."""

_MOST_ENTRIES: Final = 500_000
_MOST_NESTED_BYTES: Final = 4_000_000_000
_LOOKED_AT: Final = 2000
_HEAD_BYTES: Final = 65_536
_SOURCES_OF_CONFLUENCE: Final = (b"confluence", b"available pages")


@dataclass(frozen=True, slots=True)
class ExportEntry:
    """A file of an export: its ``path`` within the export, and a ``stamp`` that changes with its content."""

    path: str
    size_bytes: int
    stamp: str


class Tree(Protocol):
    """The files of an export."""

    uri: str

    def entries(self) -> Mapping[str, ExportEntry]:
        """Return path → file."""
        ...

    def open(self, path: str) -> IO[bytes]:
        """Open a file.

        Raises:
            CANNOT_READ: the file cannot be read; reading from the result may raise it, too.
        """
        ...

    def close(self) -> None:
        """Release open files."""
        ...


def open_tree(location: str) -> Tree:
    """Open the folder or ZIP archive of an export; a single top folder is skipped.

    Raises:
        SourceError: it is neither, does not exist, or is damaged.
        StorageFull: there is not enough disk space to unpack a nested archive.
    """
    path = Path(location).expanduser().absolute()
    try:
        if path.is_dir():
            return _Folder(path)
        if not path.exists():
            raise SourceError(
                f"{str(path)!r} does not exist.", hint="Was it moved? Nothing was removed. Give its new place."
            )
        return _Archive(path)
    except CANNOT_READ as error:
        cause = getattr(error, "strerror", None) or str(error) or type(error).__name__
        raise SourceError(
            f"{str(path)!r} cannot be read: {cause}.", hint="Give the folder or ZIP archive of the export."
        ) from error


def read(tree: Tree, path: str, limit: int) -> bytes:
    """Return the content of a file of an export, up to ``limit`` bytes.

    Raises:
        Unreadable: the file is damaged, encrypted, or missing.
        TooLarge: its real size exceeds the limit, whatever the archive states.
    """
    try:
        with tree.open(path) as file:
            data = file.read(limit + 1)
    except (zipfile.BadZipFile, zlib.error) as error:
        raise Unreadable(f"{path!r} is damaged in the archive: {error}.", hint="Export it again.") from error
    except CANNOT_READ as error:
        raise Unreadable(f"{path!r} cannot be read: {str(error) or type(error).__name__}.") from error
    if len(data) > limit:
        raise TooLarge(f"{path!r} is too large (max {limit} bytes).", hint="Raise the setting ingest.max_file_bytes.")
    return data


def kind_of(path: Path) -> str | None:
    """Return the kind of export that is clearly at ``path``, None for anything else."""
    if path.is_file() and path.suffix.lower() != ".zip":
        return None
    if path.is_dir() and not _may_be_export(path):
        return None
    try:
        tree = open_tree(str(path))
    except SourceError:
        return None
    try:
        names = tree.entries()
        top = {name.partition("/")[0] for name in names}
        if not {"users.json", "org_users.json"}.isdisjoint(top) and not {
            "channels.json",
            "groups.json",
            "dms.json",
            "mpims.json",
        }.isdisjoint(top):
            return "slack"
        if "entities.xml" in names or _is_space(tree, names):
            return "confluence"
        files = [name for name in names if name.endswith((".md", ".csv", ".html"))][:_LOOKED_AT]
        hashed = sum(HASHED.fullmatch(PurePosixPath(name).name) is not None for name in files)
        return "notion" if files and hashed * 2 > len(files) else None
    finally:
        tree.close()


def front_matter(values: Mapping[str, JSON], text: str) -> bytes:
    """Return a Markdown document with ``values`` as its front matter."""
    import yaml

    known = {name: value for name, value in values.items() if value not in (None, "", [], {})}
    head = yaml.safe_dump(known, allow_unicode=True, sort_keys=False, width=10_000)
    return f"---\n{head}---\n\n{text}".encode("utf-8", "replace")


class ExportSource:
    """Common base of export sources. The fingerprint of a document is that of the file it is made of.

    Scans are complete. Subclasses list the documents in ``_items``, and build a document from the file at ``place`` in
    ``_content``.
    """

    what: ClassVar[str]
    version: ClassVar[int]
    """Increased when documents are built differently, so that they are read again."""

    def __init__(
        self,
        settings: SourceSettings,
        *,
        max_file_bytes: int,
        work: Path | None = None,
        git_timeout_s: float = 0,
        avoid: Sequence[Path] = (),
    ) -> None:
        del work, git_timeout_s, avoid  # everything is in the export
        self._location = settings.location
        self._patterns = (settings.include, settings.exclude)
        Rules(*self._patterns)  # reports invalid patterns now
        self._limit = max_file_bytes
        self._opened: Tree | None = None
        self._places: dict[str, str] = {}

    def scan(self, state: str | None) -> Scan:
        """List the documents of the export; ``state`` is ignored.

        Raises:
            SourceError: it does not exist, is damaged, or is not such an export.
        """
        del state
        self.close()
        self._places = {}
        tally, skipped = Tally(), list[Skipped]()
        every = list(self._items(self._tree, skipped))
        there = folders_of(item.path for item in every)
        rules = Rules(*self._patterns, exists=there.__contains__)
        items = [item for item in every if self._takes(item, rules, tally, skipped)]
        items.sort(key=lambda item: item.path)
        return Scan(tuple(items), f"{self.what} {self.version}", skipped=(*skipped, *tally.skipped()))

    def read(self, item: Item) -> bytes:
        """Return the document of ``item``.

        Raises:
            Unreadable: its file is damaged, or does not exist any more.
        """
        place = self._places.get(item.path)
        if place is None:
            raise Unreadable(f"{item.path!r} was not listed by this source.", hint="Sync the source again.")
        return self._content(self._tree, place, item)

    def close(self) -> None:
        """Close the archive."""
        if self._opened is not None:
            self._opened.close()
            self._opened = None

    @property
    def _tree(self) -> Tree:
        if self._opened is None:
            self._opened = open_tree(self._location)
        return self._opened

    def _items(self, tree: Tree, skipped: list[Skipped]) -> Iterable[Item]:
        raise NotImplementedError

    def _content(self, tree: Tree, place: str, item: Item) -> bytes:
        raise NotImplementedError

    def _not_an_export(self) -> SourceError:
        return SourceError(
            f"{self._location!r} is no {self.what}.", hint="Nothing was removed. Give the folder or ZIP archive of one."
        )

    def _takes(self, item: Item, rules: Rules, tally: Tally, skipped: list[Skipped]) -> bool:
        if left_out := rules.why_not_listed(item.path):
            tally.add(*left_out)
            return False
        if not rules.includes(item.path):
            return False
        if item.size_bytes > self._limit:
            skipped.append(Skipped(item.path, f"File too large ({item.size_bytes} bytes, max {self._limit})"))
            return False
        return True

    def _item(self, tree: Tree, path: str, entry: ExportEntry, metadata: Mapping[str, Any] | None = None) -> Item:
        """Return the item of a document at ``path`` that is made of ``entry``."""
        self._places[path] = entry.path
        stamp = f"{self.version} {entry.stamp}"
        return Item(path, f"{tree.uri}{quote(entry.path)}", entry.size_bytes, stamp, metadata or {})


class _Folder:
    def __init__(self, path: Path) -> None:
        self._entries = dict[str, Path]()
        found = list(_files(path))
        self._top = _common_top([file.relative_to(path).as_posix() for file in found])
        for file in found:
            name = file.relative_to(path).as_posix()
            self._entries[name.removeprefix(self._top)] = file
        self.uri = f"{(path / self._top).as_uri().rstrip('/')}/"

    def entries(self) -> Mapping[str, ExportEntry]:
        entries = {}
        for name, file in self._entries.items():
            with suppress(OSError):
                status = file.stat()
                entries[name] = ExportEntry(name, status.st_size, fingerprint(status))
        return entries

    def open(self, path: str) -> IO[bytes]:
        return self._entries[path].open("rb")

    def close(self) -> None:
        pass


class _Archive:
    """A ZIP archive, or several inner archives if it contains nothing else, as large exports do."""

    def __init__(self, path: Path) -> None:
        self._opened = [zipfile.ZipFile(path)]
        self._spools: list[IO[bytes]] = []
        infos = self._infos(self._opened[0])
        if infos and all(info.filename.lower().endswith(".zip") for info in infos):
            try:
                self._open_nested(infos)
            except BaseException:
                self.close()
                raise
        self._places = {
            info.filename: (archive, info)
            for archive in (self._opened[1:] or self._opened)
            for info in self._infos(archive)
        }
        top = _common_top(list(self._places))
        self._places = {name.removeprefix(top): place for name, place in self._places.items()}
        self.uri = f"{path.as_uri()}#"

    def entries(self) -> Mapping[str, ExportEntry]:
        return {
            name: ExportEntry(name, info.file_size, f"{info.file_size}-{info.CRC:08x}")
            for name, (_, info) in self._places.items()
        }

    def open(self, path: str) -> IO[bytes]:
        archive, info = self._places[path]
        return archive.open(info)

    def close(self) -> None:
        for archive in reversed(self._opened):
            archive.close()
        for spool in self._spools:
            with suppress(OSError):  # on a full disk, flushing fails
                spool.close()

    @staticmethod
    def _infos(archive: zipfile.ZipFile) -> list[zipfile.ZipInfo]:
        infos = [info for info in archive.infolist() if not info.is_dir() and _is_safe(info.filename)]
        if len(infos) > _MOST_ENTRIES:
            raise ValueError(f"it has {len(infos):,} files, at most {_MOST_ENTRIES:,} are read")
        return infos

    def _open_nested(self, infos: Sequence[zipfile.ZipInfo]) -> None:
        left = _MOST_NESTED_BYTES
        for info in infos:
            self._opened.append(self._nested(self._opened[0], info, left))
            left -= self._spools[-1].seek(0, 2)

    def _nested(self, outer: zipfile.ZipFile, info: zipfile.ZipInfo, left: int) -> zipfile.ZipFile:
        what = f"A copy of {info.filename!r} among the temporary files"
        with storing(what):
            spool = tempfile.TemporaryFile()  # noqa: SIM115 - closed with the archive
        self._spools.append(spool)
        with outer.open(info) as packed:
            while left > 0 and (part := packed.read(min(left, 1 << 20))):
                with storing(what):
                    spool.write(part)
                    spool.flush()
                left -= len(part)
        if not left:
            raise ValueError(f"the archives in it unpack to more than {_MOST_NESTED_BYTES:,} bytes")
        return zipfile.ZipFile(spool)


def _files(path: Path) -> Iterator[Path]:
    """Yield the regular files below ``path``; links are not followed."""
    pending = [path]
    while pending:
        folder = pending.pop()
        try:
            inside = sorted(folder.iterdir())
        except OSError:
            if folder == path:
                raise
            continue
        for one in inside:
            if one.is_symlink() or one.name == "__MACOSX" or one.name.startswith("."):
                continue
            if one.is_dir():
                pending.append(one)
            elif one.is_file():
                yield one


def _is_safe(name: str) -> bool:
    parts = name.split("/")
    return not (
        name.startswith("/")
        or "\\" in name
        or "\0" in name
        or any(part in ("", ".", "..", "__MACOSX") or part.startswith(".") for part in parts)
    )


def _common_top(names: list[str]) -> str:
    """Return the common top folder of all files, with a slash at the end, "" if there is none."""
    top = posixpath.commonpath([posixpath.dirname(name) for name in names]) if names else ""
    return f"{top}/" if top else ""


def _may_be_export(path: Path) -> bool:
    """Return whether a folder has a file name typical of an export at its top, or one level deeper."""
    try:
        names = [entry for entry, _ in zip(path.iterdir(), range(_LOOKED_AT), strict=False)]
        if len(names) == 1 and names[0].is_dir():
            names = [entry for entry, _ in zip(names[0].iterdir(), range(_LOOKED_AT), strict=False)]
    except OSError:
        return False
    marks = {"users.json", "org_users.json", "entities.xml", "index.html"}
    return any(entry.name in marks or HASHED.fullmatch(entry.name) for entry in names)


def _is_space(tree: Tree, names: Mapping[str, ExportEntry]) -> bool:
    """Return whether an export is the HTML of a Confluence space."""
    if "index.html" not in names:
        return False
    try:
        with tree.open("index.html") as file:
            head = file.read(_HEAD_BYTES).lower()
    except CANNOT_READ:
        return False
    return b"generated by confluence" in head or all(mark in head for mark in _SOURCES_OF_CONFLUENCE)
