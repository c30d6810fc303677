"""Every provider by its name: where it is asked, with which key, for which model, and how fast."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from embedding_server import EmbeddingServer, serving

from pinakes import settings as settings_module
from pinakes.core.errors import InvalidSetting, MissingExtra
from pinakes.models.embedders import EMBEDDERS, open_embedder
from pinakes.models.embedders.endpoint import EndpointEmbedder
from pinakes.models.embedders.presets import PRESETS
from pinakes.models.providers import PROVIDERS
from pinakes.settings import EmbeddingSettings

MODELS = {
    ("openai", "text-embedding-3-small"): 1536,
    ("openai", "text-embedding-3-large"): 3072,
    ("openai", "text-embedding-ada-002"): 1536,
    ("azure_openai", "text-embedding-3-large"): 3072,
    ("gemini", "gemini-embedding-001"): 3072,
    ("ollama", "nomic-embed-text"): 768,
    ("ollama", "nomic-embed-text:latest"): 768,
    ("ollama", "all-minilm"): 384,
    ("ollama", "mxbai-embed-large"): 1024,
    ("together", "togethercomputer/m2-bert-80M-8k-retrieval"): 768,
    ("huggingface", "sentence-transformers/all-MiniLM-L6-v2"): 384,
    ("lmstudio", "text-embedding-nomic-embed-text-v1.5"): 768,
}
KEYS = ("OPENAI_API_KEY", "AZURE_OPENAI_API_KEY", "EMBEDDING_AZURE_OPENAI_API_KEY", "GEMINI_API_KEY", "GOOGLE_API_KEY")
KEYS += ("TOGETHER_API_KEY", "HF_TOKEN", "HUGGINGFACE_API_KEY")


@pytest.fixture(autouse=True)
def no_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (*KEYS, *(f"EMBEDDING_AZURE_{part}" for part in ("ENDPOINT", "DEPLOYMENT", "API_VERSION"))):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("no_proxy", "127.0.0.1")


@pytest.fixture
def server() -> Iterator[EmbeddingServer]:
    with serving(768) as served:
        yield served


def opened(tmp_path: Path, **given: Any) -> EndpointEmbedder:
    embedder = open_embedder(EmbeddingSettings(**given), tmp_path)
    assert isinstance(embedder, EndpointEmbedder)
    return embedder


@pytest.mark.parametrize(
    ("model", "question", "document"),
    [
        ("nomic-embed-text", "search_query: ", "search_document: "),
        ("mxbai-embed-large", "Represent this sentence for searching relevant passages: ", ""),
    ],
)
def test_texts_are_prompted_in_the_words_that_a_model_was_trained_with(
    model: str, question: str, document: str
) -> None:
    known = PRESETS["ollama"].model_named(model)
    assert (known.question, known.chunk) == (question, document)


def test_every_provider_has_a_preset_and_is_an_embedder() -> None:
    assert PRESETS.keys() == PROVIDERS.keys()
    assert PRESETS.keys() <= EMBEDDERS.keys()
    ours = [name for name, place in EMBEDDERS.items() if place.startswith("pinakes.")]  # other tests add their own
    assert all(name in (EmbeddingSettings.model_fields["provider"].description or "") for name in ours)


@pytest.mark.parametrize(("provider", "model"), MODELS)
def test_the_dimension_of_known_models_is_known_without_asking(provider: str, model: str, tmp_path: Path) -> None:
    url = "https://acme.invalid" if provider == "azure_openai" else ""
    embedder = opened(tmp_path, provider=provider, model=model, url=url)
    dimension = MODELS[provider, model]
    assert embedder.dimension == dimension
    assert embedder.fingerprint == f"{provider}/{model}/{dimension}"


@pytest.mark.parametrize("provider", sorted(PRESETS.keys() - {"endpoint", "azure_openai"}))
def test_a_provider_has_a_usual_model_address_and_pace(provider: Any, tmp_path: Path) -> None:
    embedder = opened(tmp_path, provider=provider)
    preset = PRESETS[provider]
    assert embedder.fingerprint.startswith(f"{provider}/{preset.model}/")
    assert embedder.dimension == preset.model_named(preset.model).dimension > 0
    assert preset.requests_per_minute == (80 if embedder.hosted else 0)
    assert embedder.price_per_million == 0.0 if not embedder.hosted else embedder.price_per_million != 0.0


@pytest.mark.parametrize(
    ("provider", "variable", "header", "value"),
    [
        ("openai", "OPENAI_API_KEY", "authorization", "Bearer k1"),
        ("azure_openai", "AZURE_OPENAI_API_KEY", "api-key", "k1"),
        ("azure_openai", "EMBEDDING_AZURE_OPENAI_API_KEY", "api-key", "k1"),
        ("gemini", "GEMINI_API_KEY", "authorization", "Bearer k1"),
        ("gemini", "GOOGLE_API_KEY", "authorization", "Bearer k1"),
        ("together", "TOGETHER_API_KEY", "authorization", "Bearer k1"),
        ("huggingface", "HF_TOKEN", "authorization", "Bearer k1"),
        ("huggingface", "HUGGINGFACE_API_KEY", "authorization", "Bearer k1"),
        ("ollama", "", "authorization", None),
        ("lmstudio", "", "authorization", None),
    ],
)
def test_the_key_is_sent_as_the_provider_wants_it(
    server: EmbeddingServer,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    provider: str,
    variable: str,
    header: str,
    value: str | None,
) -> None:
    if variable:
        monkeypatch.setenv(variable, "k1")
    embedder = opened(tmp_path, provider=provider, model="acme/words", url=server.url)
    embedder.embed(["fox"])
    embedder.close()
    assert server.seen[0][1].get(header) == value


def test_azure_is_asked_by_deployment(server: EmbeddingServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EMBEDDING_AZURE_OPENAI_API_KEY", "k")
    monkeypatch.setenv("EMBEDDING_AZURE_ENDPOINT", server.address)
    monkeypatch.setenv("EMBEDDING_AZURE_DEPLOYMENT", "my embeddings")
    monkeypatch.setenv("EMBEDDING_AZURE_API_VERSION", "2025-01-01")
    embedder = opened(tmp_path, provider="azure_openai")
    embedder.embed(["fox"])
    embedder.close()
    assert server.seen[0][0] == "/openai/deployments/my%20embeddings/embeddings?api-version=2025-01-01"
    assert embedder.fingerprint == "azure_openai/my embeddings/768"


def test_azure_needs_an_address(tmp_path: Path) -> None:
    with pytest.raises(InvalidSetting, match=r"embedding\.url"):
        opened(tmp_path, provider="azure_openai")


def test_the_public_service_of_hugging_face_is_asked_in_its_own_form(
    server: EmbeddingServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_TOKEN", "k")
    url = f"{server.address}/hf-inference/models/acme/words/pipeline/feature-extraction"
    embedder = opened(tmp_path, provider="huggingface", model="acme/words", url=url)
    vectors = embedder.embed(["fox", "hen"])
    embedder.close()
    assert server.seen[0][0] == "/hf-inference/models/acme/words/pipeline/feature-extraction"
    assert server.seen[0][2] == {"inputs": ["fox", "hen"]}
    assert vectors.shape == (2, 768)
    assert embedder.spent().tokens > 0


def test_what_a_model_was_trained_to_read_first_stands_before_questions_and_chunks(
    server: EmbeddingServer, tmp_path: Path
) -> None:
    embedder = opened(tmp_path, provider="ollama", url=server.url)
    chunk, question = embedder.embed(["fox"])[0], embedder.embed_query("fox")
    embedder.close()
    assert server.paid == ["search_document: fox", "search_query: fox"]
    assert not np.allclose(chunk, question)


def test_the_settings_win_over_the_preset(tmp_path: Path) -> None:
    given = {"dimension": 256, "max_tokens": 100, "price_per_million": 0.5}
    embedder = opened(tmp_path, provider="openai", **given)
    assert (embedder.dimension, embedder.max_tokens, embedder.price_per_million) == (256, 100, 0.5)


def test_settings_come_from_the_environment_and_hold_no_key(tmp_path: Path) -> None:
    environment = {"PINAKES_EMBEDDING__PROVIDER": "openai", "PINAKES_EMBEDDING__REQUESTS_PER_MINUTE": "500"}
    found = settings_module.load(home=tmp_path, environment=environment).embedding
    assert (found.provider, found.requests_per_minute) == ("openai", 500)
    assert not any("secret" in name or name == "key" for name in EmbeddingSettings.model_fields)


def test_an_unknown_provider_is_told_with_those_that_there_are(tmp_path: Path) -> None:
    with pytest.raises(InvalidSetting, match="opneai") as caught:
        open_embedder(EmbeddingSettings(provider="opneai"), tmp_path)
    assert "openai" in caught.value.hint


def test_torch_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    embedder = open_embedder(EmbeddingSettings(provider="torch"), tmp_path)
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    with pytest.raises(MissingExtra) as caught:
        embedder.embed(["fox"])
    assert "sentence-transformers>=" in caught.value.hint
