"""The result of parsing and chunking a file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pinakes.core.graph_records import Findings
from pinakes.core.records import Chunk, Document


@dataclass(frozen=True, slots=True)
class ParsedDocument:
    """A file that was read and then cut by ``chunker`` ("markdown:2"), with the duration of both in seconds.

    ``tokens``: of the whole text, as counted for budgets. ``findings``: what its text says of the knowledge graph,
    found in ``extract_s`` seconds; None where it was not looked at.
    """

    document: Document
    chunks: Sequence[Chunk]
    read_s: float
    chunk_s: float
    chunker: str = ""
    tokens: int = 0
    findings: Findings | None = None
    extract_s: float = 0.0
