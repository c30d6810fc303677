"""Archives: zip files with a manifest that names every member, its size and its SHA-256.

A zip file is written in one pass, and its manifest is read before its members. Nothing in it is trusted: names, sizes
and checksums are verified, and member names are never used as file names without a check.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import shutil
import stat
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, Any

from pinakes.core.errors import InvalidInput, NotFound, StorageFull, Unreadable, storing
from pinakes.core.installation import running_version
from pinakes.core.records import JSON

MANIFEST = "manifest.json"

_MOST_MANIFEST_BYTES = 64_000_000
_BLOCK_BYTES = 1 << 20
_MOST_LINE_BYTES = 400_000_000
_SMALL_BYTES = 256_000_000
_MOST_RATIO = 200
"""Maximum ratio of unpacked to packed size for archives over ``_SMALL_BYTES``: no real text compresses better."""

_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
_ENCRYPTED = 0x1


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of archive: its ``name``, the latest supported ``version``, and its permitted members.

    ``what``: its name in messages. ``may_hold``: whether a member may have the given name.
    """

    name: str
    version: int
    what: str
    may_hold: Callable[[str], bool]


@dataclass(slots=True)
class Member:
    """The manifest entry of a member: its size in bytes, and its SHA-256 as hexadecimal digits."""

    bytes: int = 0
    sha256: str = ""


class MemberWriter:
    """The writer of a member, which updates size and checksum."""

    def __init__(self, inner: IO[bytes]) -> None:
        self._inner = inner
        self.digest = hashlib.sha256()
        self.bytes = 0

    def write(self, data: bytes, /) -> int:
        """Append ``data``."""
        self.digest.update(data)
        self.bytes += len(data)
        return self._inner.write(data)


@dataclass(slots=True)
class ArchiveWriter:
    """Writes an archive. ``about`` is stored in its manifest."""

    kind: Kind
    file: zipfile.ZipFile
    about: dict[str, JSON] = field(default_factory=dict)
    members: dict[str, Member] = field(default_factory=dict)

    @contextmanager
    def member(self, name: str, *, packed: bool = True) -> Iterator[MemberWriter]:
        """Yield a writer of the member ``name``; if not ``packed``, it is stored uncompressed."""
        info = zipfile.ZipInfo(name)
        info.external_attr = (stat.S_IFREG | 0o600) << 16
        info.compress_type = zipfile.ZIP_DEFLATED if packed else zipfile.ZIP_STORED
        with self.file.open(info, "w", force_zip64=True) as inner:
            writer = MemberWriter(inner)
            yield writer
        self.members[name] = Member(writer.bytes, writer.digest.hexdigest())

    def manifest(self) -> bytes:
        """Return the manifest, as stored in the archive."""
        manifest = {
            "format": self.kind.name,
            "version": self.kind.version,
            "software": f"pinakes {running_version()}",
            "created_at": datetime.now(UTC).isoformat(timespec="seconds"),
            **self.about,
            "members": {name: {"bytes": one.bytes, "sha256": one.sha256} for name, one in self.members.items()},
        }
        return json.dumps(manifest, ensure_ascii=False, indent=1).encode() + b"\n"


@contextmanager
def written(
    place: Path, kind: Kind, *, force: bool = False, level: int = 6, within: Path | None = None
) -> Iterator[ArchiveWriter]:
    """Yield a writer of the archive ``place``, which appears at the end of the block, or not at all.

    Only its owner may read it. ``force``: replace a file of that name. Until it is complete, it lies in the same
    folder, or in ``within``, a folder on the same disk.

    Raises:
        InvalidInput: ``place`` is an existing file or a folder.
        StorageFull: the archive cannot be written.
    """
    with (
        appearing(place, f"The archive {str(place)!r}", force=force, within=within) as file,
        zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=level) as packed,
    ):
        writer = ArchiveWriter(kind, packed)
        yield writer
        packed.writestr(MANIFEST, writer.manifest())


@contextmanager
def appearing(place: Path, what: str, *, force: bool, within: Path | None = None) -> Iterator[IO[bytes]]:
    """Yield a file to write, which is at ``place`` at the end of the block, or not at all; see ``written``.

    Raises:
        InvalidInput: see ``check_free``.
        StorageFull: it cannot be written; ``what`` names it in the message.
    """
    check_free(place, force=force)
    with storing(what):
        handle, beside = tempfile.mkstemp(prefix=f".{place.name[:100]}.", dir=within or place.parent)
        try:
            with open(handle, "w+b") as file:  # noqa: PTH123 - a descriptor
                yield file
                file.flush()
                os.fsync(file.fileno())
            check_free(place, force=force)
            Path(beside).replace(place)
        finally:
            Path(beside).unlink(missing_ok=True)


def check_free(place: Path, *, force: bool) -> None:
    """Check that ``place`` is free, or a file that ``force`` allows to replace.

    Raises:
        InvalidInput: something exists at ``place``, or its folder does not exist.
    """
    if place.is_dir() or (place.exists() and not force):
        what = "is a folder" if place.is_dir() else "is there already"
        hint = "Name a file." if place.is_dir() else "Choose another name, or say --force."
        raise InvalidInput(f"{str(place)!r} {what}.", hint=hint)
    if not place.parent.is_dir():
        raise InvalidInput(f"There is no folder {str(place.parent)!r}.", hint="Make it first.")


class ArchiveReader:
    """An open archive with a verified manifest; members are verified as they are read."""

    def __init__(self, file: zipfile.ZipFile, place: Path, manifest: Mapping[str, JSON]) -> None:
        self._file = file
        self._place = place
        self.manifest = manifest
        self.members = {
            name: Member(int(one["bytes"]), str(one["sha256"])) for name, one in manifest["members"].items()
        }

    @property
    def bytes(self) -> int:
        """Total unpacked size in bytes."""
        return sum(member.bytes for member in self.members.values())

    def check_room(self, folder: Path, what: str) -> None:
        """Check that the content, called ``what`` in the message, fits on the disk of ``folder``.

        Raises:
            StorageFull: it does not.
        """
        free = shutil.disk_usage(folder).free
        if free < self.bytes:
            raise StorageFull(f"{what} holds {self.bytes:,} bytes, {free:,} are free.", hint="Free disk space.")

    @contextmanager
    def member(self, name: str) -> Iterator[Stream]:
        """Yield a reader of the member ``name``; its checksum is verified at the end of the block.

        Raises:
            Unreadable: the member is missing, or differs from the manifest.
        """
        wanted = self.members.get(name)
        if wanted is None:
            raise damaged(self._place, f"it lacks {name!r}")
        with _translated(self._place), self._file.open(name) as inner:
            checked = _Checked(inner)
            stream = Stream(checked, self._place, name)
            yield stream
            stream.skip()
            if (checked.bytes, checked.digest.hexdigest()) != (wanted.bytes, wanted.sha256):
                raise damaged(self._place, f"{name!r} is not what the manifest says")


class Stream:
    """A member, read sequentially."""

    def __init__(self, checked: _Checked, place: Path, name: str) -> None:
        self._buffered = io.BufferedReader(checked, _BLOCK_BYTES)
        self._place = place
        self.name = name

    def read(self, size: int = -1, /) -> bytes:
        """Return the next ``size`` bytes, fewer at the end."""
        return self._buffered.read(size)

    def exactly(self, size: int) -> bytes:
        """Return the next ``size`` bytes.

        Raises:
            Unreadable: fewer bytes are left.
        """
        data = self.read(size)
        if len(data) != size:
            raise damaged(self._place, f"{self.name!r} ends too early")
        return data

    def lines(self) -> Iterator[bytes]:
        """Yield the lines without line ends.

        Raises:
            Unreadable: a line exceeds the maximum length.
        """
        while line := self._buffered.readline(_MOST_LINE_BYTES):
            if len(line) == _MOST_LINE_BYTES:
                raise damaged(self._place, f"{self.name!r} has a line of more than {_MOST_LINE_BYTES} bytes")
            yield line.rstrip(b"\n")

    def skip(self) -> None:
        """Read the rest."""
        while self._buffered.read(_BLOCK_BYTES):
            pass


@contextmanager
def opened(place: Path, kind: Kind) -> Iterator[ArchiveReader]:
    """Yield a reader of an archive of this kind, with verified names, sizes and manifest.

    Raises:
        NotFound: the file does not exist.
        Unreadable: the file is not such an archive, is truncated or damaged, has foreign members, would unpack to an
            implausible size, or is of a newer version.
    """
    if not place.is_file():
        raise NotFound(f"There is no file {str(place)!r}.", hint="Check the path.")
    with _translated(place), zipfile.ZipFile(place) as file:
        manifest = _manifest(file, place, kind)
        _check_members(file, place, kind, manifest)
        yield ArchiveReader(file, place, manifest)


def damaged(place: Path, why: str) -> Unreadable:
    """Return the error for an unusable archive."""
    return Unreadable(f"{str(place)!r} cannot be used: {why}.", hint="It is damaged or was changed. Nothing was done.")


def _manifest(file: zipfile.ZipFile, place: Path, kind: Kind) -> dict[str, JSON]:
    wrong = Unreadable(f"{str(place)!r} is no {kind.what}.", hint="Check which file it is.")
    found = [info for info in file.infolist() if info.filename == MANIFEST]
    if len(found) != 1 or found[0].file_size > _MOST_MANIFEST_BYTES or not _is_plain(found[0]):
        raise wrong
    try:
        manifest = json.loads(file.read(found[0]))
        if manifest["format"] != kind.name:
            raise wrong
        number = int(manifest["version"])
        all_there = all(int(one["bytes"]) >= 0 and str(one["sha256"]) for one in manifest["members"].values())
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise wrong from error
    if number > kind.version:
        raise Unreadable(
            f"{str(place)!r} was written by a newer Pinakes (version {number} of its format, this one knows "
            f"{kind.version}).",
            hint="Update Pinakes.",
        )
    if number < 1 or not all_there:
        raise wrong
    return dict(manifest)


def _check_members(file: zipfile.ZipFile, place: Path, kind: Kind, manifest: Mapping[str, Any]) -> None:
    sizes = {name: int(one["bytes"]) for name, one in manifest["members"].items()}
    infos = [info for info in file.infolist() if info.filename != MANIFEST]
    for info in infos:
        if not (_is_plain(info) and kind.may_hold(info.filename)):
            raise damaged(place, f"no {kind.what} has a member {info.filename[:100]!r} like that")
    if len(infos) != len(sizes) or {info.filename: info.file_size for info in infos} != sizes:
        raise damaged(place, "its members are not those of its manifest")
    size, packed = sum(sizes.values()), place.stat().st_size
    if size > _SMALL_BYTES and size > packed * _MOST_RATIO:
        raise damaged(place, f"its {packed:,} bytes would become {size:,}")


def _is_plain(info: zipfile.ZipInfo) -> bool:
    """Return whether a member is a regular file, packed with the expected method and not encrypted."""
    packed = not info.flag_bits & _ENCRYPTED and info.compress_type in _METHODS
    return packed and stat.S_IFMT(info.external_attr >> 16) in (0, stat.S_IFREG)


@contextmanager
def _translated(place: Path) -> Iterator[None]:
    """Turn errors while reading a zip file into ``Unreadable``."""
    try:
        yield
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, UnicodeDecodeError) as error:
        raise damaged(place, "it is no whole zip file") from error


class _Checked(io.RawIOBase):
    """Passes on read data, and updates size and checksum."""

    def __init__(self, inner: IO[bytes]) -> None:
        self._inner = inner
        self.digest = hashlib.sha256()
        self.bytes = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        data = self._inner.read(len(buffer))
        buffer[: len(data)] = data
        self.digest.update(data)
        self.bytes += len(data)
        return len(data)
