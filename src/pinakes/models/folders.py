"""Atomic folders: complete or absent, never partly written, even if the process is killed.

A folder is filled under a temporary name, synced, and renamed into place, with a manifest of the sizes and SHA-256 of
its files.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Collection, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from pinakes.core.errors import NO_ROOM, Busy, ModelUnavailable, StorageFull
from pinakes.platform.permissions import make_shared, share

MANIFEST = "manifest.json"
_PARTIAL = ".partial-"
_BLOCK_BYTES = 1 << 22
"""Block size for hashing; with smaller blocks, a computing thread would slow down the reading one."""


@dataclass(frozen=True, slots=True)
class FolderManifest:
    """The content of a folder: ``files`` maps name to (bytes, SHA-256); ``facts`` are set by the writer."""

    files: Mapping[str, tuple[int, str]]
    facts: Mapping[str, str]

    @property
    def size_bytes(self) -> int:
        """The total size of all files, in bytes."""
        return sum(size for size, _ in self.files.values())


def sha256(path: Path) -> str:
    """Return the SHA-256 of a file, in hexadecimal."""
    digest, block = hashlib.sha256(), memoryview(bytearray(_BLOCK_BYTES))
    with path.open("rb", buffering=0) as file:
        while count := file.readinto(block):
            digest.update(block[:count])
    return digest.hexdigest()


def read_manifest(folder: Path) -> FolderManifest | None:
    """Return the manifest of ``folder`` if every file exists in its full size, else None. Reads no content."""
    try:
        data = json.loads((folder / MANIFEST).read_text("utf-8"))
        manifest = FolderManifest(
            {name: (size, digest) for name, (size, digest) in data["files"].items()}, data["facts"]
        )
        whole = all((folder / name).stat().st_size == size for name, (size, _) in manifest.files.items())
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None
    return manifest if whole else None


def intact(folder: Path, *, but: Collection[str] = ()) -> bool:
    """Return whether every file of ``folder``, except ``but``, has the SHA-256 of the manifest. Reads the files."""
    manifest = read_manifest(folder)
    return (
        manifest is not None
        and bool(manifest.files)
        and all(sha256(folder / name) == digest for name, (_, digest) in manifest.files.items() if name not in but)
    )


@contextmanager
def exclusive(parent: Path, wait_s: float) -> Iterator[None]:
    """Lock ``parent`` against other processes, and remove what killed ones left in it.

    Raises:
        Busy: another process holds the lock for longer than ``wait_s`` seconds.
        ModelUnavailable: the folder cannot be created or locked.
    """
    with _locked(parent, wait_s):
        for leftover in parent.glob(f"{_PARTIAL}*"):
            shutil.rmtree(leftover, ignore_errors=True)
        yield


def _locked(parent: Path, wait_s: float) -> AbstractContextManager[object]:
    with _storage(parent):
        make_shared(parent)
        try:
            return FileLock(parent / ".lock").acquire(timeout=wait_s)
        except Timeout as error:
            raise Busy(
                f"Another process has been preparing the model in {parent} for {wait_s:.0f} s.",
                hint="Wait for it to finish, then try again.",
            ) from error


@contextmanager
def filled(final: Path, facts: Mapping[str, str]) -> Iterator[Path]:
    """Provide an empty folder to fill; if the block succeeds, it is renamed to ``final``, replacing an existing one.

    Call within ``exclusive(final.parent)``.
    """
    with _storage(final.parent):
        partial = Path(tempfile.mkdtemp(prefix=_PARTIAL, dir=final.parent))
        try:
            yield partial
            _write_manifest(partial, facts)
            _sync(partial)
            share(partial)
            if final.exists():
                final.rename(partial.with_name(f"{partial.name}-old"))
            partial.rename(final)
            _sync_folder(final.parent)
        finally:
            for leftover in (partial, partial.with_name(f"{partial.name}-old")):
                shutil.rmtree(leftover, ignore_errors=True)


def _write_manifest(folder: Path, facts: Mapping[str, str]) -> None:
    names = sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())
    files: dict[str, Any] = {name: ((folder / name).stat().st_size, sha256(folder / name)) for name in names}
    (folder / MANIFEST).write_text(json.dumps({"facts": dict(facts), "files": files}, indent=1), "utf-8")


def _sync(folder: Path) -> None:
    for path in sorted(folder.rglob("*"), reverse=True):
        if path.is_dir():
            _sync_folder(path)
        else:
            with path.open("rb") as file:
                os.fsync(file.fileno())
    _sync_folder(folder)


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextmanager
def _storage(place: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        if error.errno in NO_ROOM:
            raise StorageFull(
                f"No space left for the model in {place}.", hint="Free some 200 MB, or set another `cache` folder."
            ) from error
        raise ModelUnavailable(
            f"The model cannot be kept in {place}: {error}.", hint="Make the folder writable, or set another `cache`."
        ) from error
