"""Tokens for sources: the settings name a variable of the environment, and only the request that needs it gets it."""

from __future__ import annotations

import base64
import ipaddress
import os
from urllib.parse import urlsplit

from pinakes.core.errors import InvalidInput, SourceError
from pinakes.settings import SourceSettings

_USER = "x-access-token"
"""Who forges take a token from that says no name of its own."""


def token_of(source: SourceSettings) -> str:
    """Return the token that the environment holds for a source, "" where its settings name no variable.

    Raises:
        SourceError: the variable is not set, or holds more than a line.
    """
    name = source.token_variable
    if not name:
        return ""
    token = os.environ.get(name, "").strip()
    if not token:
        raise SourceError(
            f"The variable {name}, which is to hold the token for {source.location!r}, is not set.",
            hint="Set it in the environment of this program, or take token_variable out of the settings.",
        )
    if not token.isprintable():
        raise SourceError(f"The variable {name} holds no token: it has several lines.", hint="Set it to the token.")
    return token


def git_settings(location: str, token: str) -> dict[str, str]:
    """Return the settings of git that show ``token`` to the host of ``location`` and to no other.

    A token of the form ``user:secret`` is a login.

    Raises:
        InvalidInput: it would be sent unprotected, or to nobody.
    """
    if not token:
        return {}
    parts = urlsplit(location)
    if parts.scheme not in ("https", "http"):
        raise InvalidInput(
            f"{location!r} takes no token.", hint="Take token_variable out, or give the https URL of the repository."
        )
    check_protected(location)
    login = token if ":" in token else f"{_USER}:{token}"
    shown = base64.b64encode(login.encode()).decode()
    return {f"http.{parts.scheme}://{parts.netloc}/.extraHeader": f"Authorization: Basic {shown}"}


def check_protected(location: str) -> None:
    """Let a URL pass to which a token may be sent.

    Raises:
        InvalidInput: others could read it on its way.
    """
    parts = urlsplit(location)
    if parts.scheme == "http" and not _is_here(parts.hostname or ""):
        raise InvalidInput(f"The token for {location!r} would be sent unprotected.", hint="Give the https URL.")


def _is_here(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
