"""Rerankers: question and chunk to a score. One file per kind; ``RERANKERS`` lists them all."""

from __future__ import annotations

from pathlib import Path

from pinakes.core.ports import Reranker
from pinakes.platform import plugins
from pinakes.settings import RerankSettings

RERANKERS = {
    "http": "pinakes.models.rerankers.endpoint:EndpointReranker",
    "onnx": "pinakes.models.rerankers.cross_encoder:CrossEncoder",
}

__all__ = ["RERANKERS", "open_reranker"]


def open_reranker(settings: RerankSettings, cache: Path) -> Reranker:
    """Return the reranker that ``settings.provider`` names; ``cache`` is the folder of models.

    Opening is cheap: a model is loaded on first use.

    Raises:
        InvalidSetting: the provider is unknown, or a required setting is missing (``rerank.url`` of an endpoint).
        PluginBroken: the provider is a plug-in that cannot be used.
    """
    reranker: Reranker = plugins.build(
        "rerankers", RERANKERS, settings.provider, lambda kind: kind.open(settings, cache)
    )
    return reranker
