"""Known providers of embeddings: their models, and the limits of their APIs.

Addresses and keys are in ``models/providers``. Prices are those that the providers published in 2026, in US dollars for
a million tokens; ``embedding.price_per_million`` replaces them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType

from pinakes.settings import DEFAULT_MODEL, EmbeddingSettings, ProviderName

_USUAL_MAX_TOKENS = 510
"""The limit of nearly all embedding models."""


@dataclass(frozen=True, slots=True)
class Model:
    """A known model.

    ``dimension``: of its vectors, 0: ask the provider. ``max_tokens``: of a text. ``price``: US dollars for a million
    tokens, None: that of the provider. ``shortens``: it can return shorter vectors. ``question`` and ``chunk``:
    prefixes of queries and chunks, with which the model was trained.
    """

    dimension: int = 0
    max_tokens: int = _USUAL_MAX_TOKENS
    price: float | None = None
    shortens: bool = False
    question: str = ""
    chunk: str = ""


@dataclass(frozen=True, slots=True)
class Preset:
    """Defaults for one provider.

    ``model``: used if the settings name none. ``batch`` and ``batch_tokens``: maximum texts and tokens of one request;
    ``connections``: concurrent requests; ``requests_per_minute``: 0: no limit. ``price``: of unknown models, None:
    unknown, too. ``other_keys``: further environment variables that may hold its key. ``unknown``: what is assumed of
    any other model.
    """

    models: Mapping[str, Model] = field(default_factory=dict)
    model: str = DEFAULT_MODEL
    batch: int = 32
    batch_tokens: int = 16_000
    connections: int = 2
    requests_per_minute: int = 0
    price: float | None = None
    other_keys: tuple[str, ...] = ()
    unknown: Model = Model()

    def model_named(self, model: str) -> Model:
        """Return the known model called ``model``, ignoring a tag after its name as in Ollama; else ``unknown``."""
        return self.models.get(model) or self.models.get(model.partition(":")[0]) or self.unknown


def model_of(settings: EmbeddingSettings) -> str:
    """Return the name of the configured model: if the settings name none, the provider's default, or the provider."""
    if settings.model != DEFAULT_MODEL or settings.provider in ("onnx", "torch"):
        return settings.model
    preset = PRESETS.get(settings.provider)  # type: ignore[call-overload]
    return preset.model if preset else settings.provider


_NOMIC = Model(768, 2046, question="search_query: ", chunk="search_document: ")
_MXBAI = Model(1024, question="Represent this sentence for searching relevant passages: ")
_MINILM = Model(384, 254)
_HOSTED_PER_MINUTE = 80
_OPENAI = Preset(
    {
        "text-embedding-3-small": Model(1536, 8191, 0.02, shortens=True),
        "text-embedding-3-large": Model(3072, 8191, 0.13, shortens=True),
        "text-embedding-ada-002": Model(1536, 8191, 0.10),
    },
    "text-embedding-3-small",
    batch=128,
    batch_tokens=100_000,
    connections=4,
    requests_per_minute=_HOSTED_PER_MINUTE,
    unknown=Model(max_tokens=8191, shortens=True),
)

PRESETS: Mapping[ProviderName, Preset] = MappingProxyType(
    {
        "endpoint": Preset(),
        "openai": _OPENAI,
        "azure_openai": replace(_OPENAI, other_keys=("EMBEDDING_AZURE_OPENAI_API_KEY",)),
        "gemini": Preset(
            {"gemini-embedding-001": Model(3072, 2048, 0.15, shortens=True)},
            "gemini-embedding-001",
            batch=100,
            batch_tokens=20_000,
            requests_per_minute=_HOSTED_PER_MINUTE,
            other_keys=("GOOGLE_API_KEY",),
            unknown=Model(max_tokens=2048, shortens=True),
        ),
        "ollama": Preset(
            {
                "nomic-embed-text": _NOMIC,
                "all-minilm": _MINILM,
                "mxbai-embed-large": _MXBAI,
                "bge-m3": Model(1024, 8190),
            },
            "nomic-embed-text",
            price=0.0,
        ),
        "together": Preset(
            {
                "togethercomputer/m2-bert-80M-8k-retrieval": Model(768, 8190, 0.008),
                "BAAI/bge-base-en-v1.5": Model(768, 510, 0.008),
                "BAAI/bge-large-en-v1.5": Model(1024, 510, 0.016),
            },
            "togethercomputer/m2-bert-80M-8k-retrieval",
            batch=64,
            batch_tokens=50_000,
            requests_per_minute=_HOSTED_PER_MINUTE,
        ),
        "lmstudio": Preset(
            {"text-embedding-nomic-embed-text-v1.5": _NOMIC}, "text-embedding-nomic-embed-text-v1.5", price=0.0
        ),
        "huggingface": Preset(
            {
                DEFAULT_MODEL: _MINILM,
                "BAAI/bge-small-en-v1.5": Model(384),
                "BAAI/bge-base-en-v1.5": Model(768),
                "mixedbread-ai/mxbai-embed-large-v1": _MXBAI,
            },
            requests_per_minute=_HOSTED_PER_MINUTE,
            other_keys=("HUGGINGFACE_API_KEY",),
        ),
    }
)
