"""Vectors from a provider, or, while it does not answer, drawn from a hash: only where the settings ask for that."""

from __future__ import annotations

import logging
from collections.abc import Generator, Sequence
from pathlib import Path
from typing import Self

from pinakes.core.errors import InvalidInput, ModelUnavailable
from pinakes.core.records import Float32
from pinakes.models.embedders.deterministic import DeterministicEmbedder
from pinakes.models.embedders.endpoint import EndpointEmbedder
from pinakes.settings import EmbeddingSettings

_log = logging.getLogger(__name__)

_ANY_NUMBER = 2**31


class FallbackEmbedder(EndpointEmbedder):
    """As the provider; a text for which it does not answer gets a vector without meaning, which then stays.

    Its fingerprint says so, so that no such vector is ever taken for one of the provider.
    """

    def __init__(self, settings: EmbeddingSettings, cache: Path) -> None:
        super().__init__(settings, cache)

    @classmethod
    def open(cls, settings: EmbeddingSettings, cache: Path) -> Self:
        """Return an embedder; connects to nothing yet. Raises as that of the provider does."""
        return cls(settings, cache)

    @property
    def fingerprint(self) -> str:
        """Name the provider's model, and that not all vectors are from it."""
        return f"{super().fingerprint}+deterministic"

    def embed_query(self, text: str) -> Float32:
        """Return float32 (dim,), unit length."""
        try:
            return super().embed_query(text)
        except ModelUnavailable as error:
            vector: Float32 = self._drawn([text], error)[0]
            return vector

    def batches(self, texts: Sequence[str]) -> Generator[tuple[Sequence[int], Float32 | InvalidInput], None, None]:
        """Yield positions of ``texts`` and their vectors, or why the provider refuses them."""
        left = set(range(len(texts)))
        try:
            for positions, found in super().batches(texts):
                left.difference_update(positions)
                yield positions, found
        except ModelUnavailable as error:
            rest = sorted(left)
            yield rest, self._drawn([texts[at] for at in rest], error)

    def _drawn(self, texts: Sequence[str], error: ModelUnavailable) -> Float32:
        _log.warning("%d texts get vectors without meaning (embedding.fallback): %s", len(texts), error.message)
        return DeterministicEmbedder(self.dimension, _ANY_NUMBER).embed(texts)
