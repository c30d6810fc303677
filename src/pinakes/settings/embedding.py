"""The settings of embedding: by a local model, or by a provider over the network."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar, Literal

from pydantic import Field

from pinakes.settings.base import Purpose, Section

DEFAULT_MODEL = "sentence-transformers/all-MiniLM-L6-v2"


class EmbeddingSettings(Section):
    """How texts are embedded."""

    purpose: ClassVar[Purpose] = "embedding"

    provider: str = Field(
        "onnx",
        description="Which embedder: onnx (local model), torch (local model by sentence-transformers), openai, "
        "azure_openai, gemini, ollama, together, lmstudio, huggingface, endpoint (any server with OpenAI's protocol), "
        "deterministic (for tests), or that of a plug-in.",
    )
    model: str = Field(
        DEFAULT_MODEL, description="Model name on the model hub or at the provider; default = that of the provider."
    )
    path: Path | None = Field(None, description="Folder with the model's files; if set, nothing is downloaded.")
    precision: Literal["int8", "fp32"] = Field("int8", description="Precision of the converted model.")
    threads: int = Field(0, ge=0, description="Threads of the model; 0 = one per core.")
    mode: Literal["full", "progressive", "lazy"] = Field(
        "progressive",
        description="progressive = a large collection is searched by approximate vectors until all chunks are "
        "embedded; lazy = it stays so, and only chunks that searches find are embedded.",
    )
    sample_chunks: int = Field(1000, ge=1, description="Chunks embedded first; the approximate vectors come from them.")
    progressive_chunks: int = Field(2000, ge=1, description="Fewer pending chunks than this are embedded at once.")
    fallback: Literal["none", "deterministic"] = Field(
        "none",
        description="If the provider does not answer: none = documents wait; deterministic = they get meaningless "
        "vectors, and the name of the collection's model says so.",
    )
    url: str = Field("", description="Address of the provider's API up to `/v1`; empty = the usual one.")
    key_variable: str = Field("", description="Environment variable that holds its key; empty = the usual one.")
    dimension: int = Field(0, ge=0, le=65_536, description="Dimension of the vectors; 0 = that of the model.")
    max_tokens: int = Field(0, ge=0, description="Maximum tokens of a text; 0 = as known for the provider's model.")
    batch: int = Field(0, ge=0, le=2048, description="Texts per request to the provider; 0 = its default.")
    connections: int = Field(0, ge=0, le=64, description="Concurrent requests; 0 = the provider's default.")
    requests_per_minute: int | None = Field(
        None, ge=0, description="Maximum requests in any 60 seconds; none = the provider's default, 0 = no limit."
    )
    tokens_per_minute: int = Field(0, ge=0, description="Maximum tokens in any 60 seconds, estimated; 0 = no limit.")
    timeout_s: float = Field(60, gt=0, description="Time limit of a request, in seconds.")
    question_timeout_s: float = Field(
        10, gt=0, description="Time limit of the vector of a query, in seconds; then the search is by keywords alone."
    )
    retries: int = Field(5, ge=0, le=20, description="Retries when the provider is busy or unreachable.")
    price_per_million: float | None = Field(
        None, ge=0, description="Price of a million tokens in US dollars; none = as known for the provider."
    )
    ask_above: float = Field(
        1.0, ge=0, description="A run that costs more than this in US dollars needs a confirmation or `--yes`."
    )
    ask_above_tokens: int = Field(
        1_000_000, ge=0, description="The same in tokens, for a provider with a key whose price is unknown."
    )
