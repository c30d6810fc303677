from __future__ import annotations

import re
import tomllib

import pytest

from pinakes.settings import table


def test_init_writes_every_setting_as_a_comment_and_says_what_comes_next(pinakes, home):
    done = pinakes("init", "--no-model")
    assert done.code == 0
    assert f"{home / 'config.toml'}: written" in done.out
    assert "next: pinakes add PATH" in done.err
    text = (home / "config.toml").read_text()
    for line in table():
        assert f"# {line.help}\n" in text or line.name == "home"
    assert (home / "catalog.db").is_file()


def test_the_settings_file_takes_effect_when_its_comments_are_removed(pinakes, home):
    pinakes("init")
    names = "|".join(line.name.rpartition(".")[2] for line in table())
    text = re.sub(rf"^# ((?:{names}) = (?!\(not set\)))", r"\1", (home / "config.toml").read_text(), flags=re.MULTILINE)
    settings = tomllib.loads(text)
    assert settings["search"]["top_k"] == 10
    assert {"embedding", "search", "server", "collection", "server_name"} <= set(settings)
    (home / "config.toml").write_text(text)
    assert pinakes("config").code == 0


def test_init_keeps_what_is_there(pinakes, home):
    home.mkdir()
    (home / "config.toml").write_text("[search]\ntop_k = 3\n")
    done = pinakes("init")
    assert "kept as it is" in done.out
    assert (home / "config.toml").read_text() == "[search]\ntop_k = 3\n"
    assert pinakes("init", "--json").document["config_written"] is False


def test_init_keeps_the_settings_it_was_called_with(pinakes, home):
    assert pinakes("init", "--set", "search.top_k=7", "--set", "server.allowed_hosts=a.example,b.example").code == 0
    written = tomllib.loads((home / "config.toml").read_text())
    assert written["search"] == {"top_k": 7}
    assert written["server"] == {"allowed_hosts": ["a.example", "b.example"]}
    assert written["embedding"] == {"provider": "deterministic"}


@pytest.mark.parametrize("boosts", ['[{"field": "kind", "weight": 0.1}]', '[{field = "kind", weight = 0.1}]'])
def test_boosts_of_a_collection_can_be_set(pinakes, tmp_path, boosts):
    (tmp_path / "heron.md").write_text("A heron eats fish.\n")
    assert pinakes("add", tmp_path / "heron.md").code == 0
    done = pinakes("search", "heron", "--set", f"collections.default.boosts={boosts}")
    assert done.code == 0, done.err
    refused = pinakes("search", "heron", "--set", 'collections.default.boosts=[{"weight": 0.1}]')
    assert (refused.code, "needs a field" in refused.err) == (2, True), refused.err


def test_config_says_where_each_value_comes_from(pinakes, home, tmp_path, monkeypatch):
    home.mkdir()
    (home / "config.toml").write_text("[search]\ncandidates = 70\ntop_k = 3\n")
    (home / "config.yaml").write_text("search:\n  shown: 4\n")
    (home / ".env").write_text("PINAKES_SEARCH__FEEDBACK_WEIGHT=0.2\n")
    (tmp_path / "job.toml").write_text('server_name = "job"\n[search]\ncandidates = 60\n')
    monkeypatch.setenv("PINAKES_SEARCH__TOP_K", "4")
    shown = pinakes("config", "--profile", tmp_path / "job.toml", "--set", "search.rrf_k=61", "--json").document
    origin = {row["name"]: (row["value"], row["origin"]) for row in shown["settings"]}
    assert origin["search.rrf_k"] == ("61", "arguments") or origin["search.rrf_k"] == (61, "arguments")
    assert origin["search.top_k"] == (4, "environment")
    assert origin["search.candidates"] == (70, str(home / "config.toml"))
    assert origin["search.shown"] == (4, str(home / "config.yaml"))
    assert origin["search.feedback_weight"] == (0.2, ".env")
    assert origin["server_name"] == ("job", f"profile {tmp_path / 'job.toml'}")
    assert origin["search.max_top_k"] == (50, "default")
    assert origin["home"] == (str(home), "environment")
    assert set(origin) == {line.name for line in table()}


def test_config_shows_one_setting_or_a_group(pinakes):
    assert pinakes("config", "search.top_k").out == (
        "search.top_k = 10\n    Number of results if the caller gives none.\n    Environment: PINAKES_SEARCH__TOP_K\n"
    )
    group = pinakes("config", "search").out
    assert "search.rrf_k = 60\n" in group
    assert "server." not in group
    assert "search.top_k = 5  (from arguments; default 10)" in pinakes("config", "--set", "search.top_k=5").out


def test_the_state_of_a_missing_model_is_words_not_an_error(program, tmp_path):
    words = ["--set", "embedding.provider=onnx", "--set", f"cache={tmp_path / 'cache'}"]
    done = program("model", "status", *words)
    assert done.code == 0
    assert "all-MiniLM-L6-v2: not installed" in done.out
    assert "pinakes model install" in done.err
    assert program("model", "status", *words, "--json").out.count('"installed": false') == 1


def test_a_model_that_cannot_be_had_leaves_keyword_search(program, corpus, tmp_path, monkeypatch):
    empty = tmp_path / "model"
    empty.mkdir()
    words = [
        "--set",
        "embedding.provider=onnx",
        "--set",
        f"cache={tmp_path / 'cache'}",
        "--set",
        f"embedding.path={empty}",
    ]
    added = program("add", corpus, *words)
    assert added.code == 0
    assert "Search is by keywords until it is there." in added.err
    assert " 0 embedded" in added.out
    found = program("search", "pollen", *words)
    assert "bees.md" in found.out
    assert "warning: keyword search only" in found.err
    assert program("model", "install", *words).code == 7
    assert program("init", *words).code == 7


def test_the_other_embedder_needs_no_model(pinakes):
    assert pinakes("model", "install").out == "deterministic: installed\n"
