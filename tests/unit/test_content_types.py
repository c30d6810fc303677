"""What a file is there for, told from its kind and name."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from pinakes.core.content_types import CONTENT_TYPES, content_type
from pinakes.library import Library


@pytest.mark.parametrize(
    ("kind", "path", "wanted"),
    [
        ("code", "mm/slab.c", "source_file"),
        ("code", "arch/x86/boot/dts/board.dts", "source_file"),
        ("code", "tools/config.c", "source_file"),
        ("code", "Kconfig", "config"),
        ("code", "lib/Kconfig.debug", "config"),
        ("code", "mm/Makefile", "config"),
        ("code", "build/CMakeLists.txt", "config"),
        ("text", "arch/retriever/configs/multi_v7_defconfig", "config"),
        ("text", ".config", "config"),
        ("text", "values.YAML", "config"),
        ("text", "package.json", "config"),
        ("text", "etc/server.conf", "config"),
        ("text", "notes/json", "documentation"),
        ("text", "builders/people.txt", "documentation"),
        ("markdown", "README.md", "documentation"),
        ("markdown", "", "documentation"),
    ],
)
def test_kind_and_name_tell(kind: str, path: str, wanted: str) -> None:
    assert content_type(kind, path) == wanted


def test_what_is_stated_wins_where_it_is_one_of_them() -> None:
    assert [content_type("code", "a.c", stated) for stated in CONTENT_TYPES] == list(CONTENT_TYPES)
    for stated in ("text/html", "", None, 7, ["config"]):
        assert content_type("code", "a.c", stated) == "source_file"


@pytest.fixture
def library(tmp_path: Path) -> Iterator[Library]:
    with Library.open(tmp_path / "home", embedding__provider="deterministic") as opened:
        yield opened


def test_every_search_can_filter_by_it(library: Library, tmp_path: Path) -> None:
    files = {
        "a.py": "def parse(): ...\n",
        "a.toml": "parse = true\n",
        "stated.md": "---\ncontent_type: config\n---\nparse\n",
        "other.md": "---\nContent-Type: text/html\n---\nparse\n",
    }
    (tmp_path / "docs").mkdir()
    for name, text in files.items():
        (tmp_path / "docs" / name).write_text(text)
    library.add(str(tmp_path / "docs"))

    def paths(wanted: str) -> set[str]:
        return {hit.path for hit in library.search("parse", filters={"content_type": wanted}).hits}

    assert paths("source_file") == {"a.py"}
    assert paths("config") == {"a.toml", "stated.md"}
    assert paths("documentation") == {"other.md"}
