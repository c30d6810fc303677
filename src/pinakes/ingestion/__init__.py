"""Ingestion: from a source to committed documents. ``run.py`` is the flow, ``embedding.py`` its most expensive step.

Each name is loaded when it is first used: a search needs few of them.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pinakes.ingestion.claiming import Claims
    from pinakes.ingestion.embedding import Waiting, bind_model, embed, keep, readable, tell_sources
    from pinakes.ingestion.progressive import Approximator, Backlog
    from pinakes.ingestion.report import Event, Report
    from pinakes.ingestion.run import Ingest
    from pinakes.ingestion.run_options import RunOptions
    from pinakes.ingestion.run_tools import Tools, keeping_of
    from pinakes.ingestion.scan import check_place
    from pinakes.ingestion.shared_files import OtherSource, held_by_others

__all__ = [
    "Approximator",
    "Backlog",
    "Claims",
    "Event",
    "Ingest",
    "OtherSource",
    "Report",
    "RunOptions",
    "Tools",
    "Waiting",
    "bind_model",
    "check_place",
    "embed",
    "held_by_others",
    "keep",
    "keeping_of",
    "readable",
    "tell_sources",
]

_MODULES = {
    "Approximator": "progressive",
    "Backlog": "progressive",
    "Claims": "claiming",
    "Event": "report",
    "Ingest": "run",
    "OtherSource": "shared_files",
    "Report": "report",
    "RunOptions": "run_options",
    "Tools": "run_tools",
    "Waiting": "embedding",
    "bind_model": "embedding",
    "check_place": "scan",
    "embed": "embedding",
    "held_by_others": "shared_files",
    "keep": "embedding",
    "keeping_of": "run_tools",
    "readable": "embedding",
    "tell_sources": "embedding",
}
"""Name → the module that has it."""


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return getattr(import_module(f"pinakes.ingestion.{_MODULES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
