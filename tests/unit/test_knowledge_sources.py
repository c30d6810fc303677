"""KnowledgeSource documents: what they become, and what is said of those that cannot be used."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import pytest
import yaml

from pinakes.settings import load
from pinakes.settings.knowledge_sources import KnowledgeSourceFiles, read, read_folder
from pinakes.sources.globs import Rules

FULL: dict[str, Any] = {
    "apiVersion": "dot-ai.devopstoolkit.live/v1alpha1",
    "kind": "GitKnowledgeSource",
    "metadata": {"name": "handbook", "namespace": "team", "labels": {"a": "b"}},
    "spec": {
        "repository": {
            "url": "https://git.example.org/handbook.git",
            "branch": "next",
            "depth": 3,
            "secretRef": {"name": "github", "key": "token"},
        },
        "paths": ["docs/**/*.md", "README.md"],
        "exclude": ["docs/drafts/**"],
        "schedule": "@every 1h",
        "mcpServer": {"url": "http://mcp:3456", "authSecretRef": {"name": "x"}},
        "metadata": {"team": "platform", "tier": 1, "braces": "{x}", "public": True},
        "maxFileSizeBytes": 1000,
        "deletionPolicy": "Retain",
    },
    "status": {"phase": "Synced"},
}
SHORT = {
    "apiVersion": "v1",
    "kind": "KnowledgeSource",
    "metadata": {"name": "notes"},
    "spec": {"repo": "https://git.example.org/notes", "branch": "main", "paths": ["*.md"], "frequency": "hourly"},
}


def text_of(*documents: Any) -> str:
    return yaml.safe_dump_all(documents, sort_keys=False)


def changed(path: str, value: Any) -> dict[str, Any]:
    """Return the short document with another value at a dotted path; None takes it out."""
    document = yaml.safe_load(text_of(SHORT))
    place = document
    *above, last = path.split(".")
    for name in above:
        place = place[name]
    if value is None:
        del place[last]
    else:
        place[last] = value
    return document


def test_a_document_of_the_controller_becomes_a_source() -> None:
    [one] = read(text_of(FULL), "a.yaml").declared
    assert (one.name, one.file_name) == ("team/handbook", "team.handbook.yaml")
    assert one.source == {
        "name": "team/handbook",
        "kind": "git",
        "location": "https://git.example.org/handbook.git",
        "part": "team/handbook",
        "ref": "next",
        "depth": 3,
        "include": ["docs/**/*.md", "/README.md"],
        "exclude": ["docs/drafts/**"],
        "schedule": "@every 1h",
        "metadata": [
            *("team=platform", "tier=1", "braces={{x}}", "public=true"),
            "sourceIdentifier=team/handbook",
        ],
        "on_delete": "keep",
        "max_file_bytes": 1000,
        "token_variable": "PINAKES_SECRET_GITHUB_TOKEN",
    }


@pytest.mark.parametrize(("name", "key"), [("aws", "secret-access-key"), ("pgpassword", "x"), ("pinakes", "key")])
def test_a_document_cannot_name_a_variable_that_is_no_secret_of_sources(name: str, key: str) -> None:
    document = changed(
        "spec.repository", {"url": "https://git.example.org/a.git", "secretRef": {"name": name, "key": key}}
    )
    [one] = read(text_of(document), "a.yaml").declared
    assert one.source["token_variable"].startswith(f"PINAKES_SECRET_{name.upper()}_")


def test_what_is_not_said_is_as_the_controller_has_it() -> None:
    document = changed("spec.frequency", None)
    del document["spec"]["branch"]
    [one] = read(text_of(document), "a.yaml").declared
    assert one.name == "default/notes"
    assert (one.source["ref"], one.source["schedule"], one.source["on_delete"]) == ("main", "@every 24h", "delete")
    assert "token_variable" not in one.source


@pytest.mark.parametrize(
    ("paths", "files"),
    [
        (["docs/*"], ["docs/a.md"]),
        (["docs/*/*", "docs/*"], ["docs/a.md", "docs/sub/b.md"]),
        (["docs/sub/deep/**", "docs/*"], ["docs/a.md", "docs/sub/deep/c.md"]),
        (["docs/**"], ["docs/a.md", "docs/sub/b.md", "docs/sub/deep/c.md"]),
        (["*", "docs/sub"], ["README", "docs/sub/b.md", "docs/sub/deep/c.md"]),
    ],
)
def test_a_star_does_not_go_down_into_folders(paths: list[str], files: list[str]) -> None:
    [one] = read(text_of(changed("spec.paths", paths)), "a.yaml").declared
    rules = Rules(one.source["include"])
    every = ["README", "docs/a.md", "docs/sub/b.md", "docs/sub/deep/c.md"]
    assert [path for path in every if rules.includes(path)] == files


@pytest.mark.parametrize(
    ("frequency", "schedule"),
    [("hourly", "@hourly"), ("24h", "@every 24h"), ("0 3 * * *", "0 3 * * *"), ("@every 10m", "@every 10m")],
)
def test_a_frequency_is_a_word_a_length_of_time_or_a_schedule(frequency: str, schedule: str) -> None:
    [one] = read(text_of(changed("spec.frequency", frequency)), "a.yaml").declared
    assert one.source["schedule"] == schedule


@pytest.mark.parametrize(
    ("path", "value", "reason"),
    [
        ("kind", "Deployment", "kind is 'Deployment'; it has to be GitKnowledgeSource or KnowledgeSource"),
        ("apiVersion", None, "apiVersion is missing"),
        ("metadata", None, "metadata is missing"),
        ("metadata.name", None, "metadata.name is missing"),
        ("metadata.name", "Über/Alles", "small letters"),
        ("spec", None, "spec is missing"),
        ("spec", ["x"], "spec is ['x']; it has to be a table"),
        ("spec.repo", None, "spec.repository is missing"),
        ("spec.repo", "", "spec.repository.url is missing"),
        ("spec.repo", {"url": "https://x", "brnch": "m"}, "spec.repository has no brnch"),
        ("spec.paths", None, "spec.paths is missing"),
        ("spec.paths", "*.md", "it has to be a list of globs"),
        ("spec.paths", [1], "it has to be a list of globs"),
        ("spec.frequency", "sometimes", "schedule cannot be used: '@sometimes' is no schedule"),
        ("spec.frequency", 3, "schedule is 3; it has to be text"),
        ("spec.deletionPolicy", "Forget", "spec.deletionPolicy is 'Forget'; it has to be Delete or Retain"),
        ("spec.maxFileSizeBytes", 0, "max_file_bytes cannot be 0: it has to be at least 1"),
        ("spec.metadata", {"a": {"b": 1}}, "spec.metadata.a is {'b': 1}; it has to be text or a number"),
        ("spec.deletionPolicy", ["Delete"], "spec.deletionPolicy is ['Delete']; it has to be Delete or Retain"),
        ("spec.metadata", {"a": {}}, "spec.metadata.a is {}; it has to be text or a number"),
        ("spec.metadata", {"a=b": "c"}, "spec.metadata has 'a=b'; a name has no ="),
        ("spec.repo", "https://me:hush@git.example.org/x", "carries a login; name the key of a secret in secretRef"),
        ("spec.secretRef", {"key": "token"}, "secretRef.name is missing"),
        ("spec.secretRef", {"name": "a", "key": [1]}, "secretRef.key is [1]; it has to be text"),
        ("spec.path", ["*.md"], "spec has no path; it has"),
    ],
)
def test_a_document_that_cannot_be_used_says_why_and_the_others_are(path: str, value: Any, reason: str) -> None:
    found = read(text_of(FULL, changed(path, value), SHORT), "a.yaml")
    assert [one.name for one in found.declared] == ["team/handbook", "default/notes"]
    [refused] = found.refused
    assert refused.origin == "a.yaml, document 2"
    assert reason in refused.reason
    assert "hush" not in refused.reason


def test_an_empty_value_of_metadata_is_refused() -> None:
    text = text_of({**SHORT, "spec": {**SHORT["spec"], "metadata": {"team": None}}})  # type: ignore[dict-item]
    assert "spec.metadata.team is None" in read(text, "a.yaml").refused[0].reason


def test_yaml_that_says_more_than_the_memory_holds_is_refused_at_once() -> None:
    rows = [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 10)]
    [refused] = read("\n".join(["a0: &a0 [x]", *rows, "kind: *a9"]), "a.yaml").refused
    assert refused.reason.startswith("kind is ")


def test_of_two_documents_of_a_name_the_first_counts() -> None:
    found = KnowledgeSourceFiles()
    found.take(read(text_of(SHORT, changed("spec.branch", "other")), "a.yaml"))
    assert ([one.source["ref"] for one in found.declared], len(found.refused)) == (["main"], 1)


@pytest.mark.parametrize("text", ["just words", "- a\n- b", "{", "a: [", "\t", "a: &x [*x]"])
def test_text_that_is_no_document_is_refused_and_nothing_else_happens(text: str) -> None:
    found = read(text, "a.yaml")
    assert (found.declared, len(found.refused)) == ([], 1)


def test_what_stands_before_broken_yaml_is_used() -> None:
    found = read(f"{text_of(SHORT)}---\na: [\n", "a.yaml")
    assert [one.name for one in found.declared] == ["default/notes"]
    assert [one.reason.partition(":")[0] for one in found.refused] == ["It is no YAML"]


def test_the_items_of_a_list_are_documents() -> None:
    found = read(text_of({"kind": "GitKnowledgeSourceList", "items": [FULL, changed("kind", "Pod"), SHORT]}), "a.yaml")
    assert [one.name for one in found.declared] == ["team/handbook", "default/notes"]
    assert [one.origin for one in found.refused] == ["a.yaml, document 1, item 2"]


def test_an_empty_file_has_no_documents() -> None:
    assert read("", "a.yaml") == KnowledgeSourceFiles()
    assert read("---\n---\n", "a.yaml") == KnowledgeSourceFiles()


def test_a_folder_is_read_by_name_and_of_two_documents_of_one_name_the_first_counts(tmp_path: Path) -> None:
    (tmp_path / "b.yml").write_text(text_of(SHORT), "utf-8")
    (tmp_path / "a.yaml").write_text(text_of(FULL, SHORT), "utf-8")
    (tmp_path / "c.yaml").write_bytes(b"\xff\xfe\x00")
    (tmp_path / "d.txt").write_text("no yaml", "utf-8")
    found = read_folder(tmp_path)
    assert [one.name for one in found.declared] == ["team/handbook", "default/notes"]
    twice, not_text = found.refused
    assert f"default/notes stands in {tmp_path / 'a.yaml'}, document 2 already" == twice.reason
    assert not_text.reason == "It is no UTF-8 text"


def test_the_settings_have_the_sources_of_the_folder_and_tell_of_what_is_wrong_there(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    folder = tmp_path / "sources.d"
    folder.mkdir()
    document = changed("spec.collection", "platform")
    (folder / "a.yaml").write_text(text_of(document, changed("kind", "Pod")), "utf-8")
    with caplog.at_level(logging.WARNING):
        settings = load(home=tmp_path, environment={}, sources=[{"location": "notes"}])
    assert [one.location for one in settings.collections["default"].sources] == [str(tmp_path / "notes")]
    [one] = settings.collections["platform"].sources
    assert (one.name, one.schedule) == ("default/notes", "@hourly")
    assert "document 2 is left out: kind is 'Pod'" in caplog.text


def test_several_documents_may_read_one_repository_but_none_is_called_as_a_source_of_the_settings(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    folder = tmp_path / "sources.d"
    folder.mkdir()
    for number in range(3):
        document = {**SHORT, "metadata": {"name": f"n{number}"}}
        (folder / f"{number}.yaml").write_text(text_of(document), "utf-8")
    named = {"name": "default/n1", "location": "https://git.example.org/notes"}
    with caplog.at_level(logging.WARNING):
        settings = load(home=tmp_path, environment={}, collections={"named": {"sources": [named]}})
    assert [one.part for one in settings.collections["default"].sources] == ["default/n0", "default/n2"]
    assert [one.name for one in settings.collections["named"].sources] == ["default/n1"]
    assert "1.yaml, document 1 is left out: default/n1 is a source of the settings" in caplog.text


def test_the_folder_may_lie_elsewhere(tmp_path: Path) -> None:
    (tmp_path / "declared").mkdir()
    (tmp_path / "declared" / "a.yaml").write_text(text_of(SHORT), "utf-8")
    settings = load(home=tmp_path / "home", environment={}, sources_dir=str(tmp_path / "declared"))
    assert [one.name for one in settings.collections["default"].sources] == ["default/notes"]
