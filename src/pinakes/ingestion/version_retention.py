"""Whose work is written into histories, and for how long."""

from __future__ import annotations

from pinakes.catalog.history import Retention
from pinakes.core import caller
from pinakes.settings import HistorySettings


def keeping_of(history: HistorySettings) -> Retention:
    """Return how the caller of this moment writes histories."""
    return Retention(caller.current().label, history.days, history.versions)
