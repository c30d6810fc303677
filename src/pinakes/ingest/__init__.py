"""From a source to committed documents: ``run.py`` is the flow, ``embedding.py`` its dearest step."""

from __future__ import annotations

from pinakes.ingest.embedding import Waiting, bind, drained, embed, keep, readable, tell_sources
from pinakes.ingest.held import OtherSource, held_by_others
from pinakes.ingest.keeping import keeping_of
from pinakes.ingest.outcome import How
from pinakes.ingest.places import check_place
from pinakes.ingest.progressive import Approximator, Backlog
from pinakes.ingest.report import Event, Report
from pinakes.ingest.run import Ingest, Tools

__all__ = [
    "Approximator",
    "Backlog",
    "Event",
    "How",
    "Ingest",
    "OtherSource",
    "Report",
    "Tools",
    "Waiting",
    "bind",
    "check_place",
    "drained",
    "embed",
    "held_by_others",
    "keep",
    "keeping_of",
    "readable",
    "tell_sources",
]
