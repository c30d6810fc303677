"""Paths of the indexes, maps and locks of collections in a home folder."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import tempfile
import threading
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TypeAlias

from filelock import FileLock

from pinakes.catalog.collections import CollectionRecord
from pinakes.core.errors import StorageFull, storing
from pinakes.platform.locks import Lock, is_free
from pinakes.platform.permissions import make_private

_OF_COLLECTION = re.compile(r"(?:map-)?(\d+)[.-].+")
"""What lies in ``index``, by the id of the collection it belongs to. No id is ever given twice."""

SharedLock: TypeAlias = Callable[[str, float], Lock]

_DROPPED = ".dropped"
_EPOCH = "home.epoch"

_FETCHED = re.compile(r"[0-9a-f]{16}")
"""The names of the folders in ``sources`` in which sources keep what they fetched."""


class Home:
    """The folders ``index`` and ``sources`` of a home.

    Of a home that cannot be written to, indexes are used through links to their files in a temporary folder: what an
    index writes, catching up or being built anew, stays there until the end of the process.
    """

    def __init__(
        self,
        path: Path,
        *,
        writable: bool = True,
        on_drop: Callable[[Path], object] = lambda _: None,
        shared_lock: SharedLock | None = None,
    ) -> None:
        """``on_drop`` is called with the folder of an index that is about to be removed.

        ``shared_lock`` makes locks that also keep out other homes of the same catalogue.
        """
        self.path, self._on_drop, self._shared_lock = path, on_drop, shared_lock
        self._epoch = path / _EPOCH
        self._linked: LinkedFolders | None = None if writable else LinkedFolders()

    def index(self, record: CollectionRecord) -> Path:
        """Return the folder of the index of a generation."""
        folder = self.path / "index" / f"{record.id}-{record.generation}"
        return folder if self._linked is None else self._linked.links_to(folder)

    def belongs_to(self, epoch: Callable[[], str], *, is_shared: bool) -> None:
        """Remove the indexes where they were made of another catalogue than that with this ``epoch``.

        Indexes of which nothing is noted are those of the file in the home, which ``is_shared`` says it is not.
        """
        if self._linked is not None or not (is_shared or self._epoch.exists()):
            return
        noted = self._epoch.read_text("utf-8") if self._epoch.exists() else ""
        if noted != (now := epoch()):
            self.keep_only(tuple)
            with suppress(StorageFull):  # searches need no room on the disk
                self.note_epoch(now)

    def note_epoch(self, epoch: str) -> None:
        """Note that the indexes of the home are of the catalogue with this ``epoch``."""
        with storing(f"The file {str(self._epoch)!r}"):
            fresh = self._epoch.with_suffix(f".{os.getpid()}")
            fresh.write_text(epoch, "utf-8")
            fresh.replace(self._epoch)

    def empty(self, record: CollectionRecord) -> bool:
        """Begin anew with an index that is used through links; say whether it is."""
        if self._linked is None:
            return False
        self._linked.cut(self.index(record))
        return True

    def close(self) -> None:
        """Remove what is temporary."""
        if self._linked is not None:
            self._linked.close()

    def map(self, record: CollectionRecord) -> Path:
        """Return the place of a collection's map: one per model, whatever the generation of the index."""
        return self.path / "index" / f"map-{record.id}-{record.model_id}.npz"

    def drop_all_but(self, kept: Sequence[CollectionRecord]) -> None:
        """Remove the index folders and maps of a collection but those of these generations of it.

        Killed processes may have left some.
        """
        folder, number = self.path / "index", kept[0].id
        for path in self.all_but(kept):
            self._on_drop(path)
            shutil.rmtree(_set_aside(path), ignore_errors=True)
        maps = {self.map(record).stem for record in kept}
        for path in folder.glob(f"map-{number}-*"):
            if path.name.partition(".")[0] not in maps:
                path.unlink(missing_ok=True)

    def drop_index(self, record: CollectionRecord) -> None:
        """Remove the folder of the index of a generation."""
        folder = self.index(record)
        self._on_drop(folder)
        with storing("The search index"), suppress(FileNotFoundError):
            shutil.rmtree(folder)

    def all_but(self, kept: Sequence[CollectionRecord]) -> list[Path]:
        """Return the index folders of a collection but those of these generations of it."""
        wanted = {self.index(record) for record in kept}
        return [path for path in (self.path / "index").glob(f"{kept[0].id}-*") if path not in wanted]

    def keep_only(self, there: Callable[[], Collection[int]]) -> None:
        """Remove indexes, maps and locks of collections that are gone, as deleting leaves them, or being killed at it.

        ``there`` gives the ids of the collections there are. It is asked last: a folder is made after its collection.
        """
        if self._linked is not None:
            return
        found = [(path, _OF_COLLECTION.fullmatch(path.name)) for path in (self.path / "index").glob("*")]
        known = there() if found else ()
        for path, match in found:
            if match is not None and int(match[1]) not in known:
                self._on_drop(path)
                _remove(path)

    def keep_fetched(self, used: Callable[[], Collection[Path]]) -> None:
        """Remove what sources fetched that are not there any more.

        ``used`` gives the folders (``source``) of the sources there are. It is asked last: a folder is made after its
        source.
        """
        found = [path for path in (self.path / "sources").glob("*") if _FETCHED.fullmatch(path.name) and path.is_dir()]
        kept = used() if found else ()
        for path in found:
            if path not in kept:
                _remove(path)

    def drop_locks(self, collection: str, place: tuple[str, str, str]) -> None:
        """Remove the lock of a source that is not read into a collection any more, unless somebody holds it."""
        lock = self.reading(collection, place)
        if is_free(lock) and isinstance(lock, FileLock):
            Path(lock.lock_file).unlink(missing_ok=True)

    def rebuilding(self, record: CollectionRecord, timeout_s: float) -> FileLock:
        """Return the lock that is held while an index of a collection is built anew or gets another number."""
        return self._lock("index", f"{record.id}.lock", timeout_s)

    def embedding(self, record: CollectionRecord) -> Lock:
        """Return the lock of whoever embeds what waits in a collection."""
        return self._common("index", f"{record.id}.embedding.lock")

    def changing(self, record: CollectionRecord) -> Lock:
        """Return the lock of whoever builds, switches or drops the generation beside a collection."""
        return self._common("index", f"{record.id}.beside.lock", 0)

    def reading(self, collection: str, place: tuple[str, str, str]) -> Lock:
        """Return the lock of whoever reads the source at ``place`` (kind, location, part) into a collection."""
        name = hashlib.sha256("\0".join((collection, *place)).encode(errors="surrogatepass")).hexdigest()[:16]
        return self._common("sources", f"{name}.lock")

    def source(self, kind: str, location: str, ref: str | None) -> Path:
        """Return the folder in which a source may keep what it fetched."""
        name = hashlib.sha256(f"{kind} {location} {ref}".encode()).hexdigest()[:16]
        return self.path / "sources" / name

    def _common(self, part: str, name: str, timeout_s: float = -1) -> Lock:
        shared = self._shared_lock
        return shared(f"{part}/{name}", timeout_s) if shared else self._lock(part, name, timeout_s)

    def _lock(self, part: str, name: str, timeout_s: float = -1) -> FileLock:
        folder = (self.path if self._linked is None else self._linked.place) / part
        with storing(f"The folder {str(folder)!r}"):
            make_private(folder)
        return FileLock(folder / name, timeout=timeout_s, thread_local=False)


class LinkedFolders:
    """Temporary folders with links to all files of other folders, for their owner alone. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._folder = tempfile.TemporaryDirectory(prefix="pinakes-", ignore_cleanup_errors=True)
        self.place = Path(self._folder.name)

    def links_to(self, folder: Path) -> Path:
        """Return the folder of links for ``folder``, which is made the first time; locks are not linked."""
        linked = self.place / folder.parent.name / folder.name
        with self._lock:
            if not linked.is_dir():
                make_private(linked)
                for place, _, names in os.walk(folder):
                    here = linked / Path(place).relative_to(folder)
                    make_private(here)
                    for name in names:
                        if not name.endswith(".lock"):
                            (here / name).symlink_to(Path(place, name).absolute())
        return linked

    def cut(self, linked: Path) -> None:
        """Leave an empty folder in place of one of links."""
        with self._lock:
            shutil.rmtree(linked, ignore_errors=True)
            make_private(linked)

    def close(self) -> None:
        """Remove the links."""
        self._folder.cleanup()


def _set_aside(folder: Path) -> Path:
    """Rename a folder that is to be removed, so that whoever has it open finds all of it or nothing; return it."""
    if folder.suffix == _DROPPED:
        return folder
    with suppress(OSError):
        return folder.rename(folder.with_suffix(_DROPPED))
    return folder


def _remove(path: Path) -> None:
    """Remove a file or folder that may vanish meanwhile; what cannot be removed now stays for the next time."""
    if path.is_dir():
        shutil.rmtree(path, ignore_errors=True)
    else:
        with suppress(OSError):
            path.unlink()
