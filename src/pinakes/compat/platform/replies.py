"""The answers of ``manageKnowledge`` and ``version``, field by field; on the wire the names are in camel case."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, PrivateAttr
from pydantic.alias_generators import to_camel
from pydantic.json_schema import SkipJsonSchema

from pinakes.tools.declare import Reply

Maybe: TypeAlias = SkipJsonSchema[None]
"""Beside the type of a field that may be missing; the schema names the type alone."""


class _Named(BaseModel):
    """Has its fields written in camel case."""

    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True, frozen=True)


class CopyOf(_Named):
    """A chunk that was left out because another says the same."""

    id: str
    uri: str
    chunk_index: int


class FoundChunk(_Named):
    """A chunk that answers a query. ``score`` is 0 to 1; lines count from 1 in its document.

    ``stale``: the file it was read from has changed since. ``suspicious``: it has instructions aimed at a model.
    ``page`` and ``page_end`` are there where its file has pages.
    """

    id: str
    content: str
    score: float
    match_type: Literal["semantic", "keyword", "hybrid"]
    source_id: str
    uri: str
    title: str
    metadata: dict[str, Any]
    chunk_index: int
    total_chunks: int
    tags: list[str]
    start_line: int
    end_line: int
    heading_path: list[str]
    stale: bool | Maybe = None
    suspicious: bool | Maybe = None
    page: int | Maybe = None
    page_end: int | Maybe = None
    duplicates: list[CopyOf] | Maybe = None


class ChunkSource(_Named):
    """Where a document comes from."""

    type: str
    uri: str
    metadata: dict[str, Any]


class StoredChunk(_Named):
    """A chunk with all that is kept of it.

    ``status``: "pending" while it has no vector of the model, then "processed"; "stale" once its file has changed.
    """

    id: str
    content: str
    source_id: str
    uri: str
    title: str
    source: ChunkSource
    metadata: dict[str, Any]
    checksum: str
    source_last_modified: str | Maybe = None
    fetched_at: str
    ingested_at: str
    processed_at: str
    chunk_index: int
    total_chunks: int
    status: Literal["pending", "processed", "stale"]
    tags: list[str]
    extracted_policy_ids: list[str]
    heading_path: list[str]
    suspicious: bool | Maybe = None


class KnowledgeReply(Reply):
    """What an operation did; each fills the fields that it has something to say in."""

    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True)
    indent: ClassVar[int | None] = 2

    success: bool = True
    operation: str
    chunks_created: int | Maybe = None
    chunk_ids: list[str] | Maybe = None
    chunks: list[FoundChunk] | Maybe = None
    chunk: StoredChunk | Maybe = None
    total_matches: int | Maybe = None
    query: str | Maybe = None
    uri: str | Maybe = None
    source_id: str | Maybe = None
    source_identifier: str | Maybe = None
    chunks_deleted: int | Maybe = None
    message: str
    agent_instructions: str | Maybe = None
    notes: list[str] | Maybe = None
    _documents: tuple[str, ...] = PrivateAttr(default=())

    def about(self, documents: Iterable[str]) -> KnowledgeReply:
        """Return this, made to name the documents that it is about."""
        reply = self.model_copy()
        reply._documents = tuple(documents)  # noqa: SLF001 - its own class
        return reply

    def found(self) -> tuple[str, ...]:
        """Return the ids of the documents that it is about."""
        return self._documents


class KnowledgeBaseState(_Named):
    """What the collection holds. ``error`` says why that cannot be told."""

    exists: bool
    documents_count: int
    chunks_count: int
    error: str | Maybe = None


class Collections(_Named):
    """The collections that ``manageKnowledge`` works with."""

    knowledge_base: KnowledgeBaseState


class VectorStore(_Named):
    """Where chunks and vectors are kept."""

    collections: Collections


class VersionReply(Reply):
    """What answers, and what it holds. ``model`` is the embedding model; ``chat`` says whether a chat model is set."""

    success: bool = True
    version: str
    model: str
    chat: bool
    vector_db: VectorStore = Field(alias="vectorDB")
    model_config = ConfigDict(populate_by_name=True)
    indent: ClassVar[int | None] = 2
