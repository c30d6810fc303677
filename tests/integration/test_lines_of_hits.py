"""The lines that a hit shows have their numbers in the file, also where the text has others."""

from __future__ import annotations

from pathlib import Path

import pytest

from pinakes.library import Library
from pinakes.testing import write_files

RECORDS = ", ".join(f'{{"name": "box{number}", "ip": "10.0.0.{number}"}}' for number in range(90))
FILES = {
    "minified.json": f'{{"note": "wombat", "hosts": [{RECORDS}]}}',
    "cells.csv": 'name,note\nAnn,"one\ntwo\nthree"\nBob,kudu\nEve,"x\ny"\nZed,okapi\n',
    "pretty.json": '{\n  "hosts": [\n    {"name": "alpha"},\n    {"name": "quokka"}\n  ]\n}\n',
    "plain.yaml": "# numbat\nname: x\nport: bandicoot\n",
    "lines.jsonl": "".join(f'{{"id": {number}, "animal": "kiwi{number}"}}\n' for number in range(60)),
}


@pytest.fixture
def library(tmp_path: Path, docs: Path) -> Library:
    write_files(docs, FILES)
    library = Library.open(tmp_path / "home", embedding__provider="deterministic", cache=tmp_path / "cache")
    library.add(str(docs))
    return library


@pytest.mark.parametrize(
    ("word", "line"),
    [
        ("box77", 1),
        ("wombat", 1),
        ("kudu", 5),
        ("okapi", 8),
        ("three", 2),
        ("quokka", 4),
        ("numbat", 1),
        ("bandicoot", 3),
        ("kiwi41", 42),
    ],
)
def test_a_line_has_the_number_that_it_has_in_the_file(library: Library, word: str, line: int) -> None:
    with library:
        hit = library.search(word, mode="keyword", top_k=1).hits[0]
    [shown] = [one for one in hit.context if word in one.text]
    assert shown.number == line
    assert hit.start_line <= line <= hit.end_line
