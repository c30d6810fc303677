"""A collection that is searchable before all of it is embedded, as the command line shows it."""

from __future__ import annotations

import re

import pytest
from bert_reference import make_tiny_bert
from filelock import FileLock
from progressive_support import small_steps, stopped_at_searchable, write_folder

from pinakes.library import Library


@pytest.fixture(scope="session")
def model(tmp_path_factory):
    return make_tiny_bert(tmp_path_factory.mktemp("model") / "tiny")


@pytest.fixture
def folder(tmp_path):
    return write_folder(tmp_path / "folder", [f"file{number}" for number in range(20)])


@pytest.fixture
def progressive(pinakes, model, tmp_path):
    """Call a command with small steps; the later settings win."""
    settings = small_steps(model) | {"cache": tmp_path / "cache"}
    words = [word for name, value in settings.items() for word in ("--set", f"{name.replace('__', '.')}={value}")]

    def call(*more):
        return pinakes(*words, *more)

    return call


@pytest.fixture
def searchable(progressive, model, home, folder, tmp_path):
    """Commands over a library whose first run was stopped once it was searchable."""
    with Library.open(home, **small_steps(model), cache=tmp_path / "cache") as library:
        stopped_at_searchable(library, folder)
    return progressive


def test_a_run_says_when_it_is_searchable_and_ends_exact(progressive, folder):
    done = progressive("add", folder)
    assert done.code == 0
    said = re.search(
        r"Searchable now: (\d+) of (\d+) chunks have exact vectors, the others approximate ones\.", done.err
    )
    assert said is not None
    assert 0 < int(said[1]) < int(said[2])
    assert done.err.count("Searchable now") == 1
    assert "vectors" not in done.out
    assert "all exact" in progressive("status").out


def test_status_says_what_is_exact_and_what_is_approximate(searchable):
    out = searchable("status").out
    assert re.search(r"^  vectors  onnx/.+: [1-9]\d* of \d+ exact \(\d+\.\d %\), the others approximate$", out, re.M)
    assert re.search(r"^  source   .+ indexed; read \S+\)$", out, re.M)
    [state] = searchable("status", "--json").document["collections"]
    assert 0 < state["approximate"] == state["pending"] < state["chunks"]
    assert state["exact_share"] == pytest.approx(1 - state["pending"] / state["chunks"], abs=1e-4)


def test_approximate_hits_are_marked_and_explained_in_one_line(searchable):
    words = ["search", "quick brown fox", "-k", "50", "--set", "search.refine_ms=0"]
    done = searchable(*words)
    ranks = re.findall(r"^ ?\d+  (~?)-?\d\.\d{3}  ", done.out, re.M)
    assert set(ranks) == {"", "~"}
    assert done.err.count("approximate") == 1
    assert "~ approximate: this chunk is not embedded yet" in done.err
    hits = searchable(*words, "--json").document["hits"]
    assert ["~" if hit["approximate"] else "" for hit in hits] == ranks
    lines = searchable("query", "quick brown fox", "-k", "50", "--set", "search.refine_ms=0").out
    assert re.search(r"\(~\d\.\d\d confidence\)$", lines, re.M)


def test_explain_says_how_many_candidates_were_made_exact(searchable):
    out = searchable("search", "lazy dog", "--explain").out
    assert re.search(r"^refine +\d+\.\d\d ms  [1-9]\d* candidates made exact, \d+ still approximate$", out, re.M)


def test_nothing_is_marked_once_all_is_exact(searchable, folder):
    searchable("add", folder)
    done = searchable("search", "quick brown fox", "-k", "50", "--explain")
    assert "~" not in done.out + done.err
    assert "refine" not in done.out
    assert not any(hit["approximate"] for hit in searchable("search", "fox", "--json").document["hits"])


def test_the_lazy_mode_says_when_the_rest_is_embedded_and_how_to_embed_it_now(progressive, folder):
    lazy = ["--set", "embedding.mode=lazy"]
    done = progressive("add", folder, *lazy)
    assert re.search(r"^default: vectors \d+ of \d+ exact \(\d+\.\d %\), the others approximate$", done.out, re.M)
    assert "what waits is embedded when searches meet it" in done.err
    assert "warning" not in done.err
    [now] = re.findall(r"^to embed all of it now: pinakes (reindex .+)$", done.err, re.M)
    assert now.endswith("--set embedding.mode=full")
    assert progressive(*now.split()).code == 0
    assert "all exact" in progressive("status").out


def test_it_is_said_when_another_process_embeds_the_rest(searchable, home, folder):
    [map_file] = (home / "index").glob("map-*.npz")
    _, number, _ = map_file.stem.split("-")
    with FileLock(home / "index" / f"{number}.embedding.lock"):
        done = searchable("add", folder)
    assert done.code == 0
    assert "the others approximate" in done.out
    assert "another process embeds what waits; how far it is: pinakes status" in done.err
    assert "to embed all of it now" not in done.err


def test_quiet_says_nothing_of_it(progressive, folder):
    done = progressive("add", folder, "--quiet", "--set", "embedding.mode=lazy")
    assert (done.out, done.err) == ("", "")


def test_verify_counts_approximate_vectors(searchable):
    [found] = searchable("verify", "--json").document["collections"].values()
    compared = found["compared"]
    assert compared["vectors"] == compared["chunks"]
    assert 0 < compared["approximate"] == compared["pending"]
