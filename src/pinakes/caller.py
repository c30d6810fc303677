"""Who is asking: known to everything that one call does, so that it can be allowed, recorded and named in histories."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Literal, TypeAlias

from pinakes.errors import Refused

Scope: TypeAlias = Literal["read", "write", "admin"]
"""What a caller may do. Who may write may read, who may administer may do both."""

Interface: TypeAlias = Literal["python", "cli", "http", "mcp", "websocket", "watch"]

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

    def check(self, scope: Scope) -> None:
        """Let only those pass who have ``scope``.

        Raises:
            Refused: this caller has not.
        """
        if scope not in _IMPLIED[self.scope]:
            raise Refused(f"{self.name!r} may not {scope}: its key is for {self.scope!r}.", hint="Use another key.")

    def sees(self, collection: str) -> bool:
        """Say whether this caller may use a collection."""
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
