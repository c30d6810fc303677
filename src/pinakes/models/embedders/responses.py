"""Converts a provider's answers to vectors, in order, of equal dimension and unit length."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from pinakes.core.records import JSON, Float32
from pinakes.models.endpoint import Endpoint, token_count

_LEAST_LENGTH = 1e-12
_FORM = "It has to speak the protocol of OpenAI: check embedding.url."


def vectors_of(answer: JSON, count: int, endpoint: Endpoint) -> tuple[Float32, int]:
    """Return float32 (count, dim), unit length, NaN for invalid vectors; and the tokens, 0 if not reported.

    Raises:
        ModelUnavailable: ``answer`` is not a valid answer for ``count`` texts.
    """
    try:
        data = answer if isinstance(answer, list) else answer["data"]
        if len(data) != count:
            raise endpoint.failure(f"gives {len(data):,} vectors for {count:,} texts", _FORM)
        rows = np.stack(_in_order(data))
        tokens = _tokens(answer)
    except (TypeError, KeyError, ValueError, OverflowError, AttributeError) as error:
        raise endpoint.failure(f"answers in another form ({type(error).__name__}: {error})", _FORM) from error
    with np.errstate(all="ignore"):
        lengths = np.linalg.norm(rows, axis=1, keepdims=True)
        usable = np.isfinite(lengths) & (lengths > _LEAST_LENGTH)
        return np.where(usable, rows / lengths, np.nan).astype(np.float32), tokens


def _in_order(data: Sequence[JSON]) -> list[np.ndarray[tuple[int], np.dtype[np.float64]]]:
    """Return the vectors sorted by their index, or in their order if they have no index."""
    rows = {}
    for at, row in enumerate(data):
        place, numbers = (row.get("index", at), row["embedding"]) if isinstance(row, dict) else (at, row)
        if isinstance(place, bool) or not isinstance(place, int) or not 0 <= place < len(data) or place in rows:
            raise ValueError(f"there is no text {place!r}, or it has a vector already")
        vector = np.array(numbers, np.float64)
        if vector.ndim != 1 or not len(vector):
            raise ValueError(f"a vector has the shape {vector.shape}")
        rows[place] = vector
    return [rows[place] for place in sorted(rows)]


def _tokens(answer: JSON) -> int:
    """Return the number of tokens; 0 if it is missing or not a number."""
    usage = answer.get("usage") if isinstance(answer, dict) else None
    return token_count(usage.get("total_tokens", usage.get("prompt_tokens"))) or 0 if isinstance(usage, dict) else 0
