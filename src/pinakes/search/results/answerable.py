"""How probable it is that the hits hold an answer: logistic regression over three figures that say so best.

A ranking always has a first hit, also where nothing answers the question. What tells the two apart is how high the
first score is, whether the words that matter are there, and whether the nearest chunk stands out from the others.
(Absolute cosine, BM25 against the best attainable, coverage and agreement of the retrievers say less, or the same.)

``answerable.json`` has the coefficients, one set per embedding model, with the name of the data they were fitted on
(``python -m benchmarks.quality.answerable``). Of another model nothing is known: the answer is None then.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import cache
from importlib.resources import files

from pinakes.core.records import JSON
from pinakes.search.ranking.context import SearchContext
from pinakes.search.ranking.rank import Ranked
from pinakes.search.results.chunk_texts import ChunkTexts

_BEST = 5
_FAR = 50


@dataclass(frozen=True, slots=True)
class Signs:
    """What is looked at, each 0 to 1.

    ``score``: of the first hit, before any reranker. ``missing``: the weight of the rarest word of the question that a
    chunk lacks, by IDF and as a share of all words, of the one of the five best where it is least. ``ahead``: by how
    much the cosine of the nearest chunk exceeds that of the fifty-first.
    """

    score: float
    missing: float
    ahead: float


@dataclass(frozen=True, slots=True)
class Fit:
    """``weights`` of the signs by name, and an ``intercept``; ``data`` names what they were fitted on."""

    weights: Mapping[str, float]
    intercept: float
    data: str

    def probability(self, signs: Signs) -> float:
        """Return 1 / (1 + exp(-(intercept + weights · signs)))."""
        values = asdict(signs)
        return 1 / (1 + math.exp(-self.intercept - sum(weight * values[name] for name, weight in self.weights.items())))


def fit_of(fingerprint: str) -> Fit | None:
    """Return the coefficients for an embedding model, None where nothing was fitted for it."""
    return _fits().get(fingerprint.split("@")[0])


def judged(ranked: Ranked, context: SearchContext, chunks: ChunkTexts) -> tuple[float | None, dict[str, JSON]]:
    """Return the probability that the hits hold an answer, None where it is not known, and the signs it is from."""
    seen = signs(ranked, chunks)
    if seen is None:
        return None, {}
    fit = fit_of(context.vectors.fingerprint)
    shown: dict[str, JSON] = {name: round(value, 4) for name, value in asdict(seen).items()}
    return None if fit is None else fit.probability(seen), shown


def signs(ranked: Ranked, chunks: ChunkTexts) -> Signs | None:
    """Return what there is to see of the best of ``ranked``.

    None where not both retrievers answered and were fused by weights, or nothing is known of how rare the words are.
    """
    found = ranked.candidates
    if found.evidence is None or found.evidence.terms is None or not len(ranked.rows):
        return None
    missing = 1.0
    for terms in chunks.terms(found.ids[ranked.rows[:_BEST]].tolist()):
        missing = min(missing, found.evidence.terms.missing(frozenset[str]().union(*terms.values())))
        if not missing:
            break
    near = found.retrieved["vector"].scores
    return Signs(
        score=float(ranked.scores[0] if found.fused is None else found.fused.max()),
        missing=missing,
        ahead=float(near[0] - near[min(_FAR, len(near) - 1)]) if len(near) else 0.0,
    )


@cache
def _fits() -> Mapping[str, Fit]:
    kept = json.loads(files("pinakes.search.results").joinpath("answerable.json").read_text("utf-8"))
    return {model: Fit(**fit) for model, fit in kept.items()}
