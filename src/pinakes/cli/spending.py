"""What embedding costs, on the command line: asked for before much is spent, told afterwards."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING

from pinakes.cli.session import Session
from pinakes.core.errors import ModelUnavailable, TooCostly
from pinakes.core.records import JSON

if TYPE_CHECKING:
    from pinakes.app.spending import Charge, Charges
    from pinakes.ingestion import Report
    from pinakes.library import Library


class SpendingLimit:
    """What one call of a command may spend on embedding, and what it did."""

    def __init__(self, session: Session, library: Library, yes: bool) -> None:
        """``yes``: whatever it costs."""
        from pinakes.app.spending import Charges

        library.app.agreed = yes
        self._session = session
        self._library = library
        self._before: Charges = Charges(library.app.embedders)

    def unpaid(self, reports: Iterable[Report]) -> list[TooCostly]:
        """Return an error for each collection that was read and waits until somebody agrees to what it costs."""
        from pinakes.app.spending import check

        found: list[TooCostly] = []
        for name in dict.fromkeys(report.collection for report in reports if report.degraded):
            try:
                if not self._library.app.agreed:
                    check(self._library.app.bill(self._library.collection(name)))
            except TooCostly as error:
                found.append(error)
            except ModelUnavailable:  # the report says so, and without the model nothing is paid for
                continue
        return found

    def agrees(self, error: TooCostly) -> bool:
        """Ask whoever sits at the terminal, and say whether they agree; without one nobody does."""
        screen = self._session.screen
        if screen.as_json or not (sys.stdin.isatty() and screen.err.is_terminal):
            return False
        import typer

        screen.say(error.message)
        self._library.app.agreed = typer.confirm("Go on?", err=True)
        return self._library.app.agreed

    def charge(self) -> Charge:
        """Return what was spent so far."""
        return self._before.since()

    def document(self) -> dict[str, JSON]:
        """Return what was spent, for JSON; nothing where no provider was asked."""
        charge = self.charge()
        told: dict[str, JSON] = {"requests": charge.requests, "tokens": charge.tokens, "dollars": charge.dollars}
        return {"spent": told} if charge.requests else {}

    def tell(self) -> None:
        """Print what was spent, where a provider was asked."""
        if words := self.charge().words():
            self._session.screen.report(f"spent: {words}")
