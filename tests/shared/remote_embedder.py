"""An embedder as a paid service is: it knows nothing of single tokens, counts what it is asked, and may be down."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Self

import numpy as np

from pinakes.core.errors import ModelUnavailable
from pinakes.core.records import Float32
from pinakes.models.embedders.deterministic import DeterministicEmbedder
from pinakes.settings import EmbeddingSettings

_WORD = re.compile(r"[a-z]+")


class RemoteEmbedder(DeterministicEmbedder):
    """The vector of a text is the mean of those of its words, so that texts with the same words mean the same.

    ``texts`` are the chunks that were paid for. While the file ``down`` is in ``settings.path`` nothing is answered.
    """

    def __init__(self, folder: Path) -> None:
        super().__init__(64)
        self._down = folder / "down"
        self.texts: list[str] = []

    @classmethod
    def open(cls, settings: EmbeddingSettings, cache: Path) -> Self:
        assert settings.path is not None
        return cls(settings.path)

    @property
    def fingerprint(self) -> str:
        return "remote/words/64"

    def embed(self, texts: Sequence[str]) -> Float32:
        self.texts += texts
        return self._of(texts)

    def embed_query(self, text: str) -> Float32:
        vector: Float32 = self._of([text])[0]
        return vector

    def _of(self, texts: Sequence[str]) -> Float32:
        if self._down.exists():
            raise ModelUnavailable("The service does not answer.", hint="Try again later.")
        rows = [super(RemoteEmbedder, self).embed(_WORD.findall(text.lower()) or ["nothing"]).mean(0) for text in texts]
        found = np.array(rows, np.float32).reshape(len(rows), self.dimension)
        return found / np.linalg.norm(found, axis=1, keepdims=True)
