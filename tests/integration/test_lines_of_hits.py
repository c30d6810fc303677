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


def test_the_marks_of_a_hit_do_not_depend_on_what_other_hits_say(tmp_path: Path, docs: Path) -> None:
    write_files(
        docs, {"whole.md": "Support HTTP/3 in the gateway.", "part.md": "The gateway speaks HTTP and 3 others."}
    )
    with Library.open(tmp_path / "home", embedding__provider="deterministic", cache=tmp_path / "cache") as library:
        library.add(str(docs))
        hits = {hit.path: hit for hit in library.search("HTTP/3 http gateway").hits}
    whole = hits["whole.md"]
    assert len(hits) == 2
    assert [whole.text[start:end] for start, end in whole.highlights] == ["HTTP/3", "gateway"]
