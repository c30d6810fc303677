"""Embedders: text to vectors. One file per kind; ``EMBEDDERS`` names them all."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

from pinakes.core.ports import Embedder, Loadable
from pinakes.platform import plugins
from pinakes.settings import EmbeddingSettings

_ENDPOINT = "pinakes.models.embedders.endpoint:EndpointEmbedder"
_FALLBACK = "pinakes.models.embedders.fallback:FallbackEmbedder"

EMBEDDERS = {
    "azure_openai": _ENDPOINT,
    "deterministic": "pinakes.models.embedders.deterministic:DeterministicEmbedder",
    "endpoint": _ENDPOINT,
    "gemini": _ENDPOINT,
    "huggingface": _ENDPOINT,
    "lmstudio": _ENDPOINT,
    "ollama": _ENDPOINT,
    "onnx": "pinakes.models.embedders.bert:BertEmbedder",
    "openai": _ENDPOINT,
    "together": _ENDPOINT,
    "torch": "pinakes.models.embedders.torch:TorchEmbedder",
}

_SWITCH_S = 0.0005
"""Thread switch interval while a model loads: with Python's default of 5 ms, loading is slow."""

__all__ = ["EMBEDDERS", "loading", "open_embedder"]


def open_embedder(settings: EmbeddingSettings, cache: Path) -> Embedder:
    """Return the embedder that ``settings.provider`` names; ``cache`` is the folder of models.

    Opening is cheap: a model is found, fetched and loaded on first use.

    Raises:
        InvalidSetting: the provider is unknown, or ``embedding.url`` is not an address.
        PluginBroken: the provider is a plug-in that cannot be used.
    """
    provider, ours = settings.provider, EMBEDDERS
    if settings.fallback == "deterministic" and EMBEDDERS.get(provider) == _ENDPOINT:
        ours = {provider: _FALLBACK}
    embedder: Embedder = plugins.build("embedders", ours, provider, lambda kind: kind.open(settings, cache))
    return embedder


@contextmanager
def loading(settings: EmbeddingSettings, cache: Path) -> Iterator[Embedder]:
    """Provide the embedder within the block, while a thread loads its model if it is installed.

    An error in that thread is raised on the first use of the model.
    """
    embedder, before = open_embedder(settings, cache), sys.getswitchinterval()
    sys.setswitchinterval(_SWITCH_S)
    try:
        with ThreadPoolExecutor(1, thread_name_prefix="pinakes-load") as beside:
            if isinstance(embedder, Loadable):
                beside.submit(embedder.load)
            yield embedder
    finally:
        sys.setswitchinterval(before)
