"""The real encoder, telling what it is asked to embed."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from pathlib import Path

from pinakes.core.records import Float32
from pinakes.models.embedders.bert import BertEmbedder
from pinakes.settings import EmbeddingSettings


class CountingBert(BertEmbedder):
    """``texts`` are all chunks embedded so far; ``before`` is called before each call of ``embed``."""

    def __init__(self, settings: EmbeddingSettings, cache: Path) -> None:
        super().__init__(settings.model_copy(update={"provider": "onnx"}), cache)
        self.texts: list[str] = []
        self.before: Callable[[], object] = lambda: None
        self._counting = threading.Lock()

    def embed(self, texts: Sequence[str]) -> Float32:
        with self._counting:
            self.texts += texts
        self.before()
        return super().embed(texts)
