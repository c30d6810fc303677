"""How the tokens of chunks are counted: by the embedder's tokenizer, or by an estimate."""

from __future__ import annotations

import logging
import math
from functools import cache

from pinakes.core.errors import ModelUnavailable
from pinakes.core.ports import Embedder, Remote

_log = logging.getLogger(__name__)


def counted_by(embedder: Embedder) -> str:
    """Return an identifier of the token counter that an embedder implies."""
    if isinstance(embedder, Remote):
        return f"estimate/{embedder.max_tokens}"
    return embedder.fingerprint if counts_tokens(embedder) else "estimate"


def reads(embedder: Embedder) -> float:
    """Return the maximum tokens of a model, infinity if unknown."""
    try:
        return embedder.max_tokens
    except ModelUnavailable:
        return math.inf


def counts_tokens(embedder: Embedder) -> bool:
    """Return whether the model's tokenizer is available; without it, tokens are estimated."""
    try:
        embedder.token_starts("")
    except ModelUnavailable as error:
        _warn_once(error.message)
        return False
    return True


@cache
def _warn_once(reason: str) -> None:
    """Log why tokens are estimated, which is asked for each collection and each run."""
    _log.warning("tokens are estimated: %s", reason)
