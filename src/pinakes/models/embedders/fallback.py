"""The fallback of a provider: random vectors from a hash while it does not answer, only if the settings ask for it."""

from __future__ import annotations

import logging
from collections.abc import Generator, Sequence

from pinakes.core.errors import InvalidInput, ModelUnavailable
from pinakes.core.records import Float32
from pinakes.models.embedders.deterministic import DeterministicEmbedder
from pinakes.models.embedders.endpoint import EndpointEmbedder

_log = logging.getLogger(__name__)

_ANY_NUMBER = 2**31


class FallbackEmbedder(EndpointEmbedder):
    """Embeds with the provider; a text that it does not embed gets a meaningless vector, which is kept.

    The fingerprint differs from the provider's, so that such vectors are never taken for real ones.
    """

    @property
    def fingerprint(self) -> str:
        """The provider's fingerprint, marked as containing other vectors."""
        return f"{super().fingerprint}+deterministic"

    def embed_query(self, text: str) -> Float32:
        """Return float32 (dim,), unit length."""
        try:
            return super().embed_query(text)
        except ModelUnavailable as error:
            vector: Float32 = self._random_vectors([text], error)[0]
            return vector

    def batches(self, texts: Sequence[str]) -> Generator[tuple[Sequence[int], Float32 | InvalidInput], None, None]:
        """Yield indices of ``texts``, and their vectors or why the provider refuses them."""
        left = set(range(len(texts)))
        try:
            for positions, found in super().batches(texts):
                left.difference_update(positions)
                yield positions, found
        except ModelUnavailable as error:
            rest = sorted(left)
            yield rest, self._random_vectors([texts[at] for at in rest], error)

    def _random_vectors(self, texts: Sequence[str], error: ModelUnavailable) -> Float32:
        _log.warning("%d texts get vectors without meaning (embedding.fallback): %s", len(texts), error.message)
        return DeterministicEmbedder(self.dimension, _ANY_NUMBER).embed(texts)
