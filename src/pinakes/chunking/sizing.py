"""The size limits of chunks, and the unit in which they are counted."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from pinakes.core.errors import InvalidSetting
from pinakes.core.records import Int64
from pinakes.settings import ChunkingSettings

USUAL_MAX_TOKENS = 512
"""Default maximum size: larger chunks cover too many subjects to match any of them well."""

CHARS_PER_TOKEN = 4
"""Characters of a typical English token with its space; used only for the default size in chars."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Sizing:
    """The limits of one collection's chunks.

    ``size``: maximum units of a chunk, including its header; ``overlap``: units repeated from the previous chunk, at
    most half of ``size``. ``starts`` returns int64 (n,), ascending: the character offset of each unit of a text. Counts
    must add up when a text is cut at white space. ``token_starts`` and ``max_tokens`` are a second limit, if the units
    are not the model's tokens. Chunks below ``min_size`` are joined to their neighbours.

    Raises:
        InvalidSetting: the size is below 1, or overlap or minimum size is negative or over half of the size.
    """

    size: int
    overlap: int
    starts: Callable[[str], Int64]
    token_starts: Callable[[str], Int64] | None = None
    max_tokens: int = 0
    min_size: int = 0
    names: dict[str, tuple[int, ...]] = field(default_factory=dict, repr=False, compare=False)
    """Cached units of headings for each limit: they recur in every document."""

    def __post_init__(self) -> None:
        if self.size < 1:
            raise InvalidSetting(f"Chunks of {self.size} units cannot be.", hint="Set chunking.size to 1 or more.")
        if not 0 <= self.overlap <= self.size // 2:
            raise InvalidSetting(
                f"An overlap of {self.overlap} does not go with chunks of {self.size}.",
                hint="Set chunking.overlap to at most half of the size, or to a share such as 0.1.",
            )
        if not 0 <= self.min_size <= self.size // 2:
            raise InvalidSetting(
                f"A least size of {self.min_size} does not go with chunks of {self.size}.",
                hint="Set chunking.min_size to at most half of the size.",
            )


def sizing_for(settings: ChunkingSettings, embedder_starts: Callable[[str], Int64], embedder_max_tokens: int) -> Sizing:
    """Return the limits of ``settings``, within what the embedder reads.

    A size of 0 means the embedder's maximum, but at most ``USUAL_MAX_TOKENS``. A size in tokens above the embedder's
    maximum is lowered to it, and logged; sizes in words and chars keep the embedder's tokens as a second limit.

    Raises:
        InvalidSetting: overlap or minimum size is over half of the size.
    """
    usual = min(embedder_max_tokens, USUAL_MAX_TOKENS)
    if settings.unit == "tokens":
        size = settings.size or usual
        if size > embedder_max_tokens:
            _log.warning("chunking.size %d lowered to %d, the most the model reads", size, embedder_max_tokens)
            size = embedder_max_tokens
        return Sizing(size, _overlap(settings, size), embedder_starts, min_size=settings.min_size)
    starts = word_starts if settings.unit == "words" else char_starts
    size = settings.size or usual * (1 if settings.unit == "words" else CHARS_PER_TOKEN)
    overlap = _overlap(settings, size)
    return Sizing(size, overlap, starts, embedder_starts, embedder_max_tokens, settings.min_size)


def word_starts(text: str) -> Int64:
    """Return int64 (n,): the start of each run of characters other than white space."""
    return np.fromiter((match.start() for match in re.finditer(r"\S+", text)), np.int64)


def char_starts(text: str) -> Int64:
    """Return int64 (len(text),): all offsets."""
    return np.arange(len(text), dtype=np.int64)


def _overlap(settings: ChunkingSettings, size: int) -> int:
    return int(settings.overlap * size if settings.overlap < 1 else settings.overlap)
