"""The answers of the tools of staged retrieval, field by field, made from search results."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from pydantic.json_schema import SkipJsonSchema

from pinakes.core.wording import rounded, rounded_score
from pinakes.models.token_counts import TokenCounter
from pinakes.services.document_search.expanding import ChunkSpan, ExpandedChunk, ExpandRequest, Opened
from pinakes.services.document_search.found_documents import DocumentHit, FoundSummaries
from pinakes.text.injection import is_injection
from pinakes.text.page_numbers import pages_of
from pinakes.tools.declare import Reply, as_json

_NOT_METADATA = ("tags", "source", "summary")
_MOST_HEADINGS = 100
_MOST_COPIES = 5
_TOKENS_PER_HEADING = 40
_TRIES = 6
_LEAST_SHARE, _MOST_SHARE = 0.1, 0.95
"""What is left of a budget that turned out too large, after one try."""


class Copy(Reply):
    """A document that says the same as a hit, but perhaps for a version or date."""

    doc_id: str
    title: str
    path: str


class SummaryHit(Reply):
    """A document that may be worth opening. ``best_chunk`` is the number of the chunk that fits best.

    ``duplicate_count`` documents say the same, but perhaps for a version or date; ``duplicates`` are the first of them.

    ``score_parts`` add up to ``similarity_score``.
    ``changed``: its file is not as it was indexed. ``suspicious``: it has instructions aimed at a model.
    """

    doc_id: str
    title: str
    summary: str
    similarity_score: float
    token_count: int
    tags: list[str]
    collection: str
    source: str
    best_chunk: int | SkipJsonSchema[None] = None
    section: str | SkipJsonSchema[None] = None
    semantic_score: float | SkipJsonSchema[None] = None
    keyword_score: float | SkipJsonSchema[None] = None
    score_parts: dict[str, float] | SkipJsonSchema[None] = None
    changed: bool | SkipJsonSchema[None] = None
    suspicious: bool | SkipJsonSchema[None] = None
    duplicate_count: int | SkipJsonSchema[None] = None
    duplicates: list[Copy] | SkipJsonSchema[None] = None


class SummaryHits(Reply):
    """Documents, best first. ``tokens_saved``: what reading them all would have cost more."""

    query: str
    results: list[SummaryHit]
    total_candidates: int
    search_time_ms: float
    tokens_saved: int = 0
    degraded: str | SkipJsonSchema[None] = None
    notes: list[str] | SkipJsonSchema[None] = None


class Chunk(Reply):
    """A chunk of a document; the offsets count characters of the whole text."""

    chunk_index: int
    text: str
    token_count: int
    start_char: int
    end_char: int


class OutlineEntry(Reply):
    """A heading, or what code defines, with its lines."""

    level: int
    title: str
    start_line: int
    end_line: int


class DocumentText(Reply):
    """A document. Where ``full_text`` is not all of it, ``start_line`` to ``end_line`` say what it is.

    Where it was cut, ``next_line`` and ``next_chunk`` say where to go on, and ``outline`` what is there; without
    ``next_line`` a single line is over the budget: go on with the chunks.
    """

    doc_id: str
    title: str
    full_text: str
    source: str
    token_count: int
    tags: list[str]
    metadata: dict[str, Any]
    collection: str
    chunks: list[Chunk] | SkipJsonSchema[None] = None
    cut: bool | SkipJsonSchema[None] = None
    returned_tokens: int | SkipJsonSchema[None] = None
    start_line: int | SkipJsonSchema[None] = None
    end_line: int | SkipJsonSchema[None] = None
    total_lines: int | SkipJsonSchema[None] = None
    next_line: int | SkipJsonSchema[None] = None
    next_chunk: int | SkipJsonSchema[None] = None
    outline: list[OutlineEntry] | SkipJsonSchema[None] = None
    outline_left_out: int | SkipJsonSchema[None] = None
    note: str | SkipJsonSchema[None] = None
    suspicious: bool | SkipJsonSchema[None] = None


class DocumentTexts(Reply):
    """Documents that were opened. ``left_out`` are those that ``max_tokens`` had no room for.

    ``not_found`` are ids that no document here has. ``truncated``: something was cut or left out; ``next`` says with
    which arguments to go on.
    """

    documents: list[DocumentText]
    total_tokens: int
    tokens_saved: int = 0
    left_out: list[str] | SkipJsonSchema[None] = None
    not_found: list[str] | SkipJsonSchema[None] = None
    hint: str | SkipJsonSchema[None] = None
    truncated: bool | SkipJsonSchema[None] = None
    next: str | SkipJsonSchema[None] = None


class NeighbourChunk(Reply):
    """A chunk before or after the one that was asked for."""

    chunk_index: int
    text: str
    start_line: int
    end_line: int


class DocumentChunk(Reply):
    """One chunk of a document."""

    doc_id: str
    chunk_index: int
    total_chunks: int
    text: str
    token_count: int
    has_previous: bool
    has_next: bool
    relevance_score: float | SkipJsonSchema[None] = None
    title: str
    source: str
    collection: str
    start_line: int
    end_line: int
    page: int | SkipJsonSchema[None] = None
    page_end: int | SkipJsonSchema[None] = None
    section: str | SkipJsonSchema[None] = None
    neighbours: list[NeighbourChunk] | SkipJsonSchema[None] = None
    tokens_saved: int = 0
    suspicious: bool | SkipJsonSchema[None] = None
    notes: list[str] | SkipJsonSchema[None] = None


def hits(found: FoundSummaries, counter: TokenCounter, *, scores: bool = False) -> SummaryHits:
    """Return the answer of a search for documents; ``scores``: with those of meaning and words."""
    results = [_hit(one, scores=scores) for one in found.documents]
    tokens = sum(counter.count(one.summary) for one in results)
    return SummaryHits(
        query=found.query,
        results=results,
        total_candidates=found.total,
        search_time_ms=round(found.milliseconds, 2),
        tokens_saved=max(0, sum(one.token_count for one in results) - tokens),
        degraded=found.degraded,
        notes=list(found.notes) or None,
    )


def nothing(query: str) -> SummaryHits:
    """Return the answer of a search that found nothing."""
    notes = None if query.strip() else ["the query is empty"]
    return SummaryHits(query=query, results=[], total_candidates=0, search_time_ms=0.0, notes=notes)


def noted(reply: SummaryHits, *notes: str) -> SummaryHits:
    """Return ``reply`` with these notes, too; "" is none."""
    every = [*filter(None, notes), *(reply.notes or ())]
    return reply.model_copy(update={"notes": every or None})


def answer_within(most: int, opened: Callable[[int], DocumentTexts], counter: TokenCounter) -> DocumentTexts:
    """Return what ``opened`` gives within a budget, for the largest budget tried that makes the whole answer fit.

    That is measured as the answer is sent: texts that are escaped in JSON take more tokens than they have.
    """
    room, reply = most, opened(most)
    for _ in range(_TRIES if most else 0):
        size = counter.count(reply.as_text())
        if size <= most or room <= 1:
            break
        texts = sum(counter.count(as_json(one.full_text)) for one in reply.documents)
        share = (most - (size - texts)) / max(texts, 1)
        used = min(room, reply.total_tokens)
        room = max(1, min(room - 1, int(used * min(max(share, _LEAST_SHARE), _MOST_SHARE))))
        reply = opened(room)
    return reply


def how_to_go_on(documents: Sequence[DocumentText], left_out: Sequence[str]) -> str:
    """Say with which arguments to read what was cut or left out, "" where nothing was."""
    steps = []
    for one in documents:
        if one.next_line:
            steps.append(f"get_documents(doc_ids={as_json([one.doc_id])},start_line={one.next_line})")
        elif one.cut:
            steps.append(f"get_document_chunk(doc_id={as_json(one.doc_id)},chunk_index={one.next_chunk})")
    if left_out:
        steps.append(f"get_documents(doc_ids={as_json(list(left_out[:_MOST_COPIES]))})")
        steps[-1] += f" and {len(left_out) - _MOST_COPIES} more" if len(left_out) > _MOST_COPIES else ""
    return "; ".join(steps)


def text(opened: Opened, wanted: ExpandRequest, outline_tokens: int = 0) -> DocumentText:
    """Return the answer of a document that was opened; ``outline_tokens``: about so many of headings, 0 = any."""
    document = opened.document
    partial = opened.cut or bool(wanted.section) or wanted.lines is not None
    outlined = opened.outline if wanted.outline else opened.outline[:_MOST_HEADINGS]
    outlined = outlined[: max(1, outline_tokens // _TOKENS_PER_HEADING)] if outline_tokens else outlined
    return DocumentText(
        doc_id=document.uid,
        title=document.title,
        full_text=opened.text,
        source=document.source,
        token_count=document.token_count,
        tags=list(document.tags),
        metadata={name: value for name, value in document.metadata.items() if name not in _NOT_METADATA},
        collection=opened.collection,
        chunks=[
            Chunk(
                chunk_index=mark.ordinal,
                text=own,
                token_count=mark.token_count,
                start_char=mark.start,
                end_char=mark.end,
            )
            for mark, own in opened.chunks
        ]
        if wanted.chunks
        else None,
        cut=opened.cut or None,
        returned_tokens=opened.tokens if partial else None,
        start_line=opened.start_line if partial else None,
        end_line=opened.end_line if partial else None,
        total_lines=opened.total_lines if partial else None,
        next_line=opened.go_on or None,
        next_chunk=opened.go_on_chunk if opened.cut else None,
        outline=[
            OutlineEntry(level=one.level, title=one.title, start_line=one.start_line, end_line=one.end_line)
            for one in outlined
        ]
        or None,
        outline_left_out=len(opened.outline) - len(outlined) or None,
        note=opened.note or None,
        suspicious=is_injection(f"{document.title}\n{opened.text}") or None,
    )


def chunk_reply(found: ExpandedChunk, counter: TokenCounter) -> DocumentChunk:
    """Return the answer of a chunk that was read."""
    mark, beside = found.mark, found.neighbours
    shown = sum(map(counter.count, (found.text, *dict(beside).values())))
    page, page_end = pages_of(found.pages, mark.start, mark.end)
    return DocumentChunk(
        doc_id=found.document.uid,
        chunk_index=mark.ordinal,
        total_chunks=found.total,
        text=found.text,
        token_count=mark.token_count,
        has_previous=mark.ordinal > 0,
        has_next=mark.ordinal + 1 < found.total,
        relevance_score=rounded_score(found.score),
        title=found.document.title,
        source=found.document.source,
        collection=found.collection,
        start_line=mark.start_line,
        end_line=mark.end_line,
        page=page,
        page_end=page_end,
        section=_section(mark),
        neighbours=[
            NeighbourChunk(chunk_index=other.ordinal, text=own, start_line=other.start_line, end_line=other.end_line)
            for other, own in beside
        ]
        or None,
        tokens_saved=max(0, found.document.token_count - shown),
        suspicious=is_injection("\n".join((found.document.title, found.text, *dict(beside).values()))) or None,
    )


def _hit(found: DocumentHit, *, scores: bool) -> SummaryHit:
    document, mark = found.document, found.chunk
    return SummaryHit(
        doc_id=document.uid,
        title=document.title,
        summary=found.summary.text,
        similarity_score=round(found.score, 4),
        token_count=document.token_count,
        tags=list(document.tags),
        collection=found.collection,
        source=document.source,
        best_chunk=None if mark is None else mark.ordinal,
        section=None if mark is None else _section(mark),
        semantic_score=rounded_score(found.semantic) if scores else None,
        keyword_score=rounded_score(found.keyword) if scores else None,
        score_parts=rounded(found.score_parts) if scores else None,
        suspicious=found.suspicious or None,
        changed=found.changed,
        duplicate_count=len(found.copies) or None,
        duplicates=[Copy(doc_id=one.uid, title=one.title, path=one.path) for one in found.copies[:_MOST_COPIES]]
        or None,
    )


def _section(mark: ChunkSpan) -> str | None:
    return " > ".join(mark.heading_path) or None
