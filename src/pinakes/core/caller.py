"""The caller of an operation, known to everything that runs for it: for access control, the audit log and histories."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from pinakes.core.errors import InvalidInput, Refused

Scope: TypeAlias = Literal["read", "write", "admin"]
"""The rights of a caller. "admin" implies "write", and "write" implies "read"."""

Interface: TypeAlias = Literal["python", "cli", "http", "mcp", "websocket", "watch", "schedule"]

SESSION_HEADER: Final = "X-Session-Id"
"""Header in which a client of the HTTP interfaces names its session, so that its requests can be grouped."""

KEY_VARIABLE: Final = "PINAKES_KEY"
"""Environment variable with the key for remote servers. It is not a setting, because files never contain keys."""

_IMPLIED: dict[Scope, frozenset[Scope]] = {
    "read": frozenset({"read"}),
    "write": frozenset({"read", "write"}),
    "admin": frozenset({"read", "write", "admin"}),
}


@dataclass(frozen=True, slots=True)
class Caller:
    """A caller: ``name`` is that of its key, or "local" if no key is needed; ``session`` is sent by the client.

    ``collections``: those that the caller may use; None = all.
    """

    name: str = "local"
    interface: Interface = "python"
    session: str = ""
    scope: Scope = "admin"
    collections: tuple[str, ...] | None = None

    @property
    def label(self) -> str:
        """The name in histories, such as "local (cli)"."""
        return f"{self.name} ({self.interface})"

    def check(self, scope: Scope) -> None:
        """Check that this caller has ``scope``.

        Raises:
            Refused: the caller does not have ``scope``.
        """
        if not self.may(scope):
            raise Refused(f"{self.name!r} may not {scope}: its key is for {self.scope!r}.", hint="Use another key.")

    def may(self, scope: Scope) -> bool:
        """Return whether this caller has ``scope``."""
        return scope in _IMPLIED[self.scope]

    def sees(self, collection: str) -> bool:
        """Return whether this caller may use a collection; names are composed (NFC)."""
        return self.collections is None or collection in self.collections


_HERE = Caller()
_current: ContextVar[Caller] = ContextVar("caller", default=_HERE)


def current() -> Caller:
    """Return who is asking now."""
    return _current.get()


@contextmanager
def calling(caller: Caller) -> Iterator[Caller]:
    """Make ``caller`` the current one within the block; new threads do not inherit it unless given the context."""
    token = _current.set(caller)
    try:
        yield caller
    finally:
        _current.reset(token)


def shown_key() -> dict[str, str]:
    """Return the HTTP header with this process's key for remote servers; empty if it has no key.

    Raises:
        InvalidInput: the value of the environment variable is not a key.
    """
    key = os.environ.get(KEY_VARIABLE, "").strip()
    if not key:
        return {}
    if not (key.isascii() and key.isprintable()) or " " in key:
        raise InvalidInput(f"{KEY_VARIABLE} holds something that is no key.", hint="It begins with pnk_")
    return {"Authorization": f"Bearer {key}"}
