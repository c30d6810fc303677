"""Which files hold settings beside ``config.toml``, and which never do."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from pinakes.cli.entry import run
from pinakes.core.errors import InvalidSetting
from pinakes.settings import dotenv, load

pytestmark = pytest.mark.usefixtures("logging_is_put_back")


@pytest.fixture
def home(tmp_path: Path) -> Path:
    home = tmp_path / "home"
    home.mkdir()
    return home


def test_the_home_and_the_folder_of_the_configuration_are_read_and_the_environment_wins(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "conf"
    folder.mkdir()
    (folder / "config.yaml").write_text("profile: ''\nsearch: {top_k: 2, rrf_k: 3}\n")
    (folder / ".env").write_text("PINAKES_SEARCH__TOP_K=4\nexport PINAKES_SEARCH__RRF_K='5' # why\nOTHER=1\n")
    (home / ".env").write_text("PINAKES_SEARCH__TOP_K=6\n")
    found = load(home=home, profile=str(folder / "config.yaml")).search
    assert (found.top_k, found.rrf_k) == (6, 5)
    monkeypatch.setenv("PINAKES_SEARCH__TOP_K", "7")
    assert load(home=home).search.top_k == 7
    assert load(home=home).search.rrf_k == 60


def test_no_other_folder_is_read(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / ".env").write_text("PINAKES_SEARCH__TOP_K=4\nOPENAI_API_KEY=theirs\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    assert load(home=home).search.top_k == 10
    assert run(["--home", str(home), "config"]) == 0
    assert "OPENAI_API_KEY" not in os.environ


def test_keys_of_providers_are_taken_and_nothing_else(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (home / ".env").write_text("OPENAI_API_KEY=ours\nGEMINI_API_KEY=ours\nLD_PRELOAD=x.so\n")
    for name in dotenv.KEYS:
        monkeypatch.setenv(name, "before")  # so that it is put back
        monkeypatch.delenv(name)
    monkeypatch.setenv("GEMINI_API_KEY", "mine")
    assert run(["--home", str(home), "config"]) == 0
    assert os.environ["OPENAI_API_KEY"] == "ours"
    assert os.environ["GEMINI_API_KEY"] == "mine"
    assert "LD_PRELOAD" not in os.environ


def test_names_that_do_not_exist_are_refused_with_the_nearest(home: Path) -> None:
    (home / ".env").write_text("PINAKES_SEARCH__TOPK=4\n")
    with pytest.raises(InvalidSetting) as refused:
        load(home=home)
    assert "PINAKES_SEARCH__TOP_K" in refused.value.hint
    (home / ".env").write_text("PINAKES_HOME=/elsewhere\n")
    with pytest.raises(InvalidSetting, match="cannot be set"):
        load(home=home)


def test_of_each_setting_the_last_file_wins(home: Path) -> None:
    (home / "config.yaml").write_text("profile: staged\nsearch: {top_k: 2, rrf_k: 3}\n")
    (home / "config.local.yaml").write_text("search: {top_k: 4}\n")
    found = load(home=home)
    assert (found.profile, found.search.top_k, found.search.rrf_k) == ("staged", 4, 3)
    (home / "config.local.yaml").write_text("serach: {top_k: 4}\n")
    with pytest.raises(InvalidSetting) as refused:
        load(home=home)
    assert "search" in refused.value.hint


def test_a_local_file_beside_a_profile_wins_over_it(home: Path, tmp_path: Path) -> None:
    (tmp_path / "config.yaml").write_text("search: {top_k: 2, rrf_k: 3}\n")
    (tmp_path / "config.local.yaml").write_text("search: {top_k: 4}\n")
    found = load(home=home, profile=str(tmp_path / "config.yaml")).search
    assert (found.top_k, found.rrf_k) == (4, 3)
