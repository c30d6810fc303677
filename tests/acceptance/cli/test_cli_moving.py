"""Collections and homes as files, on the command line; and what is not as it was indexed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest


@pytest.fixture
def filled(pinakes: Any, corpus: Path) -> Any:
    assert pinakes("add", corpus, "-c", "orchard").code == 0
    return pinakes


def hits(done: Any) -> list[tuple[str, int, float]]:
    return [(hit["path"], hit["chunk_index"], hit["score"]) for hit in done.document["hits"]]


class TestExport:
    def test_a_collection_goes_to_another_home_and_answers_alike(self, filled: Any, tmp_path: Path) -> None:
        file, other = tmp_path / "orchard.zip", tmp_path / "other"
        done = filled("export", "orchard", file)
        assert (done.code, done.out.split(":")[0]) == (0, str(file))
        assert "4 documents" in done.out
        done = filled("import", file, "--home", other)
        assert (done.code, done.out.split(",")[0]) == (0, "orchard: 4 documents")
        assert "the next sync reads its sources again" in done.err
        before = filled("search", "bees", "-c", "orchard", "--json")
        assert hits(before)
        assert hits(filled("search", "bees", "-c", "orchard", "--home", other, "--json")) == hits(before)
        assert filled("verify", "--home", other).code == 0

    def test_json_says_all_of_it(self, filled: Any, tmp_path: Path) -> None:
        file = tmp_path / "orchard.zip"
        told = filled("export", "orchard", file, "--history", "--json").document
        assert (told["documents"], told["pending"], told["versions"]) == (4, 0, 4)
        assert told["bytes"] == file.stat().st_size
        taken = filled("import", file, "--as", "copy", "--without-sources", "--json").document
        assert (taken["collection"], taken["documents"], taken["renamed"], taken["sources"]) == ("copy", 4, 4, [])

    def test_what_is_taken_or_wrong_is_told_with_what_to_do(self, filled: Any, tmp_path: Path) -> None:
        file = tmp_path / "orchard.zip"
        filled("export", "orchard", file)
        again = filled("export", "orchard", file)
        assert (again.code, "--force" in again.err) == (2, True)
        assert filled("export", "orchard", file, "--force").code == 0
        taken = filled("import", file)
        assert (taken.code, "--as NAME" in taken.err) == (2, True)
        assert filled("export", "none", tmp_path / "none.zip").code == 3
        assert filled("import", tmp_path / "none.zip").code == 3
        file.write_bytes(file.read_bytes()[:-100])
        damaged = filled("import", file, "--as", "copy", "--json")
        assert (damaged.code, damaged.document["error"]["code"]) == (5, "UNREADABLE")
        listed = filled("collections", "--json").document["collections"]
        assert [one["name"] for one in listed] == ["orchard"]

    def test_left_out_vectors_wait_and_it_is_told_how_to_make_them(self, filled: Any, tmp_path: Path) -> None:
        filled("export", "orchard", tmp_path / "orchard.zip")
        done = filled("import", tmp_path / "orchard.zip", "--as", "copy", "--embed-anew")
        assert "wait for their vectors: pinakes reindex --embed -c copy" in done.err


class TestBackup:
    def test_a_home_is_made_anew_of_its_backup(self, filled: Any, tmp_path: Path) -> None:
        (tmp_path / "backups").mkdir()
        done = filled("backup", tmp_path / "backups", "--with-index", "--json")
        assert (done.document["collections"], done.document["documents"], done.document["left_out"]) == (1, 4, [])
        restored = filled("restore", done.document["file"], "--home", tmp_path / "new")
        assert restored.code == 0
        assert "1 collection, 4 documents, as of 20" in restored.out
        before = hits(filled("search", "bees", "-c", "orchard", "--json"))
        assert hits(filled("search", "bees", "-c", "orchard", "--home", tmp_path / "new", "--json")) == before

    def test_no_home_is_overwritten(self, filled: Any, tmp_path: Path) -> None:
        filled("backup", tmp_path / "home.zip")
        refused = filled("restore", tmp_path / "home.zip")
        assert (refused.code, "is not empty" in refused.err) == (2, True)
        assert filled("backup", tmp_path / "home.zip").code == 2

    def test_of_no_home_there_is_no_backup(self, pinakes: Any, tmp_path: Path) -> None:
        assert pinakes("backup", tmp_path / "home.zip", "--home", tmp_path / "none").code == 3
        assert not (tmp_path / "none").exists()


class TestFreshness:
    def test_what_is_stale_is_named_by_source(self, filled: Any, corpus: Path) -> None:
        assert ": nothing, 4 current" in filled("status", "--stale").out
        first, second = sorted(path for path in corpus.rglob("*.md") if path.stat().st_size > 20)[:2]
        first.write_text("# Another\n\nAnother text about bees.\n")
        second.unlink()
        (corpus / "new.md").write_text("# New\n\nwords\n")
        out = filled("status", "--stale").out
        assert f"stale    folder {corpus}: 1 changed, 1 missing, 1 new, 2 current" in out
        assert f"changed  {first.relative_to(corpus)}" in out
        [told] = filled("status", "--stale", "--json").document["collections"][0]["stale"]
        assert (told["new"], told["current"], told["error"]) == (["new.md"], 2, "")
        assert "stale" not in filled("status", "--json").document["collections"][0]

    def test_a_search_can_read_what_changed_first(self, filled: Any, corpus: Path) -> None:
        slow = ("--set", "search.refresh_ms=30000")
        [hit] = filled("search", "pollen", "-k", "1", "-c", "orchard", "--json").document["hits"]
        assert hit["source_state"] == "current"
        file = corpus / hit["path"]
        file.write_text(file.read_text() + "\nPollen is yellow.\n")
        done = filled("search", "pollen", "-k", "1", "-c", "orchard", *slow, "--refresh")
        assert f"read again, since it changed: {hit['path']}" in done.err
        assert "file changed since it was indexed" not in done.out
        file.unlink()
        assert "file is gone since it was indexed" in filled("search", "pollen", "-k", "1", "-c", "orchard").out
