"""Whether a file is still the one that was read."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import pytest

from pinakes.sources.file_stat import fingerprint, size_of, state_of


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "docs" / "a.md"
    path.parent.mkdir()
    path.write_text("one")
    return path


def stamped(file: Path) -> tuple[str, str]:
    return fingerprint(file.stat()), hashlib.sha256(file.read_bytes()).hexdigest()


def test_a_file_that_nobody_touched_has_not_changed(file: Path) -> None:
    assert state_of(str(file.parent), file.name, *stamped(file)) == "current"


def test_another_content_is_a_change_also_of_the_same_size(file: Path) -> None:
    stamp = stamped(file)
    file.write_text("two")
    os.utime(file, ns=(1, 1))
    assert state_of(str(file.parent), file.name, *stamp) == "changed"
    file.write_text("three")
    assert state_of(str(file.parent), file.name, *stamp) == "changed"


def test_a_file_that_was_only_touched_has_not_changed(file: Path) -> None:
    stamp = stamped(file)
    os.utime(file, ns=(1, 1))
    file.chmod(0o600)
    assert state_of(str(file.parent), file.name, *stamp) == "current"


def test_a_file_that_is_gone_is_missing(file: Path) -> None:
    stamp = stamped(file)
    file.unlink()
    assert state_of(str(file.parent), file.name, *stamp) == "missing"


def test_nothing_is_known_of_a_path_that_leads_into_a_file(file: Path) -> None:
    assert state_of(str(file.parent), f"{file.name}/inside.md", *stamped(file)) == "unknown"


def test_nothing_is_known_of_a_folder_that_is_not_there(file: Path) -> None:
    assert state_of(str(file.parent / "gone"), file.name, *stamped(file)) == "unknown"


def test_a_source_of_a_single_file_is_that_file(file: Path) -> None:
    stamp = stamped(file)
    assert state_of(str(file), file.name, *stamp) == "current"
    file.write_text("three")
    assert state_of(str(file), file.name, *stamp) == "changed"


@pytest.mark.parametrize(("stamp", "size"), [("42:1:2", 42), ("", None), ("9c1f", None), ("1234", None)])
def test_a_stamp_tells_the_size(stamp: str, size: int | None) -> None:
    assert size_of(stamp) == size
