"""How fast approximate vectors are told from tokens, and how near they come to those of the model.

Measured on the chunks of a home whose vectors are all there, so nothing is embedded. By itself:
``python -m benchmarks.speed.approximation [--home PATH]``, JSON on stdout.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from benchmarks.quality.sets import ROOT
from benchmarks.speed.home import Home
from benchmarks.speed.machine import timed
from pinakes.catalog import embeddings
from pinakes.core.ports import Vocabulary
from pinakes.core.records import Float32
from pinakes.library import Library
from pinakes.models import approximation
from pinakes.models.approximation import ApproximateMap, TokenRows
from pinakes.models.embedders import open_embedder

SAMPLES = (500, 1000, 2000)
_STEP = 2048
_ROUNDS = 3


@dataclass(frozen=True, slots=True)
class Fit:
    """A map fitted to ``samples`` chunks: seconds, and the mean cosine of the other chunks with their real vectors."""

    samples: int
    seconds: float
    cosine: float
    agreement: float


@dataclass(frozen=True, slots=True)
class Approximation:
    """Rates are chunks per second, tokens counted: with no word known yet, with all known, and the map alone."""

    chunks: int
    tokens: int
    new_rate: float
    known_rate: float
    apply_rate: float
    fits: tuple[Fit, ...]


def approximating(home: Home) -> Approximation:
    """Measure on the home after its first ingest."""
    with home.open() as library:
        return measure(library)


def measure(library: Library) -> Approximation:
    """Measure on all chunks of the library's collection that the model has embedded.

    Raises:
        RuntimeError: there are too few of them, or the embedder cannot tell of tokens.
    """
    texts, vectors = _embedded(library)
    embedder = open_embedder(library.settings.embedding, library.settings.cache)
    if not isinstance(embedder, Vocabulary) or len(texts) < 2:
        raise RuntimeError(f"{len(texts)} embedded chunks, {embedder.fingerprint}: nothing to fit to")
    vocabulary: Vocabulary = embedder
    prior = vocabulary.prior()
    steps = [texts[first : first + _STEP] for first in range(0, len(texts), _STEP)]

    def counted() -> list[TokenRows]:
        return [TokenRows.from_ids(*vocabulary.token_ids(step)) for step in steps]

    tokens, new_s = timed(counted)
    known_s = min(timed(counted)[1] for _ in range(_ROUNDS))
    fits, apply_s = [], []
    for samples in dict.fromkeys(min(count, len(texts) - 1) for count in SAMPLES):
        chosen = approximation.sample(len(texts), samples)
        of_sample = TokenRows.from_ids(*vocabulary.token_ids([texts[number] for number in chosen]))
        fitted, fit_s = timed(partial(approximation.fit, of_sample, vectors[chosen], prior))
        found, seconds = timed(partial(_applied, fitted, tokens))
        cosines = np.delete(np.einsum("ij,ij->i", np.concatenate(found), vectors), chosen)
        fits.append(Fit(samples, fit_s, float(cosines.mean()), fitted.agreement))
        apply_s.append(seconds)
    total = sum(int(step.counts.sum()) for step in tokens)
    count = len(texts)
    return Approximation(count, total, count / new_s, count / known_s, count / min(apply_s), tuple(fits))


def _embedded(library: Library) -> tuple[list[str], Float32]:
    """Return the texts that the model has embedded and its vectors, float32 (n, dim), unit length."""
    record = library.collection()
    with library.app.catalog.read() as connection:
        _, ids = embeddings.chunk_ids(connection, record.id, record.model_id)
        texts = {chunk_id: text for chunk_id, _, text in embeddings.embedded(connection, ids.tolist())}
        vectors = embeddings.of_chunks(connection, record.model_id, list(texts))
    table = np.stack([vectors[chunk_id] for chunk_id in texts]) if texts else np.empty((0, 0), np.float32)
    return list(texts.values()), table / np.linalg.norm(table, axis=1, keepdims=True)


def _applied(fitted: ApproximateMap, steps: list[TokenRows]) -> list[Float32]:
    return [fitted.apply(step) for step in steps]


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--home", type=Path, default=ROOT / "benchmarks" / "results" / "speed" / "home")
    with Library.open(parser.parse_args().home) as library:
        print(json.dumps(dataclasses.asdict(measure(library)), indent=2))


if __name__ == "__main__":
    main()
