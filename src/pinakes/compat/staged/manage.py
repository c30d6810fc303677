"""Tools of staged retrieval that put, update, delete and list documents."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field
from pydantic.json_schema import SkipJsonSchema

from pinakes.core.errors import InvalidInput, NotFound, PinakesError
from pinakes.core.records import JSON
from pinakes.library import Library
from pinakes.search.collection_choice import asked_unnamed
from pinakes.services.documents.editing import Draft, WrittenDocument
from pinakes.tools.declare import Reply, Tool, as_json, list_from, object_from, tool
from pinakes.tools.failures import as_status, as_word
from pinakes.tools.parameters import (
    Changed,
    Collection,
    Contracted,
    DocId,
    WrittenTo,
    changing_in,
    collection_from,
    contracted,
    looking_in,
    undefaulted,
)

TOO_MANY = "Batch size exceeds maximum"

_MOST_TITLE_CHARS = 1000
_MOST_ENTRIES = 30
"""So many tags, and sources, are told of a collection."""


def _optional(description: str, **limits: Any) -> Any:
    return Field(description=description, json_schema_extra=undefaulted, **limits)


Title = Annotated[str, Field(description="What it is called.", max_length=_MOST_TITLE_CHARS)]
Tags = Annotated[list[str], BeforeValidator(list_from), Field(description="Words to filter by.")]
Metadata = Annotated[dict[str, Any], BeforeValidator(object_from), Field(description="Fields to filter by.")]
Version = Annotated[int, Field(description="Only if this is its version; 0 = whatever it is.", ge=0)]


class Ingested(Reply):
    """A document that was stored. ``outcome`` says what that changed, ``degraded`` why it is found by words only.

    ``notes`` name what was masked or left out, with the line where it stands.
    """

    doc_id: str
    title: str
    collection: str
    chunk_count: int
    token_count: int
    summary: str
    status: Literal["indexed", "error"] = "indexed"
    outcome: Literal["created", "updated", "unchanged"]
    version: int
    degraded: str | SkipJsonSchema[None] = None
    notes: list[str] | SkipJsonSchema[None] = None


class Batch(Reply):
    """What became of each document of a batch, in the order in which they were given."""

    total: int
    succeeded: int
    failed: int
    results: list[dict[str, Any]]
    total_tokens_indexed: int


class Updated(Reply):
    """A document that was changed; ``changed`` is false where it was so already.

    ``notes`` name what was masked or left out, with the line where it stands.
    """

    doc_id: str
    status: str = "updated"
    changed: bool
    version: int
    notes: list[str] | SkipJsonSchema[None] = None


class Deleted(Reply):
    """A document that is gone."""

    doc_id: str
    deleted: bool = True


class DocumentMetadata(Reply):
    """All that is known of a document besides its text; ``summary_by``: "given", "extractive" or "chat"."""

    doc_id: str
    title: str
    source: str
    collection: str
    tags: list[str]
    token_count: int
    chunk_count: int
    created_at: str
    updated_at: str
    metadata: dict[str, Any]
    version: int
    uri: str
    summary: str
    summary_by: str


class Statistics(Reply):
    """What a collection holds, in figures; the dates are empty where it holds nothing.

    Of tags and sources the most frequent are there, ``tags_left_out`` and ``sources_left_out`` count the others.
    """

    collection: str
    document_count: int
    total_tokens: int
    avg_tokens_per_doc: float
    total_chunks: int
    tag_distribution: dict[str, int]
    source_distribution: dict[str, int]
    oldest_document: str
    newest_document: str
    index_size_bytes: int
    tags_left_out: int = 0
    sources_left_out: int = 0
    truncated: bool | SkipJsonSchema[None] = None
    next: str | SkipJsonSchema[None] = None
    notes: list[str] | SkipJsonSchema[None] = None


class Listed(Reply):
    """One collection of a list."""

    name: str
    document_count: int
    total_tokens: int
    description: str


class Collections(Reply):
    """The collections that there are."""

    collections: list[Listed]
    notes: list[str] | SkipJsonSchema[None] = None


@tool(toolset="manage", read_only=False, idempotent=True, error_data=as_status)
def ingest_document(
    library: Library,
    title: Title,
    text: Annotated[str, Field(description="All of it; Markdown headings guide how it is cut.")],
    source: Annotated[str, Field(description="Where it comes from.")] = "manual",
    collection: WrittenTo = "",
    tags: Tags = [],  # noqa: B006 - pydantic copies it
    metadata: Metadata = {},  # noqa: B006
    summary: Annotated[str, Field(description="What it is about, if you know it; else one is made.")] = "",
) -> Ingested:
    """Add a document, to be found at once.

    The same title, source and text again make no second one; to change a document use update_document."""
    draft = _draft(title, text, source, tags, metadata, summary)
    [written] = library.documents.put_many([draft], collection=_written_to(library, collection))
    if isinstance(written, PinakesError):
        raise written
    return _ingested(written)


def _all_failed(tool_: Tool, arguments: Mapping[str, JSON], error: PinakesError) -> dict[str, JSON]:
    """Tell of a batch of which nothing was stored."""
    given = arguments.get("documents")
    total = len(given) if isinstance(given, list) else 0
    counts = {"total": total, "succeeded": 0, "failed": total, "results": [], "total_tokens_indexed": 0}
    return counts | as_word(tool_, arguments, error)


def _items(schema: dict[str, JSON]) -> None:
    """Describe the documents of a batch as ``ingest_document`` does its parameters, without their words."""
    described = ingest_document.schema()
    properties = {
        name: {key: value for key, value in about.items() if key in ("type", "items")}
        for name, about in described["properties"].items()
        if name != "collection"
    }
    schema["items"] = {"type": "object", "properties": properties, "required": described["required"]}


@tool(toolset="manage", read_only=False, idempotent=True, error_data=_all_failed)
def ingest_batch(
    library: Library,
    documents: Annotated[
        list[Any],
        BeforeValidator(list_from),
        Field(description="Documents as for ingest_document, at most 50.", json_schema_extra=_items),
    ],
    collection: WrittenTo = "",
) -> Batch:
    """Add several documents at once; results has what became of each, in their order.

    A document that is refused does not keep the others out."""
    most = library.settings.documents.max_batch
    if len(documents) > most:
        raise InvalidInput(TOO_MANY, hint=f"At most {most} documents at once.")
    name = _written_to(library, collection)
    drafts = [_one_of_batch(library, document, name) for document in documents]
    written = iter(library.documents.put_many([one for one in drafts if isinstance(one, Draft)], collection=name))
    done = [next(written) if isinstance(draft, Draft) else draft for draft in drafts]
    results = [_result(one, document) for one, document in zip(done, documents, strict=True)]
    stored = [one for one in done if isinstance(one, WrittenDocument)]
    return Batch(
        total=len(results),
        succeeded=len(stored),
        failed=len(results) - len(stored),
        results=results,
        total_tokens_indexed=sum(one.document.token_count for one in stored),
    )


@tool(toolset="manage", read_only=False, idempotent=True, error_data=as_word)
def update_document(
    library: Library,
    doc_id: DocId,
    title: Annotated[str | SkipJsonSchema[None], _optional("New title.", max_length=_MOST_TITLE_CHARS)] = None,
    text: Annotated[str | SkipJsonSchema[None], _optional("New text, all of it.")] = None,
    tags: Annotated[
        list[str] | SkipJsonSchema[None], BeforeValidator(list_from), _optional("New tags, in place of the old ones.")
    ] = None,
    metadata: Annotated[
        dict[str, Any] | SkipJsonSchema[None],
        BeforeValidator(object_from),
        _optional("Fields to set; the others stay."),
    ] = None,
    summary: Annotated[str | SkipJsonSchema[None], _optional("New summary.")] = None,
    collection: Changed = "",
    if_version: Version = 0,
) -> Updated:
    """Change a document: only what is given changes. Give if_version to be sure that nobody else changed it."""
    _check_words(title, text)
    with changing_in(library, collection, doc_id) as name:
        written = library.documents.update(
            doc_id,
            collection=name,
            title=title,
            text=text,
            tags=tags,
            metadata=metadata,
            summary=summary,
            if_version=if_version or None,
        )
    document = written.document
    return Updated(
        doc_id=document.uid,
        changed=written.outcome != "unchanged",
        version=document.version,
        notes=list(map(str, written.notes)) or None,
    )


@tool(toolset="manage", read_only=False, destructive=True, idempotent=True, error_data=as_word)
def delete_document(library: Library, doc_id: DocId, collection: Changed = "", if_version: Version = 0) -> Deleted:
    """Take a document out. It can be restored for some time by the person who runs this."""
    with changing_in(library, collection, doc_id) as name:
        library.documents.delete(doc_id, collection=name, if_version=if_version or None)
    return Deleted(doc_id=doc_id)


@tool(toolset="manage", error_data=as_word)
def get_document_metadata(library: Library, doc_id: DocId, collection: Collection = "") -> DocumentMetadata:
    """Tell all about a document except its text: cheap to look at before it is read."""
    with looking_in(library, collection, doc_id) as name:
        document = library.documents.get(doc_id, collection=name)
    return DocumentMetadata(
        doc_id=document.uid,
        title=document.title,
        source=document.source,
        collection=document.collection,
        tags=list(document.tags),
        token_count=document.token_count,
        chunk_count=document.chunk_count,
        created_at=document.created_at,
        updated_at=document.updated_at,
        metadata=dict(document.metadata),
        version=document.version,
        uri=document.uri,
        summary=document.summary,
        summary_by=document.summary_by,
    )


@tool(toolset="manage", error_data=as_word)
def collection_stats(
    library: Library,
    collection: Contracted = "",
    max_entries: Annotated[int, Field(description="Most tags, and most sources, named.", ge=0, le=100_000)] = 30,
) -> Statistics:
    """Tell what a collection holds, or several together: documents, tokens, tags, sources, sizes, dates."""
    named, others = contracted(library, collection)
    names = library.named(named)
    try:
        stats = library.collecting.stats(*names)
    except NotFound:
        if named:
            raise
        return _NOTHING.model_copy(update={"collection": names[0], "notes": [library.naming.missing()]})
    notes = [others] if others else [asked_unnamed(names)] if not named and len(names) > 1 else None
    statistics = Statistics.model_validate(stats, from_attributes=True)
    every = statistics.tag_distribution, statistics.source_distribution
    tags, sources = (_most_frequent(one, max_entries) for one in every)
    most = max(map(len, every))
    how = f"collection_stats(collection={as_json(','.join(names))},max_entries={most})"
    return statistics.model_copy(
        update={
            "tag_distribution": tags,
            "source_distribution": sources,
            "tags_left_out": len(statistics.tag_distribution) - len(tags),
            "sources_left_out": len(statistics.source_distribution) - len(sources),
            "truncated": most > max_entries or None,
            "next": how if most > max_entries else None,
            "notes": notes,
        }
    )


@tool(toolset="manage", error_data=as_word)
def list_collections(library: Library) -> Collections:
    """List the collections: what each is about and how much it holds."""
    listed = [
        Listed(name=held.name, document_count=held.documents, total_tokens=held.tokens, description=held.description)
        for held in library.collecting.list_all()
    ]
    if listed:
        return Collections(collections=listed)
    none = Listed(name=library.naming.written, document_count=0, total_tokens=0, description="")
    return Collections(collections=[none], notes=[library.naming.none_yet()])


_NOTHING = Statistics(
    collection="",
    document_count=0,
    total_tokens=0,
    avg_tokens_per_doc=0.0,
    total_chunks=0,
    tag_distribution={},
    source_distribution={},
    oldest_document="",
    newest_document="",
    index_size_bytes=0,
)


def _most_frequent(counts: Mapping[str, int], most: int) -> dict[str, int]:
    """Return the most frequent of ``counts``, in the order in which they are there."""
    if len(counts) <= most:
        return dict(counts)
    first = set(sorted(counts, key=lambda name: (-counts[name], name))[:most])
    return {name: count for name, count in counts.items() if name in first}


def _written_to(library: Library, collection: str) -> str:
    """Return the collection that is written to, also where it is not there yet."""
    return collection_from(library, collection) or library.naming.written


def _check_words(title: str | None, text: str | None) -> None:
    """Refuse a title or a text with nothing in it; None is not given."""
    for name, words in (("Title", title), ("Text", text)):
        if words is not None and not words.strip():
            raise InvalidInput(f"{name} must not be empty")


def _draft(title: str, text: str, source: str, tags: list[str], metadata: dict[str, Any], summary: str) -> Draft:
    """Return a document to be put; what is empty stays as it is where the document is there already."""
    _check_words(title, text)
    return Draft(
        text, title, tags=tags or None, metadata=metadata or None, summary=summary.strip() or None, source=source
    )


def _one_of_batch(library: Library, document: JSON, name: str) -> Draft | PinakesError:
    """Return a document of a batch as it is to be put, or what is wrong with it."""
    try:
        if not isinstance(document, dict):
            raise InvalidInput("A document has to be an object with title and text.")
        given = {key: value for key, value in document.items() if value is not None}
        values = ingest_document.checked({"source": "batch", "collection": name, **given})
        if _written_to(library, values.pop("collection")) != name:
            raise InvalidInput("All documents of a batch go into one collection.", hint="Name it beside documents.")
        return _draft(**values)
    except PinakesError as error:
        return error


def _ingested(written: WrittenDocument) -> Ingested:
    document = written.document
    return Ingested(
        doc_id=document.uid,
        title=document.title,
        collection=document.collection,
        chunk_count=document.chunk_count,
        token_count=document.token_count,
        summary=document.summary,
        outcome=written.outcome,
        version=document.version,
        degraded=written.degraded,
        notes=list(map(str, written.notes)) or None,
    )


def _result(written: WrittenDocument | PinakesError, document: JSON) -> dict[str, JSON]:
    """Return what became of a document of a batch."""
    if isinstance(written, WrittenDocument):
        return _ingested(written).as_data()
    title = document.get("title") if isinstance(document, dict) else None
    return ({"title": title} if isinstance(title, str) else {}) | as_status(ingest_document, {}, written)
