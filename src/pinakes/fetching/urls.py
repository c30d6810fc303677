"""URLs that may be fetched: http and https, without a login."""

from __future__ import annotations

from typing import Final
from urllib.parse import urlsplit

from pinakes.core.errors import InvalidInput

MAX_URL_CHARS: Final = 4000

_NO_LOGIN = "Leave it out: it would be stored. What needs a login cannot be fetched from here."


def check_url(url: str) -> str:
    """Return the normal form of ``url``: encoded, with its host in ASCII and lower case, without its fragment.

    Raises:
        InvalidInput: the URL is malformed or too long, has another scheme than http and https, or contains a login.
    """
    import httpx

    text = url.strip()
    seen = shown(text)
    if len(text) > MAX_URL_CHARS:
        raise InvalidInput(f"A URL may have {MAX_URL_CHARS} characters; {seen[:80]!r}… has {len(text)}.")
    try:
        parsed = httpx.URL(text)
        port = parsed.port
    except (httpx.InvalidURL, ValueError, UnicodeError) as error:
        rest = f"…@{seen.rpartition('@')[2]}" if "@" in seen else seen  # the part before may be a password
        raise InvalidInput(f"{rest!r} is not a well-formed URL.", hint="Check it for typing errors.") from error
    if parsed.scheme not in ("http", "https"):
        raise InvalidInput(f"{seen!r} cannot be fetched: it is no http or https address.", hint="Use https://….")
    if parsed.userinfo:
        raise InvalidInput(f"{seen!r} carries a login.", hint=_NO_LOGIN)
    if not parsed.host or (port is not None and not 0 < port < 65_536):
        raise InvalidInput(f"{seen!r} names no host that can be reached.", hint="Check it for typing errors.")
    parts = urlsplit(str(parsed))
    return parts._replace(path=parts.path or "/", fragment="").geturl()


def shown(url: str) -> str:
    """Return ``url`` for messages: without login and query, which may contain secrets."""
    head = url.partition("?")[0].partition("#")[0]
    try:
        parts = urlsplit(head)
    except ValueError:
        return head.rpartition("@")[2]
    return parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl()
