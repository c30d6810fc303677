"""Whether a file is still the one that was read."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import pytest

from pinakes.sources.stamp import fingerprint, has_changed, size_of


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "docs" / "a.md"
    path.parent.mkdir()
    path.write_text("one")
    return path


def stamped(file: Path) -> tuple[str, str]:
    return fingerprint(file.stat()), hashlib.sha256(file.read_bytes()).hexdigest()


def test_a_file_that_nobody_touched_has_not_changed(file: Path) -> None:
    assert has_changed(str(file.parent), file.name, *stamped(file)) is False


def test_another_content_is_a_change_also_of_the_same_size(file: Path) -> None:
    stamp = stamped(file)
    file.write_text("two")
    os.utime(file, ns=(1, 1))
    assert has_changed(str(file.parent), file.name, *stamp) is True
    file.write_text("three")
    assert has_changed(str(file.parent), file.name, *stamp) is True


def test_a_file_that_was_only_touched_has_not_changed(file: Path) -> None:
    stamp = stamped(file)
    os.utime(file, ns=(1, 1))
    file.chmod(0o600)
    assert has_changed(str(file.parent), file.name, *stamp) is False


def test_a_file_that_is_gone_has_changed(file: Path) -> None:
    stamp = stamped(file)
    file.unlink()
    assert has_changed(str(file.parent), file.name, *stamp) is True


def test_nothing_is_known_of_a_folder_that_is_not_there(file: Path) -> None:
    assert has_changed(str(file.parent / "gone"), file.name, *stamped(file)) is None


def test_a_source_of_a_single_file_is_that_file(file: Path) -> None:
    stamp = stamped(file)
    assert has_changed(str(file), file.name, *stamp) is False
    file.write_text("three")
    assert has_changed(str(file), file.name, *stamp) is True


@pytest.mark.parametrize(("stamp", "size"), [("42:1:2", 42), ("", None), ("9c1f", None), ("1234", None)])
def test_a_stamp_tells_the_size(stamp: str, size: int | None) -> None:
    assert size_of(stamp) == size
