"""The probability that the hits contain an answer: logistic regression over three signals.

A ranking always has a first hit, even if nothing answers the question. The signals are the first score, whether the
important words are present, and whether the nearest chunk stands out from the others. (Absolute cosine, BM25 relative
to the attainable maximum, coverage, and agreement of the retrievers were less predictive, or redundant.)

``answerable.json`` has the coefficients, one set per embedding model, and the name of the data they were fitted on
(``python -m benchmarks.quality.answerable``). For any other model the result is None.
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
    """The signals, each 0 to 1.

    ``score``: of the first hit, before reranking. ``missing``: the largest IDF of a query word that a chunk lacks, as a
    share of the sum over all words; the minimum over the five best chunks. ``ahead``: the cosine of the nearest chunk
    minus that of the fifty-first.
    """

    score: float
    missing: float
    ahead: float


@dataclass(frozen=True, slots=True)
class Fit:
    """A fitted model: ``weights`` of the signals by name, ``intercept``; ``data``: what it was fitted on."""

    weights: Mapping[str, float]
    intercept: float
    data: str

    def probability(self, signs: Signs) -> float:
        """Return 1 / (1 + exp(-(intercept + weights · signs)))."""
        values = asdict(signs)
        return 1 / (1 + math.exp(-self.intercept - sum(weight * values[name] for name, weight in self.weights.items())))


def fit_of(fingerprint: str) -> Fit | None:
    """Return the coefficients for an embedding model; None if none were fitted."""
    return _fits().get(fingerprint.split("@")[0])


def answer_probability(
    ranked: Ranked, context: SearchContext, chunks: ChunkTexts
) -> tuple[float | None, dict[str, JSON]]:
    """Return the probability that the hits contain an answer, None if unknown; and the signals, for the trace."""
    found_signs = signs(ranked, chunks)
    if found_signs is None:
        return None, {}
    fit = fit_of(context.vectors.fingerprint)
    shown: dict[str, JSON] = {name: round(value, 4) for name, value in asdict(found_signs).items()}
    return None if fit is None else fit.probability(found_signs), shown


def signs(ranked: Ranked, chunks: ChunkTexts) -> Signs | None:
    """Return the signals of ``ranked``.

    None unless both retrievers answered, weighted fusion was used, the IDF of the words is known, and any chunk has a
    vector.
    """
    found = ranked.candidates
    if found.evidence is None or found.evidence.terms is None or not len(ranked.rows):
        return None
    near = found.retrieved["vector"].scores
    if not len(near):
        return None
    missing = 1.0
    for terms in chunks.terms(found.ids[ranked.rows[:_BEST]].tolist()):
        missing = min(missing, found.evidence.terms.missing(frozenset[str]().union(*terms.values())))
        if not missing:
            break
    return Signs(
        score=float(ranked.scores[0] if found.fused is None else found.fused.max()),
        missing=missing,
        ahead=float(near[0] - near[min(_FAR, len(near) - 1)]),
    )


@cache
def _fits() -> Mapping[str, Fit]:
    kept = json.loads(files("pinakes.search.results").joinpath("answerable.json").read_text("utf-8"))
    return {model: Fit(**fit) for model, fit in kept.items()}
