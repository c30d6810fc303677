"""A hit on the screen."""

from __future__ import annotations

from dataclasses import replace
from io import StringIO

from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from pinakes.cli.hit_lines import blocks
from pinakes.cli.screen import printable
from pinakes.core.records import ContextLine, Duplicate, Hit, Neighbour, Scores
from pinakes.search.query.words import places_in
from pinakes.search.results.excerpts import excerpt

HIT = Hit(
    chunk_id="d_1",
    document_id="d",
    collection="notes",
    uri="file:///notes.md",
    path="notes.md",
    title="Notes",
    text="",
    chunk_index=1,
    start_line=9,
    end_line=12,
    heading_path=("Notes",),
    symbols=(),
    score=0.5,
    scores=Scores(),
    matched_by=("vector",),
    metadata={},
)


def screen(width: int = 80) -> Console:
    return Console(file=StringIO(), width=width, highlight=False)


def shown(hit: Hit, width: int = 80) -> list[str]:
    return [line.plain for line in blocks(hit, screen(width))]


def test_lines_have_their_numbers_and_keep_their_inner_indentation() -> None:
    context = (ContextLine(9, "    def f():"), ContextLine(12, "\treturn apple", ((8, 13),)))
    lines = list(blocks(replace(HIT, context=context), screen()))
    assert [line.plain for line in lines] == ["     9  def f():", "    12  return apple"]
    [mark] = [span for span in lines[1].spans if "yellow" in str(span.style)]
    assert lines[1].plain[mark.start : mark.end] == "apple"


def test_neighbours_stand_before_and_after_with_their_numbers() -> None:
    above, below = Neighbour(0, 7, 8, (), "above\n\nbefore it"), Neighbour(2, 13, 13, (), "after it")
    hit = replace(HIT, context=(ContextLine(10, "here"),), neighbours=(above, below))
    assert shown(hit) == ["     7  above", "     9  before it", "    10  here", "    13  after it"]


def test_some_duplicates_are_named_and_the_others_counted() -> None:
    copies = tuple(Duplicate(f"d_{n}", "d", "", f"v{n}.md", 1, n, 0.5) for n in range(2, 7))
    assert shown(replace(HIT, duplicates=copies[:1])) == ["    the same in v2.md:1-2"]
    assert shown(replace(HIT, duplicates=copies)) == ["    the same in v2.md:1-2, v3.md:1-3, v4.md:1-4, 2 more"]


@given(st.text(), st.text(), st.integers(60, 120))
def test_any_chunk_fits_its_frame(text: str, query: str, width: int) -> None:
    hit = replace(HIT, context=excerpt(text, places_in(text, query), most=5).lines)
    lines = list(blocks(hit, screen(width)))
    assert all(line.cell_len <= width and "\n" not in line.plain for line in lines)
    assert len(lines) >= len([line for line in hit.context if line.text.strip()])


@given(st.text())
def test_nothing_printable_steers_the_terminal(text: str) -> None:
    assert not any(ord(char) < 32 and char not in "\n\t" for char in printable(text))
    assert not {"\x1b", "\x9b", "\u202e"} & set(printable(text))
