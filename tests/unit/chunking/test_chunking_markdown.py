from __future__ import annotations

import time
from itertools import pairwise

import pytest
from linear import assert_linear

from pinakes.chunking import Sizing, chunk
from pinakes.chunking.sizing import word_starts
from pinakes.core.records import Chunk, Document


def cut(text: str, size: int = 40, *, overlap: int = 0, title: str = "") -> list[Chunk]:
    return chunk(Document(text, title), Sizing(size, overlap, word_starts))


def words(count: int, word: str = "word") -> str:
    return " ".join([word] * count)


def sentences(count: int, name: str = "Alpha") -> str:
    return " ".join(f"{name} number {index} is here." for index in range(count))


def test_a_small_document_is_one_chunk_with_its_first_heading() -> None:
    [only] = cut("# Guide\n\nSome text.\n\n## Part\n\nMore.\n")
    assert only.text == "# Guide\n\nSome text.\n\n## Part\n\nMore."
    assert (only.start_line, only.end_line, only.heading_path) == (1, 7, ("Guide",))


def test_a_blank_document_has_no_chunks() -> None:
    assert cut(" \n\n\t\n") == []


def test_a_chunk_does_not_cross_into_the_next_section() -> None:
    chunks = cut(f"# A\n\n{words(25, 'one')}\n\n# B\n\n{words(25, 'two')}\n")
    assert [each.heading_path for each in chunks] == [("A",), ("B",)]
    assert all("two" not in each.text for each in chunks if each.heading_path == ("A",))


def test_tiny_neighbours_under_one_parent_are_joined() -> None:
    text = f"# Top\n\n{words(36)}\n\n## A\n\none\n\n## B\n\ntwo\n\n## C\n\n{words(34)}\n"
    chunks = cut(text)
    assert [each.heading_path for each in chunks] == [("Top",), ("Top",), ("Top", "C")]
    assert chunks[1].text == "## A\n\none\n\n## B\n\ntwo"


def test_tiny_sections_of_different_parents_stay_apart() -> None:
    text = f"# P\n\n{words(30)}\n\n## A\n\none\n\n# Q\n\n## B\n\ntwo\n\n## C\n\n{words(30)}\n"
    for each in cut(text):
        assert not ("one" in each.text and "two" in each.text)


def test_a_heading_stays_with_its_text() -> None:
    text = f"# Top\n\n{words(35)}\n\n## Empty\n\n### Deep\n\n{sentences(20)}\n"
    chunks = cut(text)
    deep = next(each for each in chunks if "### Deep" in each.text)
    assert deep.text.startswith("## Empty\n\n### Deep\n\nAlpha")
    assert deep.heading_path == ("Top", "Empty", "Deep")


def test_a_table_is_rather_cut_between_rows_than_parted_from_its_heading() -> None:
    rows = [f"| {words(3, f'r{number}')} | {words(3, f's{number}')} |" for number in range(5)]
    table = "\n".join(["| a | b |", "|---|---|", *rows])
    chunks = cut(f"# Top\n\n{words(30)}\n\n## Tools\n\n{table}\n", len(table.split()) + 3)
    first = next(each.text for each in chunks if "## Tools" in each.text)
    assert first.startswith("\n".join(["## Tools", "", "| a | b |", "|---|---|", rows[0]]))
    assert f"{first}\n{chunks[-1].text}".endswith("\n".join(rows))


def test_empty_headings_at_the_end_go_with_the_text_before() -> None:
    chunks = cut(f"# Top\n\n{sentences(12)}\n\n## Drawbacks\n\n## Alternatives\n")
    assert chunks[-1].text.endswith("## Drawbacks\n\n## Alternatives")
    assert "Alpha" in chunks[-1].text


def test_a_document_of_one_heading_is_a_chunk() -> None:
    [only] = cut("# Only\n")
    assert (only.text, only.header) == ("# Only", "")


def test_heading_paths_have_no_markup_and_know_setext() -> None:
    text = f"My *big* [guide](http://x) `v1`\n====\n\n{words(30)}\n\nPart &amp; \\* two\n----\n\n{words(30)}\n"
    chunks = cut(text)
    assert chunks[0].heading_path == ("My big guide v1",)
    assert chunks[-1].heading_path == ("My big guide v1", "Part & * two")


def test_a_heading_in_a_fence_or_quote_is_no_section() -> None:
    text = f"# A\n\n```sh\n# not\n```\n\n> # nor this\n\n{sentences(20)}\n"
    assert {each.heading_path for each in cut(text)} == {("A",)}


def test_a_code_fence_is_never_cut() -> None:
    fence = "```py\n" + "\n\n".join(f"line {index}" for index in range(14)) + "\n```"
    for before in range(5, 60, 3):
        chunks = cut(f"{words(before)}\n\n{fence}\n\n{words(20)}\n")
        assert [each for each in chunks if fence in each.text], before


def test_a_fence_larger_than_a_chunk_is_cut_at_line_ends() -> None:
    lines = [f"call number {index}" for index in range(60)]
    chunks = cut("```\n" + "\n".join(lines) + "\n```\n")
    assert len(chunks) > 2
    assert [line for each in chunks for line in each.text.splitlines()] == ["```", *lines, "```"]


def test_a_table_row_is_never_cut_and_the_head_keeps_its_first_row() -> None:
    rows = [f"| cell {index} | {words(6)} |" for index in range(20)]
    chunks = cut("| a | b |\n|---|---|\n" + "\n".join(rows) + "\n")
    assert chunks[0].text.startswith("| a | b |\n|---|---|\n| cell 0 ")
    assert [line for each in chunks for line in each.text.splitlines()][2:] == rows


def test_lists_are_cut_between_items() -> None:
    items = [f"- item {index}: {words(9)}" for index in range(12)]
    for each in cut("\n".join(items) + "\n"):
        assert each.text.startswith("- item")
        assert set(each.text.split("\n")) <= set(items)


def test_a_line_with_a_colon_stays_with_its_list() -> None:
    chunks = cut(f"{words(15)}\n\nThese are:\n\n- {words(12)}\n- {words(12)}\n")
    assert chunks[1].text.startswith("These are:")


def test_a_long_paragraph_is_cut_between_sentences() -> None:
    chunks = cut(sentences(30))
    assert len(chunks) > 3
    assert all(each.text.startswith("Alpha") and each.text.endswith("here.") for each in chunks)


def test_the_end_of_a_section_is_no_crumb() -> None:
    counts = [each.token_count for each in cut(sentences(9), 40)]
    assert sum(counts) == 45
    assert min(counts) >= 20


def test_a_long_sentence_is_cut_between_words_and_a_long_word_inside() -> None:
    assert [each.token_count for each in cut(words(100))] == [34, 34, 32]
    blob = "A1b2" * 3000
    assert "".join(each.text for each in cut(blob)) == blob


def test_comments_between_blocks_are_left_out() -> None:
    comment = f"<!-- {words(30, 'write')} -->"
    text = f"# A\n\n{comment}\n\nReal text that says something.\n\n<!-- x --> \n\n## B\n\nMore <!-- kept --> text.\n"
    chunks = cut(text, 30)
    assert [each.text for each in chunks] == ["Real text that says something.", "## B\n\nMore <!-- kept --> text."]
    assert chunks[0].header == "A"
    assert chunks[0].heading_path == ("A",)


CONTENTS = """\
- [Summary](#summary)
- [Design &amp; <code>API</code>](#design--api)
  - [The `kube\\_proxy` field](#the-kube_proxy-field)
"""
SECTIONS = """\
## Summary

One two three four five six.

## Design & `API`

### The kube_proxy field

Seven eight nine ten eleven.
"""


BULLETED = CONTENTS.replace("- [", "* [")


@pytest.mark.parametrize("contents", [CONTENTS, BULLETED, f"<!-- toc -->\n{CONTENTS}<!-- /toc -->\n"])
def test_a_table_of_contents_is_left_out(contents: str) -> None:
    chunks = cut(f"# Guide\n\nAn opening.\n\n{contents}\n{SECTIONS}", 20)
    summary, design = SECTIONS.strip().split("\n\n## Design")
    assert [each.text for each in chunks] == ["# Guide\n\nAn opening.", summary, f"## Design{design}"]


@pytest.mark.parametrize(
    "line",
    [
        "- [Retry budget](#summary)",
        "- [Summary](#summary) says why",
        "- [Summary](https://example.org/#summary)",
        "- [Summary](other.md#summary)",
        "- [Summary](#/admin/summary)",
        "- [Summary](#E1042)",
        "- Summary",
    ],
)
def test_a_list_that_says_more_than_the_headings_is_kept(line: str) -> None:
    chunks = cut(f"# Guide\n\n{CONTENTS}{line}\n\n{SECTIONS}", 30)
    assert any(line in each.text for each in chunks)


def test_a_list_of_links_to_some_of_the_headings_is_kept() -> None:
    chunks = cut(f"# Guide\n\nRead this first:\n\n1. [Summary](#summary)\n\n{SECTIONS}", 20)
    assert "first:\n\n1. [Summary](#summary)" in chunks[0].text


def test_a_numbered_heading_or_anchor_may_be_in_a_table_of_contents() -> None:
    contents = "- [Story 1](#story-1)\n- [Notes](#notes)\n- [Notes](#notes-1)\n"
    stories = "## Story 1\n\nOne.\n\n## Notes\n\nTwo.\n\n## Notes\n\nThree.\n"
    chunks = cut(f"# Guide\n\nAn opening.\n\n{contents}\n{stories}", 20)
    assert not any("#story" in each.text for each in chunks)


@pytest.mark.parametrize("unit", ["# A\n\n- [A](#a)\n\n", "# A{}\n\n- [A{}](#a{})\n\n"])
def test_many_lists_of_links_take_linear_time(unit: str) -> None:
    assert_linear(cut, lambda size: "".join(unit.format(*[at] * 3) for at in range(size)), 3_000)


def test_a_short_comment_does_not_part_a_heading_from_its_text() -> None:
    text = "# A\n\n<!-- write here -->\n\nReal text that says something.\n"
    assert [each.text for each in cut(text)] == [text.strip()]


@pytest.mark.parametrize("said", ["N/A", "No.", "TBD", "yes", "[issue](https://example.org/a/b/c)", "- 12"])
def test_what_says_nothing_without_its_heading_keeps_it_over_a_long_comment(said: str) -> None:
    comment = f"<!-- {words(20, 'instruction')} -->"
    text = f"# A\n\n{words(30)}\n\n## Monitoring\n\n{comment}\n\n{said}\n\n<!-- more -->\n"
    assert cut(text)[-1].text == f"## Monitoring\n\n{comment}\n\n{said}"


@pytest.mark.parametrize("said", ["N/A", "No.", "TBD", "None", "https://example.org/a/b"])
def test_what_says_nothing_is_no_chunk_of_its_own(said: str) -> None:
    long = f"{words(30)}. {words(30)}."
    for text in (
        f"# A\n\n{long}\n\n## Drawbacks\n\n{said}\n\n## Alternatives\n\n{long}\n",
        f"# A\n\n{long}\n\n## B\n\n{long}\n\n## Drawbacks\n\n{said}\n",
        f"# Drawbacks\n\n{said}\n\n## Why\n\n### Deep\n\n{long}\n",
        f"# A\n\n## Drawbacks\n\n{said}\n\n# B\n\n## Why\n\n{long}\n",
    ):
        chunks = cut(text)
        for each in chunks:
            assert each.token_count <= 40
            assert len(each.text.split()) > 5
        [holder] = [each for each in chunks if said in each.text]
        assert f"Drawbacks\n\n{said}" in holder.text


def test_a_heading_over_nothing_but_a_comment_is_left_out() -> None:
    text = "# A\n\nsome text\n\n<!-- b -->\n\n## Empty\n\n<!-- c -->\n"
    assert [each.text for each in cut(text)] == ["# A\n\nsome text"]


def test_a_document_of_comments_is_still_chunked() -> None:
    assert [each.text for each in cut("<!-- only this -->\n")] == ["<!-- only this -->"]


def test_the_header_does_not_repeat_the_title() -> None:
    text = f"# The Guide\n\n## Part\n\n### One\n\n{words(20)}\n\n### Two\n\n{words(20)}\n"
    assert cut(text, title="the guide")[-1].header == "the guide > Part > Two"
    assert cut(text, title="Other")[-1].header == "Other > The Guide > Part > Two"


def test_a_heading_without_end_takes_no_time() -> None:
    start = time.process_time()
    chunks = cut("# " + "A. " * 8000 + "\n\ntext x", 400, title="")
    assert time.process_time() - start < 2
    assert all(chunk.header.startswith("A. A.") for chunk in chunks[1:])


def test_a_long_header_drops_its_middle_then_words() -> None:
    text = f"# Guide\n\n## {words(3, 'mid')}\n\n### Deep\n\n{words(30)}\n\n### Last one\n\n{words(30)}\n"
    assert cut(text, 35, title="Title")[-1].header == "Title > Last one"
    [only] = cut(f"# {words(30, 'heading')}\n\ntext\n", 50, title=words(30, "title"))
    assert only.header == "title title title title > heading heading heading heading heading"
    assert only.token_count <= 50


def test_overlap_repeats_the_last_sentences_of_the_section_only() -> None:
    text = f"# A\n\n{sentences(20)}\n\n# B\n\n{sentences(20, 'Beta')}\n"
    chunks = cut(text, overlap=10)
    for left, right in pairwise(chunks):
        if left.heading_path == right.heading_path:
            assert right.start < left.end
            assert text[right.start : left.end].count("here.") in (1, 2)
        else:
            assert right.start >= left.end


def test_overlap_does_not_begin_inside_a_fence() -> None:
    fence = "```\n" + "\n".join(f"code {index}" for index in range(15)) + "\n```"
    chunks = cut(f"{fence}\n\n{sentences(20)}\n", overlap=10)
    assert chunks[0].text == fence
    assert chunks[1].text.startswith("Alpha")
