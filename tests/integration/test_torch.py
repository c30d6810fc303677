"""A model run by sentence-transformers, from a folder. `make test-torch` runs this, with the extra ``torch``."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from bert_reference import make_tiny_bert, reference_embedding

from pinakes import testing
from pinakes.core.errors import InvalidInput, ModelUnavailable
from pinakes.core.ports import Embedder
from pinakes.library import Library
from pinakes.models.embedders.torch import TorchEmbedder
from pinakes.settings import EmbeddingSettings

pytest.importorskip("sentence_transformers", reason="needs the extra torch: make test-torch")

SENTENCE = "the quick brown fox jumps over a lazy dog"


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_tiny_bert(tmp_path_factory.mktemp("models") / "tiny")


@pytest.fixture(scope="module")
def embedder(model: Path, tmp_path_factory: pytest.TempPathFactory) -> TorchEmbedder:
    return TorchEmbedder.open(EmbeddingSettings(provider="torch", path=model), tmp_path_factory.mktemp("cache"))


@pytest.mark.parametrize("check", testing.EMBEDDER_CHECKS, ids=testing.name_of)
def test_it_keeps_the_contract_of_embedders(check: Callable[[Embedder], None], embedder: TorchEmbedder) -> None:
    check(embedder)


def test_its_vectors_are_those_of_the_equations(model: Path, embedder: TorchEmbedder) -> None:
    expected = reference_embedding(model, SENTENCE)
    np.testing.assert_allclose(embedder.embed([SENTENCE])[0], expected, atol=1e-5)
    np.testing.assert_allclose(embedder.embed_query(SENTENCE), expected, atol=1e-5)


def test_texts_are_cut_by_tokens_and_too_long_ones_refused(embedder: TorchEmbedder) -> None:
    assert embedder.token_starts("the quick fox").tolist() == [0, 4, 10]
    long = "fox " * (embedder.max_tokens + 1)
    with pytest.raises(InvalidInput, match=f"has {embedder.max_tokens + 1} tokens"):
        embedder.embed([long])
    cut = embedder.embed_query("fox " * embedder.max_tokens)
    np.testing.assert_allclose(embedder.embed_query(long), cut, atol=1e-6)


def test_other_weights_have_another_fingerprint(embedder: TorchEmbedder, tmp_path: Path) -> None:
    other = make_tiny_bert(tmp_path / "tiny", seed=8)
    opened = TorchEmbedder.open(EmbeddingSettings(provider="torch", path=other), tmp_path)
    assert opened.fingerprint.startswith("torch/tiny@")
    assert opened.fingerprint != embedder.fingerprint


def test_a_folder_without_a_model_says_what_to_check(tmp_path: Path) -> None:
    opened = TorchEmbedder.open(EmbeddingSettings(provider="torch", path=tmp_path / "nothing"), tmp_path)
    with pytest.raises(ModelUnavailable, match="nothing") as caught:
        opened.embed(["fox"])
    assert "embedding.path" in caught.value.hint


def test_a_collection_is_made_and_searched_by_it(open_library: Callable[..., Library], docs: Path, model: Path) -> None:
    testing.write_files(docs, {"fox.md": SENTENCE, "index.md": "search engines index every word of it"})
    library = open_library(embedding__provider="torch", embedding__path=str(model))
    report = library.add(str(docs))
    assert (report.added, report.embedded) == (2, 2)
    [hit, _] = library.search(SENTENCE, mode="vector").hits
    assert hit.path == "fox.md"
