"""Agreement of two rankings, as pure functions. A ranking is a list of distinct document names, best first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from math import sqrt

PERSISTENCE = 0.9
"""p of rank-biased overlap: the first ten documents get 86 % of the weight."""


def overlap(a: Sequence[str], b: Sequence[str], k: int) -> float:
    """Return the share of the first k documents that both have: common ones / those of the longer list, at most k.

    0 to 1; two empty rankings agree.
    """
    first, second = set(a[:k]), set(b[:k])
    longer = max(len(first), len(second))
    return len(first & second) / longer if longer else 1.0


def kendall_tau(a: Mapping[str, float], b: Mapping[str, float]) -> float | None:
    """Return Kendall's tau-b of the documents that both have, by their places (document → place; equal = tied).

    1: the same order, -1: the opposite one; None where fewer than two are common, or one side ties them all.
    (concordant - discordant pairs) / √((pairs not tied in a) · (pairs not tied in b)); Kendall, Biometrika 33(3), 1945.
    """
    common = [document for document in a if document in b]
    score, untied_a, untied_b = 0, 0, 0
    for one, other in combinations(common, 2):
        sign_a, sign_b = _sign(a[one] - a[other]), _sign(b[one] - b[other])
        score += sign_a * sign_b
        untied_a += sign_a != 0
        untied_b += sign_b != 0
    return score / sqrt(untied_a * untied_b) if untied_a and untied_b else None


def rank_biased_overlap(a: Sequence[str], b: Sequence[str], p: float = PERSISTENCE) -> float:
    """Return the extrapolated rank-biased overlap of two rankings, of unequal length perhaps: 0 to 1.

    The agreement at each depth d, weighted by p^(d-1). Below its end the shorter ranking is taken to go on agreeing
    as it did, and below both ends the agreement to stay. Webber, Moffat and Zobel, A similarity measure for
    indefinite rankings, TOIS 28(4), 2010, equation 32.
    """
    shorter, longer = sorted((a, b), key=len)
    if not shorter:
        return 1.0 if not longer else 0.0
    seen_short: set[str] = set()
    seen_long: set[str] = set()
    common, total, weight, agreement = 0, 0.0, 1 - p, 0.0
    at_its_end = 0.0
    for depth, document in enumerate(longer, start=1):
        seen_long.add(document)
        common += document in seen_short
        if depth <= len(shorter):
            seen_short.add(shorter[depth - 1])
            common += shorter[depth - 1] in seen_long
            at_its_end = common / depth
        agreement = (common + at_its_end * max(0, depth - len(shorter))) / depth
        total += weight * agreement
        weight *= p
    return total + p ** len(longer) * agreement


def places(ranking: Sequence[str], scores: Sequence[float]) -> dict[str, float]:
    """Return document → place, from 1; documents with equal scores share the first of theirs.

    Without ``scores`` the order alone decides.
    """
    found: dict[str, float] = {}
    for number, document in enumerate(ranking):
        tied = number and scores and scores[number] == scores[number - 1]
        found[document] = found[ranking[number - 1]] if tied else number + 1
    return found


def unique(a: Sequence[str], b: Sequence[str], k: int) -> tuple[str, ...]:
    """Return the documents among the first k of ``a`` that are not among the first k of ``b``."""
    others = set(b[:k])
    return tuple(document for document in a[:k] if document not in others)


def _sign(value: float) -> int:
    return (value > 0) - (value < 0)
