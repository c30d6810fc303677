"""Vectors from a hash."""

from __future__ import annotations

import hashlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pinakes.core.errors import InvalidInput
from pinakes.models.embedders.deterministic import DeterministicEmbedder


@given(st.text(st.characters(), max_size=200))
def test_any_text_has_one_vector_of_unit_length(text: str) -> None:
    embedder = DeterministicEmbedder()
    vector = embedder.embed_query(text)
    assert (vector.dtype, vector.shape) == (np.float32, (384,))
    assert np.linalg.norm(vector) == pytest.approx(1, abs=1e-5)
    assert np.array_equal(vector, DeterministicEmbedder().embed([text])[0])


def test_the_vector_is_the_normal_draw_that_the_hash_seeds() -> None:
    seed = np.frombuffer(hashlib.sha256(b"a text").digest(), "<u4")
    draw = np.random.RandomState(seed).standard_normal(16)
    vector = DeterministicEmbedder(16).embed_query("a text")
    assert np.allclose(vector, draw / np.linalg.norm(draw))
    assert vector[:2] == pytest.approx([-0.1350067, 0.0516161], abs=1e-6)


def test_different_texts_are_nearly_orthogonal() -> None:
    vectors = DeterministicEmbedder().embed([f"text {number}" for number in range(50)])
    assert np.abs(vectors @ vectors.T - np.eye(50)).max() < 0.3


def test_no_texts_give_no_rows() -> None:
    assert DeterministicEmbedder(8).embed([]).shape == (0, 8)


def test_tokens_are_words_and_punctuation_marks() -> None:
    assert DeterministicEmbedder().token_starts("Hi, there\n(you)").tolist() == [0, 2, 4, 10, 11, 14]


def test_overlong_texts_are_refused_and_overlong_queries_cut() -> None:
    embedder = DeterministicEmbedder(8, max_tokens=3)
    with pytest.raises(InvalidInput, match="4 tokens"):
        embedder.embed(["a b c d"])
    assert np.array_equal(embedder.embed_query("a b c d"), embedder.embed_query("a b c "))


def test_fingerprints_name_the_dimension() -> None:
    assert DeterministicEmbedder(8).fingerprint != DeterministicEmbedder(16).fingerprint
