"""What every embedder must do."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from pinakes.core.ports import Embedder
from pinakes.testing.corpus import ODD_QUERIES, equal

TEXTS = ("The grey heron waits.", "Otters eat fish.", "def feed(animal): return 22", "鳥は魚を食べる", "🦡", "x")


def vectors_have_unit_length_and_the_order_of_the_texts(embedder: Embedder) -> None:
    vectors = embedder.embed(TEXTS)
    equal((vectors.dtype, vectors.shape), (np.dtype(np.float32), (len(TEXTS), embedder.dimension)), "vectors")
    assert np.abs(np.linalg.norm(vectors, axis=1) - 1).max() < 1e-3, "vectors are not of unit length"
    turned = embedder.embed(TEXTS[::-1])
    assert np.abs(turned[::-1] - vectors).max() < 1e-2, "a vector depends on where its text stands"
    alone = np.concatenate([embedder.embed([text]) for text in TEXTS])
    assert np.abs(alone - vectors).max() < 1e-2, "a vector depends on the texts beside it"
    equal(embedder.embed([]).shape, (0, embedder.dimension), "shape of no vectors")


def different_texts_have_different_vectors(embedder: Embedder) -> None:
    vectors = embedder.embed(TEXTS[:3])
    cosines = vectors @ vectors.T - 2 * np.eye(3)
    assert cosines.max() < 0.99, "different texts share a vector"


def a_query_has_one_vector_however_odd_or_long(embedder: Embedder) -> None:
    for text in (*ODD_QUERIES, "a\0b", "\ud800 half a pair", "word " * 20_000):
        vector = embedder.embed_query(text)
        equal((vector.dtype, vector.shape), (np.dtype(np.float32), (embedder.dimension,)), f"query {text[:20]!r}")
        assert abs(float(np.linalg.norm(vector)) - 1) < 1e-3, f"the vector of {text[:20]!r} is not of unit length"


def token_starts_ascend_within_the_text_and_add_up_at_white_space(embedder: Embedder) -> None:
    for text in (*TEXTS, "", "one two\n\nthree", "a" * 1000):
        starts = embedder.token_starts(text)
        equal(starts.dtype, np.dtype(np.int64), "dtype of token starts")
        assert (np.diff(starts) >= 0).all(), f"token starts of {text[:20]!r} do not ascend"
        assert not len(starts) or (starts[0] >= 0 and starts[-1] < len(text)), f"a token starts outside {text[:20]!r}"
    parts = "The grey heron", " waits for fish."
    counts = [len(embedder.token_starts(part)) for part in (*parts, "".join(parts))]
    equal(counts[0] + counts[1], counts[2], "tokens of two halves")


def a_text_of_max_tokens_is_read(embedder: Embedder) -> None:
    assert embedder.max_tokens >= 1, "max_tokens is below 1"
    text = "fish " * embedder.max_tokens
    starts = embedder.token_starts(text)
    text = text[: int(starts[embedder.max_tokens])] if len(starts) > embedder.max_tokens else text
    equal(embedder.embed([text.strip()]).shape, (1, embedder.dimension), "shape of the longest text's vector")


def the_fingerprint_names_it(embedder: Embedder) -> None:
    assert embedder.fingerprint, "the fingerprint is empty"
    equal(embedder.fingerprint, embedder.fingerprint, "fingerprint asked for twice")
    assert str(embedder.dimension) in embedder.fingerprint, "the fingerprint does not name the dimension"


def threads_may_share_it(embedder: Embedder) -> None:
    expected = embedder.embed(TEXTS)
    with ThreadPoolExecutor(4) as pool:
        for vectors in pool.map(lambda _: embedder.embed(TEXTS), range(8)):
            assert np.abs(vectors - expected).max() < 1e-2, "threads get different vectors"


EMBEDDER_CHECKS: tuple[Callable[[Embedder], None], ...] = (
    vectors_have_unit_length_and_the_order_of_the_texts,
    different_texts_have_different_vectors,
    a_query_has_one_vector_however_odd_or_long,
    token_starts_ascend_within_the_text_and_add_up_at_white_space,
    a_text_of_max_tokens_is_read,
    the_fingerprint_names_it,
    threads_may_share_it,
)


def check_embedder(embedder: Embedder) -> None:
    """Run every check of an embedder.

    Raises:
        AssertionError: it does not do what ``ports.Embedder`` promises.
    """
    for check in EMBEDDER_CHECKS:
        check(embedder)
