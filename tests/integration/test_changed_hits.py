"""Every hit tells whether its file has changed since it was indexed."""

from __future__ import annotations

import os
import shutil
import time
from pathlib import Path

import pytest

from pinakes.core.records import Hit
from pinakes.library import Library
from pinakes.testing import write_files


@pytest.fixture
def keys(library: Library, docs: Path) -> Path:
    write_files(docs, {"keys.md": "# Keys\n\nRotate them.\n", "other.md": "# Other\n\nwords\n"})
    library.add(str(docs))
    return docs / "keys.md"


def hit(library: Library) -> Hit:
    return library.search("rotate", mode="keyword").hits[0]


def test_a_file_that_stayed_the_same_has_not_changed(library: Library, keys: Path) -> None:
    assert hit(library).changed is False


def test_a_file_that_was_edited_has_changed_also_in_a_remembered_answer(library: Library, keys: Path) -> None:
    assert hit(library).changed is False
    keys.write_text("# Keys\n\nNever rotate them.\n")
    answer = library.search("rotate", mode="keyword")
    assert any(stage.name == "remembered" for stage in answer.trace.stages)
    assert answer.hits[0].changed is True


def test_a_file_that_was_deleted_has_changed(library: Library, keys: Path) -> None:
    keys.unlink()
    assert hit(library).changed is True


def test_after_a_sync_it_is_as_it_was_indexed_again(library: Library, keys: Path) -> None:
    keys.write_text("# Keys\n\nNever rotate them.\n")
    assert hit(library).changed is True
    library.sync()
    assert hit(library).changed is False


def test_after_a_sync_that_found_the_same_content_nothing_has_changed(library: Library, keys: Path) -> None:
    before = keys.read_text()
    keys.write_text("another text of another size")
    assert hit(library).changed is True
    keys.write_text(before)
    assert hit(library).changed is False
    os.utime(keys, ns=(1, 1))
    library.sync()
    assert hit(library).changed is False


def test_of_a_folder_that_is_not_there_nothing_is_known(library: Library, keys: Path) -> None:
    shutil.rmtree(keys.parent)
    assert hit(library).changed is None


def test_of_bare_hits_nothing_is_asked(library: Library, keys: Path) -> None:
    assert library.rank("rotate", mode="keyword").hits[0].changed is None


def test_looking_costs_little(library: Library, docs: Path) -> None:
    write_files(docs, {f"{number}.md": f"# Title {number}\n\ncommon words {number}\n" for number in range(50)})
    library.add(str(docs))
    record = library.collection()
    hits = library.search("common", mode="keyword", top_k=50).hits
    assert len(hits) == 50
    times = []
    for _ in range(20):
        start = time.perf_counter()
        told = library.app.freshness.checked(hits, record)
        times.append(time.perf_counter() - start)
    assert [one.changed for one in told] == [False] * 50
    assert min(times) / 50 < 100e-6  # 10 µs on a quiet machine
