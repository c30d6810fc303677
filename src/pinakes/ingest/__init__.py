"""From a source to committed documents: ``run.py`` is the flow, ``embedding.py`` its dearest step."""

from __future__ import annotations

from pinakes.ingest.embedding import bind, embed_pending
from pinakes.ingest.progressive import Approximator, follow_anew, sampled
from pinakes.ingest.report import Event, Report
from pinakes.ingest.run import Ingest, Tools

__all__ = [
    "Approximator",
    "Event",
    "Ingest",
    "Report",
    "Tools",
    "bind",
    "embed_pending",
    "follow_anew",
    "sampled",
]
