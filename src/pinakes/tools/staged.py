"""Search, then expand: which documents are worth opening, then as much of them as is needed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Annotated, Any

from pydantic import BeforeValidator, Field
from pydantic.json_schema import SkipJsonSchema

from pinakes.analysis import estimated_token_starts
from pinakes.catalog.briefs import Brief, Mark
from pinakes.errors import NotFound
from pinakes.library import Library
from pinakes.staged.expanding import MOST_NEIGHBOURS, Opened, Wanted
from pinakes.staged.retrieval import Found, FoundSummaries, check_merge
from pinakes.suspicion import is_suspicious
from pinakes.tools.declare import Reply, list_from, tool
from pinakes.tools.errors import as_word, saying
from pinakes.types import JSON, Heading

_TOP_K = 5
_DEFAULT = "default"
_NOT_METADATA = ("tags", "source", "summary")
_MOST_HEADINGS = 100


def _defaults_to(value: JSON) -> Any:
    """Return what shows ``value`` as the default of a parameter for which the settings decide."""
    return lambda schema: schema.update(default=value)


def _undefaulted(schema: dict[str, JSON]) -> None:
    schema.pop("default", None)


def _queries_from(value: JSON) -> JSON:
    """Return ``value``, taken apart where it is text: a JSON list, or a question a line."""
    if not isinstance(value, str):
        return value
    return list_from(value) if value.strip().startswith("[") else value.splitlines()


Query = Annotated[str, Field(description="A question in plain words, or names and terms.")]
TopK = Annotated[
    int | SkipJsonSchema[None], Field(description="How many documents.", json_schema_extra=_defaults_to(_TOP_K))
]
Collection = Annotated[str, Field(description="Empty = the default one; `a,b` or `*` = several.")]
TagsFilter = Annotated[
    list[str], BeforeValidator(list_from), Field(description="Only documents with any of these tags.")
]
MinScore = Annotated[float, Field(description="Leave out lower scores, 0 to 1.")]
DocId = Annotated[str, Field(description="A doc_id of a search.", min_length=1)]


class SummaryHit(Reply):
    """A document that may be worth opening. ``best_chunk`` is the number of the chunk that fits best.

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
    changed: bool | SkipJsonSchema[None] = None
    suspicious: bool | SkipJsonSchema[None] = None


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

    Where it was cut, ``next_line`` and ``next_chunk`` say where to go on, and ``outline`` what is there.
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
    note: str | SkipJsonSchema[None] = None
    suspicious: bool | SkipJsonSchema[None] = None


class DocumentTexts(Reply):
    """Documents that were opened. ``left_out`` are those that ``max_tokens`` had no room for."""

    documents: list[DocumentText]
    total_tokens: int
    tokens_saved: int = 0
    left_out: list[str] | SkipJsonSchema[None] = None


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
    section: str | SkipJsonSchema[None] = None
    neighbours: list[NeighbourChunk] | SkipJsonSchema[None] = None
    tokens_saved: int = 0
    suspicious: bool | SkipJsonSchema[None] = None


@tool(toolset="retrieve", error_data=as_word, tags=("search", "summaries", "documents"))
def search_summaries(
    library: Library,
    query: Query,
    top_k: TopK = None,
    collection: Collection = "",
    min_score: MinScore = 0.0,
    tags_filter: TagsFilter = [],  # noqa: B006 - pydantic copies it
) -> SummaryHits:
    """Start here: find the documents worth opening, a short summary and a score each.

    Then open only what is relevant: get_document_chunk with best_chunk, or get_documents. Low scores for all
    mean that there is probably no answer."""
    if not query.strip():
        return _nothing(query)
    try:
        return _hits(
            library.staged.summaries(
                query,
                _collection(library, collection),
                top_k=_most(library, top_k),
                filters=_where(tags_filter),
                min_score=min_score,
            )
        )
    except NotFound:
        return _nothing_yet(library, collection, query)


@tool(toolset="retrieve", error_data=as_word, tags=("search", "hybrid", "documents"))
def hybrid_search(
    library: Library,
    query: Query,
    top_k: TopK = None,
    collection: Collection = "",
    semantic_weight: Annotated[
        float | SkipJsonSchema[None],
        Field(description="Weight of meaning.", json_schema_extra=_defaults_to(0.7)),
    ] = None,
    keyword_weight: Annotated[
        float | SkipJsonSchema[None],
        Field(description="Weight of exact words; raise it for names and codes.", json_schema_extra=_defaults_to(0.3)),
    ] = None,
    tags_filter: TagsFilter = [],  # noqa: B006
) -> SummaryHits:
    """Find documents as search_summaries does, with your own balance of meaning and words."""
    if not query.strip():
        return _nothing(query)
    usual = library.settings.search
    semantic = usual.semantic_weight if semantic_weight is None else semantic_weight
    keyword = usual.keyword_weight if keyword_weight is None else keyword_weight
    try:
        return _hits(
            library.staged.summaries(
                query,
                _collection(library, collection),
                top_k=_most(library, top_k),
                mode="hybrid",
                filters=_where(tags_filter),
                weights=(semantic, keyword),
            ),
            scores=True,
        )
    except NotFound:
        return _nothing_yet(library, collection, query)


@tool(toolset="retrieve", error_data=as_word, tags=("search", "queries", "documents"))
def multi_query_search(
    library: Library,
    queries: Annotated[
        list[str], BeforeValidator(_queries_from), Field(description="The question in 2 or more different wordings.")
    ],
    top_k: TopK = None,
    collection: Collection = "",
    fusion_method: Annotated[str, Field(description="rrf: by ranks; max: by the best score of each.")] = "rrf",
    tags_filter: TagsFilter = [],  # noqa: B006
) -> SummaryHits:
    """Ask one question in several wordings at once, when one wording may miss; results as of search_summaries."""
    asked = check_merge(queries)
    try:
        found = library.staged.several(
            asked,
            _collection(library, collection),
            top_k=_most(library, top_k),
            merge="max" if fusion_method.strip().lower() == "max" else "rrf",
            filters=_where(tags_filter),
        )
    except NotFound:
        return _nothing_yet(library, collection, "; ".join(asked))
    return _hits(found)


@tool(toolset="retrieve", error_data=as_word, tags=("search", "similar", "documents"))
def find_similar(
    library: Library,
    doc_id: DocId,
    top_k: TopK = None,
    exclude_same_source: Annotated[bool, Field(description="Leave out what comes from the same source.")] = False,
    collection: Collection = "",
    tags_filter: TagsFilter = [],  # noqa: B006
) -> SummaryHits:
    """Find documents like one you have; that one is left out."""
    with _known(library, collection) as name:
        found = library.staged.similar(
            doc_id,
            name,
            top_k=_most(library, top_k),
            other_source=exclude_same_source,
            filters=_where(tags_filter),
        )
    return _hits(found)


@tool(toolset="retrieve", error_data=as_word, tags=("read", "documents"))
def get_documents(
    library: Library,
    doc_ids: Annotated[list[str], BeforeValidator(list_from), Field(description="doc_ids of a search.")],
    include_chunks: Annotated[bool, Field(description="Also each chunk with its place.")] = False,
    collection: Collection = "",
    max_tokens: Annotated[
        int, Field(description="Budget for all together; cut after a section, says where to go on. 0 = none.", ge=0)
    ] = 0,
    section: Annotated[str, Field(description="Only the section under this heading, or this function or class.")] = "",
    start_line: Annotated[int, Field(description="Only from this line on.", ge=0)] = 0,
    end_line: Annotated[int, Field(description="Only up to this line.", ge=0)] = 0,
    outline: Annotated[bool, Field(description="Also all headings with their lines.")] = False,
) -> DocumentTexts:
    """Open documents: the whole text, or as much as max_tokens, section or lines say. Unknown ids are left out.

    Look at token_count of the search first: a chunk or a section is often enough."""
    lines = (max(1, start_line), end_line) if start_line or end_line else None
    wanted = Wanted(section.strip(), lines, include_chunks, outline)
    try:
        found = library.staged.expand(doc_ids, _collection(library, collection), max_tokens=max_tokens, wanted=wanted)
    except NotFound:
        if _is_named(library, collection):
            raise
        return DocumentTexts(documents=[], total_tokens=0)
    return DocumentTexts(
        documents=[_text(one, wanted) for one in found.documents],
        total_tokens=found.tokens,
        tokens_saved=max(0, found.full_tokens - found.tokens),
        left_out=list(found.left_out) or None,
    )


@tool(toolset="retrieve", error_data=as_word, tags=("read", "chunks", "documents"))
def get_document_chunk(
    library: Library,
    doc_id: DocId,
    chunk_index: Annotated[
        int | SkipJsonSchema[None],
        Field(description="Its number from 0, as best_chunk.", json_schema_extra=_undefaulted),
    ] = None,
    chunk_query: Annotated[str, Field(description="Instead of a number: what to look for in the document.")] = "",
    collection: Collection = "",
    neighbours: Annotated[int, Field(description="Also so many before and after.", ge=0, le=MOST_NEIGHBOURS)] = 0,
) -> DocumentChunk:
    """Read one chunk of a document: cheapest. Give chunk_index or chunk_query."""
    with _known(library, collection) as name:
        found = library.staged.passage(doc_id, name, number=chunk_index, query=chunk_query, neighbours=neighbours)
    mark, beside = found.mark, found.neighbours
    return DocumentChunk(
        doc_id=found.document.uid,
        chunk_index=mark.ordinal,
        total_chunks=found.total,
        text=found.text,
        token_count=mark.token_count,
        has_previous=mark.ordinal > 0,
        has_next=mark.ordinal + 1 < found.total,
        relevance_score=None if found.score is None else round(found.score, 4),
        title=found.document.title,
        source=found.document.source,
        collection=found.collection,
        start_line=mark.start_line,
        end_line=mark.end_line,
        section=_section(mark),
        neighbours=[_neighbour(other, text) for other, text in beside] or None,
        tokens_saved=max(0, found.document.token_count - sum(one.token_count for one in (mark, *dict(beside)))),
        suspicious=is_suspicious("\n".join((found.document.title, found.text, *dict(beside).values()))) or None,
    )


def _collection(library: Library, name: str) -> str | None:
    """Return the collection that is meant, None where that is the usual one."""
    return name if _is_named(library, name) else None


@contextmanager
def _known(library: Library, collection: str) -> Iterator[str | None]:
    """Give the collection in which a document is looked for; one that is not there is told in the same words always.

    Raises:
        NotFound: a collection was named that is not there, or the document is not.
    """
    name = _collection(library, collection)
    if name:
        library.staged.records(name)
    with saying("Document not found", NotFound):
        yield name


def _is_named(library: Library, name: str) -> bool:
    """Say whether a collection was named; models like to name the default one, also where it has another name."""
    return bool(name.strip()) and name.strip() not in (_DEFAULT, library.usual)


def _most(library: Library, top_k: int | None) -> int:
    """Return how many documents are wanted: 5 or what the settings say where nobody does, at most what they allow."""
    settings = library.settings.search
    usual = settings.top_k if "top_k" in settings.model_fields_set else _TOP_K
    return min(max(usual if top_k is None else top_k, 1), settings.max_top_k)


def _where(tags: Sequence[str]) -> Mapping[str, JSON]:
    return {"tags": list(tags)} if tags else {}


def _hits(found: FoundSummaries, *, scores: bool = False) -> SummaryHits:
    results = [_hit(one, scores=scores) for one in found.documents]
    tokens = sum(len(estimated_token_starts(one.summary)) for one in results)
    return SummaryHits(
        query=found.query,
        results=results,
        total_candidates=found.total,
        search_time_ms=round(found.milliseconds, 2),
        tokens_saved=max(0, sum(one.token_count for one in results) - tokens),
        degraded=found.degraded,
        notes=list(found.notes) or None,
    )


def _hit(found: Found, *, scores: bool) -> SummaryHit:
    document, mark = found.document, found.passage
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
        semantic_score=_rounded(found.semantic) if scores else None,
        keyword_score=_rounded(found.keyword) if scores else None,
        suspicious=found.suspicious or None,
        changed=found.changed,
    )


def _rounded(score: float | None) -> float | None:
    return None if score is None else round(score, 4)


def _section(mark: Mark) -> str | None:
    return " > ".join(mark.heading_path) or None


def _nothing(query: str) -> SummaryHits:
    return SummaryHits(query=query, results=[], total_candidates=0, search_time_ms=0.0)


def _nothing_yet(library: Library, collection: str, query: str) -> SummaryHits:
    """Return the empty answer where the usual collection is not there yet, as before the first document.

    Raises:
        NotFound: a collection was named that is not there.
    """
    if _is_named(library, collection):
        library.staged.records(collection)
    return _nothing(query)


def _text(opened: Opened, wanted: Wanted) -> DocumentText:
    document = opened.document
    partial = opened.cut or bool(wanted.section) or wanted.lines is not None
    outlined = opened.outline if wanted.outline else opened.outline[:_MOST_HEADINGS]
    return DocumentText(
        doc_id=document.uid,
        title=document.title,
        full_text=opened.text,
        source=document.source,
        token_count=document.token_count,
        tags=list(document.tags),
        metadata=_metadata(document),
        collection=opened.collection,
        chunks=[_chunk(mark, text) for mark, text in opened.chunks] if wanted.chunks else None,
        cut=opened.cut or None,
        returned_tokens=opened.tokens if partial else None,
        start_line=opened.start_line if partial else None,
        end_line=opened.end_line if partial else None,
        total_lines=opened.total_lines if partial else None,
        next_line=opened.go_on if opened.cut else None,
        next_chunk=opened.go_on_chunk if opened.cut else None,
        outline=[_entry(one) for one in outlined] or None,
        note=opened.note or None,
        suspicious=is_suspicious(f"{document.title}\n{opened.text}") or None,
    )


def _metadata(document: Brief) -> dict[str, JSON]:
    return {name: value for name, value in document.metadata.items() if name not in _NOT_METADATA}


def _chunk(mark: Mark, text: str) -> Chunk:
    return Chunk(
        chunk_index=mark.ordinal, text=text, token_count=mark.token_count, start_char=mark.start, end_char=mark.end
    )


def _entry(heading: Heading) -> OutlineEntry:
    return OutlineEntry(
        level=heading.level, title=heading.title, start_line=heading.start_line, end_line=heading.end_line
    )


def _neighbour(mark: Mark, text: str) -> NeighbourChunk:
    return NeighbourChunk(chunk_index=mark.ordinal, text=text, start_line=mark.start_line, end_line=mark.end_line)
