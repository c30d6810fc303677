"""Who is asking: known to everything that one call does, so that it can be allowed, recorded and named in histories."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from pinakes.core.errors import InvalidInput, Refused

Scope: TypeAlias = Literal["read", "write", "admin"]
"""What a caller may do. Who may write may read, who may administer may do both."""

Interface: TypeAlias = Literal["python", "cli", "http", "mcp", "websocket", "watch", "schedule"]

SESSION_HEADER: Final = "X-Session-Id"
"""Where a client of the HTTP interfaces says which of its requests belong together."""

KEY_VARIABLE: Final = "PINAKES_KEY"
"""The variable of the environment that holds the key for servers elsewhere. It is no setting: files never hold keys."""

_IMPLIED: dict[Scope, frozenset[Scope]] = {
    "read": frozenset({"read"}),
    "write": frozenset({"read", "write"}),
    "admin": frozenset({"read", "write", "admin"}),
}


@dataclass(frozen=True, slots=True)
class Caller:
    """One who calls: ``name`` is that of a key, or "local" where none is needed; ``session`` is what the client says.

    ``collections`` are those it may use, None = all.
    """

    name: str = "local"
    interface: Interface = "python"
    session: str = ""
    scope: Scope = "admin"
    collections: tuple[str, ...] | None = None

    @property
    def label(self) -> str:
        """What histories call it: "local (cli)"."""
        return f"{self.name} ({self.interface})"

    def check(self, scope: Scope) -> None:
        """Let only those pass who have ``scope``.

        Raises:
            Refused: this caller has not.
        """
        if not self.may(scope):
            raise Refused(f"{self.name!r} may not {scope}: its key is for {self.scope!r}.", hint="Use another key.")

    def may(self, scope: Scope) -> bool:
        """Say whether this caller has ``scope``."""
        return scope in _IMPLIED[self.scope]

    def sees(self, collection: str) -> bool:
        """Say whether this caller may use a collection; names are composed (NFC)."""
        return self.collections is None or collection in self.collections


_HERE = Caller()
_current: ContextVar[Caller] = ContextVar("caller", default=_HERE)


def current() -> Caller:
    """Return who is asking now."""
    return _current.get()


@contextmanager
def calling(caller: Caller) -> Iterator[Caller]:
    """Let ``caller`` be who asks within the block; threads it starts do not know unless they are given the context."""
    token = _current.set(caller)
    try:
        yield caller
    finally:
        _current.reset(token)


def shown_key() -> dict[str, str]:
    """Return the header by which this process shows its key to a server elsewhere; none where it has no key.

    Raises:
        InvalidInput: the variable of the environment holds what is no key.
    """
    key = os.environ.get(KEY_VARIABLE, "").strip()
    if not key:
        return {}
    if not (key.isascii() and key.isprintable()) or " " in key:
        raise InvalidInput(f"{KEY_VARIABLE} holds something that is no key.", hint="It begins with pnk_")
    return {"Authorization": f"Bearer {key}"}
