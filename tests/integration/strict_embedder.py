"""An embedder that reads less than it says."""

from __future__ import annotations

from collections.abc import Sequence

from pinakes.core.errors import InvalidInput
from pinakes.core.records import Float32
from pinakes.models.embedders.deterministic import DeterministicEmbedder


class StrictEmbedder(DeterministicEmbedder):
    """Refuses texts with the word "unreadable"."""

    def embed(self, texts: Sequence[str]) -> Float32:
        if any("unreadable" in text for text in texts):
            raise InvalidInput("A text is too long for the model.", hint="Cut it first.")
        return super().embed(texts)
