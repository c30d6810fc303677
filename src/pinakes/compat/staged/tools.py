"""Tools of staged retrieval that search summaries and expand documents."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Annotated, Any

from pydantic import BeforeValidator, Field
from pydantic.json_schema import SkipJsonSchema

from pinakes.compat.staged.replies import (
    DocumentChunk,
    DocumentTexts,
    SummaryHits,
    answer_within,
    chunk_reply,
    hits,
    how_to_go_on,
    noted,
    nothing,
    text,
)
from pinakes.core.errors import NotFound
from pinakes.core.records import JSON
from pinakes.library import Library
from pinakes.models.token_counts import token_counter
from pinakes.services.document_search.expanding import MOST_DOCUMENTS, MOST_NEIGHBOURS, Expanded, ExpandRequest
from pinakes.services.document_search.found_documents import FoundSummaries
from pinakes.services.document_search.search import MERGES, MOST_QUERIES, Merge, check_merge
from pinakes.settings import shortened
from pinakes.tools.declare import list_from, list_of, tool
from pinakes.tools.failures import as_word
from pinakes.tools.listing_limits import TOP_K, most_items, usual_top_k
from pinakes.tools.parameters import Contracted, Searched, collection_from, contracted, looking_in, undefaulted

_OUTLINE_SHARE = 8
"""One token in so many of a budget may go to outlines."""


def _defaults_to(value: JSON) -> Any:
    """Return what shows ``value`` as the default of a parameter for which the settings decide."""
    return lambda schema: schema.update(default=value)


def _queries_from(value: JSON) -> JSON:
    """Return ``value``, taken apart where it is text: a JSON list, or a question a line."""
    return list_of(value, str.splitlines)


Query = Annotated[str, Field(description="A question in plain words, or names and terms.")]
TopK = Annotated[
    int | SkipJsonSchema[None], Field(description="How many documents.", json_schema_extra=_defaults_to(TOP_K))
]
TagsFilter = Annotated[
    list[str], BeforeValidator(list_from), Field(description="Only documents with any of these tags.")
]
MinScore = Annotated[float, Field(description="Leave out lower scores, 0 to 1.")]
DocId = Annotated[str, Field(description="A doc_id of a search.", min_length=1)]


@tool(toolset="retrieve", error_data=as_word, tags=("search", "summaries", "documents"))
def search_summaries(
    library: Library,
    query: Query,
    top_k: TopK = None,
    collection: Contracted = "",
    min_score: MinScore = 0.0,
    tags_filter: TagsFilter = [],  # noqa: B006 - pydantic copies it
) -> SummaryHits:
    """Start here: find the documents worth opening, a short summary and a score each.

    Then open only what is relevant: get_document_chunk with best_chunk, or get_documents. Low scores for all
    mean that there is probably no answer."""
    if not query.strip():
        return nothing(query)
    find = partial(library.staged.summaries, query, filters=_where(tags_filter), min_score=min_score)
    return _searched(library, query, collection, top_k, find)


@tool(toolset="retrieve", error_data=as_word, tags=("search", "hybrid", "documents"))
def hybrid_search(
    library: Library,
    query: Query,
    top_k: TopK = None,
    collection: Contracted = "",
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
        return nothing(query)
    usual = library.settings.search
    semantic = usual.semantic_weight if semantic_weight is None else semantic_weight
    keyword = usual.keyword_weight if keyword_weight is None else keyword_weight
    weights = (semantic, keyword)
    find = partial(library.staged.summaries, query, mode="hybrid", filters=_where(tags_filter), weights=weights)
    return _searched(library, query, collection, top_k, find, _on_weights(semantic, keyword), scores=True)


@tool(toolset="retrieve", error_data=as_word, tags=("search", "queries", "documents"))
def multi_query_search(
    library: Library,
    queries: Annotated[
        list[str],
        BeforeValidator(_queries_from),
        Field(
            description="The question in 2 to 20 wordings.",
            json_schema_extra={"minItems": 2, "maxItems": MOST_QUERIES},
        ),
    ],
    top_k: TopK = None,
    collection: Contracted = "",
    fusion_method: Annotated[
        str,
        Field(description="rrf: by ranks; max: by the best score of each.", json_schema_extra={"enum": list(MERGES)}),
    ] = "rrf",
    tags_filter: TagsFilter = [],  # noqa: B006
) -> SummaryHits:
    """Ask one question in several wordings at once, when one wording may miss; results as of search_summaries."""
    asked = check_merge(queries)
    method = fusion_method.strip().lower()
    unknown = (
        ""
        if method in MERGES
        else f"there is no fusion_method {shortened(fusion_method)}, but rrf and max: rrf was used"
    )
    merge: Merge = "max" if method == "max" else "rrf"
    find = partial(library.staged.several, asked, merge=merge, filters=_where(tags_filter))
    return _searched(library, "; ".join(asked), collection, top_k, find, unknown)


@tool(toolset="retrieve", error_data=as_word, tags=("search", "similar", "documents"))
def find_similar(
    library: Library,
    doc_id: DocId,
    top_k: TopK = None,
    exclude_same_source: Annotated[bool, Field(description="Leave out what comes from the same source.")] = False,
    collection: Searched = "",
    tags_filter: TagsFilter = [],  # noqa: B006
) -> SummaryHits:
    """Find documents like one you have; that one is left out."""
    with looking_in(library, collection, doc_id, several=True) as name:
        found = library.staged.similar(
            doc_id,
            name,
            top_k=_most(library, top_k),
            other_source=exclude_same_source,
            filters=_where(tags_filter),
        )
    return noted(hits(found, token_counter(library.settings.cache)), _on_top_k(library, top_k))


@tool(toolset="retrieve", error_data=as_word, tags=("read", "documents"))
def get_documents(
    library: Library,
    doc_ids: Annotated[
        list[str],
        BeforeValidator(list_from),
        Field(
            description=f"doc_ids of a search; at most {MOST_DOCUMENTS}.",
            json_schema_extra=most_items(MOST_DOCUMENTS),
        ),
    ],
    include_chunks: Annotated[bool, Field(description="Also each chunk with its place.")] = False,
    collection: Searched = "",
    max_tokens: Annotated[
        int,
        Field(description="Budget of the whole answer; cut after a section, says where to go on. 0 = as usual.", ge=0),
    ] = 0,
    section: Annotated[str, Field(description="Only the section under this heading, or this function or class.")] = "",
    start_line: Annotated[int, Field(description="Only from this line on.", ge=0)] = 0,
    end_line: Annotated[int, Field(description="Only up to this line.", ge=0)] = 0,
    outline: Annotated[bool, Field(description="Also all headings with their lines.")] = False,
) -> DocumentTexts:
    """Open documents: the whole text, or as much as max_tokens, section or lines say. Unknown ids are in not_found.

    Look at token_count of the search first: a chunk or a section is often enough."""
    lines = (max(1, start_line), end_line) if start_line or end_line else None
    wanted, name = ExpandRequest(section.strip(), lines, include_chunks, outline), collection_from(library, collection)

    def elsewhere(missing: Sequence[str] | None) -> str | None:
        return library.naming.elsewhere(missing or (), library.named(name)) or None

    def opened(room: int) -> DocumentTexts:
        found = library.staged.expand(doc_ids, name, max_tokens=room, wanted=wanted)
        texts = _texts(doc_ids, found, wanted, max_tokens // _OUTLINE_SHARE)
        return texts.model_copy(update={"hint": elsewhere(texts.not_found)})

    try:
        return answer_within(max_tokens, opened, token_counter(library.settings.cache))
    except NotFound:
        if name:
            raise
        missing = library.naming.missing()
        return DocumentTexts(documents=[], total_tokens=0, not_found=doc_ids or None, hint=missing or None)


def _texts(doc_ids: Sequence[str], found: Expanded, wanted: ExpandRequest, outline_tokens: int) -> DocumentTexts:
    """Return the answer that opened documents are; ``outline_tokens``: most of all outlines, 0 = any number."""
    there = {one.document.uid for one in found.documents}.union(found.left_out)
    missing = [uid for uid in dict.fromkeys(doc_ids) if uid not in there]
    share = max(1, outline_tokens // max(1, len(found.documents))) if outline_tokens else 0
    documents = [text(one, wanted, share) for one in found.documents]
    next_ = how_to_go_on(documents, found.left_out)
    return DocumentTexts(
        documents=documents,
        total_tokens=found.tokens,
        tokens_saved=max(0, found.full_tokens - found.tokens),
        left_out=list(found.left_out) or None,
        not_found=missing or None,
        truncated=bool(next_) or None,
        next=next_ or None,
    )


@tool(toolset="retrieve", error_data=as_word, tags=("read", "chunks", "documents"))
def get_document_chunk(
    library: Library,
    doc_id: DocId,
    chunk_index: Annotated[
        int | SkipJsonSchema[None],
        Field(description="Its number from 0, as best_chunk.", json_schema_extra=undefaulted),
    ] = None,
    chunk_query: Annotated[str, Field(description="Instead of a number: what to look for in the document.")] = "",
    collection: Searched = "",
    neighbours: Annotated[int, Field(description="Also so many before and after.", ge=0, le=MOST_NEIGHBOURS)] = 0,
) -> DocumentChunk:
    """Read one chunk of a document: cheapest. Give chunk_index or chunk_query, not both."""
    with looking_in(library, collection, doc_id, several=True) as name:
        found = library.staged.chunk(doc_id, name, number=chunk_index, query=chunk_query, neighbours=neighbours)
    chunk = chunk_reply(found, token_counter(library.settings.cache))
    if chunk_index is None or not chunk_query.strip():
        return chunk
    return chunk.model_copy(update={"notes": ["chunk_query was not looked at, for chunk_index is given: give one."]})


def _searched(
    library: Library,
    query: str,
    collection: str,
    top_k: int | None,
    find: Callable[..., FoundSummaries],
    note: str = "",
    *,
    scores: bool = False,
) -> SummaryHits:
    """Return the answer to what ``find`` finds in the collection that is meant; ``query``: as the answer tells it."""
    name, others = contracted(library, collection)
    try:
        found = find(name, top_k=_most(library, top_k))
    except NotFound:
        return _nothing_yet(library, name, query)
    counter = token_counter(library.settings.cache)
    return noted(hits(found, counter, scores=scores), note, _on_top_k(library, top_k), others)


def _most(library: Library, top_k: int | None) -> int:
    """Return how many documents are wanted: 5 or what the settings say where nobody does, at most what they allow."""
    usual = usual_top_k(library.settings)
    return min(max(usual if top_k is None else top_k, 1), library.settings.search.max_top_k)


def _on_top_k(library: Library, top_k: int | None) -> str:
    """Return a note where another number of documents is wanted than was asked for, "" else."""
    most = _most(library, top_k)
    return "" if top_k in (None, most) else f"top_k {top_k} was taken as {most}: from 1 to search.max_top_k is possible"


def _on_weights(semantic: float, keyword: float) -> str:
    """Return a note where weights are not used as they are given, "" else."""
    if not (semantic > 0 or keyword > 0):
        return "no weight is above 0: documents are found by meaning alone"
    return "" if semantic >= 0 and keyword >= 0 else "a weight below 0 counts as 0"


def _where(tags: Sequence[str]) -> Mapping[str, JSON]:
    return {"tags": list(tags)} if tags else {}


def _nothing_yet(library: Library, name: str | None, query: str) -> SummaryHits:
    """Return the empty answer where what is asked is not there yet, as before the first document.

    Raises:
        NotFound: a collection was named that is not there.
    """
    if name:
        library.staged.records(name)
    return noted(nothing(query), library.naming.missing())
