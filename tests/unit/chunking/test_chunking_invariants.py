"""What must hold for every chunk of every document, whatever its structure."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from pinakes.chunking import Sizing, chunk
from pinakes.chunking.sizing import char_starts, word_starts
from pinakes.core.records import Chunk, Document, Int64
from pinakes.text.syntax_trees import LANGUAGES

ODD = [
    "é",
    "日本語。",
    "𝔘𝔫𝔦",
    "a\u0301",
    "\u200b",
    "\u00a0",
    "\u2028",
    "\x0c",
    "\x1c",
    "\x85",
    "🇩🇪",
    "ß",
    "\ufeff",
    "\r",
]
PROSE = ["word", "Two words.", "A sentence ends here! ", "e.g. this", "x" * 40, " ", "\n", "\n\n", "\t", *ODD]
MARKUP = [
    "# Title\n", "## Part\n", "### Deep\n", "Set\n===\n", "Ext\n---\n", "#\n", "- item\n", "  - inner\n", "1. first\n",
    "```c\nint x;\n\nint y;\n```\n", "~~~\n", "| a | b |\n|---|---|\n", "| 1 | 2 |\n", "> quote\n", "    code\n",
    "***\n", "[ref]: http://x\n", "<div>\n", "Lead:\n", *PROSE,
]  # fmt: skip
COMMENTED = ["<!-- note -->\n", "<!-- long\n\n note -->\n", "<!--", "-->", *MARKUP]
CODE = [
    "int f(int a)\n{\n", "}\n", "if (x) {\n", "/* c */\n", "// c\n", "#ifdef X\n", "#endif\n", "struct s {\n", "};\n",
    "class A:\n", "    def m(self):\n", "        return 1\n", "@dec\n", "# c\n", "'", '"', "(", "`", "fn g() {\n",
    ";\n", "DEFINE_X(a);\n", "export class B {\n", "func h() {\n", "x = 'é'\n", *PROSE,
]  # fmt: skip
RST = ["Title\n=====\n", "====\nOver\n====\n", "Part\n----\n", ".. _label:\n", "::\n", "    literal\n", "``x``", *PROSE]

UNITS = [("words", word_starts), ("chars", char_starts)]


def joined(pieces: list[str]) -> st.SearchStrategy[str]:
    return st.lists(st.sampled_from(pieces) | st.text(max_size=8), max_size=60).map("".join)


def check(document: Document, chunks: list[Chunk], sizing: Sizing, *, all_covered: bool = True) -> None:
    text = document.text
    covered = np.zeros(len(text), bool)
    for ordinal, each in enumerate(chunks):
        assert each.ordinal == ordinal
        assert text[each.start : each.end] == each.text
        assert each.text.strip()
        assert each.text.splitlines()[0].strip()
        assert each.text.splitlines()[-1].strip()
        assert each.start_line == text.count("\n", 0, each.start) + 1
        assert each.end_line == text.count("\n", 0, each.end) + 1
        assert each.token_count == len(sizing.starts(each.embedded_text))
        assert each.token_count <= sizing.size
        covered[each.start : each.end] = True
    starts = [(each.start, each.end) for each in chunks]
    assert starts == sorted(starts)
    if not sizing.overlap:
        assert all(left[1] <= right[0] for left, right in pairwise(starts))
    if all_covered:
        assert [char for char, seen in zip(text, covered, strict=True) if not seen and not char.isspace()] == []
    assert bool(chunks) == bool(text.strip())


@pytest.mark.parametrize(("unit", "starts"), UNITS)
@given(text=joined(MARKUP), size=st.integers(1, 60), share=st.sampled_from([0, 0, 0.2, 0.5]), title=joined(PROSE))
@settings(max_examples=150)
def test_markdown_keeps_every_promise(
    unit: str, starts: Callable[[str], Int64], text: str, size: int, share: float, title: str
) -> None:
    document = Document(text, title)
    sizing = Sizing(size, int(size * share), starts)
    check(document, chunk(document, sizing), sizing, all_covered="<!--" not in text)


@given(text=joined(COMMENTED), size=st.integers(1, 60))
@settings(max_examples=150)
def test_markdown_with_comments_loses_nothing_but_comments_and_headings(text: str, size: int) -> None:
    document = Document(text)
    sizing = Sizing(size, 0, word_starts)
    chunks = chunk(document, sizing)
    check(document, chunks, sizing, all_covered=False)
    assert text.count("item") == 0 or any("item" in each.text for each in chunks) or "<!--" in text


@pytest.mark.parametrize("language", [*LANGUAGES, "cobol", None])
@given(text=joined(CODE), size=st.integers(1, 60))
@settings(max_examples=40)
def test_code_keeps_every_promise(language: str | None, text: str, size: int) -> None:
    document = Document(text, "file", "code", language)
    sizing = Sizing(size, 0, word_starts)
    check(document, chunk(document, sizing), sizing)


@pytest.mark.parametrize("language", [None, "rst", "yaml"])
@pytest.mark.parametrize(("unit", "starts"), UNITS)
@given(text=joined(RST), size=st.integers(1, 60), share=st.sampled_from([0, 0.3]))
@settings(max_examples=60)
def test_text_keeps_every_promise(
    unit: str, starts: Callable[[str], Int64], language: str | None, text: str, size: int, share: float
) -> None:
    document = Document(text, "A title", "text", language)
    sizing = Sizing(size, int(size * share), starts)
    check(document, chunk(document, sizing), sizing)


@given(text=joined(MARKUP), size=st.integers(4, 40), most=st.integers(4, 60))
@example(text="<div>\n# Title\n# Title\n# Title\n    code\n<div>\n0000000000000", size=6, most=40)
@settings(max_examples=100)
def test_both_limits_hold_when_the_unit_is_not_the_models_token(text: str, size: int, most: int) -> None:
    sizing = Sizing(size, 0, word_starts, char_starts, most)
    document = Document(text, "Some title")
    for each in chunk(document, sizing):
        assert len(word_starts(each.embedded_text)) <= size
        assert len(each.embedded_text) <= most
