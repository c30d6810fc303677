"""Settings that were removed stop nothing, wherever they are given: each is passed over with a warning."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
import yaml
from forking import run_pinakes

from pinakes import Library
from pinakes.core.errors import InvalidSetting
from pinakes.evaluation.caveats import settings as unlike
from pinakes.evaluation.runs import configuration_of
from pinakes.evaluation.systems import SystemInfo
from pinakes.settings import REMOVED, load, table

EVERY = Path(__file__).parents[1] / "shared" / "homes" / "every_setting.yaml"
"""A config.yaml with every setting that there was before the first ones were removed."""

ONE = "rerank.pool_max"


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path))
    home = tmp_path / "home"
    home.mkdir()
    return home


def warned(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [text for one in caplog.records if "was removed" in (text := one.getMessage())]


def test_the_file_has_every_setting_that_there_is_and_that_was_removed() -> None:
    given = yaml.safe_load(EVERY.read_text("utf-8"))
    names = {
        *given,
        *(f"{section}.{name}" for section, value in given.items() if isinstance(value, dict) for name in value),
    }
    assert {*REMOVED, *(line.name for line in table())} - names == set()


def test_a_library_starts_with_a_file_of_every_setting_that_there_was(
    home: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (home / "config.yaml").write_bytes(EVERY.read_bytes())
    with Library.open(home, embedding__provider="deterministic") as library:
        library.documents.put("Rotate the keys.", title="Keys", collection="every")
        assert library.search("rotate", "every").hits
    assert sorted(warned(caplog)) == sorted(
        f"Setting {name!r} ({home / 'config.yaml'}) was removed: it is always {REMOVED[name]} now." for name in REMOVED
    )


def test_a_process_starts_with_it_and_says_so_once(home: Path) -> None:
    (home / "config.yaml").write_bytes(EVERY.read_bytes())
    Library.open(home, embedding__provider="deterministic").close()
    done = run_pinakes(["--home", str(home), "--json", "status"], os.environ)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["collections"] == []
    assert [done.stderr.count(f"{name!r}") for name in REMOVED] == [1] * len(REMOVED)


@pytest.mark.parametrize("name", ["config.toml", "config.local.yaml"])
def test_in_other_files_of_the_home(name: str, home: Path, caplog: pytest.LogCaptureFixture) -> None:
    (home / name).write_text("[rerank]\npool_max = 3\n" if name.endswith("toml") else "rerank: {pool_max: 3}\n")
    load(home=home, environment={})
    assert [name in said and ONE in said for said in warned(caplog)] == [True]


@pytest.mark.parametrize("suffix", ["toml", "yaml"])
def test_in_a_profile_and_the_file_beside_it(
    suffix: str, home: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    text = "[rerank]\n{} = 3\n" if suffix == "toml" else "rerank: {{{}: 3}}\n"
    (tmp_path / f"mine.{suffix}").write_text(text.format("pool_max"))
    (tmp_path / f"mine.local.{suffix}").write_text(text.format("pool_min"))
    load(home=home, profile=str(tmp_path / f"mine.{suffix}"), environment={})
    assert [name in said for name, said in zip((ONE, "rerank.pool_min"), warned(caplog), strict=True)] == [True] * 2


def test_in_the_environment_and_in_dotenv(
    home: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    (home / ".env").write_text("PINAKES_BOOSTS__TEST_NAMES=spec,specs\n")
    monkeypatch.setenv("PINAKES_RERANK__POOL_MAX", "three")
    load(home=home)
    assert [said.partition(" was ")[0] for said in warned(caplog)] == [
        "Setting 'boosts.test_names' (.env)",
        f"Setting {ONE!r} (environment)",
    ]


def test_among_arguments_and_whole_sections(home: Path, caplog: pytest.LogCaptureFixture) -> None:
    assert load(home=home, environment={}, rerank__pool_max=3, rerank__pool=7).rerank.pool == 7
    assert load(home=home, environment={}, rerank={"pool_max": 3, "pool": 7}).rerank.pool == 7
    assert [f"{ONE!r} (arguments)" in said for said in warned(caplog)] == [True] * 2


def test_after_set(home: Path) -> None:
    done = run_pinakes(["--home", str(home), "--set", f"{ONE}=3", "config", "rerank"], os.environ)
    assert (done.returncode, done.stderr.count(ONE), ONE in done.stdout) == (0, 1, False)


def test_who_asks_what_one_is_set_to_is_told_what_holds_now(home: Path) -> None:
    done = run_pinakes(["--home", str(home), "config", ONE], os.environ)
    assert (done.returncode, "It was removed: it is always 30 now." in done.stderr) == (2, True)


@pytest.mark.parametrize(
    ("text", "name"), [("404: not found", "'404'"), ("rerank: {404: 1}", "'rerank.404'"), ("collections: {1: 2}", "1")]
)
def test_names_that_are_numbers_are_refused(text: str, name: str, home: Path) -> None:
    (home / "config.yaml").write_text(f"{text}\n")
    with pytest.raises(InvalidSetting, match=name):
        load(home=home, environment={})


def test_one_that_never_was_is_refused_with_the_nearest(home: Path) -> None:
    with pytest.raises(InvalidSetting, match=r"rerank\.pool_maxx") as caught:
        load(home=home, environment={}, rerank__pool_maxx=3)
    assert "Did you mean" in caught.value.hint


def test_a_run_that_was_recorded_with_them_differs_where_they_had_another_value(home: Path) -> None:
    with Library.open(home, embedding__provider="deterministic") as library:
        library.documents.put("Rotate the keys.", title="Keys")
        now = configuration_of(library.settings, library.collection())
    then = {**now, **REMOVED, ONE: 50}
    both = (SystemInfo("then", "run", configuration=then), SystemInfo("now", "run", configuration=now))
    assert unlike(*both) == [f"{ONE}: 50 in A, 30 in B"]
