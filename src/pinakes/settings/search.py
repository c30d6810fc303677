"""The settings of search: retrieval, scoring, boosts and reranking."""

from __future__ import annotations

import json
import re
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, TypeAlias

from pydantic import AfterValidator, BeforeValidator, Field
from pydantic_core import PydanticCustomError

from pinakes.settings.base import Purpose, Section
from pinakes.settings.refusals import shortened

DEFAULT_RERANKER = "cross-encoder/ms-marco-MiniLM-L-6-v2"


class SearchSettings(Section):
    """How searches are answered."""

    top_k: int = Field(10, ge=1, description="Number of results if the caller gives none.")
    shown: int = Field(
        5,
        ge=1,
        description="Hits that `pinakes search` shows in a terminal; it counts the others, and `--top-k` shows more.",
    )
    max_top_k: int = Field(50, ge=1, description="Maximum results that a caller may request.")
    min_score: float = Field(
        0, ge=0, le=1, description="Hits with lower scores are dropped; a caller may set a higher minimum."
    )
    max_query_chars: int = Field(2000, ge=1, description="Longer queries are cut, with a note in the answer.")
    remembered_queries: int = Field(1000, ge=0, description="Number of query vectors in the cache; 0 = none.")
    remembered_answers: int = Field(
        256, ge=0, description="Number of answers in the cache, until something changes; 0 = none."
    )
    candidates: int = Field(100, ge=1, description="Candidates from each retriever, at least 4 per result.")
    fusion: Literal["weighted", "rrf"] = Field(
        "weighted", description="How the rankings of the two retrievers are fused."
    )
    semantic_weight: float = Field(0.7, ge=0, description="Weight of cosine in weighted fusion.")
    keyword_weight: float = Field(0.3, ge=0, description="Weight of BM25 / best BM25 in weighted fusion.")
    refine_ms: float = Field(
        100,
        ge=0,
        description="Time budget for embedding the best chunks that have approximate vectors, in ms; 0 = never.",
    )
    refresh_ms: float = Field(
        500,
        ge=0,
        description="Time budget for rereading changed files of hits if a caller asks for it, in ms; 0 = never.",
    )
    blame_ms: float = Field(
        3000, ge=0, description="Time budget for git blame of the lines of hits if a caller asks for it, in ms."
    )
    document_cosine_share: float = Field(
        0.4, ge=0, le=1, description="Share of the whole document's cosine; the rest is the chunk's."
    )
    document_bm25_share: float = Field(
        0.7, ge=0, le=1, description="Share of the whole document's BM25; the rest is the chunk's."
    )
    bm25_attained: float = Field(
        0.35,
        ge=0,
        le=1,
        description="The best chunk's BM25 counts in full only above this share of the attainable BM25 of the query's "
        "words, by their document IDF; 0 = always.",
    )
    feedback_weight: float = Field(
        0.35,
        ge=0,
        description="Weight of the similarity to the best chunks (relevance feedback), beside the fused score (1.0).",
    )
    definition_boost: float = Field(
        0.15, ge=0, description="Added to the fused score of a chunk that defines a name in the query."
    )
    identifier_boost: float = Field(
        0.5,
        ge=0,
        description="Added to the fused score of a chunk that has an identifier (RFC-0011) as a whole, times the "
        "square of the identifier's share of the query.",
    )
    rrf_k: int = Field(60, ge=1, le=1000, description="k of reciprocal rank fusion: a list adds 1 / (k + rank).")
    title_boost: float = Field(0.05, ge=0, description="Weight of the title field in BM25, relative to the text (1.0).")
    path_boost: float = Field(0.1, ge=0, description="Weight of the path field in BM25, relative to the text (1.0).")
    phrase_boost: float = Field(0.2, ge=0, description="Extra weight in BM25 if the query's words occur as a phrase.")
    fold_duplicates: bool = Field(True, description="Return duplicate chunks once, listing the others.")
    diversity_field: str = Field(
        "",
        description="Metadata field whose values occur at most once each among the first five hits; empty = no limit.",
    )


class BoostSettings(Section):
    """Boosts and penalties of chunks, as shares of the score; 0 = off."""

    test_penalty: float = Field(
        0.15,
        ge=0,
        le=1,
        description="For code in folders or files with names of tests, unless the query asks for tests.",
    )
    saturation: float = Field(
        0.02, ge=0, lt=1, description="Penalty of a chunk for each better one of its document, at most ten times."
    )
    metadata_most: float = Field(
        0.48, ge=0, description="Maximum total of the boosts of a collection (`collections.NAME.boosts`)."
    )


class RerankSettings(Section):
    """How the best chunks are reranked by a model that reads query and chunk together."""

    purpose: ClassVar[Purpose] = "rerank"

    enabled: bool = Field(False, description="Rerank the best chunks of an answer.")
    provider: str = Field(
        "onnx", description="Which reranker: onnx (local cross-encoder), http (an endpoint), or that of a plug-in."
    )
    model: str = Field(DEFAULT_RERANKER, description="Model name on the model hub or at the endpoint.")
    path: Path | None = Field(None, description="Folder with the model's files.")
    precision: Literal["int8", "fp32"] = Field("int8", description="Precision of the converted model.")
    threads: int = Field(0, ge=0, description="Threads of the model; 0 = one per core.")
    url: str = Field("", description="Address of the endpoint, with its path: `https://…/v1/rerank`.")
    protocol: Literal["jina", "tei"] = Field(
        "jina", description="Protocol of the endpoint: jina (Jina, Cohere and most others) or tei."
    )
    key_variable: str = Field("", description="Environment variable that holds the endpoint's key; empty = no key.")
    timeout_s: float = Field(10, gt=0, description="Time limit of a request to the endpoint, in seconds.")
    budget_ms: float = Field(
        200, gt=0, description="Time budget for reranking, in ms; chunks not scored by then keep their order."
    )
    pool: int = Field(20, ge=1, description="Number of chunks to rerank; with `adaptive`, for a typical query.")
    adaptive: bool = Field(True, description="Choose the number by query and chunks: 10 to 30, or `pool`.")


def _from_json(value: Any) -> Any:
    """Return the table in the JSON text ``value``; environment variables can only hold text."""
    with suppress(ValueError):
        return json.loads(value) if isinstance(value, str) else value
    return value


def _folded(table: dict[str, tuple[str, ...]]) -> dict[str, tuple[str, ...]]:
    """Return ``table`` with its words case-folded; refuse invalid and repeated words."""
    folded: dict[str, tuple[str, ...]] = {}
    for word, others in table.items():
        if not WORD.fullmatch(word):
            raise PydanticCustomError("not_a_word", "not a word", {"word": shortened(word)})
        if word.casefold() in folded:
            raise PydanticCustomError("word_twice", "a word twice", {"word": shortened(word.casefold())})
        folded[word.casefold()] = others
    return folded


WORD = re.compile(r"[^\W_]+(?:[-'’][^\W_]+)*")
"""A word of a table: letters and digits, possibly with hyphens or apostrophes in between."""

Words: TypeAlias = Annotated[dict[str, tuple[str, ...]], BeforeValidator(_from_json)]
WordTable: TypeAlias = Annotated[Words, AfterValidator(_folded)]


class ExpansionSettings(Section):
    """Query expansion: words that are searched for in addition to those of the query."""

    enabled: bool = Field(False, description="Expand queries with the tables.")
    abbreviations: WordTable = Field(
        {}, description="Abbreviations and their expansions: `alloc = ['allocation', 'allocate']`."
    )
    synonyms: WordTable = Field({}, description="Words and their synonyms: `lock = ['mutex', 'semaphore']`.")


class SpellingSettings(Section):
    """What happens to words of a query that no chunk has."""

    suggest: bool = Field(True, description="Suggest the most likely existing word.")
    correct: bool = Field(False, description="Search for the suggested word instead, if it is unambiguous.")
