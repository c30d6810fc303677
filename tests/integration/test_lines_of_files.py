"""Lines mean those of the file everywhere, also where a text was converted from it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pinakes import Library
from pinakes.cli.hit_lines import blocks
from pinakes.services.document_search.expanding import ExpandRequest
from pinakes.tools.retrieve import read

SERVICE = """{
"name": "svc", "kind": "web",
"ports": [{"port": 80, "note": "web"}, {"port": 443, "note": "okapi"}],
"env": {"A": "x",

  "B": "zebra"}}
"""
LONG_LINE = json.dumps([{"n": n, "text": "x " * 9} for n in range(90)])
FILES = {
    "svc.json": SERVICE,
    "mixed.json": '{{"a": 1,\n"rows": {},\n"last": "kiwi"}}\n'.format(
        json.dumps([{"n": n, "text": "x " * 9} for n in range(90)])
    ),
    "goods.csv": "name,notes\n" + "".join(f'item{n},"one\ntwo of {n}"\n' for n in range(9)) + "kudu,last\n",
    "log.jsonl": "\n\n".join(json.dumps({"id": n, "text": "gnu" if n == 7 else "cow"}) for n in range(12)),
    "said.vtt": "WEBVTT\n\n1\n00:00:01.000 --> 00:00:03.000\nHello.\n\n2\n00:00:44.000 --> 00:00:46.000\nA giraffe.\n",
    "plain.md": "# Plain\n\nAn okra.\n",
}
WORDS = {
    "okapi": "svc.json",
    "zebra": "svc.json",
    "kiwi": "mixed.json",
    "kudu": "goods.csv",
    "gnu": "log.jsonl",
    "okra": "plain.md",
}


@pytest.fixture
def filled(library: Library, docs: Path) -> Library:
    for path, text in FILES.items():
        (docs / path).write_text(text, "utf-8")
    library.add(str(docs))
    return library


def line_of(word: str, path: str) -> int:
    return next(number for number, line in enumerate(FILES[path].split("\n"), 1) if word in line)


@pytest.mark.parametrize(("word", "path"), WORDS.items())
def test_hits_reading_and_explanations_name_the_same_line(filled: Library, word: str, path: str) -> None:
    number = line_of(word, path)
    hit = next(hit for hit in filled.search(word, mode="keyword").hits if hit.path == path)
    assert [line.number for line in hit.context if word in line.text] == [number]
    text = filled.read(path, lines=(number, number))
    assert word in text.text
    assert (text.start_line, text.end_line) == (number, number)
    [explained] = filled.explain(word, [path]).documents
    assert [match.lines for match in explained.matches] == [(number,)]
    opened = filled.staged.expand([hit.document_id], wanted=ExpandRequest(lines=(number, number))).documents[0]
    assert word in opened.text
    assert (opened.start_line, opened.end_line) == (number, number)


def test_a_caption_has_the_line_of_its_time(filled: Library) -> None:
    [hit] = filled.search("giraffe", mode="keyword", top_k=1).hits
    [line] = [line for line in hit.context if "giraffe" in line.text]
    assert line.number == line_of("00:00:44", "said.vtt")


def test_reading_goes_on_where_it_ended_though_lines_of_the_text_share_a_number(library: Library, docs: Path) -> None:
    rows = [{"id": number, "text": "word " * 40} for number in range(300)]
    (docs / "one-line.json").write_text(json.dumps(rows), "utf-8")
    (docs / "many.json").write_text(json.dumps(rows, indent=1), "utf-8")
    library.add(str(docs))
    for path in ("one-line.json", "many.json"):
        parts, asked = list[str](), {"document": path}
        for _ in range(50):
            data = read.answer(library, asked).data or {}
            assert data["start_line"] == asked.get("start_line", 1)
            assert data["start_char"] == asked.get("start_char", 0)
            parts.append(str(data["text"]))
            if not data["cut"]:
                break
            asked = {"document": path, **data["go_on"]}  # type: ignore[dict-item]
        assert len(parts) > 1
        assert "".join("".join(parts).split()) == "".join(library.read(path).text.split())


def test_headings_of_a_document_are_at_lines_of_its_file(filled: Library) -> None:
    uid = filled.read("svc.json").document.uid
    numbers = {line_of(word, "svc.json") for word in ("name", "ports", "env")}
    assert numbers >= {one.start_line for one in filled.staged.outline(uid)}


def test_what_stands_around_a_hit_is_shown_with_lines_of_the_file(
    library: Library, docs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from rich.console import Console

    cues = (f"00:{n:02}:01.000 --> 00:{n:02}:03.000\nSpeech {n} " + f"word{n} " * 30 for n in range(40))
    text = "WEBVTT\n\n" + "\n\n".join(cues) + "\n"
    (docs / "talk.vtt").write_text(text, "utf-8")
    library.add(str(docs))
    [hit] = library.search("word20", mode="keyword", top_k=1, neighbours=1).hits
    assert hit.neighbours
    for neighbour in hit.neighbours:
        lines = neighbour.text.split("\n")
        assert len(neighbour.numbers) == len(lines)
        for number, line in zip(neighbour.numbers, lines, strict=True):
            assert not line or line[1:9] in text.split("\n")[number - 1]
    console = Console(width=90, force_terminal=False)
    for block in blocks(hit, console):
        console.print(block)
    shown = capsys.readouterr().out
    first = hit.neighbours[0]
    assert f"{first.numbers[-1]}  " in shown
