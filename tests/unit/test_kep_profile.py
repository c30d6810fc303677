"""The KEP profile: what it reads from paths, and which paths it reads."""

from __future__ import annotations

from pathlib import Path

import pytest

from pinakes.metadata import typed
from pinakes.metadata.templates import fields_of, key_of
from pinakes.settings import Settings, load
from pinakes.sources.globs import Rules


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return load(home=tmp_path, environment={}, profile="kep")


@pytest.mark.parametrize(
    ("path", "key"),
    [
        ("sig-node/1029-ephemeral-storage-quotas/README.md", "sig-node/1029"),
        ("sig-node/1029-ephemeral-storage-quotas/kep.yaml", "sig-node/1029"),
        ("sig-cli/2299-plugins/example/base/service.yaml", "sig-cli/2299"),
        ("sig-cluster-lifecycle/kubeadm/2500-join/README.md", "sig-cluster-lifecycle/2500"),
        ("prod-readiness/sig-node/1029.yaml", "sig-node/1029"),
        ("prod-readiness/README.md", ""),
        ("provider-aws/630-ebs-csi-driver/README.md", "provider-aws/630"),
        ("committee-steering/17-elections/README.md", "committee-steering/17"),
        ("prod-readiness/provider-azure/88.yaml", "provider-azure/88"),
        ("provider-aws/README.md", ""),
        ("NNNN-kep-template/README.md", ""),
        ("sig-cli/FAQ.md", ""),
        ("README.md", ""),
    ],
)
@pytest.mark.parametrize("above", ["", "keps/", "enhancements/keps/"])
def test_paths_name_the_kep(settings: Settings, above: str, path: str, key: str) -> None:
    rules = settings.of_collection("keps")
    assert key_of(fields_of(above + path, rules.path_templates), rules.document_key) == key


@pytest.mark.parametrize(
    ("path", "is_read"),
    [
        ("keps/sig-node/1-a/README.md", True),
        ("keps/sig-node/1-a/kep.yaml", True),
        ("keps/sig-node/1-a/notes.txt", True),
        ("keps/sig-node/1-a/figure.png", False),
        ("keps/prod-readiness/sig-node/1.yaml", True),
        ("keps/prod-readiness/template/nnnn.yaml", False),
        ("keps/NNNN-kep-template/README.md", False),
        ("keps/README.md", True),
        ("README.md", False),
        ("api/approval.md", False),
        ("sig-node/1-a/README.md", True),
        ("prod-readiness/sig-node/1.yaml", True),
        ("provider-aws/1-a/README.md", True),
    ],
)
def test_only_the_texts_of_keps_are_read(settings: Settings, path: str, is_read: bool) -> None:
    [source] = settings.of_collection("keps").sources
    rules = Rules(source.include, source.exclude)
    assert (rules.includes(path) and rules.why_not_listed(path) is None) == is_read


def test_what_a_kep_says_in_words_of_dates_and_of_yes_becomes_what_filters_compare(settings: Settings) -> None:
    said = {"disable-supported": "yes", "creation-date": "2023-9-18"}
    types = settings.of_collection("keps").fields
    assert typed(said, types) == {
        "disable-supported": True,
        "creation-date": "2023-09-18",
    }


def test_the_contract_of_the_tool(settings: Settings) -> None:
    [tool] = settings.tools
    assert (tool.name, tool.top_k, tool.empty) == ("search_keps", 5, "No relevant KEPs found.")
    assert (settings.server.port, settings.server_name, settings.server_version) == (8000, "kep-knowledge", "1.0.0")
    assert settings.ingest.min_text_chars == 50
