"""A whole home as one archive, made while it serves; and a home made of such an archive."""

from __future__ import annotations

import os
import secrets
import shutil
import stat
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path, PurePosixPath

from filelock import FileLock, Timeout

from pinakes.app import App
from pinakes.catalog import Catalog, collections, events, integrity
from pinakes.catalog.sources import relocate_sources
from pinakes.core.errors import InvalidInput, InvalidSetting, storing
from pinakes.core.records import JSON
from pinakes.core.step_reports import OnStep, ignore_step
from pinakes.indexes import is_elsewhere
from pinakes.platform.archives import ArchiveReader, ArchiveWriter, Kind, check_free, damaged, opened, written
from pinakes.platform.permissions import PRIVATE_FILE, make_private
from pinakes.services.backup.kept_files import CATALOG, INDEX, STAGING, UNDER_WAY, KeptFiles, may_hold
from pinakes.settings.layers import OWN_FILES, read_file
from pinakes.settings.sources import whole_path

_LOCK = "under-way.lock"
_BLOCK_BYTES = 1 << 20
_FAST = 1
_WHAT = "The home"

KIND = Kind("pinakes-home", 1, "backup of a home", may_hold)


@dataclass(frozen=True, slots=True)
class BackedUp:
    """A backup that was made: where, how large (bytes), what it holds, how long it took. ``left_out``: with reasons."""

    file: str
    bytes: int
    collections: int
    documents: int
    with_index: bool
    files: int
    left_out: tuple[str, ...]
    seconds: float


@dataclass(frozen=True, slots=True)
class Restored:
    """A home that was made of a backup, which was made ``of`` a time (ISO 8601, UTC) by ``software``."""

    home: str
    of: str
    software: str
    collections: int
    documents: int
    with_index: bool
    files: int
    bytes: int
    seconds: float


def back_up(
    app: App,
    place: Path | str,
    *,
    with_index: bool = False,
    force: bool = False,
    on_step: OnStep = ignore_step,
) -> BackedUp:
    """Write the home to the file ``place``, or into that folder under a name with the time.

    The catalogue is as it stands at one moment, keys and audit log included, while others go on writing. Indexes are
    derived, so they are left out, or ``with_index`` built anew beside it to what the copy of the catalogue holds.

    Raises:
        InvalidInput: something is there already, unless ``force`` lets go of it, or it is part of what is kept.
        StorageFull: it cannot be written; nothing is there then.
        CatalogueCorrupt: the catalogue is damaged.
    """
    start = time.perf_counter()
    holding = KeptFiles(app.settings)
    place = _named(app.settings.home, holding, Path(place))
    check_free(place, force=force)
    with _staging(place) as copy, written(place, KIND, force=force, level=_FAST, within=copy) as archive:
        on_step("catalogue", 0, 0)
        app.catalog.copy_to(copy / CATALOG)
        held = integrity.row_counts(copy / CATALOG)
        if with_index:
            on_step("index", 0, 0)
            _build_indexes(app, copy)
        about = {"collections": held[0], "documents": held[1], "with_index": with_index}
        archive.about["home"] = {**about, "place": whole_path(str(app.settings.home), Path())}
        left_out = _pack(archive, holding.members(copy), on_step)
        left_out += holding.left_out(place)
        files = len(archive.members)
    seconds = round(time.perf_counter() - start, 2)
    return BackedUp(str(place), place.stat().st_size, *held, with_index, files, tuple(left_out), seconds)


def restore(file: Path, home: Path, on_step: OnStep = ignore_step) -> Restored:
    """Make a home at ``home``, where nothing is but perhaps an empty folder or one of models, of the backup ``file``.

    Everything is checked before anything is put in its place; the catalogue, which makes it a home, comes last.
    Where that fails, nothing of it stays, nor folders that were made for it.

    Raises:
        NotFound: there is no such file.
        Unreadable: it is no backup, damaged, changed, or of a newer version.
        InvalidInput: something is at ``home``.
        StorageFull: it cannot be written, or there is no room.
    """
    start = time.perf_counter()
    with opened(file, KIND) as archive, storing(_WHAT):
        _check_empty(home)
        existing = next(folder for folder in (home, *home.absolute().parents) if folder.is_dir())
        archive.check_room(existing, "The backup")
        made = [folder for folder in (home, *home.parents) if not folder.exists()]
        make_private(home)
        staging = home / f"{STAGING}{secrets.token_hex(4)}"
        try:
            make_private(staging)
            _check_empty(home, staging)  # once more: another one may have begun at the same moment
            _unpack(archive, file, staging, on_step)
            on_step("checking", 0, 0)
            _adopt(staging, home, archive)
            held = integrity.row_counts(staging / CATALOG)
            _put_in_place(staging, home)
        except BaseException:
            shutil.rmtree(staging, ignore_errors=True)
            with suppress(OSError):
                for folder in made:
                    folder.rmdir()  # which leaves what another process has put there
            raise
        shutil.rmtree(staging, ignore_errors=True)
        about, members = archive.manifest, archive.members
    seconds = round(time.perf_counter() - start, 2)
    of, software = str(about.get("created_at", "")), str(about.get("software", ""))
    with_index = any(name.startswith(f"{INDEX}/") for name in members)
    return Restored(str(home), of, software, *held, with_index, len(members), archive.bytes, seconds)


def _named(home: Path, holding: KeptFiles, place: Path) -> Path:
    """Return the file to be written: in a folder one that is named after the home and the time."""
    place = place.expanduser().absolute()
    if place.is_dir():
        at = datetime.now(UTC).strftime("%Y-%m-%dT%H%M%SZ")
        place /= f"{home.absolute().name.lstrip('.') or 'pinakes'}-{at}.zip"
    if holding.has(place):
        raise InvalidInput(f"{str(place)!r} lies in what is backed up.", hint="Choose a place outside of the home.")
    return place


@contextmanager
def _staging(place: Path) -> Iterator[Path]:
    """Give an empty folder beside ``place``; remove those that were left there by backups that were killed."""
    with storing(f"The backup {str(place)!r}"):
        for left in place.parent.glob(f"{UNDER_WAY}*/{_LOCK}"):
            with suppress(Timeout, OSError), FileLock(left, timeout=0):
                shutil.rmtree(left.parent, ignore_errors=True)
        staging = tempfile.TemporaryDirectory(prefix=UNDER_WAY, dir=place.parent)
    with staging as folder, FileLock(Path(folder, _LOCK)):
        yield Path(folder)


def _build_indexes(app: App, copy: Path) -> None:
    """Build the indexes of a copied catalogue beside it: what another process writes meanwhile is not in them.

    One that engines keep elsewhere would be that of the original, so it is left out.
    """
    here = app.home.path / INDEX
    make_private(copy / INDEX)
    for place in here.glob("map-*.npz"):
        with suppress(FileNotFoundError):
            shutil.copyfile(place, copy / INDEX / place.name)
    beside = App(app.settings.model_copy(update={"home": copy}))
    try:
        with beside.catalog.read() as connection:
            records = collections.list_all(connection)
        for record in records:
            if not is_elsewhere(beside.rules(record).engine or beside.settings.index.engine):
                beside.index(record.name)
    finally:
        beside.close()


def _pack(archive: ArchiveWriter, members: list[tuple[str, Path]], on_step: OnStep) -> list[str]:
    """Write these files; return which could not be, and why."""
    left_out: list[str] = []
    total = sum(path.lstat().st_size for _, path in members if path.exists())
    done = 0
    for name, path in members:
        try:
            if not stat.S_ISREG(path.lstat().st_mode):
                left_out.append(f"{name}: not a plain file")
                continue
            if not may_hold(name):
                left_out.append(f"{name}: no archive can have a file of that name")
                continue
            source = path.open("rb")
        except OSError as error:
            left_out.append(f"{name}: {error.strerror}")
            continue
        with source, archive.member(name) as member:
            while data := source.read(_BLOCK_BYTES):
                member.write(data)
                done += len(data)
                on_step("packing", done, total)
    return left_out


def _check_empty(home: Path, own: Path | None = None) -> None:
    """Refuse a home in which anything is but models and ``own``, the folder of this restoring."""
    there = sorted(path.name for path in home.iterdir() if path != own) if home.is_dir() else []
    if home.exists() and not home.is_dir():
        raise InvalidInput(f"{str(home)!r} is no folder.", hint="Name another home: --home FOLDER")
    if left := [name for name in there if name.startswith(STAGING)]:
        hint = f"Empty it, then restore again: {left[0]} and what else is there is of no use."
        raise InvalidInput(f"In {str(home)!r} a backup is being restored, or its restoring was stopped.", hint=hint)
    if others := [name for name in there if name != "cache"]:
        raise InvalidInput(
            f"{str(home)!r} is not empty: there is {others[0]!r}.",
            hint="Restore into a new home: --home FOLDER. Nothing is ever overwritten.",
        )


def _unpack(archive: ArchiveReader, file: Path, staging: Path, on_step: OnStep) -> None:
    if CATALOG not in archive.members:
        raise damaged(file, "it has no catalogue")
    done = 0
    for name in archive.members:
        place = staging.joinpath(*PurePosixPath(name).parts)
        make_private(place.parent)
        with archive.member(name) as member, place.open("xb") as target:
            while data := member.read(_BLOCK_BYTES):
                target.write(data)
                done += len(data)
                on_step("unpacking", done, archive.bytes)
            target.flush()
            os.fsync(target.fileno())


def _adopt(staging: Path, home: Path, archive: ArchiveReader) -> None:
    """Bring the catalogue to the tables of this version, and to its ``home``, while nobody else is there.

    The numbers of events go on at the milliseconds of the time: more than any home gave, another for each restoring.
    """
    about = archive.manifest.get("home")
    place = about.get("place") if isinstance(about, dict) else None
    here = Path(whole_path(str(home), Path()))
    with closing(Catalog.at(staging)) as catalog, catalog.write() as connection:
        events.skip_numbers(connection, time.time_ns() // 1_000_000)
        if isinstance(place, str) and Path(place).is_absolute() and Path(place) != here:
            relocate_sources(connection, Path(place), here, _named_in(staging, here))


def _named_in(folder: Path, home: Path) -> set[str]:
    """Return whatever may be a place in the settings of a home: places that are named in full stay where they are."""
    found: list[str] = []
    for file in (folder / name for name in OWN_FILES):
        with suppress(InvalidSetting):  # which is told by the first command
            found += _texts(read_file(file)) if file.is_file() else ()
    return {whole_path(one, home) for one in found if "\0" not in one}


def _texts(value: JSON) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for one in value.values() if isinstance(value, dict) else value:
            yield from _texts(one)


def _put_in_place(staging: Path, home: Path) -> None:
    """Move everything out of ``staging``, or nothing: where one cannot be moved, the others go back."""
    names = sorted((path.name for path in staging.iterdir()), key=lambda name: (name == CATALOG, name))
    (staging / CATALOG).chmod(PRIVATE_FILE)
    try:
        for name in names:
            (staging / name).rename(home / name)
    except BaseException:
        for name in names:
            if not (staging / name).exists():
                (home / name).rename(staging / name)
        raise
