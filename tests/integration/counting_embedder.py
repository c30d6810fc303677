"""The deterministic embedder, counting what it is asked to embed."""

from __future__ import annotations

from collections.abc import Sequence

from pinakes.core.records import Float32
from pinakes.models.embedders.deterministic import DeterministicEmbedder


class CountingEmbedder(DeterministicEmbedder):
    """``texts`` are all texts embedded so far, in order."""

    def __init__(self, dimension: int = 384, max_tokens: int = 254) -> None:
        super().__init__(dimension, max_tokens)
        self.texts: list[str] = []

    def embed(self, texts: Sequence[str]) -> Float32:
        self.texts += texts
        return super().embed(texts)
