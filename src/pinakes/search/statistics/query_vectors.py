"""Vectors of queries, and a cache of the latest ones."""

from __future__ import annotations

from functools import lru_cache
from typing import Final

import numpy as np

from pinakes.core.ports import Embedder, Vocabulary
from pinakes.core.records import Float32

_OF_NO_VOCABULARY: Final = "\U00013000"
"""An Egyptian hieroglyph: the token of a model for what it does not know, if it has one."""


class QueryVectors:
    """Embeds queries, and caches the vectors of the latest ones. Thread-safe."""

    def __init__(self, embedder: Embedder, remembered: int) -> None:
        self._embedder = embedder
        self._known = lru_cache(maxsize=remembered)(self._embed)
        self._shares = lru_cache(maxsize=remembered)(self._share)

    @property
    def fingerprint(self) -> str:
        """The embedder's fingerprint."""
        return self._embedder.fingerprint

    def vector_of(self, query: str) -> Float32:
        """Return float32 (dim,), unit length, read-only.

        Raises:
            ModelUnavailable: the model cannot be loaded.
        """
        return self._known(query)

    def known_share(self, query: str) -> float:
        """Return the share of the query's tokens that the model knows, 0 to 1; 1 if its vocabulary is not known here.

        Words in letters that it does not know all have the same vector, so that their cosines say nothing.

        Raises:
            ModelUnavailable: the model cannot be loaded.
        """
        return 1.0 if query.isascii() else self._shares(query)

    def _share(self, query: str) -> float:
        if not isinstance(self._embedder, Vocabulary):
            return 1.0
        words = "".join(char if char.isalnum() else " " for char in query)
        ids, offsets = self._embedder.token_ids([_OF_NO_VOCABULARY, words])
        unknown, wanted = ids[: offsets[1]], ids[offsets[1] :]
        return 1.0 if len(unknown) != 1 or not len(wanted) else float(np.mean(wanted != unknown[0]))

    def _embed(self, query: str) -> Float32:
        vector = self._embedder.embed_query(query)
        vector.flags.writeable = False
        return vector
