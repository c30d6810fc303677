"""The published contract of rerankers holds for what is known to be right, and fails for what is known to be wrong."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from pinakes import testing
from pinakes.core.records import Float32


class Letters:
    """Counts the letters that question and chunk share."""

    fingerprint = "letters/1"
    at_once = 3
    logits = True

    def load(self) -> None: ...

    def score(self, query: str, chunks: Sequence[str], *, within_s: float | None = None) -> Float32:
        return np.array([len(set(query) & set(chunk)) for chunk in chunks], np.float32)

    def close(self) -> None: ...


class SortsThem(Letters):
    def score(self, query: str, chunks: Sequence[str], *, within_s: float | None = None) -> Float32:
        return np.sort(super().score(query, chunks))


class ComparesThem(Letters):
    def score(self, query: str, chunks: Sequence[str], *, within_s: float | None = None) -> Float32:
        scores = super().score(query, chunks)
        return scores / max(1.0, float(scores.max(initial=0)))


class ScoresInDouble(Letters):
    def score(self, query: str, chunks: Sequence[str], *, within_s: float | None = None) -> Float32:
        return super().score(query, chunks).astype(np.float64)  # type: ignore[return-value]


class HasNoName(Letters):
    fingerprint = ""


class SaysTooMuchOfItself(Letters):
    logits = False


def test_a_right_one_passes() -> None:
    testing.check_reranker(Letters())


@pytest.mark.parametrize("wrong", [SortsThem, ComparesThem, ScoresInDouble, HasNoName, SaysTooMuchOfItself])
def test_a_wrong_one_fails(wrong: type[Letters]) -> None:
    with pytest.raises(AssertionError):
        testing.check_reranker(wrong())
