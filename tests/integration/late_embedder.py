"""An embedder whose model arrives late: it works once a file is there."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Self

from pinakes.core.errors import ModelUnavailable
from pinakes.core.records import Float32, Int64
from pinakes.models.embedders.deterministic import DeterministicEmbedder
from pinakes.settings import EmbeddingSettings


class LateEmbedder(DeterministicEmbedder):
    """Even its name and dimension are unknown before."""

    def __init__(self, folder: Path) -> None:
        super().__init__(16)
        self._file = folder / "arrived"

    @classmethod
    def open(cls, settings: EmbeddingSettings, cache: Path) -> Self:
        """Wait for the file ``arrived`` in ``settings.path``."""
        assert settings.path is not None
        return cls(settings.path)

    @property
    def fingerprint(self) -> str:
        self._look()
        return "late/16"

    @property
    def dimension(self) -> int:
        self._look()
        return 16

    @property
    def max_tokens(self) -> int:
        self._look()
        return 254

    def embed(self, texts: Sequence[str]) -> Float32:
        self._look()
        return super().embed(texts)

    def embed_query(self, text: str) -> Float32:
        self._look()
        return super().embed_query(text)

    def token_starts(self, text: str) -> Int64:
        self._look()
        return super().token_starts(text)

    def _look(self) -> None:
        if not self._file.is_file():
            raise ModelUnavailable("The model has not arrived.", hint="Wait.")
