"""From a source to committed documents: ``run.py`` is the flow, ``embedding.py`` its dearest step."""

from __future__ import annotations

from pinakes.ingest.embedding import bind, embed_pending
from pinakes.ingest.report import Event, Report
from pinakes.ingest.run import Ingest, Tools

__all__ = ["Event", "Ingest", "Report", "Tools", "bind", "embed_pending"]
