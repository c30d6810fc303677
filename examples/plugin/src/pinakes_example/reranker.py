"""Ranking again by the words that a chunk shares with the question."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Self

import numpy as np

from pinakes.core.records import Float32
from pinakes.settings import RerankSettings


class WordOverlap:
    """Implements ``pinakes.core.ports.Reranker``: a score is the share of the question's words that a chunk has."""

    fingerprint = "pinakes-example/word-overlap/1"
    at_once = 0
    logits = False

    @classmethod
    def open(cls, settings: RerankSettings, cache: Path) -> Self:
        """Return the reranker that the settings describe; ``cache`` is the folder where models are kept."""
        return cls()

    def load(self) -> None:
        """Do nothing: there is no model."""

    def score(self, query: str, chunks: Sequence[str], *, within_s: float | None = None) -> Float32:
        """Return float32 (n,), 0 to 1, in the order given."""
        asked = _words(query)
        return np.array([len(asked & _words(chunk)) / max(1, len(asked)) for chunk in chunks], np.float32)

    def close(self) -> None:
        """Do nothing: nothing is held."""


def _words(text: str) -> set[str]:
    return set(re.findall(r"\w+", text.lower()))
