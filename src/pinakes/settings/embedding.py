"""The settings of how text becomes vectors: by a model that runs here, or by one that is asked over the network."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar, Literal

from pydantic import Field

from pinakes.settings.base import Purpose, Section

DEFAULT_MODEL = "sentence-transformers/all-MiniLM-L6-v2"


class EmbeddingSettings(Section):
    """How text becomes vectors."""

    purpose: ClassVar[Purpose] = "embedding"

    provider: str = Field(
        "onnx",
        description="Which embedder: onnx (local model), torch (local model by sentence-transformers), openai, "
        "azure_openai, gemini, ollama, together, lmstudio, huggingface, endpoint (any address that speaks as OpenAI "
        "does), deterministic (for tests), or that of a plug-in.",
    )
    model: str = Field(
        DEFAULT_MODEL, description="Model name, as on the model hub or as the provider knows it; default = its own."
    )
    path: Path | None = Field(None, description="Folder with the model's files; nothing is downloaded then.")
    precision: Literal["int8", "fp32"] = Field("int8", description="Arithmetic of the converted model.")
    threads: int = Field(0, ge=0, description="Threads of the model; 0 = one per core.")
    mode: Literal["full", "progressive", "lazy"] = Field(
        "progressive",
        description="progressive = a large collection is searched by approximate vectors until all are embedded; "
        "lazy = it stays so, and only what searches meet is embedded.",
    )
    sample_chunks: int = Field(1000, ge=1, description="Chunks embedded first; the approximate vectors come from them.")
    progressive_chunks: int = Field(2000, ge=1, description="Fewer waiting chunks than this are embedded at once.")
    fallback: Literal["none", "deterministic"] = Field(
        "none",
        description="While the provider does not answer: none = documents wait; deterministic = they get vectors "
        "without meaning, and the collection says so in its model's name.",
    )
    url: str = Field("", description="Address of the provider's API up to `/v1`; none = the usual one.")
    key_variable: str = Field("", description="Environment variable that holds its key; none = the usual one.")
    dimension: int = Field(0, ge=0, le=65_536, description="Numbers of a vector; 0 = as the model gives.")
    max_tokens: int = Field(0, ge=0, description="Tokens the provider's model reads of a text; 0 = as is known of it.")
    batch: int = Field(0, ge=0, le=2048, description="Texts of one request to the provider; 0 = what suits it.")
    connections: int = Field(0, ge=0, le=64, description="Requests at the same time; 0 = what suits the provider.")
    requests_per_minute: int | None = Field(
        None, ge=0, description="Most requests in any 60 seconds; none = what suits the provider, 0 = any number."
    )
    tokens_per_minute: int = Field(0, ge=0, description="Most tokens in any 60 seconds, estimated; 0 = any number.")
    timeout_s: float = Field(60, gt=0, description="An answer that takes longer has failed, in seconds.")
    question_timeout_s: float = Field(
        10, gt=0, description="A search waits so long for the vector of its question, then goes by words, in seconds."
    )
    retries: int = Field(5, ge=0, le=20, description="So often the provider is asked again when it is busy or away.")
    price_per_million: float | None = Field(
        None, ge=0, description="What the provider takes for a million tokens, in US dollars; none = as is known of it."
    )
    ask_above: float = Field(
        1.0, ge=0, description="A run is asked for, or needs `--yes`, when it is to cost more than this, in US dollars."
    )
    ask_above_tokens: int = Field(
        1_000_000, ge=0, description="The same in tokens, where a provider wants a key and its price is not known."
    )
