"""Approximate vectors: a linear map from the tokens of a text to the vector that the model would give.

A small sample is embedded by the model. A linear map token → vector is fitted to it, starting from the model's vector
of each single token; applied to the tokens of any other text, it yields a vector in the same space, some hundred times
faster than the model. Measured on six corpora with 1,000 samples, the cosine with the exact vector is 0.80 to 0.88.
"""

from __future__ import annotations

import io
import zlib
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Self

import numpy as np
from numpy.typing import NDArray

from pinakes.core.errors import IndexCorrupt, InvalidInput, storing
from pinakes.core.records import Float32, Int32, Int64

RIDGE = 0.4
"""Weight of the prior relative to the sample; between 0.2 and 0.8 the cosine differs by 0.002."""

_TINY = 1e-9
_FORMAT = 2
_CHECKSUM_BYTES = 4


@dataclass(frozen=True, slots=True)
class TokenRows:
    """The distinct tokens of n texts, as compressed sparse rows.

    ``ids``: int32 (m,), ascending within a text; ``counts``: float32 (m,), the count of each in its text; ``offsets``:
    int64 (n + 1,), text i has ``offsets[i]:offsets[i + 1]``.
    """

    ids: Int32
    counts: Float32
    offsets: Int64

    @classmethod
    def from_ids(cls, ids: Int32, offsets: Int64) -> Self:
        """Count the tokens of n texts: ``ids`` int32 (m,), text i having ``ids[offsets[i]:offsets[i + 1]]``."""
        width = int(ids.max(initial=0)) + 1
        rows = np.arange(len(offsets)) * width
        keys, counts = np.unique(np.repeat(rows[:-1], np.diff(offsets)) + ids, return_counts=True)
        return cls((keys % width).astype(np.int32), counts.astype(np.float32), keys.searchsorted(rows))

    def __len__(self) -> int:
        return len(self.offsets) - 1


@dataclass(frozen=True, slots=True, eq=False)
class ApproximateMap:
    """A fitted map from tokens to vectors.

    ``rarity``: float32 (V,), weight of each token of the vocabulary. ``table``: float16 (V, dim), the vector of each
    token. ``mean``: float32 (dim,), mean of the sample. ``agreement``: mean cosine of approximate and exact vectors of
    the sample, by leave-one-out; slightly low, since the sample has no text near the one left out. ``label`` names the
    model. ``samples``: number of texts embedded, out of ``of_texts``.
    """

    label: str
    rarity: Float32
    table: NDArray[np.float16]
    mean: Float32
    agreement: float
    samples: int
    of_texts: int

    def apply(self, tokens: TokenRows) -> Float32:
        """Return float32 (n, dim), unit length; a text without tokens gets the mean's direction.

        Raises:
            InvalidInput: a token is outside the vocabulary.
        """
        used, places = _used(tokens, len(self.table))
        weights = _weighted(tokens, self.rarity)
        return _unit_vectors(self.mean, _product(tokens, weights, places, self.table[used].astype(np.float32)))

    def save(self, path: Path) -> None:
        """Write to ``path`` atomically; one process at a time.

        Raises:
            StorageFull: the file cannot be written.
        """
        parts = io.BytesIO()
        np.savez(
            parts,
            format=_FORMAT,
            label=self.label,
            rarity=self.rarity,
            table=self.table,
            mean=self.mean,
            agreement=self.agreement,
            samples=self.samples,
            of_texts=self.of_texts,
        )
        unfinished = path.with_name(f"{path.name}.unfinished")
        with storing(f"{str(path)!r}"):
            try:
                with unfinished.open("wb") as file:
                    file.write(zlib.crc32(parts.getbuffer()).to_bytes(_CHECKSUM_BYTES))
                    file.write(parts.getbuffer())
                unfinished.replace(path)
            except OSError:
                unfinished.unlink(missing_ok=True)
                raise

    @classmethod
    def load(cls, path: Path, label: str) -> Self:
        """Read what ``save`` wrote.

        Raises:
            IndexCorrupt: the file is missing, damaged, or of a model other than ``label``.
        """
        try:
            data = memoryview(path.read_bytes())
            if zlib.crc32(data[_CHECKSUM_BYTES:]) != int.from_bytes(data[:_CHECKSUM_BYTES]):
                raise ValueError("its checksum differs")
            with np.load(io.BytesIO(data[_CHECKSUM_BYTES:]), allow_pickle=False) as parts:
                found = str(parts["label"])
                if int(parts["format"]) != _FORMAT or found != label:
                    raise ValueError(f"it is of {found!r}, format {parts['format']}, not of {label!r}, {_FORMAT}")
                numbers = float(parts["agreement"]), int(parts["samples"]), int(parts["of_texts"])
                return cls(label, parts["rarity"], parts["table"], parts["mean"], *numbers)
        except (OSError, ValueError, KeyError, EOFError) as error:
            raise IndexCorrupt(
                f"{str(path)!r} cannot be used: {error}.", hint="Fit it again; nothing else depends on it."
            ) from error


def sample(total: int, count: int, seed: int = 0) -> Int64:
    """Return int64 (min(count, total),), ascending: which of ``total`` texts to embed with the model.

    Draws one text from each of ``count`` equal ranges, so that every part of the corpus is represented in proportion.
    Compared with uniform sampling, the cosine gains 0.004 and nDCG nothing; k-means++ and farthest points gain less.
    """
    count = min(count, total)
    edges = np.arange(count + 1, dtype=np.int64) * total // max(count, 1)
    return np.random.default_rng(seed).integers(edges[:-1], edges[1:], dtype=np.int64)


def fit(
    tokens: TokenRows,
    exact: Float32,
    prior: Float32,
    label: str = "",
    of_texts: int | None = None,
    ridge: float = RIDGE,
) -> ApproximateMap:
    """Fit a map to a sample of ``of_texts``: its ``tokens``, and its exact vectors, ``exact`` float32 (n, dim).

    ``prior`` float32 (V, dim) has the model's vector of each token of the vocabulary alone.
    With X (n, V) the weighted tokens, Y the vectors and P the prior, both centred, this minimises
    |Y - XW|² + ridge |W - aP|² over W: ridge regression (Hoerl and Kennard, Technometrics 12(1), 1970) shrinking
    towards aP in place of 0, a being the least squares fit of Y on XP. Solved in its dual form, n x n instead of
    V x V, by the identity of Woodbury (1950): W = aP + Xᵀ(XXᵀ + ridge I)⁻¹(Y - aXP).

    Raises:
        InvalidInput: the sample is empty, lengths differ, or a token is outside the vocabulary.
    """
    if not len(tokens) or len(tokens) != len(exact) or exact.shape[1] != prior.shape[1]:
        raise InvalidInput(
            f"{len(tokens)} texts, vectors {exact.shape} and prior {prior.shape} cannot be fitted.",
            hint="Give one or more texts, a vector each, and a prior of the same dimension.",
        )
    used, places = _used(tokens, len(prior))
    rarity = _rarity(tokens, len(prior))
    weights = _weighted(tokens, rarity)
    mean = exact.mean(axis=0, dtype=np.float32)
    centred = prior - prior.mean(axis=0)
    by_prior = _product(tokens, weights, places, centred[used])
    scale = float(np.vdot(by_prior, exact - mean) / max(float(np.vdot(by_prior, by_prior)), _TINY))
    columns = np.zeros((len(used), len(tokens)), np.float32)
    columns[places, np.repeat(np.arange(len(tokens)), np.diff(tokens.offsets))] = weights
    inverse = np.linalg.inv(_product(tokens, weights, places, columns) + ridge * np.eye(len(tokens), dtype=np.float32))
    dual = inverse @ (exact - mean - scale * by_prior)
    table = scale * centred
    table[used] += columns @ dual
    left_out = exact - mean - dual / np.diag(inverse)[:, None]
    agreement = float(np.mean(np.sum(_unit_vectors(mean, left_out) * exact, axis=1)))
    return ApproximateMap(
        label, rarity, table.astype(np.float16), mean, agreement, len(tokens), of_texts or len(tokens)
    )


def _rarity(tokens: TokenRows, vocabulary: int) -> Float32:
    """Return float32 (V,): ln((n + 1) / (df + ½)), the inverse document frequency of Spärck Jones (1972), smoothed.

    The sample's frequencies are as good as those of the whole collection.
    """
    frequency = np.bincount(tokens.ids, minlength=vocabulary)
    return np.log((len(tokens) + 1) / (frequency + 0.5)).astype(np.float32)


def _weighted(tokens: TokenRows, rarity: Float32) -> Float32:
    """Return float32 (m,): √count · rarity, each text's weights scaled to length 1."""
    weights = np.sqrt(tokens.counts) * rarity[tokens.ids]
    rows = np.repeat(np.arange(len(tokens)), np.diff(tokens.offsets))
    squares = np.bincount(rows, weights * weights, minlength=len(tokens))
    scaled: Float32 = weights / np.sqrt(np.maximum(squares, _TINY)).astype(np.float32)[rows]
    return scaled


def _used(tokens: TokenRows, vocabulary: int) -> tuple[Int64, Int64]:
    """Return the distinct tokens, ascending, and the index of each of ``tokens.ids`` among them."""
    if tokens.ids.max(initial=0) >= vocabulary:
        raise InvalidInput(
            f"Token {tokens.ids.max()} is outside a vocabulary of {vocabulary}.",
            hint="Use the tokenizer of the model that the prior came from.",
        )
    used = np.flatnonzero(np.bincount(tokens.ids, minlength=vocabulary))
    place_of = np.zeros(vocabulary, np.int64)
    place_of[used] = np.arange(len(used))
    return used, place_of[tokens.ids]


def _product(tokens: TokenRows, weights: Float32, places: Int64, table: Float32) -> Float32:
    """Return float32 (n, columns): each text's weighted sum of rows of ``table``.

    Row by row: the table rows of one text (about 100 of 1.5 kB) stay in the core's cache between gathering and summing.
    """
    out = np.empty((len(tokens), table.shape[1]), np.float32)
    edges = tokens.offsets.tolist()
    for row, (start, end) in enumerate(pairwise(edges)):
        np.matmul(weights[start:end], table[places[start:end]], out=out[row])
    return out


def _unit_vectors(mean: Float32, centred: Float32) -> Float32:
    """Return ``mean`` + ``centred`` as unit vectors, float32 (n, dim); ``centred`` is rescaled in place first.

    Ridge regression shrinks, so the vectors would be too close to the mean. The root mean square distance of exact
    vectors from it is √(1 - |mean|²); the geometric mean of that and the fitted distance gave the best cosine.
    """
    real = max(0.0, 1.0 - float(mean @ mean)) ** 0.5
    centred *= np.sqrt(real / np.maximum(_lengths(centred), _TINY))
    centred += mean
    centred /= np.maximum(_lengths(centred), _TINY)
    return centred


def _lengths(rows: Float32) -> Float32:
    """Return float32 (n, 1)."""
    squares: Float32 = np.einsum("ij,ij->i", rows, rows)
    return np.sqrt(squares)[:, None]
