"""Embedders that differ by the name of their model: other vectors, other dimension, another limit."""

from __future__ import annotations

import hashlib
import re
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Self

import numpy as np

from pinakes.core.errors import ModelUnavailable
from pinakes.core.records import Float32, Int64
from pinakes.models.embedders.deterministic import DeterministicEmbedder
from pinakes.settings import EmbeddingSettings

_WORD = re.compile(r"[a-z]+")


class NamedEmbedder(DeterministicEmbedder):
    """``NAME/DIMENSION`` or ``NAME/DIMENSION/TOKENS``: the vector of a text is the mean of those of its words.

    ``texts`` are all chunks embedded so far, ``queries`` all queries; ``before`` is called before each call of
    ``embed``. The model ``gone`` cannot be had.
    """

    def __init__(self, model: str) -> None:
        self.name, dimension, *most = model.split("/")
        super().__init__(int(dimension), int(most[0]) if most else 254)
        self.texts: list[str] = []
        self.queries: list[str] = []
        self.before: Callable[[], object] = lambda: None
        self._words: dict[str, Float32] = {}
        self._lock = threading.Lock()

    @classmethod
    def open(cls, settings: EmbeddingSettings, cache: Path) -> Self:
        return cls(settings.model)

    @property
    def fingerprint(self) -> str:
        self._look()
        return f"named/{self.name}/{self.dimension}"

    def token_starts(self, text: str) -> Int64:
        self._look()
        return super().token_starts(text)

    def embed(self, texts: Sequence[str]) -> Float32:
        self.before()
        super().embed(texts)  # refuses what is too long
        self.texts += texts
        return np.array([self._mean(text) for text in texts], np.float32).reshape(len(texts), self.dimension)

    def embed_query(self, text: str) -> Float32:
        self._look()
        self.queries.append(text)
        return self._mean(text)

    def _look(self) -> None:
        if self.name == "gone":
            raise ModelUnavailable("The model 'gone' cannot be had.", hint="Name another one.")

    def _mean(self, text: str) -> Float32:
        with self._lock:
            words = [self._word(word) for word in _WORD.findall(text.lower())]
        total = np.sum(words, axis=0) if words else np.ones(self.dimension, np.float32)
        unit: Float32 = (total / max(float(np.linalg.norm(total)), 1e-9)).astype(np.float32)
        return unit

    def _word(self, word: str) -> Float32:
        if word not in self._words:
            seed = hashlib.sha256(f"{self.fingerprint} {word}".encode()).digest()
            drawn = np.random.RandomState(np.frombuffer(seed, "<u4")).standard_normal(self.dimension)
            self._words[word] = drawn.astype(np.float32)
        return self._words[word]
