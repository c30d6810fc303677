"""Whose work is written into histories, and for how long."""

from __future__ import annotations

from pinakes.calls import caller
from pinakes.catalog.history import Keeping
from pinakes.settings import HistorySettings


def keeping_of(history: HistorySettings) -> Keeping:
    """Return how the caller of this moment writes histories."""
    return Keeping(caller.current().label, history.days, history.versions)
