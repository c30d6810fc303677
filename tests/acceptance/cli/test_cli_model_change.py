"""Another model, built beside what answers, switched to and back, as the command line shows it."""

from __future__ import annotations

import re
import signal

import pytest
from bert_reference import make_tiny_bert
from forking import Forked
from progressive_support import small_steps, write_folder


@pytest.fixture(scope="session")
def models(tmp_path_factory):
    place = tmp_path_factory.mktemp("models")
    return make_tiny_bert(place / "first"), make_tiny_bert(place / "second", seed=8)


@pytest.fixture(scope="session")
def cache(tmp_path_factory):
    return tmp_path_factory.mktemp("cache")


@pytest.fixture
def words(models, cache):
    settings = small_steps(models[0]) | {"cache": cache, "embedding__mode": "full"}
    return [word for name, value in settings.items() for word in ("--set", f"{name.replace('__', '.')}={value}")]


@pytest.fixture
def call(pinakes, words, tmp_path):
    folder = write_folder(tmp_path / "folder", [f"file{number}" for number in range(6)])
    assert pinakes("add", folder, *words).code == 0
    return lambda *more: pinakes(*more, *words)


def best(call) -> list[tuple[str, float]]:
    done = call("search", "quick brown fox", "--mode", "vector", "--json")
    assert done.code == 0, done.err
    return [(hit["chunk_id"], hit["score"]) for hit in done.document["hits"]]


def beside(call):
    [state] = call("status", "--json").document["collections"]
    return state["beside"]


def test_from_one_model_to_another_and_back(call, models):
    old = best(call)
    assert beside(call) is None
    assert "beside" not in call("status").out

    done = call("reindex", "--beside", "--model", models[1])
    assert done.code == 0, done.err
    assert "built beside what answers: onnx/second@" in done.out
    assert "reindex --switch -c default" in done.err
    assert best(call) == old
    state = beside(call)
    assert (state["state"], state["share"], state["waiting"]) == ("ready", 1.0, 0)
    assert re.search(
        r"^  beside   onnx/second@.+: ready \(\d+ of \d+ embedded; \d+\.\d MB\)$", call("status").out, re.M
    )

    done = call("reindex", "--switch")
    assert done.code == 0, done.err
    assert "default: answered by onnx/second@" in done.out
    assert re.search(r"answered before, kept to go back to \(.+ MB\)", done.out)
    assert "reindex --rollback" in done.err
    new = best(call)
    assert new != old
    assert call("verify").code == 0

    done = call("reindex", "--rollback", "--json")
    assert done.code == 0, done.err
    [document] = done.document["collections"]
    assert document["model"].startswith("onnx/acme/tiny@")
    assert document["beside"]["state"] == "ready"
    assert best(call) == old

    assert call("reindex", "--switch", "-q").out == ""
    assert best(call) == new
    done = call("reindex", "--drop-beside")
    assert re.search(r"onnx/acme/tiny@\S+ is dropped, \d+\.\d MB are free again", done.out)
    assert beside(call) is None
    assert best(call) == new


def test_what_came_since_the_switch_is_embedded_after_going_back(call, models, tmp_path, words):
    call("reindex", "--beside", "--model", models[1])
    call("reindex", "--switch")
    write_folder(tmp_path / "folder", ["later"])
    assert call("add", tmp_path / "folder").code == 0
    assert re.search(r"\d+ came since, to be embedded after going back", call("status").out)
    done = call("reindex", "--rollback")
    assert re.search(r"default: \d+ chunks came since; they are embedded now", done.out)
    [state] = call("status", "--json").document["collections"]
    assert state["pending"] == 0


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (["--beside", "--switch"], "--beside and --switch do not go together"),
        (["--embed", "--beside"], "--embed and --beside do not go together"),
        (["--model", "x"], "--model says how another index is built; it needs --beside"),
        (["--switch", "--anyway"], "--anyway says how another index is built; it needs --beside"),
    ],
)
def test_options_that_do_not_go_together(call, given, said):
    done = call("reindex", *given)
    assert done.code == 2
    assert said in done.err


def test_where_nothing_stands_beside_that_is_said(call):
    for option, hint in (
        ("--switch", "--beside --model MODEL"),
        ("--rollback", "pinakes status"),
        ("--drop-beside", "pinakes status"),
    ):
        for which in ((), ("-c", "default")):
            done = call("reindex", option, *which)
            assert done.code == 3
            assert re.search(r"No collection has a generation beside it|no generation beside collection", done.err)
            assert hint in done.err
            assert ("Build one" in done.err) == (option == "--switch")
    assert call("reindex", "--switch", "-c", "nowhere").code == 3


def test_a_model_that_no_one_knows_is_refused_with_what_model_takes(call, monkeypatch):
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    refused = call("reindex", "--beside", "--model", "acme/nowhere")
    assert refused.code == 7
    assert "--model FOLDER" in refused.err
    assert "embedding.path" not in refused.err
    assert beside(call) is None


def test_the_same_model_and_one_that_is_not_there_are_refused(call, models, tmp_path):
    (tmp_path / "empty").mkdir()
    same = call("reindex", "--beside")
    assert same.code == 2
    assert "already" in same.err
    gone = call("reindex", "--beside", "--model", tmp_path / "empty", "--json")
    assert gone.code == 7
    assert gone.document["error"]["code"] == "MODEL_UNAVAILABLE"
    assert beside(call) is None


def test_one_collections_trouble_does_not_stop_the_others(call, models, tmp_path):
    call("add", write_folder(tmp_path / "more", ["one"]), "-c", "other")
    call("reindex", "--beside", "--model", models[1], "-c", "other")
    call("reindex", "--switch", "-c", "other")
    done = call("reindex", "--beside", "--model", models[1], "--json")
    assert done.code == 2
    assert [each["name"] for each in done.document["collections"]] == ["default"]
    [error] = done.document["errors"]
    assert error["collection"] == "other"


STOPPED = """
import sys
from pinakes.cli.entry import run
from pinakes.ingestion import embedding

kept = embedding.keep
calls = 0

def keep(*arguments):
    global calls
    kept(*arguments)
    calls += 1
    if calls == 2:
        print("kept", file=sys.__stderr__, flush=True)
        sys.stdin.readline()

embedding.keep = keep
sys.exit(run(sys.argv[1:]))
"""
"""Runs a command, and waits once two batches were embedded until a signal or a line comes."""


def test_control_c_loses_nothing(call, models, words, home):
    command = ["reindex", "--beside", "--model", str(models[1]), "--home", str(home)]
    child = Forked(STOPPED, *command, *map(str, words), text=True)
    try:
        assert child.stderr is not None
        assert "kept\n" in iter(child.stderr.readline, "")
        child.send_signal(signal.SIGINT)
        _, err = child.communicate(timeout=60)
    finally:
        child.kill()
    assert child.returncode == 130
    assert "run again to resume" in err
    stopped = beside(call)
    assert stopped["state"] == "embedding"
    assert 0 < stopped["embedded"] < stopped["chunks"]
    assert "not ready" in call("status").out
    half = call("reindex", "--switch")
    assert half.code == 2
    assert "not built to the end" in half.err
    assert call("reindex", "--beside").code == 0
    assert beside(call)["state"] == "ready"
