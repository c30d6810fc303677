"""Settings: layers, names, values, where they come from."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pinakes import settings
from pinakes.core.errors import InvalidName, InvalidSetting
from pinakes.settings import ChunkingSettings, SearchSettings


def load(home: Path, environment: dict[str, str] | None = None, **overrides: Any) -> settings.Settings:
    return settings.load(home=home, environment=environment or {}, **overrides)


def test_defaults_need_nothing(tmp_path: Path) -> None:
    found = load(tmp_path)
    assert found.home == tmp_path
    assert found.search.top_k == 10
    assert found.server.host == "127.0.0.1"
    assert found.cache.is_absolute()


def test_later_layers_win(tmp_path: Path) -> None:
    profile = tmp_path / "mine.toml"
    profile.write_text("[search]\ntop_k = 1\nrrf_k = 1\nmax_top_k = 1\ncandidates = 1\n")
    (tmp_path / "config.toml").write_text("[search]\nrrf_k = 2\nmax_top_k = 2\ncandidates = 2\n")
    environment = {"PINAKES_SEARCH__MAX_TOP_K": "3", "PINAKES_SEARCH__CANDIDATES": "3"}
    search = load(tmp_path, environment, profile=str(profile), search__candidates=4).search
    assert (search.top_k, search.rrf_k, search.max_top_k, search.candidates) == (1, 2, 3, 4)


def test_the_profile_may_be_named_in_the_home_or_the_environment(tmp_path: Path) -> None:
    for name, value in (("one", 1), ("two", 2)):
        (tmp_path / f"{name}.toml").write_text(f"[search]\ntop_k = {value}\n")
    (tmp_path / "config.toml").write_text(f'profile = "{tmp_path / "one.toml"}"\n')
    assert load(tmp_path).search.top_k == 1
    found = load(tmp_path, {"PINAKES_PROFILE": str(tmp_path / "two.toml")})
    assert (found.search.top_k, found.profile) == (2, str(tmp_path / "two.toml"))


def test_the_home_comes_from_the_environment_unless_it_is_given(tmp_path: Path) -> None:
    environment = {"PINAKES_HOME": str(tmp_path / "a")}
    assert settings.load(environment=environment).home == tmp_path / "a"
    assert settings.load(home=tmp_path / "b", environment=environment).home == tmp_path / "b"


def test_a_home_becomes_absolute(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    assert settings.load(home="~/x", environment={}).home == tmp_path / "x"
    assert settings.load(home="y", environment={}).home == tmp_path / "y"


def test_values_of_the_environment_are_converted(tmp_path: Path) -> None:
    environment = {
        "PINAKES_SERVER__PORT": "9000",
        "PINAKES_SEARCH__SEMANTIC_WEIGHT": "0.25",
        "PINAKES_SERVER__ALLOWED_HOSTS": "one.example, two.example,",
        "PINAKES_EMBEDDING__PATH": str(tmp_path),
        "OTHER_VARIABLE": "x",
        "PINAKES_TEST_DATA": "somewhere",
    }
    found = load(tmp_path, environment)
    assert found.server.port == 9000
    assert found.search.semantic_weight == 0.25
    assert found.server.allowed_hosts == ("one.example", "two.example")
    assert found.embedding.path == tmp_path


@pytest.mark.parametrize(
    ("environment", "overrides", "config", "said"),
    [
        ({"PINAKES_SERVER__PROT": "1"}, {}, "", "PINAKES_SERVER__PROT"),
        ({}, {"search__topk": 3}, "", "search.topk"),
        ({}, {}, "[serach]\ntop_k = 3\n", "serach"),
        ({}, {}, "[search]\ntop_kk = 3\n", "search.top_kk"),
    ],
)
def test_an_unknown_name_is_refused_and_the_near_one_named(
    environment: dict[str, str], overrides: dict[str, Any], config: str, said: str, tmp_path: Path
) -> None:
    (tmp_path / "config.toml").write_text(config)
    with pytest.raises(InvalidSetting, match=said) as caught:
        load(tmp_path, environment, **overrides)
    assert "Did you mean" in caught.value.hint


@pytest.mark.parametrize("text", ["a.example, *.b", '["a.example", "*.b"]', "['a.example','*.b']", "a.example,,*.b,"])
def test_lists_may_be_written_with_commas_or_as_in_a_file(tmp_path: Path, text: str) -> None:
    found = load(tmp_path, {"PINAKES_FETCH__ALLOW_PRIVATE": text})
    assert found.fetch.allow_private == ("a.example", "*.b")


def test_a_pattern_in_brackets_is_no_list(tmp_path: Path) -> None:
    found = load(tmp_path, {"PINAKES_FETCH__ALLOW_PRIVATE": "[ab].example"})
    assert found.fetch.allow_private == ("[ab].example",)


def test_a_name_like_no_other_points_to_the_list(tmp_path: Path) -> None:
    with pytest.raises(InvalidSetting) as caught:
        load(tmp_path, zzzzzz=1)
    assert "lists all settings" in caught.value.hint


@pytest.mark.parametrize(
    ("overrides", "name"),
    [
        ({"search__top_k": 0}, "search.top_k"),
        ({"server__port": "many"}, "server.port"),
        ({"embedding__precision": "fp8"}, "embedding.precision"),
        ({"collections": {"a": {"sources": [{"kind": "ftp", "location": "x"}]}}}, "collections.a.sources.0.kind"),
        ({"collections": {"a": {"colour": "red"}}}, "collections.a.colour"),
        ({"tools": [{"name": "Bad Name", "description": "", "collection": "a", "hit": ""}]}, "tools.0.name"),
    ],
)
def test_an_impossible_value_is_refused_by_its_full_name(overrides: dict[str, Any], name: str, tmp_path: Path) -> None:
    with pytest.raises(InvalidSetting, match=name.replace(".", r"\.")):
        load(tmp_path, **overrides)


def test_no_number_is_infinite_or_larger_than_any_part_can_count(tmp_path: Path) -> None:
    for line in settings.table():
        if isinstance(line.default, int | float) and not isinstance(line.default, bool):
            for value in ("inf", "-inf", "nan", "1e400", 2**63):
                with pytest.raises(InvalidSetting, match=line.name):
                    load(tmp_path, **{line.name.replace(".", "__"): value})


def test_text_that_is_no_utf8_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidSetting, match=r"'chat.model' cannot be 'a\\xff': it has to be valid UTF-8"):
        load(tmp_path, {"PINAKES_CHAT__MODEL": "a\udcff"})


@pytest.mark.parametrize(
    ("config", "said"),
    [
        ("search.top_k = 'few'", "Setting 'search.top_k' cannot be 'few': it has to be a whole number."),
        ("search.top_k = 1979-05-27", "Setting 'search.top_k' cannot be '1979-05-27': it has to be a whole number."),
        ("search.rrf_k = 5000", "Setting 'search.rrf_k' cannot be 5000: it has to be at most 1000."),
        ("search.semantic_weight = inf", "cannot be inf: it has to be a number, at most 1,000,000,000,000."),
        ("search.identifier_boost = 1e300", "Setting 'search.identifier_boost' cannot be 1e+300: it has to be"),
        ("history.versions = 9223372036854775807", "Setting 'history.versions' cannot be 9223372036854775807: it has"),
        ("search = 5", "Setting 'search' cannot be 5: it has to be a table of names and values."),
        ("ingest.read_timeout_s = 0", "Setting 'ingest.read_timeout_s' cannot be 0: it has to be more than 0."),
        ("ingest.read_timeout_s = inf", "cannot be inf: it has to be a number, at most 2,000,000."),
        ("ingest.read_timeout_s = 'none'", "2000000, which is 23 days, is as good as no limit."),
        ("catalog.lock_timeout_s = 1e7", "2000000, which is 23 days, is as good as no limit."),
        ("server.allowed_hosts = 'a'", "Setting 'server.allowed_hosts' cannot be 'a': it has to be a list."),
        ("embedding.path = 5", "Setting 'embedding.path' cannot be 5: it has to be a path."),
        ("embedding.precision = 8", "Setting 'embedding.precision' cannot be 8: it has to be 'int8' or 'fp32'."),
        ("profile = 5", "it has to be a name or a path. Put it in quotes."),
        ("cache = 5", "it has to be a path. Put it in quotes."),
        ("[[tools]]", "Setting 'tools.0.name' is missing."),
        ("[collections.a]\ncolour = 1", "Unknown setting 'collections.a.colour'."),
        ("[collections.a]\ndescripton = ''", "Did you mean 'collections.a.description'?"),
    ],
)
def test_a_wrong_value_in_a_file_is_told_in_words(config: str, said: str, tmp_path: Path) -> None:
    (tmp_path / "config.toml").write_text(config)
    with pytest.raises(InvalidSetting) as caught:
        load(tmp_path)
    assert said in str(caught.value)


@pytest.mark.parametrize("content", [b"[search\n", b"\xff\xfe", b"a = \n"])
def test_a_broken_file_is_reported_with_its_path(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "config.toml").write_bytes(content)
    with pytest.raises(InvalidSetting, match=r"config\.toml"):
        load(tmp_path)


@pytest.mark.parametrize("content", ["- a\n- b\n", "just text\n", "a: [\n"])
def test_a_yaml_profile_must_hold_a_table(content: str, tmp_path: Path) -> None:
    profile = tmp_path / "p.yaml"
    profile.write_text(content)
    with pytest.raises(InvalidSetting, match=r"p\.yaml"):
        load(tmp_path, profile=str(profile))


def test_a_profile_may_be_yaml(tmp_path: Path) -> None:
    profile = tmp_path / "p.yml"
    profile.write_text("search: {top_k: 7}\ncollections:\n  keps: {path_templates: ['{a}/{b}']}\n")
    found = load(tmp_path, profile=str(profile))
    assert (found.search.top_k, found.of_collection("keps").path_templates) == (7, ("{a}/{b}",))
    empty = tmp_path / "e.yaml"
    empty.write_text("")
    assert load(tmp_path, profile=str(empty)).search.top_k == 10


@pytest.mark.parametrize("name", ["nowhere", "nowhere.toml", "../etc/passwd", "__init__"])
def test_a_profile_that_does_not_exist_is_refused(name: str, tmp_path: Path) -> None:
    with pytest.raises(InvalidName, match=r"(?i)profile"):
        load(tmp_path, profile=name)


@pytest.mark.parametrize("name", settings.profiles())
def test_a_shipped_profile_is_valid(name: str, tmp_path: Path) -> None:
    assert load(tmp_path, profile=name).profile == name


def test_collections_are_merged_over_layers(tmp_path: Path) -> None:
    (tmp_path / "config.toml").write_text('[collections.a]\ndescription = "old"\ndocument_key = "{x}"\n')
    found = load(tmp_path, collections={"a": {"description": "new"}, "b": {}})
    assert found.of_collection("a").description == "new"
    assert found.of_collection("a").document_key == "{x}"
    assert set(found.collections) == {"a", "b"}


def test_a_whole_section_may_be_given(tmp_path: Path) -> None:
    assert load(tmp_path, search=SearchSettings(top_k=3)).search.top_k == 3
    assert load(tmp_path, search={"top_k": 4}).search.top_k == 4


def test_a_collection_may_be_chunked_in_its_own_way(tmp_path: Path) -> None:
    found = load(tmp_path, chunking__size=100, collections={"a": {"chunking": {"size": 50}}})
    assert found.chunking_of("a").size == 50
    assert found.chunking_of("other") == ChunkingSettings(size=100)


def test_settings_cannot_be_changed_afterwards(tmp_path: Path) -> None:
    found = load(tmp_path)
    with pytest.raises(ValueError, match="frozen"):
        found.search.__setattr__("top_k", 3)


def test_the_table_has_a_row_with_variable_and_help_for_every_setting(tmp_path: Path) -> None:
    rows = {row.name: row for row in settings.table(load(tmp_path, search__top_k=3))}
    assert rows["search.top_k"].variable == "PINAKES_SEARCH__TOP_K"
    assert (rows["search.top_k"].default, rows["search.top_k"].value) == (10, 3)
    assert all(row.help.endswith(".") for row in rows.values())
    assert len({row.variable for row in rows.values()}) == len(rows) > 30


def test_every_row_of_the_table_can_be_set_by_its_variable(tmp_path: Path) -> None:
    for row in settings.table(load(tmp_path)):
        if row.value is not None and not isinstance(row.value, tuple) and row.name not in ("profile", "home"):
            found = load(tmp_path, {row.variable: str(row.value)})
            assert {r.name: r.value for r in settings.table(found)}[row.name] == row.value


def test_what_container_runtimes_set_for_a_service_of_that_name_is_left_alone() -> None:
    injected = {"PINAKES_PORT": "tcp://10.0.0.1:8000", "PINAKES_SERVICE_HOST": "10.0.0.1", "PINAKES_PORT_8000_TCP": "x"}
    assert settings.load(environment=injected).server.port == 8000


@pytest.mark.parametrize(
    ("kind", "location", "seen"),
    [
        ("folder", "notes", "/shelf/home/notes"),
        ("folder", "a:b/notes", "/shelf/home/a:b/notes"),
        ("slack", "export.zip", "/shelf/home/export.zip"),
        ("git", "../code", "/shelf/code"),
        ("git", "git@forge.example:team/code", "git@forge.example:team/code"),
        ("git", "https://forge.example/code", "https://forge.example/code"),
        ("http", "https://example.com/", "https://example.com/"),
        ("folder", "/srv/notes/", "/srv/notes"),
        ("folder", "/srv/./a/../notes", "/srv/notes"),
        ("folder", "~/notes", "/users/me/notes"),
        ("folder", "~nobody-of-that-name/notes", "/shelf/home/~nobody-of-that-name/notes"),
    ],
)
def test_a_place_is_written_in_one_way_and_seen_from_the_home(
    kind: str, location: str, seen: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", "/users/me")
    source = {"kind": kind, "location": location}
    settings = load(home="/shelf/home", environment={}, sources=[source], collections={"a": {"sources": [source]}})
    places = [one.location for name in ("a", "default") for one in settings.collections[name].sources]
    assert [*places, settings.sources[0].location] == [seen] * 3


@pytest.mark.parametrize("name", ["config.toml", "my.toml", "my.yaml"])
def test_files_of_settings_may_begin_with_a_byte_order_mark(tmp_path: Path, name: str) -> None:
    text = "search:\n  top_k: 7\n" if name.endswith(".yaml") else "[search]\ntop_k = 7\n"
    (tmp_path / name).write_bytes(b"\xef\xbb\xbf" + text.encode())
    given = {} if name == "config.toml" else {"profile": str(tmp_path / name)}
    assert load(tmp_path, **given).search.top_k == 7


def test_a_limit_may_be_so_large_that_it_is_none() -> None:
    given = {"ingest": {"max_file_bytes": 2**63 - 1}, "server": {"max_body_bytes": 2 * 10**12}}
    found = settings.Settings.model_validate(given)
    assert (found.ingest.max_file_bytes, found.server.max_body_bytes) == (2**63 - 1, 2 * 10**12)
