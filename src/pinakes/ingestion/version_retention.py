"""How the current caller writes document histories, and how long versions are kept."""

from __future__ import annotations

from pinakes.catalog.history import Retention
from pinakes.core import caller
from pinakes.settings import HistorySettings


def keeping_of(history: HistorySettings) -> Retention:
    """Return the retention for the current caller."""
    return Retention(caller.current().label, history.days, history.versions)
