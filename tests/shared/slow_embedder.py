"""An embedder that waits: as long for each text as a model that runs on a machine of its own."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Self

from pinakes.core.records import Float32
from pinakes.models.embedders.deterministic import DeterministicEmbedder
from pinakes.settings import EmbeddingSettings

PER_TEXT_S = 0.01


class SlowEmbedder(DeterministicEmbedder):
    """The vectors of the deterministic one, later."""

    @classmethod
    def open(cls, settings: EmbeddingSettings, cache: Path) -> Self:
        return cls()

    def embed(self, texts: Sequence[str]) -> Float32:
        time.sleep(PER_TEXT_S * len(texts))
        return super().embed(texts)
