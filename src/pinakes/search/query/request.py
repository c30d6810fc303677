"""A search request and its validation."""

from __future__ import annotations

import math
import re
import string
from dataclasses import dataclass

from pinakes.core.errors import InvalidInput
from pinakes.core.records import Filter, SearchMode
from pinakes.search.query.syntax import PHRASE_USES, PhraseUse

MODES: tuple[SearchMode, ...] = ("hybrid", "vector", "keyword", "auto")
FUSIONS = ("weighted", "rrf")
MOST_NEIGHBOURS = 3

_CONTROL = re.compile("\x1b\\[[0-9;]{0,20}[A-Za-z]|[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\u202a-\u202e\u2066-\u2069]")
"""Control characters: those that steer terminals with their colours, and those that change the direction of text."""
_FULL_WIDTH = {code + 0xFEE0: code for code in map(ord, string.ascii_letters + string.digits)}
"""Latin letters and digits as wide as Chinese characters → those that a model knows."""


@dataclass(frozen=True, slots=True)
class Request:
    """A validated search of one collection.

    ``min_score`` applies to the final score. ``neighbours``: number of chunks to return before and after each hit.
    ``bare``: return only ids and scores of hits, see ``ids_only``. ``pool``: retrieve as many candidates as for
    this many results; None means ``top_k``. ``rerank``: apply the reranker, if one is configured. ``min_similarity``
    applies to the cosine of query and chunk; chunks without a vector fail it. ``phrases``: whether chunks must contain
    quoted phrases ("required"), or those that do rank first ("preferred").
    """

    query: str
    mode: SearchMode = "hybrid"
    top_k: int = 10
    where: Filter = ()
    fusion: str = "weighted"
    semantic_weight: float = 0.7
    keyword_weight: float = 0.3
    min_score: float = 0.0
    neighbours: int = 0
    bare: bool = False
    pool: int | None = None
    rerank: bool = True
    phrases: PhraseUse = "auto"
    min_similarity: float = 0.0


def check(request: Request) -> None:
    """Validate ``request``.

    Raises:
        InvalidInput: the mode, fusion or use of phrases is unknown, or a number is out of range.
    """
    if request.mode not in MODES:
        raise InvalidInput(f"There is no search mode {request.mode!r}.", hint=f"Use one of {', '.join(MODES)}.")
    if request.fusion not in FUSIONS:
        raise InvalidInput(f"There is no fusion {request.fusion!r}.", hint=f"Use one of {', '.join(FUSIONS)}.")
    if request.phrases not in PHRASE_USES:
        raise InvalidInput(f"Phrases cannot be {request.phrases!r}.", hint=f"Use one of {', '.join(PHRASE_USES)}.")
    if request.top_k < 1:
        raise InvalidInput(f"top_k cannot be {request.top_k}.", hint="Use 1 or more.")
    check_least(min_score=request.min_score, min_similarity=request.min_similarity)
    if not 0 <= request.neighbours <= MOST_NEIGHBOURS:
        raise InvalidInput(f"neighbours cannot be {request.neighbours}.", hint=f"Use 0 to {MOST_NEIGHBOURS}.")


def check_least(**named: float) -> None:
    """Reject a minimum score that is not finite; a minimum above all scores is valid and leaves no hits.

    Raises:
        InvalidInput: a value is NaN or infinite.
    """
    for name, least in named.items():
        if not math.isfinite(least):
            raise InvalidInput(f"{name} cannot be {least}.", hint="Use a number from 0 to 1.")


def cleaned(query: str, most: int, notes: list[str]) -> str:
    """Return ``query`` without control characters, cut to ``most`` characters; changes are appended to ``notes``."""
    query = query.encode("utf-8", "replace").decode("utf-8")
    if _CONTROL.search(query):
        query = _CONTROL.sub(" ", query)
        notes.append("control characters of the query are left out")
    query = (query if query.isascii() else query.translate(_FULL_WIDTH)).strip()
    if len(query) > most:
        notes.append(f"the query was cut from {len(query)} to {most} characters")
    if not query:
        notes.append("the query is empty")
    return query[:most]
