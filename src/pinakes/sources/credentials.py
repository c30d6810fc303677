"""Tokens for sources: settings name an environment variable; the token is only used in requests that need it."""

from __future__ import annotations

import base64
import os
from urllib.parse import urlsplit

from pinakes.core.errors import InvalidInput, SourceError
from pinakes.core.loopback import is_loopback
from pinakes.settings import SourceSettings

_USER = "x-access-token"
"""The user name that forges expect with a token."""


def token_of(source: SourceSettings) -> str:
    """Return the token for a source from the environment, "" if its settings name no variable.

    Raises:
        SourceError: the variable is not set, or has several lines.
    """
    name = source.token_variable
    if not name:
        return ""
    token = os.environ.get(name, "").strip()
    if not token:
        raise SourceError(
            f"The variable {name}, which is to hold the token for {source.location!r}, is not set.",
            hint=f"Set it in the environment of this program, or take {named_by(source)} out.",
        )
    if not token.isprintable():
        raise SourceError(f"The variable {name} holds no token: it has several lines.", hint="Set it to the token.")
    return token


def named_by(source: SourceSettings) -> str:
    """Return what names the token of a source: its settings, or the document that declares it."""
    return "secretRef" if source.open_network_only else "token_variable"


def git_settings(location: str, token: str, named_by: str = "token_variable") -> dict[str, str]:
    """Return git settings that send ``token`` only to the host of ``location``; ``named_by``: the setting of the token.

    A token of the form ``user:secret`` is sent as that login.

    Raises:
        InvalidInput: the token would be sent unencrypted, or the location takes none.
    """
    if not token:
        return {}
    parts = urlsplit(location)
    if parts.scheme not in ("https", "http"):
        raise InvalidInput(
            f"{location!r} takes no token.",
            hint=f"Take {named_by} out, or give the https URL of the repository.",
        )
    check_protected(location)
    login = token if ":" in token else f"{_USER}:{token}"
    shown = base64.b64encode(login.encode()).decode()
    return {f"http.{parts.scheme}://{parts.netloc}/.extraHeader": f"Authorization: Basic {shown}"}


def check_protected(location: str) -> None:
    """Check that a token may be sent to a URL.

    Raises:
        InvalidInput: the token would be sent unencrypted.
    """
    parts = urlsplit(location)
    host = parts.hostname or ""
    if parts.scheme == "http" and (host.endswith(".localhost") or not is_loopback(host)):  # a resolver may ask others
        raise InvalidInput(f"The token for {location!r} would be sent unprotected.", hint="Give the https URL.")
