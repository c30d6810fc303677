"""Cost of one call to a provider: checked before, reported afterwards."""

from __future__ import annotations

from collections.abc import Iterable

from pinakes.app import App
from pinakes.app.spending import Charges, check
from pinakes.core.errors import ModelUnavailable, TooCostly
from pinakes.ingestion.report import Report
from pinakes.services import ingestion_runs


class Spending:
    """What this thread spends from now on; ``so_far`` returns what that is until then."""

    def __init__(self, app: App) -> None:
        self._app, self.so_far = app, Charges(app.embedders).since

    def allow(self, agreed: bool) -> None:
        """Let work that begins from now on cost anything, or only what may be spent unasked."""
        self._app.agreed = agreed

    def unpaid(self, reports: Iterable[Report]) -> list[TooCostly]:
        """Return an error for each collection that was read and waits until somebody agrees to what it costs."""
        found: list[TooCostly] = []
        for name in dict.fromkeys(report.collection for report in reports if report.degraded):
            try:
                if not self._app.agreed:
                    check(ingestion_runs.cost_estimate(self._app, self._app.record(name)))
            except TooCostly as error:
                found.append(error)
            except ModelUnavailable:  # the report says so, and without the model nothing is paid for
                continue
        return found
