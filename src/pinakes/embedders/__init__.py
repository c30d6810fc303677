"""Embedders: text to vectors. One file per kind; ``EMBEDDERS`` names them all."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

from pinakes.errors import InvalidSetting
from pinakes.ports import Embedder
from pinakes.settings import EmbeddingSettings

EMBEDDERS = {
    "deterministic": "pinakes.embedders.deterministic:DeterministicEmbedder",
    "onnx": "pinakes.embedders.bert:BertEmbedder",
}

__all__ = ["EMBEDDERS", "open_embedder"]


def open_embedder(settings: EmbeddingSettings, cache: Path) -> Embedder:
    """Return the embedder ``settings.provider`` names; ``cache`` is the folder that keeps models.

    Opening costs nothing: a model is found, fetched and loaded when it is first needed.

    Raises:
        InvalidSetting: no such provider.
    """
    if settings.provider not in EMBEDDERS:
        raise InvalidSetting(
            f"There is no embedding provider {settings.provider!r}.", hint=f"Known: {', '.join(sorted(EMBEDDERS))}."
        )
    module, name = EMBEDDERS[settings.provider].split(":")
    embedder: Embedder = getattr(import_module(module), name).open(settings, cache)
    return embedder
