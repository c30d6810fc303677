"""Locations of git repositories: validation, redaction, and URIs of their files."""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import quote, unquote, urlsplit

from pinakes.core.errors import InvalidInput

SCHEMES = ("https", "http", "ssh", "git", "file")

_SCP = re.compile(r"(?P<user>[\w.+-]+)@(?P<host>[\w.-]+):(?!//)(?P<path>[^\s]+)")
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:(//|:)")
_REF = re.compile(r"(?!-)(?!.*(\.\.|//|@\{|\.lock$|[/.]$))[^\s\x00-\x20\x7f~^:?*\[\\]+")
_LOGIN = re.compile(r"(https?://)\S*@", re.IGNORECASE)
_PASSWORD = re.compile(r"(\w+://[^\s/:@]*):\S*@")
_QUERY = re.compile(r"(\w+://[^\s?'\"]*)\?[^\s'\"]*")
_NO_SECRETS = "Leave it out: use a git credential helper, an SSH key, or GIT_CONFIG_* variables in the environment."


def redact(text: str) -> str:
    """Return ``text`` with the logins, passwords and queries of its URLs removed."""
    return _QUERY.sub(r"\1", _PASSWORD.sub(r"\1:***@", _LOGIN.sub(r"\1***@", text)))


def is_remote(location: str) -> bool:
    """Return whether ``location`` is a URL (``https://…``) or of the form ``user@host:path``."""
    return bool(_SCHEME.match(location) or _SCP.fullmatch(location))


def check(location: str) -> str:
    """Validate a URL, ``user@host:path`` or local path for git, and return it; local paths become absolute.

    Raises:
        InvalidInput: the scheme is unknown, the URL malformed, or it contains a login or a secret.
    """
    shown = redact(location)
    if any(ord(char) < 32 for char in location) or location.startswith("-"):
        raise InvalidInput(f"{shown!r} is not a location git can read.", hint="Give a URL or a path.")
    if _SCP.fullmatch(location):
        return location
    if not _SCHEME.match(location):
        return str(Path(location).expanduser().absolute())
    scheme = location.partition(":")[0].lower()
    if "://" not in location or scheme not in SCHEMES:
        raise InvalidInput(f"{shown!r} cannot be read: {scheme!r} is not supported.", hint=f"Use {', '.join(SCHEMES)}.")
    try:
        parts = urlsplit(location)
        host, secret = parts.hostname, parts.password is not None or bool(parts.query)
        secret = secret or (scheme in ("http", "https") and parts.username is not None)
        parts.port  # noqa: B018 - validates the port
    except ValueError as error:
        raise InvalidInput(f"{shown!r} is not a well-formed URL.", hint="Check it for typing errors.") from error
    if secret:
        raise InvalidInput(f"{shown!r} carries a login or a secret, which would be stored.", hint=_NO_SECRETS)
    if scheme != "file" and (not host or host.startswith("-")):
        raise InvalidInput(f"{shown!r} names no host.", hint="Check it for typing errors.")
    return location.rstrip("/")


def check_ref(ref: str) -> str:
    """Return ``ref`` if it is a valid name of a branch or tag.

    Raises:
        InvalidInput: it is not.
    """
    if not _REF.fullmatch(ref):
        raise InvalidInput(f"{ref!r} cannot be the name of a branch or tag.", hint="Check it for typing errors.")
    return ref


def local_path(location: str) -> Path | None:
    """Return the path of a ``file://`` URL or plain path, None for anything remote."""
    if location.lower().startswith("file://"):
        return Path(unquote(location[len("file://") :].removeprefix("localhost")) or "/")
    return None if is_remote(location) else Path(location)


def repository_uri(location: str) -> str:
    """Return the URI of a repository: ``user@host:path`` becomes ``ssh://…``, a path ``file://…``."""
    local = local_path(location)
    if local is not None:
        return local.absolute().as_uri()
    scp = _SCP.fullmatch(location)
    if scp:
        return f"ssh://{scp['user']}@{scp['host']}/{quote(scp['path'].lstrip('/'))}"
    return location


def file_uri(location: str, ref: str, path: str) -> str:
    """Return the URI of a file at ``ref``: its web page for ``https``, otherwise ``<url>?ref=…#path``."""
    repository = repository_uri(location)
    if repository.lower().startswith(("https://", "http://")):
        return f"{repository.removesuffix('.git')}/blob/{quote(ref)}/{quote(path)}"
    return f"{repository}?ref={quote(ref)}#{quote(path)}"
