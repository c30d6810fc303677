"""The BERT embedder on a tiny random model, against a reference in numpy."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from bert_reference import WORDS, make_tiny_bert, reference_embedding
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer

from pinakes.core.errors import InvalidInput, InvalidSetting, ModelUnavailable
from pinakes.models import folders, weights
from pinakes.models.embedders import EMBEDDERS, open_embedder
from pinakes.models.embedders.bert import BertEmbedder
from pinakes.settings import EmbeddingSettings

TEXTS = ["the quick brown fox", "a lazy dog jumps over it!", "index", "search engines, every word of it. " * 2]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_tiny_bert(tmp_path_factory.mktemp("model") / "tiny")


def tiny(folder: Path, cache: Path, **more: object) -> BertEmbedder:
    embedder = open_embedder(EmbeddingSettings(model="acme/tiny", path=folder, **more), cache)
    assert isinstance(embedder, BertEmbedder)
    return embedder


@pytest.fixture(scope="module")
def embedder(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> BertEmbedder:
    return tiny(folder, tmp_path_factory.mktemp("cache"))


@pytest.mark.parametrize(("precision", "least"), [("fp32", 0.9999), ("int8", 0.99)])
@pytest.mark.parametrize("pooling", ["mean", "cls"])
@pytest.mark.parametrize("prefix", ["", "bert."])
def test_vectors_agree_with_the_reference(
    tmp_path: Path, precision: str, least: float, pooling: str, prefix: str
) -> None:
    folder = make_tiny_bert(tmp_path / "tiny", pooling=pooling, prefix=prefix)
    embedder = tiny(folder, tmp_path / "cache", precision=precision)
    vectors = embedder.embed(TEXTS)
    assert embedder.embed_query(TEXTS[0]).shape == (32,)
    for text, vector in zip(TEXTS, vectors, strict=True):
        assert vector @ reference_embedding(folder, text) >= least


def test_vectors_are_float32_of_unit_length_in_the_order_given(embedder: BertEmbedder) -> None:
    vectors = embedder.embed(TEXTS)
    assert (vectors.dtype, vectors.shape) == (np.float32, (len(TEXTS), embedder.dimension))
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)
    assert np.array_equal(embedder.embed(TEXTS[::-1]), vectors[::-1])


def test_a_vector_does_not_depend_on_the_texts_beside_it(embedder: BertEmbedder) -> None:
    together = embedder.embed(TEXTS)
    alone = [embedder.embed([text])[0] for text in TEXTS]
    assert np.array_equal(together, alone)
    assert np.array_equal(together, [embedder.embed_query(text) for text in TEXTS])


def test_no_texts_give_no_rows(embedder: BertEmbedder) -> None:
    assert embedder.embed([]).shape == (0, 32)


def test_the_empty_text_has_a_vector(embedder: BertEmbedder) -> None:
    assert np.linalg.norm(embedder.embed([""])[0]) == pytest.approx(1, abs=1e-5)


def test_more_texts_than_one_group_keep_their_order(embedder: BertEmbedder) -> None:
    texts = [" ".join(WORDS[number % 7 : number % 7 + 1 + number % 5]) for number in range(2500)]
    vectors = embedder.embed(texts)
    one_of_each = {text: embedder.embed_query(text) for text in set(texts)}
    assert np.array_equal(vectors, [one_of_each[text] for text in texts])


def test_an_overlong_text_is_refused_with_its_token_count(embedder: BertEmbedder) -> None:
    fits = " ".join(["dog"] * embedder.max_tokens)
    assert len(embedder.embed([fits])) == 1
    with pytest.raises(InvalidInput, match="Text 1 has 31 tokens; acme/tiny reads at most 30"):
        embedder.embed(["dog", fits + " dog"])


def test_an_overlong_query_is_cut_to_what_the_model_reads(embedder: BertEmbedder) -> None:
    fits = " ".join(["dog"] * embedder.max_tokens)
    assert np.array_equal(embedder.embed_query(fits + " fox" * 500_000), embedder.embed_query(fits))


def test_eight_callers_at_once_get_the_same_vectors(folder: Path, tmp_path: Path) -> None:
    fresh = tiny(folder, tmp_path)
    with ThreadPoolExecutor(8) as pool:
        bulk = [pool.submit(fresh.embed, TEXTS * 5) for _ in range(4)]
        queries = [pool.submit(fresh.embed_query, TEXTS[0]) for _ in range(100)]
        expected = fresh.embed(TEXTS * 5)
        assert all(np.array_equal(each.result(), expected) for each in bulk)
        assert all(np.array_equal(each.result(), expected[0]) for each in queries)


@pytest.mark.parametrize("threads", [1, 3])
def test_the_number_of_threads_does_not_change_the_vectors(folder: Path, tmp_path: Path, threads: int) -> None:
    one = tiny(folder, tmp_path, threads=threads).embed(TEXTS)
    assert np.array_equal(one, tiny(folder, tmp_path).embed(TEXTS))


def test_token_starts_count_what_embed_reads(embedder: BertEmbedder) -> None:
    text = "The  quick\tfox,\n\ndogs"
    assert embedder.token_starts(text).tolist() == [0, 5, 11, 14, 17, 20]
    assert embedder.token_starts("").tolist() == []


def one_pass(folder: Path, text: str) -> list[int]:
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return [start for start, _ in tokenizer.encode(text, add_special_tokens=False).offsets]


def test_token_starts_of_a_long_text_are_those_of_one_pass(embedder: BertEmbedder, folder: Path) -> None:
    lines = (f"{WORDS[n % 9]} {WORDS[n % 14]}, é\U0001f600 n{n}" for n in range(20_000))
    text = "\n".join(lines)
    assert len(text) > 300_000
    assert embedder.token_starts(text).tolist() == one_pass(folder, text)


@given(st.text(max_size=300), st.text(st.characters(categories=["Cs", "Mn", "Cc", "Lo", "So"]), max_size=30))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=150)
def test_any_text_has_ascending_token_starts_within_it(
    embedder: BertEmbedder, folder: Path, text: str, odd: str
) -> None:
    starts = embedder.token_starts(text + odd)
    assert starts.dtype == np.int64
    assert starts.tolist() == one_pass(folder, re.sub("[\ud800-\udfff]", "\ufffd", text + odd))
    assert (np.diff(starts) >= 0).all()
    assert ((starts >= 0) & (starts < max(1, len(text + odd)))).all()


@given(st.text(max_size=8))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)
def test_any_query_has_a_finite_vector_of_unit_length(embedder: BertEmbedder, text: str) -> None:
    assert np.linalg.norm(embedder.embed_query(text)) == pytest.approx(1, abs=1e-5)


def test_a_word_of_a_million_letters_is_read(embedder: BertEmbedder) -> None:
    starts = embedder.token_starts("x" * 1_000_000 + " dog")
    assert starts[-1] == 1_000_001
    assert len(starts) < 200


def test_opening_loads_no_model_and_no_heavy_module(tmp_path: Path) -> None:
    script = (
        "import sys; from pathlib import Path; from pinakes.models.embedders import open_embedder\n"
        "from pinakes.settings import EmbeddingSettings\n"
        f"e = open_embedder(EmbeddingSettings(), Path({str(tmp_path)!r}))\n"
        "print(e.dimension, e.max_tokens, e.fingerprint)\n"
        "print([m for m in ('onnx', 'onnxruntime', 'tokenizers', 'safetensors', 'httpx') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == [
        "384 254 onnx/sentence-transformers/all-MiniLM-L6-v2@53aa51172d14/int8/384",
        "[]",
    ]
    assert not list(tmp_path.iterdir())


def test_fingerprints_tell_weights_and_precisions_apart(folder: Path, tmp_path: Path) -> None:
    other = make_tiny_bert(tmp_path / "other", seed=8)
    prints = {tiny(place, tmp_path, precision=p).fingerprint for place in (folder, other) for p in ("int8", "fp32")}
    assert len(prints) == 4


def test_an_unknown_provider_is_refused_with_the_known_ones(tmp_path: Path) -> None:
    with pytest.raises(InvalidSetting, match=r"deterministic, .*onnx"):
        open_embedder(EmbeddingSettings(provider="abacus"), tmp_path)


def test_every_provider_of_the_table_opens(tmp_path: Path) -> None:
    for provider in EMBEDDERS:
        settings = EmbeddingSettings(provider=provider, url="https://models.invalid/v1")
        assert callable(open_embedder(settings, tmp_path).embed), provider


@pytest.mark.parametrize("provider", ["deterministic", "onnx"])
def test_what_runs_here_knows_its_dimension(provider: str, tmp_path: Path) -> None:
    assert open_embedder(EmbeddingSettings(provider=provider), tmp_path).dimension == 384


def test_a_model_that_could_not_be_had_is_found_when_it_arrives(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    embedder = BertEmbedder(EmbeddingSettings(model="acme/tiny"), tmp_path)
    for _ in range(2):
        with pytest.raises(ModelUnavailable, match="HF_HUB_OFFLINE is set"):
            embedder.embed_query("dog")
    from pinakes.models import folders

    weights = tmp_path / "models/acme--tiny/weights"
    with folders.exclusive(weights.parent, 1), folders.filled(weights, {"origin": "hub"}) as place:
        for file in folder.rglob("*.*"):
            target = place / file.relative_to(folder)
            target.parent.mkdir(exist_ok=True)
            target.write_bytes(file.read_bytes())
    assert embedder.embed_query("dog").shape == (32,)


def test_words_too_long_to_come_again_are_counted_alike(embedder: BertEmbedder, folder: Path) -> None:
    text = " ".join(["dog" * 50, "fox", "漢字" * 200, "dog" * 50, "fox"])
    for _ in range(2):
        assert embedder.token_starts(text).tolist() == one_pass(folder, text)


@pytest.mark.parametrize("damage", ["cut", "flip", "gone", "no manifest", "empty manifest", "no archive", "a file"])
def test_damaged_vectors_of_single_tokens_are_made_again(folder: Path, tmp_path: Path, damage: str) -> None:
    settings = EmbeddingSettings(model="acme/tiny", path=folder)
    expected = tiny(folder, tmp_path).prior()
    [prior] = tmp_path.rglob("prior.npz")
    _damage(prior, damage)
    assert weights.status(settings, tmp_path)["graph_ok"] is (damage == "no archive")
    assert np.array_equal(tiny(folder, tmp_path).prior(), expected)
    assert weights.status(settings, tmp_path)["graph_ok"] is True
    _damage(prior, "flip")
    weights.install(settings, tmp_path, verify=True)
    assert weights.status(settings, tmp_path)["graph_ok"] is True
    assert np.array_equal(tiny(folder, tmp_path).prior(), expected)


def _damage(prior: Path, how: str) -> None:
    data, manifest = prior.read_bytes(), prior.with_name("manifest.json")
    if how == "cut":
        prior.write_bytes(data[:50])
    elif how == "flip":
        prior.write_bytes(data[:100] + b"\0\1\2\3" + data[104:])
    elif how in ("gone", "empty manifest"):
        prior.unlink()
    elif how == "no manifest":
        manifest.unlink()
    elif how == "a file":
        shutil.rmtree(prior.parent)
        prior.parent.write_text("x")
    if how in ("empty manifest", "no archive"):
        manifest.write_text(json.dumps({"files": {}, "facts": {}}))
    if how == "no archive":  # as its manifest says it is, and yet none
        prior.write_bytes(b"nothing that NumPy reads")
        manifest.write_text(json.dumps({"files": {"prior.npz": (24, folders.sha256(prior))}, "facts": {}}))
