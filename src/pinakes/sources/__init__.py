"""Sources: the places documents come from, one file per kind.

``folder`` reads a folder or one file where it lies; ``git`` reads the committed files of a repository.
"""

from __future__ import annotations

import difflib
import os
import stat
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import cast

from pinakes.errors import InvalidInput, NotFound
from pinakes.ports import Source
from pinakes.settings import SourceSettings
from pinakes.sources import urls

SOURCES = {
    "folder": "pinakes.sources.folder:FolderSource",
    "git": "pinakes.sources.git:GitSource",
}

__all__ = ["SOURCES", "open_source", "read_at", "recognise"]


def open_source(
    settings: SourceSettings, *, work: Path, max_file_bytes: int, git_timeout_s: float, avoid: Sequence[Path] = ()
) -> Source:
    """Open the source that ``settings`` describe; nothing is read yet.

    ``work`` is a folder this source alone may fill (a git source keeps its clone there); it need not exist.
    ``avoid`` are folders that are left out where they lie inside the source: our own.

    Raises:
        InvalidInput: a location or ref that no source can use, or that carries a password.
        InvalidSetting: an include or exclude pattern that cannot be parsed.
    """
    module, name = SOURCES[settings.kind].split(":")
    kind = getattr(import_module(module), name)
    limits = {"max_file_bytes": max_file_bytes, "git_timeout_s": git_timeout_s}
    return cast("Source", kind(settings, work=work, avoid=avoid, **limits))


def recognise(location: str, ref: str | None = None) -> SourceSettings:
    """Decide what a typed ``location`` is: a folder, a file or a git repository.

    URLs and bare repositories are git. An existing local path is a folder, also when it is a git checkout,
    unless a ``ref`` (branch or tag) is asked for. Local paths come back absolute.

    Raises:
        NotFound: a local path that does not exist; the hint names what is near.
        InvalidInput: a URL that cannot be used, or a ``ref`` of something that is no repository.
    """
    location = location.strip()
    if not location:
        raise InvalidInput("No location was given.", hint="Give a folder, a file or the URL of a git repository.")
    if ref is not None:
        urls.check_ref(ref)
    if urls.is_remote(location):
        local = urls.local_path(location)
        if local is None or not os.path.lexists(local) or is_repository(local) or ref is not None:
            return _settings("git", urls.check(location), ref)
        return _settings("folder", str(local))
    path = Path(location).expanduser().absolute()
    try:
        mode = path.stat().st_mode
    except (FileNotFoundError, NotADirectoryError) as error:
        raise NotFound(f"{str(path)!r} does not exist.", hint=_near(location, path)) from error
    except (OSError, ValueError) as error:
        raise InvalidInput(
            f"{str(path)!r} cannot be looked at: {error}.", hint="Check it and its permissions."
        ) from error
    if not (stat.S_ISDIR(mode) or stat.S_ISREG(mode)):
        raise InvalidInput(f"{str(path)!r} is neither a folder nor a file.", hint="Give a folder, a file or a URL.")
    if _is_bare(path) or (ref is not None and is_repository(path)):
        return _settings("git", str(path), ref)
    if ref is not None:
        raise InvalidInput(f"{str(path)!r} is not a git repository, so it has no {ref!r}.", hint="Leave the ref out.")
    return _settings("folder", str(path))


def read_at(kind: str, state: str | None) -> tuple[str | None, str | None]:
    """Return the branch or tag and the commit that a source was read at, as its ``state`` tells; None for others."""
    commit, _, ref = (state or "").partition(" ")
    if kind != "git" or not ref:
        return None, None
    return ref.removeprefix("refs/heads/").removeprefix("refs/tags/"), commit


def _settings(kind: str, location: str, ref: str | None = None) -> SourceSettings:
    return SourceSettings.model_validate({"kind": kind, "location": location, "ref": ref})


def is_repository(path: Path) -> bool:
    """Say whether ``path`` is the top of a git checkout or a bare repository."""
    return os.path.lexists(path / ".git") or _is_bare(path)


def _is_bare(path: Path) -> bool:
    return all(os.path.lexists(path / name) for name in ("HEAD", "objects", "refs"))


def _near(location: str, path: Path) -> str:
    """Return a hint for a path that does not exist: names like it, or how far the path does exist."""
    host, _, rest = location.partition("/")
    if rest and "." in host.strip(".") and not location.startswith(("/", "~", ".")):
        return f"Did you mean https://{location}?"
    existing = next(parent for parent in path.parents if os.path.lexists(parent))
    missing = path.relative_to(existing).parts[0]
    try:
        names = sorted(entry.name for entry in existing.iterdir())
    except OSError:
        return f"{str(existing)!r} exists, but cannot be listed."
    near = difflib.get_close_matches(missing, names, n=3)
    if near:
        return f"Did you mean {' or '.join(repr(str(existing / name)) for name in near)}?"
    return f"{str(existing)!r} exists, but there is no {missing!r} in it."
