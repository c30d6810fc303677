"""How much room files take."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from pinakes.platform.disk import folder_bytes


def test_files_in_all_folders_count(tmp_path: Path) -> None:
    (tmp_path / "a/b").mkdir(parents=True)
    (tmp_path / "one").write_bytes(b"1" * 10)
    (tmp_path / "a/b/two").write_bytes(b"2" * 300)
    assert folder_bytes(tmp_path) == 310


def test_a_folder_that_is_not_there_takes_none(tmp_path: Path) -> None:
    assert folder_bytes(tmp_path / "gone") == 0


def test_a_file_that_vanishes_meanwhile_does_not_count(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "kept").write_bytes(b"1" * 10)
    (tmp_path / "merged").write_bytes(b"2" * 300)
    walk = os.walk

    def walk_and_remove(folder: Path) -> object:
        for found in walk(folder):
            (tmp_path / "merged").unlink()
            yield found

    monkeypatch.setattr(os, "walk", walk_and_remove)
    assert folder_bytes(tmp_path) == 10
