"""The cross-encoder on a tiny random model, against a reference in numpy."""

from __future__ import annotations

import shutil
import socket
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from bert_reference import make_tiny_bert
from cross_encoder_reference import MAX_TOKENS, make_tiny_cross_encoder, reference_score
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pinakes import testing
from pinakes.core.errors import InvalidSetting, ModelCorrupt, ModelUnavailable
from pinakes.core.ports import Reranker
from pinakes.models import folders, weights
from pinakes.models.rerankers import RERANKERS, cross_encoder, open_reranker
from pinakes.models.rerankers.cross_encoder import CrossEncoder
from pinakes.settings import EmbeddingSettings, RerankSettings

QUERY = "which fox jumps over the dog"
CHUNKS = [
    "the quick brown fox jumps over a lazy dog.",
    "search engines index every word",
    "",
    "dog",
    "it, while a dog! 42 index of every fox",
    "the quick brown fox jumps over a lazy dog while search engines index every word of it. " * 5,
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_tiny_cross_encoder(tmp_path_factory.mktemp("model") / "tiny")


def tiny(folder: Path, cache: Path, **more: object) -> CrossEncoder:
    reranker = open_reranker(RerankSettings(model="acme/tiny", path=folder, **more), cache)
    assert isinstance(reranker, CrossEncoder)
    return reranker


@pytest.fixture(scope="module")
def reranker(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> CrossEncoder:
    return tiny(folder, tmp_path_factory.mktemp("cache"))


@pytest.mark.parametrize(("precision", "most"), [("fp32", 1e-5), ("int8", 0.12)])
@pytest.mark.parametrize("seed", [7, 8, 9])
def test_scores_agree_with_the_reference(tmp_path: Path, precision: str, most: float, seed: int) -> None:
    folder = make_tiny_cross_encoder(tmp_path / "tiny", seed=seed)
    expected = np.array([reference_score(folder, QUERY, chunk) for chunk in CHUNKS])
    scores = tiny(folder, tmp_path / "cache", precision=precision).score(QUERY, CHUNKS)
    assert np.ptp(expected) > 0.5
    assert np.abs(scores - expected).max() <= most * max(1, np.abs(expected).max())


def test_question_and_chunk_are_told_apart(folder: Path, tmp_path: Path) -> None:
    exact = tiny(folder, tmp_path, precision="fp32")
    there, back = exact.score("lazy dog", ["quick fox"])[0], exact.score("quick fox", ["lazy dog"])[0]
    assert there == pytest.approx(reference_score(folder, "lazy dog", "quick fox"), abs=1e-5)
    assert back == pytest.approx(reference_score(folder, "quick fox", "lazy dog"), abs=1e-5)
    assert abs(there - back) > 0.01


def test_scores_are_float32_in_the_order_given(reranker: CrossEncoder) -> None:
    scores = reranker.score(QUERY, CHUNKS)
    assert (scores.dtype, scores.shape) == (np.float32, (len(CHUNKS),))
    assert np.array_equal(reranker.score(QUERY, CHUNKS[::-1]), scores[::-1])


def test_a_score_does_not_depend_on_the_chunks_beside_it(reranker: CrossEncoder) -> None:
    together = reranker.score(QUERY, CHUNKS)
    assert np.array_equal(together, [reranker.score(QUERY, [chunk])[0] for chunk in CHUNKS])
    assert np.array_equal(reranker.score(QUERY, CHUNKS * 7), np.tile(together, 7))


def test_only_the_chunk_is_cut(reranker: CrossEncoder) -> None:
    fits = " ".join(["dog"] * (MAX_TOKENS - 3 - 2))
    chunks = [fits + " fox" * 10_000, fits, fits.removesuffix(" dog")]
    scores = reranker.score("fox jumps", chunks)
    assert scores[0] == scores[1] != scores[2]


def test_a_question_longer_than_the_model_reads_leaves_room_for_chunks(reranker: CrossEncoder) -> None:
    scores = reranker.score("fox " * 50_000, ["dog", "search engines"])
    assert np.isfinite(scores).all()
    assert scores[0] != scores[1]


def test_eight_callers_at_once_get_the_same_scores(folder: Path, tmp_path: Path) -> None:
    fresh = tiny(folder, tmp_path)
    with ThreadPoolExecutor(8) as pool:
        found = [pool.submit(fresh.score, QUERY, CHUNKS) for _ in range(40)]
        expected = fresh.score(QUERY, CHUNKS)
        assert all(np.array_equal(each.result(), expected) for each in found)


@pytest.mark.parametrize("threads", [1, 3])
def test_the_number_of_threads_changes_no_score(
    folder: Path, reranker: CrossEncoder, tmp_path: Path, threads: int
) -> None:
    other = tiny(folder, tmp_path, threads=threads)
    assert np.array_equal(other.score(QUERY, CHUNKS), reranker.score(QUERY, CHUNKS))
    assert other.at_once == 2 * threads


def test_after_closing_it_can_be_used_again(folder: Path, tmp_path: Path) -> None:
    used = tiny(folder, tmp_path, threads=2)
    before = used.score(QUERY, CHUNKS)
    used.close()
    assert np.array_equal(used.score(QUERY, CHUNKS), before)


@given(st.text(max_size=20), st.text(max_size=200))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)
def test_any_question_and_chunk_have_a_score(reranker: CrossEncoder, query: str, chunk: str) -> None:
    assert np.isfinite(reranker.score(query, [chunk, chunk + "\ud800"])).all()


@pytest.mark.parametrize("check", testing.RERANKER_CHECKS, ids=testing.name_of)
def test_it_keeps_the_contract(check: Callable[[Reranker], None], reranker: CrossEncoder) -> None:
    check(reranker)


def test_without_weights_the_error_says_what_to_do_and_no_network_is_touched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.socket() as hub:
        hub.bind(("127.0.0.1", 0))
        hub.listen()
        hub.setblocking(False)
        monkeypatch.setenv("HF_ENDPOINT", f"http://127.0.0.1:{hub.getsockname()[1]}")
        monkeypatch.delenv("HF_HUB_OFFLINE", raising=False)
        missing = open_reranker(RerankSettings(), tmp_path)
        with pytest.raises(ModelUnavailable, match="ms-marco-MiniLM-L-6-v2 is not installed") as caught:
            missing.score(QUERY, CHUNKS)
        with pytest.raises(BlockingIOError):
            hub.accept()
    assert "pinakes model install --rerank" in caught.value.hint
    assert "--set rerank.path=FOLDER" in caught.value.hint


def test_a_model_that_was_missing_is_found_when_it_arrives(folder: Path, tmp_path: Path) -> None:
    late = open_reranker(RerankSettings(model="acme/tiny"), tmp_path)
    for _ in range(2):
        with pytest.raises(ModelUnavailable, match="is not installed"):
            late.score(QUERY, CHUNKS)
        with pytest.raises(ModelUnavailable, match="is not installed"):
            _ = late.fingerprint
    place = tmp_path / "models/acme--tiny/weights"
    with folders.exclusive(place.parent, 1), folders.filled(place, {"origin": "hub"}) as unfinished:
        shutil.copytree(folder, unfinished, dirs_exist_ok=True)
    assert len(late.score(QUERY, CHUNKS)) == len(CHUNKS)
    assert late.fingerprint.startswith("onnx/acme/tiny@")


def test_damaged_weights_are_reported_with_what_to_type(folder: Path, tmp_path: Path) -> None:
    wanted = RerankSettings(model="acme/tiny")
    place = tmp_path / "models/acme--tiny/weights"
    with folders.exclusive(place.parent, 1), folders.filled(place, {"origin": "hub"}) as unfinished:
        shutil.copytree(folder, unfinished, dirs_exist_ok=True)
    data = (place / "model.safetensors").read_bytes()
    (place / "model.safetensors").write_bytes(data[:-8] + bytes(8))
    damaged = CrossEncoder(wanted, tmp_path)
    for _ in range(2):
        with pytest.raises(ModelCorrupt, match="acme/tiny are damaged") as caught:
            damaged.load()
        assert "pinakes model install --rerank" in caught.value.hint


def test_files_that_cannot_be_used_are_not_read_again_at_every_search(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = make_tiny_bert(tmp_path / "tiny")
    refused = tiny(place, tmp_path / "cache")
    with pytest.raises(ModelUnavailable, match="it has no classifier"):
        refused.load()
    shutil.rmtree(place)
    with pytest.raises(ModelUnavailable, match="it has no classifier"):
        refused.load()
    monkeypatch.setattr(cross_encoder, "RETRY_S", 0.0)
    later = tiny(make_tiny_bert(place), tmp_path / "cache")
    with pytest.raises(ModelUnavailable, match="it has no classifier"):
        later.load()
    shutil.copytree(folder, place, dirs_exist_ok=True)
    later.load()


def test_files_that_are_missing_are_looked_for_each_time(folder: Path, tmp_path: Path) -> None:
    place = tmp_path / "tiny"
    late = tiny(place, tmp_path / "cache")
    with pytest.raises(ModelUnavailable, match="lacks"):
        late.load()
    shutil.copytree(folder, place)
    late.load()


def test_an_embedding_model_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ModelUnavailable, match="it has no classifier, so it is no cross-encoder"):
        tiny(make_tiny_bert(tmp_path / "tiny"), tmp_path / "cache").load()


def test_a_model_of_several_classes_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ModelUnavailable, match="it tells 3 classes apart"):
        tiny(make_tiny_cross_encoder(tmp_path / "tiny", labels=3), tmp_path / "cache").load()


def test_other_weights_than_those_of_the_default_model_are_refused(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(ModelCorrupt, match="is not cross-encoder/ms-marco-MiniLM-L-6-v2") as caught:
        open_reranker(RerankSettings(path=folder), tmp_path).load()
    assert "rerank.model" in caught.value.hint


def test_one_model_can_embed_and_rerank(folder: Path, tmp_path: Path) -> None:
    embeds = weights.install(EmbeddingSettings(model="acme/tiny", path=folder), tmp_path)
    ranks = weights.install(RerankSettings(model="acme/tiny", path=folder), tmp_path)
    assert embeds.graph_folder("int8") != ranks.graph_folder("int8")
    assert embeds.graph_folder("int8").parent == ranks.graph_folder("int8").parent


def test_opening_loads_no_model_and_no_heavy_module(tmp_path: Path) -> None:
    script = (
        "import sys; from pathlib import Path; from pinakes.models.rerankers import open_reranker\n"
        "from pinakes.settings import RerankSettings\n"
        f"print(open_reranker(RerankSettings(), Path({str(tmp_path)!r})).fingerprint)\n"
        "open_reranker(RerankSettings(provider='http', url='http://localhost/rerank'), Path('.'))\n"
        "print([m for m in ('onnx', 'onnxruntime', 'tokenizers', 'safetensors', 'httpx') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["onnx/cross-encoder/ms-marco-MiniLM-L-6-v2@821d1aa69520/int8", "[]"]
    assert not list(tmp_path.iterdir())


def test_fingerprints_tell_weights_and_precisions_apart(folder: Path, tmp_path: Path) -> None:
    other = make_tiny_cross_encoder(tmp_path / "other", seed=8)
    prints = {tiny(place, tmp_path, precision=p).fingerprint for place in (folder, other) for p in ("int8", "fp32")}
    assert len(prints) == 4


def test_an_unknown_provider_is_refused_with_the_known_ones(tmp_path: Path) -> None:
    assert sorted(RERANKERS) == ["http", "onnx"]
    with pytest.raises(InvalidSetting, match="http, onnx"):
        open_reranker(RerankSettings(provider="abacus"), tmp_path)
