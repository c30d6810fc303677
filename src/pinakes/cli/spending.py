"""What embedding costs, on the command line: asked for before much is spent, told afterwards."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from pinakes.cli.session import Session
from pinakes.core.errors import TooCostly
from pinakes.core.records import JSON

if TYPE_CHECKING:
    from pinakes.library import Library


class SpendingLimit:
    """What one call of a command may spend on embedding, and what it did."""

    def __init__(self, session: Session, library: Library, yes: bool) -> None:
        """``yes``: whatever it costs."""
        self._session = session
        self._spending = library.spending()
        self._spending.allow(yes)
        self.unpaid = self._spending.unpaid

    def agrees(self, error: TooCostly) -> bool:
        """Ask whoever sits at the terminal, and say whether they agree; without one nobody does."""
        screen = self._session.screen
        if screen.as_json or not (sys.stdin.isatty() and screen.err.is_terminal):
            return False
        import typer

        screen.say(error.message)
        agreed = typer.confirm("Go on?", err=True)
        self._spending.allow(agreed)
        return agreed

    def document(self) -> dict[str, JSON]:
        """Return what was spent, for JSON; nothing where no provider was asked."""
        charge = self._spending.so_far()
        spent: dict[str, JSON] = {"requests": charge.requests, "tokens": charge.tokens, "dollars": charge.dollars}
        return {"spent": spent} if charge.requests else {}

    def tell(self) -> None:
        """Print what was spent, where a provider was asked."""
        if words := self._spending.so_far().words():
            self._session.screen.report(f"spent: {words}")
