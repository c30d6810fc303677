"""A source gives its files metadata and tags."""

from __future__ import annotations

from typing import Any

import pytest

from pinakes.core.errors import InvalidSetting
from pinakes.core.records import Item
from pinakes.ingestion.source_metadata import with_source_metadata
from pinakes.settings import KnowledgeBaseSettings

OPTIONS = KnowledgeBaseSettings().model_dump(mode="json", include={"tags", "metadata"})


def item(path: str = "guides/Team A/Keys.MD", size: int = 42) -> Item:
    return Item(path, f"file:///x/{path}", size, "42:1:1")


def test_a_file_gets_tags_of_its_extension_and_of_every_folder_it_is_in() -> None:
    assert with_source_metadata({}, OPTIONS, item())["tags"] == [
        "source:knowledge_base",
        "filetype:md",
        "folder:guides",
        "folder:Team A",
    ]


def test_a_file_without_extension_at_the_top_gets_neither() -> None:
    assert with_source_metadata({}, OPTIONS, item("README"))["tags"] == ["source:knowledge_base"]


@pytest.mark.parametrize("own", [["howto", "source:knowledge_base"], "howto , source:knowledge_base"])
def test_its_own_tags_come_first_and_none_twice(own: object) -> None:
    tags = with_source_metadata({"tags": own}, OPTIONS, item("a.md"))["tags"]
    assert tags == ["howto", "source:knowledge_base", "filetype:md"]


def test_what_the_source_says_of_a_file_counts_for_more_than_what_the_file_says() -> None:
    metadata = with_source_metadata({"source": "elsewhere", "status": "beta"}, OPTIONS, item())
    del metadata["tags"]
    assert metadata == {
        "status": "beta",
        "source": "knowledge_base:guides/Team A/Keys.MD",
        "ingested_from": "knowledge_base",
        "kb_relative_path": "guides/Team A/Keys.MD",
        "file_extension": ".md",
        "file_size": 42,
    }


def test_a_source_that_says_nothing_leaves_metadata_as_it_is() -> None:
    own: dict[str, Any] = {"tags": "a, b", "x": 1}
    assert with_source_metadata(own, {"include": []}, item()) == own


@pytest.mark.parametrize("template", ["{nothing}", "{path", "{0}"])
def test_a_template_that_names_what_there_is_not_is_refused_in_words(template: str) -> None:
    with pytest.raises(InvalidSetting) as caught:
        with_source_metadata({}, {"metadata": [f"x={template}"]}, item())
    assert repr(template) in caught.value.message
    assert "{path}" in caught.value.hint


def test_paths_with_braces_are_no_templates() -> None:
    assert with_source_metadata({}, {"metadata": ["x=at {path}"]}, item("{a}.md"))["x"] == "at {a}.md"
