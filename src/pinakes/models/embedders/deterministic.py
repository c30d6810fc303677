"""Vectors drawn from a hash of the text: only equal texts have similar vectors. For tests, and without a model."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Self

import numpy as np

from pinakes.core.errors import InvalidInput
from pinakes.core.records import Float32, Int64
from pinakes.settings import EmbeddingSettings

_TOKEN = re.compile(r"\w+|[^\w\s]")


class DeterministicEmbedder:
    """The SHA-256 of a text seeds a normal distribution; its vector is a normalised draw from it.

    Tokens are words and single punctuation marks. The vectors are the same on every machine and in every version.
    """

    def __init__(self, dimension: int = 384, max_tokens: int = 254) -> None:
        self._dimension = dimension
        self._max_tokens = max_tokens

    @classmethod
    def open(cls, settings: EmbeddingSettings, cache: Path) -> Self:  # noqa: ARG003
        """Return an embedder of the default dimension; no settings apply."""
        return cls()

    @property
    def fingerprint(self) -> str:
        """Method and dimension."""
        return f"deterministic/sha256-normal/{self._dimension}"

    @property
    def dimension(self) -> int:
        """The dimension of the vectors."""
        return self._dimension

    @property
    def max_tokens(self) -> int:
        """The maximum tokens of one text."""
        return self._max_tokens

    def embed(self, texts: Sequence[str]) -> Float32:
        """Return float32 (n, dim), unit length, in the order given.

        Raises:
            InvalidInput: a text has more than ``max_tokens`` tokens.
        """
        for text in texts:
            if (count := len(self.token_starts(text))) > self._max_tokens:
                raise InvalidInput(
                    f"A text has {count} tokens; {self.fingerprint} reads {self._max_tokens}.", hint="Cut it first."
                )
        rows = [self._draw(text) for text in texts]
        return np.stack(rows) if rows else np.empty((0, self._dimension), np.float32)

    def embed_query(self, text: str) -> Float32:
        """Return float32 (dim,), unit length. A query longer than ``max_tokens`` is truncated."""
        starts = self.token_starts(text)
        return self._draw(text[: starts[self._max_tokens]] if len(starts) > self._max_tokens else text)

    def token_starts(self, text: str) -> Int64:
        """Return int64 (n,): the character offset of each word and punctuation mark."""
        return np.fromiter((match.start() for match in _TOKEN.finditer(text)), np.int64)

    def _draw(self, text: str) -> Float32:
        digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()
        # RandomState, not default_rng: numpy promises that its stream never changes.
        vector = np.random.RandomState(np.frombuffer(digest, "<u4")).standard_normal(self._dimension)
        return (vector / np.linalg.norm(vector)).astype(np.float32)
