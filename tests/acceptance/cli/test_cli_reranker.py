"""The reranker's model as the command line shows and installs it."""

from __future__ import annotations

from pathlib import Path

import pytest
from cross_encoder_reference import make_tiny_cross_encoder

ON = ("--set", "rerank.enabled=true")


@pytest.fixture
def words(tmp_path: Path) -> tuple[str, ...]:
    """Arguments that name a tiny cross-encoder and a cache of its own."""
    folder = make_tiny_cross_encoder(tmp_path / "tiny")
    given = (f"cache={tmp_path / 'cache'}", "rerank.model=acme/tiny", f"rerank.path={folder}")
    return tuple(word for assignment in given for word in ("--set", assignment))


def test_the_reranker_is_installed_by_itself(pinakes, words):
    done = pinakes("model", "install", "--rerank", *words)
    assert done.code == 0
    assert done.out.startswith("acme/tiny: installed\n")
    assert "graph    int8" in done.out
    state = pinakes("model", "status", "--rerank", "--json", *words).document
    assert (state["model"], state["converted"], state["graph_ok"]) == ("acme/tiny", True, True)
    assert "reranker" not in state


def test_a_reranker_that_is_in_use_belongs_to_the_models_that_are_needed(pinakes, words):
    assert "acme/tiny" not in pinakes("model", "install", *words).out
    assert pinakes("model", "install", *ON, *words).out.startswith("deterministic: installed\nacme/tiny: installed\n")
    state = pinakes("model", "status", "--json", *ON, *words).document
    assert (state["model"], state["reranker"]["model"], state["reranker"]["converted"]) == (
        "deterministic",
        "acme/tiny",
        True,
    )


def test_a_damaged_reranker_is_an_error_that_says_what_to_type(pinakes, words, tmp_path):
    pinakes("model", "install", "--rerank", *words)
    (graph,) = (tmp_path / "cache").rglob("rerank-*/model.onnx")
    graph.write_bytes(graph.read_bytes()[:-4] + b"\0\1\2\3")
    for more in (("--rerank",), ON):
        done = pinakes("model", "status", *more, *words)
        assert done.code == 7
        assert "pinakes model install --rerank" in done.err
    assert pinakes("model", "install", "--rerank", *words).code == 0
    assert pinakes("model", "status", "--rerank", *words).code == 0


def test_a_missing_reranker_is_told_with_what_to_type(pinakes, tmp_path, monkeypatch):
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    place = ("--set", f"cache={tmp_path / 'cache'}")
    shown = pinakes("model", "status", "--rerank", *place)
    assert shown.code == 0
    assert "ms-marco-MiniLM-L-6-v2: not installed" in shown.out
    assert "pinakes model install --rerank" in shown.err
    assert pinakes("model", "install", "--rerank", *place).code == 7


def test_an_endpoint_needs_no_model(pinakes):
    words = ("--set", "rerank.provider=http", "--set", "rerank.model=acme/rank")
    assert pinakes("model", "install", "--rerank", *words).out == "acme/rank: installed\n"
