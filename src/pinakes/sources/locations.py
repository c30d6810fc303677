"""Recognises what a typed location is: a folder, a file, a git repository, a web page or sitemap, an export."""

from __future__ import annotations

import difflib
import os
import re
import stat
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from pinakes.core.errors import InvalidInput, NotFound
from pinakes.core.wording import as_utf8
from pinakes.fetching import MAX_URL_CHARS, check_url, shown
from pinakes.settings import SourceSettings
from pinakes.settings.sources import whole_path
from pinakes.sources import exports, git_urls
from pinakes.text.parameter_cleaning import ParameterCleaner

_PAGE: Final = re.compile(
    r"\.(?:x?html?|aspx?|php|jsp|xml|xml\.gz|md|markdown|rst|txt|pdf|docx?|pptx?|xlsx?|od[tps]|epub|csv|json|ya?ml)$",
    re.IGNORECASE,
)
_KINDS: Final = ("folder", "git", "http", *exports.KINDS)


def recognise(location: str, ref: str | None = None, kind: str | None = None) -> SourceSettings:
    """Return the source settings for a typed ``location``, deriving the ``kind`` if it is not given.

    An http or https URL is a page or sitemap if it ends like one (``.html``, ``.xml``, ``.pdf``), has a query, or is
    only a host; all others, and bare repositories, are git. An existing local path is an export of Slack, Confluence or
    Notion if it clearly is one, else a folder or file, even if it is a git checkout, unless a ``ref`` (branch or tag)
    is given. Local paths are returned as by ``whole_path``.

    Raises:
        NotFound: a local path does not exist; the hint names similar ones.
        InvalidInput: a URL is unusable, a ``ref`` is given for something that is not a repository, or the ``kind`` is
            unknown.
    """
    location = location.strip()
    if not location:
        raise InvalidInput("No location was given.", hint="Give a folder, a file or the URL of a git repository.")
    if kind is not None and kind not in _KINDS:
        raise InvalidInput(f"There is no source of kind {kind!r}.", hint=f"Use {', '.join(_KINDS)}.")
    if ref is not None:
        git_urls.check_ref(ref)
        if kind not in (None, "git"):
            raise InvalidInput(f"A source of kind {kind} has no {ref!r}.", hint="Leave the ref out.")
    if kind == "http" or (kind is None and ref is None and _is_page(location)):
        return _settings("http", check_page(location))
    if git_urls.is_remote(location):
        local = git_urls.local_path(location)
        if local is None or kind == "git" or not os.path.lexists(local) or is_repository(local) or ref is not None:
            if kind not in (None, "git"):
                raise InvalidInput(f"{git_urls.redact(location)!r} is no {kind}.", hint="Give a path, or no kind.")
            return _settings("git", git_urls.check(location), ref)
        return _settings(kind or "folder", whole_path(str(local), Path("/")))
    return _local(location, ref, kind)


def path_from_here(location: str) -> str:
    """Return a typed path in the form in which sources are stored; unchanged if it is not a path."""
    try:
        return whole_path(location, Path())
    except (OSError, ValueError):
        return location


def check_page(url: str) -> str:
    """Return the normalised URL of a page or sitemap.

    Raises:
        InvalidInput: it cannot be fetched, or contains a login or a secret, which would be stored.
    """
    whole = check_url(url)
    if ParameterCleaner().text(whole, MAX_URL_CHARS) != whole:
        raise InvalidInput(
            f"{shown(whole)!r} carries a secret in its query, which would be stored.", hint="Leave it out."
        )
    return whole


def is_repository(path: Path) -> bool:
    """Return whether ``path`` is the top of a git checkout or a bare repository."""
    return os.path.lexists(path / ".git") or _is_bare(path)


def _local(location: str, ref: str | None, kind: str | None) -> SourceSettings:
    try:
        path = Path(whole_path(location, Path()))
    except (OSError, ValueError) as error:
        raise InvalidInput(f"{location!r} is no path here: {error}.", hint="Give the whole path.") from error
    if as_utf8(str(path)) != str(path):
        raise InvalidInput(f"'{as_utf8(str(path))}' is not valid UTF-8.", hint="Rename what is called so.")
    try:
        mode = path.stat().st_mode
    except (FileNotFoundError, NotADirectoryError) as error:
        if path.is_symlink():
            raise NotFound(
                f"{str(path)!r} is a link to {str(path.readlink())!r}, which does not exist.",
                hint="Mount or restore what it leads to, or give the place where that is now.",
            ) from error
        raise NotFound(f"{str(path)!r} does not exist.", hint=_near(location, path)) from error
    except (OSError, ValueError) as error:
        raise InvalidInput(
            f"{str(path)!r} cannot be looked at: {error}.", hint="Check it and its permissions."
        ) from error
    if not (stat.S_ISDIR(mode) or stat.S_ISREG(mode)):
        raise InvalidInput(f"{str(path)!r} is neither a folder nor a file.", hint="Give a folder, a file or a URL.")
    if kind is not None:
        return _settings(kind, str(path), ref)
    if _is_bare(path) or (ref is not None and is_repository(path)):
        return _settings("git", str(path), ref)
    if ref is not None:
        raise InvalidInput(f"{str(path)!r} is not a git repository, so it has no {ref!r}.", hint="Leave the ref out.")
    return _settings(exports.kind_of(path) or "folder", str(path))


def _is_page(location: str) -> bool:
    """Return whether a URL is that of a page rather than a repository."""
    if not location.lower().startswith(("http://", "https://")):
        return False
    try:
        parts = urlsplit(location)
    except ValueError:
        return False
    name = parts.path.rstrip("/").rpartition("/")[2]
    if parts.username is not None or name.endswith(".git"):  # git's validation rejects logins with a helpful message
        return False
    return not name or bool(parts.query) or _PAGE.search(name) is not None


def _settings(kind: str, location: str, ref: str | None = None) -> SourceSettings:
    return SourceSettings.model_validate({"kind": kind, "location": location, "ref": ref})


def _is_bare(path: Path) -> bool:
    return all(os.path.lexists(path / name) for name in ("HEAD", "objects", "refs"))


def _near(location: str, path: Path) -> str:
    """Return a hint for a path that does not exist: similar names, or the part of the path that exists."""
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
