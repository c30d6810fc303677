from __future__ import annotations

import json
import os
import shlex

import pytest

from pinakes.core.errors import STATUS

BAD = [
    (["add", "missing-folder"], 3, "NOT_FOUND", "does not exist"),
    (["add", "CORPUS", "-c", "a/b"], 2, "INVALID_NAME", "'a/b'"),
    (["add", "CORPUS", "-c", ".."], 2, "INVALID_NAME", "'..'"),
    (["add", "CORPUS", "-c", "../../evil"], 2, "INVALID_NAME", "evil"),
    (["add", "CORPUS", "-c", "x" * 300], 2, "INVALID_NAME", "300 characters"),
    (["add", "CORPUS", "-c", "🍎"], 2, "INVALID_NAME", "🍎"),
    (["add", "CORPUS", "--ref", "main"], 2, "INVALID_INPUT", "not a git repository"),
    (["add", "CORPUS/pipe"], 2, "INVALID_INPUT", "neither a folder nor a file"),
    (["add", ""], 2, "INVALID_INPUT", "No location"),
    (["add", "https://me:secret@example.invalid/a.git"], 2, "INVALID_INPUT", "example.invalid"),
    (["add", "CORPUS/dead"], 3, "NOT_FOUND", "a link to 'nowhere', which does not exist"),
    (["add", "CORPUS/bad\udcff.md"], 2, "INVALID_INPUT", "bad\\xff.md' is not valid UTF-8"),
    (["read", "\udcff"], 2, "INVALID_INPUT", "'\\xff' is not valid UTF-8"),
    (["search", "x", "-c", "\udcff"], 2, "INVALID_INPUT", "'\\xff' is not valid UTF-8"),
    (["search", "x", "--filter", "a=\ud800"], 2, "INVALID_INPUT", "'a=\\ud800' is not valid UTF-8"),
    (["add"], 2, "INVALID_INPUT", "Missing argument"),
    (["add", "CORPUS", "--bogus"], 2, "INVALID_INPUT", "--bogus"),
    (["serch", "x"], 2, "INVALID_INPUT", "No such command 'serch'"),
    (["search", "x"], 3, "NOT_FOUND", "'default'"),
    (["search", "x", "-c", "nope"], 3, "NOT_FOUND", "'nope'"),
    (["search", "x", "-k", "many"], 2, "INVALID_INPUT", "--top-k"),
    (["search", "x", "--mode", "magic"], 2, "INVALID_INPUT", "--mode"),
    (["search", "x", "--filter", "status"], 2, "INVALID_FILTER", "'status'"),
    (["search", "x", "--set", "search.topk=5"], 2, "INVALID_SETTING", "'search.topk'"),
    (["search", "x", "--set", "search.top_k"], 2, "INVALID_SETTING", "name=value"),
    (["search", "x", "--set", "search.top_k=few"], 2, "INVALID_SETTING", "'few'"),
    (["search", "x", "--set", "embedding.provider=magic"], 2, "INVALID_SETTING", "'magic'"),
    (["search", "x", "--profile", "nope"], 2, "INVALID_NAME", "'nope'"),
    (["search", "x", "--profile", "nope.toml"], 2, "INVALID_NAME", "'nope.toml'"),
    (["read", "nothing.md"], 3, "NOT_FOUND", "'default'"),
    (["read", "x", "--lines", "top"], 2, "INVALID_INPUT", "'top'"),
    (["status", "-c", "nope"], 3, "NOT_FOUND", "'nope'"),
    (["sync", "-c", "nope"], 3, "NOT_FOUND", "'nope'"),
    (["verify", "-c", "nope"], 3, "NOT_FOUND", "'nope'"),
    (["reindex", "-c", "nope"], 3, "NOT_FOUND", "'nope'"),
    (["config", "serach.top_k"], 2, "INVALID_SETTING", "'serach.top_k'"),
    (["status", "--home", "/dev/null/home"], 3, "NOT_FOUND", "/dev/null/home"),
    (["add", "CORPUS", "--home", "/dev/null/home"], 10, "STORAGE_FULL", "/dev/null/home"),
    (["search", "x", "--set", "search.max_top_k=5", "-k", "6"], 2, "INVALID_INPUT", "top_k cannot be 6"),
]


def filled(words, corpus):
    return [word.replace("CORPUS", str(corpus)) for word in words]


@pytest.fixture
def corpus(corpus):
    os.mkfifo(corpus / "pipe")
    (corpus / "dead").symlink_to("nowhere")
    return corpus


@pytest.fixture
def made(pinakes):
    """A home without collections."""
    assert pinakes("init", "--no-model").code == 0


@pytest.mark.parametrize(("words", "code", "name", "says"), BAD, ids=lambda value: str(value)[:40])
def test_bad_input_is_told_in_words(pinakes, made, corpus, words, code, name, says):
    done = pinakes(*filled(words, corpus))
    assert (done.code, done.out) == (code, "")
    assert done.err.startswith("error: ")
    assert says in done.err
    assert "\nhint: " in done.err
    assert "Traceback" not in done.err


@pytest.mark.parametrize(("words", "code", "name", "says"), BAD, ids=lambda value: str(value)[:40])
def test_bad_input_is_told_in_json(pinakes, made, corpus, words, code, name, says):
    done = pinakes(*filled(words, corpus), "--json")
    assert (done.code, done.err) == (code, "")
    error = done.document["error"]
    assert set(done.document) == {"error"}
    assert set(error) == {"code", "message", "hint", "retryable"}
    assert error["code"] == name
    assert says in error["message"]
    assert error["hint"]


READING = [
    ["search", "apple"],
    ["query", "apple"],
    ["read", "guide.md"],
    ["status"],
    ["status", "--format", "json"],
    ["verify"],
    ["reindex"],
]


@pytest.mark.parametrize("words", READING, ids=" ".join)
@pytest.mark.parametrize("json_too", [[], ["--json"]], ids=["words", "json"])
def test_what_only_reads_makes_no_home(pinakes, home, words, json_too):
    done = pinakes(*words, *json_too)
    assert done.code == 3
    assert f"There is no Pinakes home at '{home}'." in done.out + done.err
    assert "pinakes add PATH" in done.out + done.err
    assert not home.exists()


def test_a_folder_of_others_is_no_home(pinakes, corpus):
    before = sorted(corpus.rglob("*"))
    assert pinakes("status", "--home", corpus).code == 3
    assert sorted(corpus.rglob("*")) == before


def test_config_says_that_the_home_is_not_there_and_makes_none(pinakes, home):
    done = pinakes("config", "home")
    assert done.code == 0
    assert done.out.startswith(f'home = "{home}"  (from environment; default "~/.pinakes")  (there is none yet)\n')
    assert not home.exists()


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ("search.top_k=few", "Setting 'search.top_k' cannot be 'few': it has to be a whole number."),
        ("search.top_k=0", "Setting 'search.top_k' cannot be '0': it has to be at least 1."),
        ("server.port=70000", "Setting 'server.port' cannot be '70000': it has to be at most 65535."),
        ("search.fusion=sum", "Setting 'search.fusion' cannot be 'sum': it has to be 'weighted' or 'rrf'."),
        ("server.no_auth=perhaps", "Setting 'server.no_auth' cannot be 'perhaps': it has to be true or false."),
    ],
)
def test_a_wrong_setting_is_told_in_the_same_words_from_flag_and_environment(pinakes, monkeypatch, given, says):
    told = f"error: {says}\nhint: Without it, `pinakes config` explains it; so does docs/settings.md.\n"
    assert pinakes("config", "--set", given).err == told
    name, _, value = given.partition("=")
    monkeypatch.setenv(f"PINAKES_{name.upper().replace('.', '__')}", value)
    assert pinakes("config").err == told


def test_a_home_or_working_directory_that_is_no_utf8_is_named(pinakes, tmp_path, monkeypatch):
    odd = tmp_path / "odd\udcff"
    odd.mkdir()
    (odd / "a.md").write_text("# A\n")
    monkeypatch.chdir(odd)
    for words, code in ((["add", "."], 2), (["add", "a.md"], 2)):
        done = pinakes(*words)
        assert (done.code, done.err.count("is not valid UTF-8")) == (code, 1)
    monkeypatch.setenv("PINAKES_HOME", str(odd))
    done = pinakes("status")
    assert done.code == 2
    assert "odd\\xff' is not valid UTF-8" in done.err


@pytest.mark.parametrize("words", [["search", "apple", "juice"], ["read", "apple", "juice.md"]])
def test_words_that_are_not_quoted_are_told_how(pinakes, words):
    done = pinakes(*words)
    assert done.code == 2
    assert f"hint: What has spaces goes in quotation marks. See pinakes {words[0]} --help" in done.err


def test_json_without_a_command_is_an_error(pinakes):
    done = pinakes("--json")
    assert (done.code, done.document["error"]["code"]) == (2, "INVALID_INPUT")


def test_an_exit_code_of_each_error_is_none_of_the_shells(pinakes):
    assert all(0 < code < 126 for _, code in STATUS.values())


def test_an_unknown_variable_of_ours_is_named(pinakes, monkeypatch):
    monkeypatch.setenv("PINAKES_SERCH__TOP_K", "5")
    done = pinakes("status", "--json")
    assert done.code == 2
    assert "PINAKES_SEARCH__TOP_K" in done.document["error"]["hint"]


def test_a_broken_settings_file_is_named(pinakes, home):
    home.mkdir()
    (home / "config.toml").write_text("search = [")
    done = pinakes("status", "--json")
    assert done.code == 2
    assert str(home / "config.toml") in done.document["error"]["message"]


def test_a_damaged_catalogue_is_an_error_not_a_traceback(pinakes, home):
    home.mkdir()
    (home / "catalog.db").write_bytes(b"this is no database" * 1000)
    done = pinakes("status")
    assert done.code == 8
    assert "error: The catalogue is damaged" in done.err


def test_another_model_is_refused_with_the_way_out(pinakes, corpus, home):
    import sqlite3

    pinakes("add", corpus)
    with sqlite3.connect(home / "catalog.db") as connection:
        connection.execute("UPDATE models SET fingerprint = 'another/model'")
    connection.close()
    done = pinakes("search", "apple", "--json")
    assert done.code == 7
    assert done.document["error"]["code"] == "MODEL_MISMATCH"
    assert "reindex --embed" in done.document["error"]["hint"]


def test_hints_lead_to_the_home_that_was_asked(pinakes, corpus, tmp_path):
    elsewhere = str(tmp_path / "else where")
    pinakes("add", corpus, "--home", elsewhere)
    words = ("reindex", "--switch", "-c", "default")
    told = f"Build one: pinakes --home '{elsewhere}' reindex --beside --model MODEL -c default"
    assert f"hint: {told}\n" in pinakes(*words, "--home", elsewhere).err
    assert pinakes(*words, "--home", elsewhere, "--json").document["error"]["hint"] == told
    assert (
        pinakes("--profile", "kep", *words, "--home", elsewhere).err.count(f"'{elsewhere}' --profile kep reindex") == 1
    )
    assert pinakes("status", "--home", tmp_path / "gone").err.count("--home ") == 2, "`Check --home`, and one command"
    pinakes("add", corpus)
    assert "hint: Build one: pinakes reindex --beside" in pinakes(*words).err
    back = pinakes("reindex", "--rollback", "--home", elsewhere).err
    assert pinakes(*shlex.split(back.strip().rpartition("pinakes ")[2])).out.count(f"home     {elsewhere}") == 1


def test_hints_about_settings_and_help_are_the_same_for_every_home(pinakes, made, home):
    for words in (("search", "x", "--set", "search.top_k=many"), ("search", "x", "--set", "qqqq=1")):
        shown = pinakes(*words, "--home", home)
        assert shown.err == pinakes(*words).err
        assert "`pinakes config` " in shown.err
    assert "hint: See pinakes read --help\n" in pinakes("--home", home, "read", "x", "--frob").err


def test_a_surprise_is_one_line_and_a_traceback_only_when_asked(pinakes, corpus, home, monkeypatch):
    pinakes("add", corpus)
    monkeypatch.setattr("pinakes.library.Library.status", None)
    done = pinakes("status")
    assert done.code == 1
    assert done.err == (
        "error: TypeError: 'NoneType' object is not callable\nhint: Please report this bug, with what -v shows.\n"
    )
    assert "Traceback" in pinakes("status", "-v").err
    assert pinakes("status", "--json").document["error"]["code"] == "INTERNAL_ERROR"


def test_json_of_odd_names_is_still_json(program, tmp_path):
    folder = tmp_path / "odd"
    folder.mkdir()
    (folder / "caf\udce9.md").write_text("# Caf\u00e9\n\nCoffee \u2615 is served.\n")
    done = program("add", folder, "--json")
    assert done.code == 0
    assert json.loads(done.out)["reports"][0]["source"] == str(folder)
    assert program("search", "coffee").code == 0
    assert program("status", "--problems").code == 0
