"""Rerankers: question and chunk to a score. One file per kind; ``RERANKERS`` names them all."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

from pinakes.core.errors import InvalidSetting
from pinakes.core.ports import Reranker
from pinakes.settings import RerankSettings

RERANKERS = {
    "http": "pinakes.models.rerankers.endpoint:EndpointReranker",
    "onnx": "pinakes.models.rerankers.cross_encoder:CrossEncoder",
}

__all__ = ["RERANKERS", "open_reranker"]


def open_reranker(settings: RerankSettings, cache: Path) -> Reranker:
    """Return the reranker ``settings.provider`` names; ``cache`` is the folder that keeps models.

    Opening costs nothing: a model is loaded when it is first needed.

    Raises:
        InvalidSetting: no such provider, or it lacks what it needs (the ``url`` of an endpoint).
    """
    if settings.provider not in RERANKERS:
        raise InvalidSetting(
            f"There is no rerank provider {settings.provider!r}.", hint=f"Known: {', '.join(sorted(RERANKERS))}."
        )
    module, name = RERANKERS[settings.provider].split(":")
    reranker: Reranker = getattr(import_module(module), name).open(settings, cache)
    return reranker
