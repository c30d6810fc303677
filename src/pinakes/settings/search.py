"""The settings of searching: how candidates are found, scored, lifted and ranked again."""

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
    """How questions are answered."""

    top_k: int = Field(10, ge=1, description="Results when the caller does not say.")
    shown: int = Field(
        5, ge=1, description="Hits that `pinakes search` shows people; it counts the others, and `--top-k` shows them."
    )
    max_top_k: int = Field(50, ge=1, description="Most results a caller may ask for.")
    min_score: float = Field(0, ge=0, le=1, description="Lower scores are left out; a caller may ask for more.")
    max_query_chars: int = Field(2000, ge=1, description="A longer query is cut here, and the answer says so.")
    remembered_queries: int = Field(1000, ge=0, description="Questions whose vectors are remembered; 0 = none.")
    remembered_answers: int = Field(
        256, ge=0, description="Answers that are remembered until something changes; 0 = none."
    )
    candidates: int = Field(100, ge=1, description="Candidates taken from each retriever, at least 4 per result.")
    fusion: Literal["weighted", "rrf"] = Field("weighted", description="How the two retrievers become one ranking.")
    semantic_weight: float = Field(0.7, ge=0, description="Weight of cosine in weighted fusion.")
    keyword_weight: float = Field(0.3, ge=0, description="Weight of BM25 / best BM25 in weighted fusion.")
    refine_ms: float = Field(
        100, ge=0, description="Time to embed the best chunks that have approximate vectors, in ms; 0 = never."
    )
    refresh_ms: float = Field(
        500, ge=0, description="Time to read changed files of hits again, where a caller wants that, in ms; 0 = never."
    )
    blame_ms: float = Field(
        3000, ge=0, description="Time to find out who wrote the lines of hits, where a caller asks for that, in ms."
    )
    document_cosine_share: float = Field(
        0.4, ge=0, le=1, description="Share of the cosine with the document as a whole beside that of the chunk."
    )
    document_bm25_share: float = Field(
        0.7, ge=0, le=1, description="Share of the whole document's BM25 beside that of the chunk."
    )
    bm25_attained: float = Field(
        0.35,
        ge=0,
        le=1,
        description="The best chunk's BM25 counts in full only from this share of what the query's words could give "
        "on, by their IDF over documents; 0 = always.",
    )
    feedback_weight: float = Field(
        0.35, ge=0, description="Weight of being like the best chunks, beside the fused score (1.0)."
    )
    definition_boost: float = Field(
        0.15, ge=0, description="Added to the fused score of a chunk that defines a name in the query."
    )
    identifier_boost: float = Field(
        0.5,
        ge=0,
        description="Added to the fused score of a chunk that has an identifier (RFC-0011) as a whole, times the "
        "square of its share of the query.",
    )
    rrf_k: int = Field(60, ge=1, le=1000, description="k of reciprocal rank fusion: a list adds 1 / (k + rank).")
    title_boost: float = Field(0.05, ge=0, description="Weight of the title field beside the text (1.0) in BM25.")
    path_boost: float = Field(0.1, ge=0, description="Weight of the path field beside the text (1.0) in BM25.")
    phrase_boost: float = Field(0.2, ge=0, description="Extra weight when the query's words stand as a phrase.")
    fold_duplicates: bool = Field(True, description="Show chunks that say the same once, naming the others.")
    diversity_field: str = Field(
        "",
        description="Metadata field of which no value may have more than one of the first five hits; none = any may.",
    )
    mmr_lambda: float = Field(
        1, ge=0, le=1, description="Weight of the score, against being unlike better hits: maximal marginal relevance."
    )


class BoostSettings(Section):
    """What lifts or lowers chunks besides their scores, as shares of the score; 0 = not at all."""

    stem_match: float = Field(
        0, ge=0, description="For the file's name, times the share of its words that the query has."
    )
    path_match: float = Field(0, ge=0, description="For the path, times the share of the query's words that it has.")
    symbol_definition: float = Field(
        0, ge=0, description="For defining a name when the query is nothing else; see also `search.definition_boost`."
    )
    test_penalty: float = Field(
        0.15,
        ge=0,
        le=1,
        description="Taken from code in folders or files that are called as tests are, unless the query says so.",
    )
    generated_penalty: float = Field(0, ge=0, le=1, description="The same of generated code.")
    vendored_penalty: float = Field(0, ge=0, le=1, description="The same of others' code.")
    legacy_penalty: float = Field(0, ge=0, le=1, description="The same of code that is no longer meant.")
    example_penalty: float = Field(0, ge=0, le=1, description="The same of examples.")
    saturation: float = Field(
        0.02, ge=0, lt=1, description="Taken from a chunk for each better one of its document, ten times at most."
    )
    metadata_most: float = Field(
        0.48, ge=0, description="Most that the boosts of a collection (`collections.NAME.boosts`) give together."
    )


class RerankSettings(Section):
    """How the best chunks are ranked again by a model that reads question and chunk together."""

    purpose: ClassVar[Purpose] = "rerank"

    enabled: bool = Field(False, description="Rank the best chunks of an answer again.")
    provider: str = Field(
        "onnx", description="Which reranker: onnx (local cross-encoder), http (an endpoint), or that of a plug-in."
    )
    model: str = Field(DEFAULT_RERANKER, description="Model name, as on the model hub, or as the endpoint knows it.")
    path: Path | None = Field(None, description="Folder with the model's files.")
    precision: Literal["int8", "fp32"] = Field("int8", description="Arithmetic of the converted model.")
    threads: int = Field(0, ge=0, description="Threads of the model; 0 = one per core.")
    url: str = Field("", description="Address of the endpoint, with its path: `https://…/v1/rerank`.")
    protocol: Literal["jina", "tei"] = Field(
        "jina", description="What the endpoint speaks: jina (Jina, Cohere and most others) or tei."
    )
    key_variable: str = Field("", description="Environment variable that holds the endpoint's key; none = no key.")
    timeout_s: float = Field(10, gt=0, description="An endpoint that takes longer has failed, in seconds.")
    budget_ms: float = Field(200, gt=0, description="Time for ranking again, in ms; what is left then keeps its place.")
    pool: int = Field(
        20, ge=1, description="Best chunks that are ranked again; with `adaptive` for a question of the usual kind."
    )
    adaptive: bool = Field(True, description="Let question and chunks decide how many: 10 to 30, or `pool`.")


def _from_json(value: Any) -> Any:
    """Return the table that ``value`` spells; the environment can hold texts only."""
    with suppress(ValueError):
        return json.loads(value) if isinstance(value, str) else value
    return value


def _folded(table: dict[str, tuple[str, ...]]) -> dict[str, tuple[str, ...]]:
    """Return ``table`` with its words as those of a query are compared; refuse what is none or is there twice."""
    folded: dict[str, tuple[str, ...]] = {}
    for word, others in table.items():
        if not WORD.fullmatch(word):
            raise PydanticCustomError("not_a_word", "not a word", {"word": shortened(word)})
        if word.casefold() in folded:
            raise PydanticCustomError("word_twice", "a word twice", {"word": shortened(word.casefold())})
        folded[word.casefold()] = others
    return folded


WORD = re.compile(r"[^\W_]+(?:[-'’][^\W_]+)*")
"""A word that others can be put beside: letters and digits, perhaps with hyphens or apostrophes between them."""

Words: TypeAlias = Annotated[dict[str, tuple[str, ...]], BeforeValidator(_from_json)]
WordTable: TypeAlias = Annotated[Words, AfterValidator(_folded)]


class ExpansionSettings(Section):
    """Which words are searched for beside those of the query."""

    enabled: bool = Field(False, description="Search for what the tables add, too.")
    abbreviations: WordTable = Field(
        {}, description="What short forms stand for: `alloc = ['allocation', 'allocate']`."
    )
    synonyms: WordTable = Field({}, description="What else a word may be called: `lock = ['mutex', 'semaphore']`.")


class SpellingSettings(Section):
    """What happens to words of a query that no chunk has."""

    suggest: bool = Field(True, description="Name the likeliest word there is.")
    correct: bool = Field(False, description="Search for that word instead, where there is no doubt.")
