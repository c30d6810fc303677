"""Collections on the command line: listed, made, changed, deleted, and several searched at once."""

from __future__ import annotations

import io
import sys
from pathlib import Path
from typing import Any

import pytest


@pytest.fixture
def filled(pinakes: Any, corpus: Path, tmp_path: Path) -> Any:
    """The corpus as "orchard", and a folder of one file as "cellar"."""
    cellar = tmp_path / "cellar"
    cellar.mkdir()
    (cellar / "cider.md").write_text("# Cider\n\nCider from apple trees is kept in the cellar.\n")
    assert pinakes("add", corpus, "-c", "orchard").code == 0
    assert pinakes("add", cellar, "-c", "cellar").code == 0
    return pinakes


def names(pinakes: Any) -> list[str]:
    return [row["name"] for row in pinakes("collections", "--json").document["collections"]]


def test_they_are_listed_with_what_they_hold(filled: Any) -> None:
    filled("collections", "describe", "cellar", "What we drink.")
    lines = filled("collections").out.splitlines()
    assert lines[0].split() == ["collection", "documents", "chunks", "tokens"]
    assert lines[1].startswith("cellar ")
    assert lines[1].endswith("  What we drink.")
    [cellar, orchard] = filled("collections", "--json").document["collections"]
    assert (cellar["name"], cellar["documents"], cellar["description"]) == ("cellar", 1, "What we drink.")
    assert orchard["documents"] == 4


def test_without_any_the_way_to_one_is_told(pinakes: Any) -> None:
    assert pinakes("init", "--no-model").code == 0
    done = pinakes("collections")
    assert (done.code, done.out) == (0, "")
    assert "pinakes add PATH" in done.err
    assert pinakes("collections", "--json").document == {"collections": []}


def test_one_is_made_with_settings_of_its_own_which_can_be_changed(pinakes: Any) -> None:
    boosts = '--keep=boosts=[{"field": "status", "weight": 0.1}]'
    made = pinakes(
        "collections", "create", "short", "--keep", "chunking.size=40", "--keep", "chunking.overlap=4", boosts, "--json"
    )
    assert made.code == 0
    assert made.document["settings"]["chunking"] == {"size": 40, "overlap": 4}
    assert made.document["settings"]["boosts"][0]["field"] == "status"
    changed = pinakes(
        "collections", "configure", "short", "--keep", "retrieval=vector", "--forget", "chunking", "--forget", "boosts"
    )
    assert changed.out == 'short: {"retrieval": "vector"}\n'
    assert "pinakes sync" in changed.err


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--keep", "chunking.size=many"), "chunking.size"),
        (("--keep", "colour=red"), "'colour'"),
        (("--keep", "retrieval"), "name=value"),
        (("--keep", "boosts=[1"), "no JSON"),
        (("--keep", "boosts=5"), "boosts"),
    ],
)
def test_a_setting_that_cannot_be_kept_is_refused(pinakes: Any, words: tuple[str, ...], told: str) -> None:
    done = pinakes("collections", "create", "a", *words)
    assert done.code == 2
    assert told in done.err
    assert names(pinakes) == []


def test_renamed_and_copied_ones_answer(filled: Any) -> None:
    assert filled("collections", "rename", "orchard", "garden").out == "orchard: called garden now\n"
    assert filled("collections", "copy", "garden", "copy of garden").code == 0
    for name in ("garden", "copy of garden"):
        assert filled("search", "pollen", "-c", name, "-k", "1", "--json").document["hits"][0]["path"] == "bees.md"
    assert names(filled) == ["cellar", "copy of garden", "garden"]
    done = filled("search", "pollen", "-c", "orchard")
    assert (done.code, "'orchard'" in done.err) == (3, True)


def test_deleting_is_asked_for(filled: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    refused = filled("collections", "delete", "cellar")
    assert refused.code == 2
    assert "--yes" in refused.err
    monkeypatch.setattr(sys, "stdin", Terminal("\n"))
    assert filled("collections", "delete", "cellar").code == 2
    assert names(filled) == ["cellar", "orchard"]
    monkeypatch.setattr(sys, "stdin", Terminal("y\n"))
    done = filled("collections", "delete", "cellar")
    assert "Delete collection 'cellar' with its 1 document, for good? [y/N]" in done.err
    assert done.out == "cellar: deleted, 1 document\n"
    assert filled("collections", "delete", "orchard", "--json").code == 2
    assert filled("collections", "delete", "orchard", "--yes", "--json").document["documents"] == 4
    assert names(filled) == []


def test_one_of_the_settings_is_told_to_come_back(pinakes: Any, corpus: Path, home: Path) -> None:
    home.mkdir()
    (home / "config.toml").write_text(f'[[collections.orchard.sources]]\nlocation = "{corpus}"\n')
    assert pinakes("sync").code == 0
    done = pinakes("collections", "delete", "orchard", "--yes")
    assert (done.code, "makes it anew" in done.err) == (0, True)


def test_a_source_is_taken_out(filled: Any, corpus: Path, tmp_path: Path) -> None:
    assert filled("add", tmp_path / "cellar", "-c", "orchard").code == 0
    done = filled("collections", "remove-source", "orchard", corpus)
    assert done.out == "orchard: 4 documents removed\n"
    assert "restored for 30 days" in done.err
    [orchard] = filled("status", "-c", "orchard", "--json").document["collections"]
    assert [source["location"] for source in orchard["sources"]] == [str(tmp_path / "cellar")]
    assert filled("collections", "remove-source", "orchard", corpus).code == 3


def test_figures(filled: Any, corpus: Path) -> None:
    found = filled("collections", "stats", "orchard", "--json").document
    assert (found["document_count"], found["source_distribution"]) == (4, {str(corpus): 4})
    shown = filled("collections", "stats", "orchard").out
    assert "document_count" in shown
    assert str(corpus) in shown


def test_several_are_searched_and_each_hit_names_its_own(filled: Any) -> None:
    for words in (("-c", "cellar", "-c", "orchard"), ("-c", "*"), ("-c", "cellar,orchard")):
        found = filled("search", "apple trees", *words, "--json").document
        assert {hit["collection"] for hit in found["hits"]} == {"cellar", "orchard"}
        assert found["collection"] == "cellar, orchard"
    shown = filled("search", "apple trees", "-c", "*", "--explain").out
    assert "cellar › cider.md:" in shown
    assert "orchard › guide.md:" in shown
    assert "collection cellar, " in shown
    assert "merge" in shown
    alone = filled("search", "apple trees", "-c", "cellar").out
    assert "cellar ›" not in alone


def test_one_that_does_not_answer_is_told_of(filled: Any) -> None:
    done = filled("search", "apple trees", "-c", "cellar", "-c", "nowhere")
    assert done.code == 0
    assert "warning: 'nowhere' did not answer" in done.err
    assert "There is no collection 'nowhere'" in done.err


class TestNoneNamed:
    """Without ``-c``: all are asked, documents are found wherever they are, and changes go to one alone."""

    def test_a_search_asks_all_and_says_so(self, filled: Any) -> None:
        for command in (["search"], ["query"], ["search", "--summaries"]):
            done = filled(*command, "cider from apple trees")
            assert "cider.md" in done.out
            assert "no collection was named, so 2 collections were asked: cellar, orchard" in done.err
        only = filled("search", "cider", "--set", "collection=orchard", "--json").document
        assert (only["collection"], only["notes"]) == ("orchard", only["notes"])
        assert not [note for note in only["notes"] if "was named" in note]

    def test_a_document_is_found_where_it_is(self, filled: Any) -> None:
        assert "kept in the cellar" in filled("read", "cider.md").out
        assert "Cider" in filled("outline", "cider.md").out
        assert filled("document", "show", "cider.md", "--json").document["collection"] == "cellar"
        assert filled("document", "history", "cider.md").code == 0
        told = filled("explain", "apple trees", "cider.md", "--json").document
        assert [one["path"] for one in told["documents"]] == ["cider.md"]
        assert told["collection"] == "cellar"
        assert filled("read", "cider.md", "--set", "collection=orchard").code == 3

    def test_a_path_that_two_have_is_not_taken_from_one(self, filled: Any, tmp_path: Path) -> None:
        assert filled("add", tmp_path / "cellar", "-c", "copy").code == 0
        done = filled("read", "cider.md")
        assert done.code == 2
        assert "2 collections have a document 'cider.md'." in done.err
        assert "Name one: cellar, copy." in done.err

    @pytest.mark.parametrize("change", [["update", "--tag", "old"], ["delete"]], ids=["update", "delete"])
    def test_a_change_names_the_collection_that_has_the_document(self, filled: Any, change: list[str]) -> None:
        before = filled("document", "show", "cider.md", "--json").document
        done = filled("document", change[0], "cider.md", *change[1:])
        assert done.code == 3
        assert "There is one in collection 'cellar': -c cellar" in done.err
        assert filled("document", "show", "cider.md", "--json").document == before
        assert filled("document", change[0], "cider.md", *change[1:], "-c", "cellar").code == 0

    def test_a_deleted_document_is_listed_and_restored(self, filled: Any) -> None:
        [uid] = {filled("document", "delete", "cider.md", "-c", "cellar", "--json").document["uid"]}
        assert uid in filled("document", "deleted").out
        refused = filled("document", "restore", uid)
        assert (refused.code, "cellar" in refused.err) == (3, True)
        assert filled("document", "restore", uid, "-c", "cellar").code == 0

    def test_a_new_document_goes_to_default(self, filled: Any, tmp_path: Path) -> None:
        note = tmp_path / "note.md"
        note.write_text("A note on cider.")
        told = filled("document", "put", note, "--title", "Note", "--json").document
        assert told["document"]["collection"] == "default"
