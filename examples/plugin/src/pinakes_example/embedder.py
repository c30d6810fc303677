"""Vectors without a model: words, counted in the place that their hash says."""

from __future__ import annotations

import re
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Self

import numpy as np

from pinakes.core.records import Float32, Int64
from pinakes.settings import EmbeddingSettings

_TOKEN = re.compile(r"\w+|[^\w\s]")


class HashedWords:
    """Implements ``pinakes.core.ports.Embedder``: texts are alike that share words."""

    max_tokens = 512

    def __init__(self, dimension: int) -> None:
        self.dimension = dimension
        self.fingerprint = f"pinakes-example/hashed-words/1/{dimension}"

    @classmethod
    def open(cls, settings: EmbeddingSettings, cache: Path) -> Self:
        """Return the embedder that the settings describe; ``cache`` is the folder where models are kept."""
        return cls(settings.dimension or 1024)

    def embed(self, texts: Sequence[str]) -> Float32:
        """Return float32 (n, dim), unit length, in the order given."""
        return np.stack([self.embed_query(text) for text in texts]) if texts else np.empty((0, self.dimension), "f4")

    def embed_query(self, text: str) -> Float32:
        """Return float32 (dim,), unit length."""
        counts = np.zeros(self.dimension, np.float32)
        for token in _TOKEN.findall(text.lower())[: self.max_tokens]:
            counts[zlib.crc32(token.encode("utf-8", "surrogatepass")) % self.dimension] += 1
        if not counts.any():
            counts[0] = 1
        weights = np.sqrt(counts)
        return weights / np.linalg.norm(weights)

    def token_starts(self, text: str) -> Int64:
        """Return int64 (n,): the offset of each word and punctuation mark."""
        return np.fromiter((match.start() for match in _TOKEN.finditer(text)), np.int64)
