"""Ingestion: from a source to committed documents. ``run.py`` is the flow, ``embedding.py`` its most expensive step."""

from __future__ import annotations

from pinakes.ingestion.claiming import Claims
from pinakes.ingestion.embedding import Waiting, bind_model, embed, keep, readable, result_of, tell_sources
from pinakes.ingestion.progressive import Approximator, Backlog
from pinakes.ingestion.report import Event, Report
from pinakes.ingestion.run import Ingest
from pinakes.ingestion.run_options import RunOptions
from pinakes.ingestion.run_tools import Tools
from pinakes.ingestion.scan import check_place
from pinakes.ingestion.shared_files import OtherSource, held_by_others
from pinakes.ingestion.version_retention import keeping_of

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
    "result_of",
    "tell_sources",
]
