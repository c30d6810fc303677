"""Chunk sizes and overlaps to try, and an estimate of the time for that."""

from __future__ import annotations

import time
from collections.abc import Sequence

from pinakes.core.ports import Embedder
from pinakes.evaluation.tuning.knobs import Knob, Values
from pinakes.settings import ChunkingSettings

SIZES = (128, 256, 512, 1024)
OVERLAPS = (0.0, 0.1, 0.2, 0.3)


def knob(now: ChunkingSettings, most_tokens: int) -> Knob:
    """Return the sizes up to the model's maximum, each with every overlap; the current setting comes first."""
    sizes = list(dict.fromkeys(min(size, most_tokens) for size in SIZES))
    current: Values = {"chunking.size": now.size, "chunking.overlap": now.overlap, "chunking.unit": now.unit}
    whole = most_tokens if now.unit == "tokens" and not now.size else None
    others: list[Values] = [
        {"chunking.size": now.size if size == whole else size, "chunking.overlap": overlap, "chunking.unit": "tokens"}
        for size in sizes
        for overlap in OVERLAPS
    ]
    return Knob("chunking", (current, *(one for one in others if one != current)))


def seconds(choices: Sequence[Values], tokens: int, sample: Sequence[str], embedder: Embedder) -> float:
    """Return the estimated time to embed a collection of ``tokens`` for each of ``choices``.

    ``sample`` is some of its chunks: they are embedded to see how fast the model is.

    Raises:
        ModelUnavailable: the model cannot be had.
    """
    if not sample:
        return 0.0
    embedder.embed(sample[:1])
    start = time.perf_counter()
    embedder.embed(sample)
    rate = sum(len(embedder.token_starts(text)) for text in sample) / max(time.perf_counter() - start, 1e-6)
    repeated = sum(1 / (1 - float(choice["chunking.overlap"])) for choice in choices if choice["chunking.overlap"] < 1)
    return tokens * repeated / rate
