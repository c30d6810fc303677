"""What a search for documents found."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from pinakes.catalog.document_queries import ChunkSpan, DocumentRecord
from pinakes.core.records import Summary
from pinakes.text.injection import is_injection


@dataclass(frozen=True, slots=True)
class DocumentHit:
    """A document worth a look.

    ``score`` is 0 to 1; where questions were merged by ranks it is the sum of 1 / (60 + rank). ``chunk``: where its
    best chunk lies. ``semantic`` and ``keyword`` are the cosine of that and its BM25 as a share of the best, None
    where it was not scored so. ``approximate``: of a vector that is still to be made. ``changed``: its file is not as
    it was indexed, or gone; None where there is no file or that cannot be known. ``copies``: documents that say the
    same, but for a version or date. ``score_parts`` add up to the score where one question was asked, else none.
    """

    document: DocumentRecord
    collection: str
    summary: Summary
    score: float
    semantic: float | None = None
    keyword: float | None = None
    chunk: ChunkSpan | None = None
    approximate: bool = False
    changed: bool | None = None
    copies: tuple[DocumentRecord, ...] = ()
    score_parts: Mapping[str, float] = field(default_factory=dict)

    @property
    def suspicious(self) -> bool:
        """Whether what is shown of it has instructions aimed at a model."""
        return is_injection(f"{self.document.title}\n{self.summary.text}")


@dataclass(frozen=True, slots=True)
class FoundSummaries:
    """The answer of level 1, best first. ``total`` counts the documents that passed the filters.

    ``degraded`` says in words what did not contribute, None when everything did; ``notes`` what was done to the query.
    """

    query: str
    documents: tuple[DocumentHit, ...]
    total: int
    milliseconds: float
    degraded: str | None = None
    notes: tuple[str, ...] = ()
