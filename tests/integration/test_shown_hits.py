"""How much of an answer `pinakes search` shows people."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pinakes.cli.entry import run as call
from pinakes.cli.hit_lines import breadcrumb

pytestmark = pytest.mark.usefixtures("logging_is_put_back")


@pytest.fixture
def home(tmp_path: Path) -> str:
    notes = tmp_path / "notes"
    notes.mkdir()
    for number in range(8):
        (notes / f"n{number}.md").write_text(
            f"# Note {number}\n\nApples number {number} ripen in week {number * 7} of a year with {number * 31} days.\n"
        )
    home = str(tmp_path / "home")
    run("--home", home, "add", str(notes), "--set", "embedding.provider=deterministic")
    return home


def run(*words: str) -> int:
    return call(words)


def test_five_chunks_are_shown_and_the_others_are_counted(home: str, capsys: pytest.CaptureFixture[str]) -> None:
    capsys.readouterr()
    run("--home", home, "search", "apples", "--set", "embedding.provider=deterministic")
    told = capsys.readouterr()
    assert told.out.count("Apples number") == 5
    assert "3 more" in told.err
    assert "--top-k 8" in told.err
    run("--home", home, "search", "apples", "--top-k", "8", "--set", "embedding.provider=deterministic")
    told = capsys.readouterr()
    assert told.out.count("Apples number") == 8
    assert "more" not in told.err
    run("--home", home, "search", "apples", "--set", "search.shown=2", "--set", "embedding.provider=deterministic")
    assert capsys.readouterr().out.count("Apples number") == 2
    run("--home", home, "search", "apples", "--json", "--set", "embedding.provider=deterministic")
    assert len(json.loads(capsys.readouterr().out)["hits"]) == 8


def test_long_breadcrumbs_are_cut_but_names_of_columns_are_not() -> None:
    assert breadcrumb("Title", ["One", "Two"]) == "Title › One › Two"
    names = " | ".join(f"column {number}" for number in range(20))
    assert breadcrumb("Title", ["One", names]).endswith(names)
    long = breadcrumb("Title " * 50, [f"Heading {number} " * 8 for number in range(9)])
    assert len(long) <= 200
    assert long.startswith("Title Title")
    assert "… › Heading 8 Heading 8" in long
