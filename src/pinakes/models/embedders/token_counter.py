"""What counts the tokens of chunks: the tokenizer of the model that embeds them, or an estimate."""

from __future__ import annotations

import logging
import math

from pinakes.core.errors import ModelUnavailable
from pinakes.core.ports import Embedder, Remote

_log = logging.getLogger(__name__)


def counted_by(embedder: Embedder) -> str:
    """Name what counts the tokens of chunks."""
    if isinstance(embedder, Remote):
        return f"estimate/{embedder.max_tokens}"
    return embedder.fingerprint if counts_tokens(embedder) else "estimate"


def reads(embedder: Embedder) -> float:
    """Return how many tokens a model reads of a text, endless while that is not known."""
    try:
        return embedder.max_tokens
    except ModelUnavailable:
        return math.inf


def counts_tokens(embedder: Embedder) -> bool:
    """Say whether a model's tokenizer is at hand; without it tokens are estimated."""
    try:
        embedder.token_starts("")
    except ModelUnavailable as error:
        _log.warning("tokens are estimated: %s", error.message)
        return False
    return True
