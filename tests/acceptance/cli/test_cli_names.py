"""Names of collections that are no plain words."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest


@pytest.mark.parametrize("name", ["🦡", "notes 🦡", "🦡-notes", "e\u200dx", "\u202egnp", "a\nb"])
def test_a_collection_named_with_an_emoji_is_refused_with_the_characters_that_may_be_used(
    pinakes: Any, corpus: Path, home: Path, name: str
) -> None:
    done = pinakes("add", corpus, "-c", name)
    assert done.code == 2
    assert "cannot be called" in done.err
    assert "letters, digits, spaces, dots, dashes and underscores" in done.err
    assert pinakes("status", "--json").document["collections"] == []
    assert not list((home / "index").glob("*"))


@pytest.mark.parametrize("command", [("search", "bees"), ("status",), ("verify",), ("sync",), ("reindex",)])
def test_asking_for_a_collection_with_such_a_name_says_that_there_is_none(
    pinakes: Any, corpus: Path, command: tuple[str, ...]
) -> None:
    assert pinakes("add", corpus, "-c", "bees").code == 0
    done = pinakes(*command, "-c", "🦡")
    assert done.code not in (0, 1)
    assert "🦡" in done.err
    assert "Traceback" not in done.err
    assert done.out == ""


@pytest.mark.parametrize("name", ["Bücher", "鳥", "год 2024"])
def test_letters_of_any_script_make_a_name_that_works_everywhere(pinakes: Any, corpus: Path, name: str) -> None:
    assert pinakes("add", corpus, "-c", name).code == 0
    assert pinakes("search", "pollen", "-c", name, "--json").document["hits"][0]["path"] == "bees.md"
    assert pinakes("status", "-c", name, "--json").document["collections"][0]["name"] == name
    assert pinakes("verify", "-c", name).code == 0


def test_the_name_of_a_file_with_a_newline_makes_no_line_of_its_own(tmp_path: Path, program: Any) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "a\nerror: forged.bin").write_bytes(b"\x7fELF\x00\x01\x02" * 50)
    (folder / "b\nerror: forged.md").write_text("Bees make honey.\n")
    said = [program("add", folder), program("status", "--problems"), program("read", "forged.md")]
    assert not [line for one in said for line in (one.out + one.err).splitlines() if line.startswith("error: forged")]


def test_a_single_word_is_no_home_to_migrate_to(
    tmp_path: Path, program: Any, corpus: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program("add", corpus)
    monkeypatch.chdir(tmp_path)
    refused = program("migrate", "--to", "foo")
    assert (refused.code, "Write ./foo for a folder" in refused.err) == (2, True)
    assert not (tmp_path / "foo").exists()
