"""What is asked of a search, made sure of."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

from pinakes.core.errors import InvalidInput
from pinakes.core.records import Filter, SearchMode
from pinakes.search.query.syntax import PHRASE_USES, PhraseUse

MODES: tuple[SearchMode, ...] = ("hybrid", "vector", "keyword", "auto")
FUSIONS = ("weighted", "rrf")
MOST_NEIGHBOURS = 3

_CONTROL = re.compile("[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\u202a-\u202e\u2066-\u2069]")
"""Characters that say nothing: those of terminals, and those that turn the direction of text."""


@dataclass(frozen=True, slots=True)
class Request:
    """What is asked.

    ``min_score`` applies to the score that is returned. ``neighbours``: so many chunks before and after each hit are
    wanted with it.
    ``bare``: of the hits only what they are and how they rank is wanted, see ``search.bare``. ``pool``: as many
    candidates are looked at as for so many results, None = ``top_k``. ``rerank``: by the reranker, where one is in use.
    ``min_similarity`` applies to the cosine of query and chunk; one without a vector has none.
    ``phrases``: whether chunks must have what stands in quotation marks, or those that have it come first.
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
    """Refuse what cannot be asked.

    Raises:
        InvalidInput: an unknown mode, fusion or use of phrases, or a number out of range.
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
    """Refuse a least score that is no number; one above all scores leaves nothing, which notes say.

    Raises:
        InvalidInput: it is NaN or infinite.
    """
    for name, least in named.items():
        if not math.isfinite(least):
            raise InvalidInput(f"{name} cannot be {least}.", hint="Use a number from 0 to 1.")


def cleaned(query: str, most: int, notes: list[str]) -> str:
    """Return ``query`` as it can be searched, at most so many characters; ``notes`` get what was done to it."""
    query = query.encode("utf-8", "replace").decode("utf-8")
    if _CONTROL.search(query):
        query = _CONTROL.sub(" ", query)
        notes.append("control characters of the query are left out")
    query = query.strip()
    if len(query) > most:
        notes.append(f"the query was cut from {len(query)} to {most} characters")
    if not query:
        notes.append("the query is empty")
    return query[:most]
