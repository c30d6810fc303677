"""What of a home a backup holds; the rest is made or fetched anew, or told as left out."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

from pinakes.settings import Settings
from pinakes.settings.layers import OWN_FILES
from pinakes.settings.sources import whole_path

CATALOG, INDEX = "catalog.db", "index"
FILES, FOLDERS = (CATALOG, *OWN_FILES), ("evaluations", "knowledge_base", "sources.d", INDEX)
"""What of every home is kept. What sources fetched, locks and the note of which server runs belong to one machine."""

STAGING, UNDER_WAY = ".restoring-", ".pinakes-backup-"
_OF_MACHINE = re.compile(
    r"sources|cache|home\.(id|epoch|\d+)(\..*)?|server\.json(\..*)?|(startup|migrate|(webhook|worker)-[0-9a-f]+)\.lock|catalog\.db-(wal|shm|journal)"
    rf"|({re.escape(STAGING)}|{re.escape(UNDER_WAY)}).*"
)
"""What Pinakes has at the top of a home besides."""

_FOREIGN = re.compile(r"[\\\0\ud800-\udfff]")
"""What no name in a zip file can have: backslashes, and bytes that are no UTF-8."""

_NOT_OURS = "not Pinakes' own; back it up by itself"
_AMONG_OURS = "lies among what is made or fetched anew; move it elsewhere"


def may_hold(name: str) -> bool:
    """Say whether a backup may have a member ``name``: settings may keep folders of a home anywhere in it."""
    top, *below = name.split("/")
    plain = not _FOREIGN.search(name) and all(part not in ("", ".", "..") for part in (top, *below))
    return plain and (name in FILES or (bool(below) and top not in FILES and not _OF_MACHINE.fullmatch(top)))


class KeptFiles:
    """What is kept of the home of these settings: the folders of sources and of the knowledge base wherever in it."""

    def __init__(self, settings: Settings) -> None:
        self._home = settings.home.expanduser().absolute()
        self._cache = settings.cache.expanduser().absolute()
        named = (str(settings.sources_dir), str(settings.knowledge_base.folder))
        self._named = [Path(whole_path(one, self._home)) for one in named]
        self._read = [
            Path(one.location)
            for rules in settings.collections.values()
            for one in rules.sources
            if one.location.startswith("/")
        ]
        own = [self._home / name for name in FOLDERS]
        kept = [one for one in self._named if self._is_inside(one) and not self._is_of_machine(one)]
        self._folders = _outermost([*own, *kept])

    def has(self, place: Path) -> bool:
        """Say whether a file at ``place`` is, or would be, part of what is kept."""
        files = [self._home / name for name in FILES]
        return any(place.is_relative_to(one) for one in (*files, *self._folders))

    def members(self, copy: Path) -> list[tuple[str, Path]]:
        """Return name in the archive → file, of all that is kept; those of the catalogue and the index are copies."""
        found = [(CATALOG, copy / CATALOG)]
        found += [(name, self._home / name) for name in FILES if name != CATALOG and (self._home / name).is_file()]
        for folder in self._folders:
            root = copy if folder == self._home / INDEX else self._home
            there = _files_in(root / folder.relative_to(self._home))
            found += [(path.relative_to(root).as_posix(), path) for path in there]
        return [(name, path) for name, path in found if not (name.startswith(f"{INDEX}/") and name.endswith(".lock"))]

    def left_out(self, place: Path) -> list[str]:
        """Return what is in the home and not kept, with reasons, less what is made anew and the backup ``place``."""
        others = [one for one in self._others(self._home) if one != place]
        among = [one for one in (*self._named, *self._read) if self._is_inside(one) and self._is_of_machine(one)]
        reasons = [(one, _NOT_OURS) for one in others]
        reasons += [(one, _AMONG_OURS) for one in dict.fromkeys(among) if one.exists()]
        return [f"{one.relative_to(self._home).as_posix()}: {why}" for one, why in reasons]

    def _others(self, folder: Path) -> Iterator[Path]:
        for path in sorted(folder.iterdir()):
            if path in self._folders or self._is_of_machine(path) or path.relative_to(self._home).as_posix() in FILES:
                continue
            if path.is_dir() and any(one.is_relative_to(path) for one in self._folders):
                yield from self._others(path)
            else:
                yield path

    def _is_inside(self, path: Path) -> bool:
        return path != self._home and path.is_relative_to(self._home)

    def _is_of_machine(self, path: Path) -> bool:
        top = path.relative_to(self._home).parts[0]
        return top == INDEX or _OF_MACHINE.fullmatch(top) is not None or path.is_relative_to(self._cache)


def _outermost(folders: list[Path]) -> list[Path]:
    """Return these folders, each once, less those that lie in another one."""
    once = dict.fromkeys(folders)
    return [one for one in once if not any(one != other and one.is_relative_to(other) for other in once)]


def _files_in(folder: Path) -> Iterator[Path]:
    """Yield what is in a folder and not a folder itself; links are not followed."""
    for root, folders, names in os.walk(folder):
        folders.sort()
        place = Path(root)
        yield from (place / name for name in sorted([*names, *(one for one in folders if (place / one).is_symlink())]))
