"""An embedder that does not come back from texts that say so, as a library that cannot be interrupted."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Self

from pinakes.core.records import Float32
from pinakes.models.embedders.deterministic import DeterministicEmbedder
from pinakes.settings import EmbeddingSettings

STUCK = "never comes back"
SAID = "stuck now"
_LONG_S = 120


class StuckEmbedder(DeterministicEmbedder):
    """Sleeps at texts and queries with ``STUCK`` in them."""

    @classmethod
    def open(cls, settings: EmbeddingSettings, cache: Path) -> Self:
        return cls()

    def embed(self, texts: Sequence[str]) -> Float32:
        if any(STUCK in text for text in texts):
            _stay()
        return super().embed(texts)

    def embed_query(self, text: str) -> Float32:
        if STUCK in text:
            _stay()
        return super().embed_query(text)


def _stay() -> None:
    sys.stderr.write(f"{SAID}\n")
    sys.stderr.flush()
    time.sleep(_LONG_S)
