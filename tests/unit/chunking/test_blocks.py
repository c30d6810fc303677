"""The blocks of Markdown, with the lines they stand on."""

from __future__ import annotations

import numpy as np
import pytest

from pinakes.chunking.markdown_blocks import MarkdownBlock, blocks


def _blocks(text: str) -> list[MarkdownBlock]:
    ends = [place + 1 for place, char in enumerate(text) if char == "\n"]
    starts = [0, *ends] if text.endswith("\n") else [0, *ends, len(text)]
    return blocks(text, np.array(starts, np.int64))


def _lines(text: str) -> list[tuple[str, int, int, int]]:
    return [(one.kind, one.level, one.first, one.last) for one in _blocks(text)]


def test_each_block_has_its_lines() -> None:
    text = "# One\n\ntwo\ntwo\n\n```py\n\n```\n\n    code\n\n<!-- no -->\n\n***\n"
    assert _lines(text) == [
        ("heading", 0, 0, 1),
        ("paragraph", 0, 2, 4),
        ("fence", 0, 5, 8),
        ("code", 0, 9, 10),
        ("html", 0, 11, 12),
        ("rule", 0, 13, 14),
    ]


def test_offsets_count_characters() -> None:
    text = "Größe 𝄞 ∞\n\nÄ\n\n# Überschrift\n"
    assert [text[one.start : one.end].strip() for one in _blocks(text)] == ["Größe 𝄞 ∞", "Ä", "# Überschrift"]


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("# The *new* `x`", "The new x"),
        ("## A [link](http://x) &amp; ![a picture](y.png) <b>bold</b>", "A link & a picture bold"),
        ("Two\nlines\n=====", "Two lines"),
        ("# \\# 1 ##", "# 1"),
        ("#", ""),
    ],
)
def test_a_heading_says_what_people_read(text: str, name: str) -> None:
    [heading] = _blocks(text)
    assert heading.kind == "heading"
    assert heading.name.strip() == name


def test_items_hold_paragraphs_whether_blank_lines_part_them_or_not() -> None:
    assert _lines("- a\n  - b\n    more\n\n- c\n\n  d\n\nend\n") == [
        ("list", 0, 0, 7),
        ("item", 1, 0, 3),
        ("paragraph", 2, 0, 1),
        ("list", 2, 1, 3),
        ("item", 3, 1, 3),
        ("paragraph", 4, 1, 3),
        ("item", 1, 4, 7),
        ("paragraph", 2, 4, 5),
        ("paragraph", 2, 6, 7),
        ("paragraph", 0, 8, 9),
    ]


def test_an_empty_item_is_a_line() -> None:
    assert _lines("- a\n-\n") == [("list", 0, 0, 2), ("item", 1, 0, 1), ("paragraph", 2, 0, 1), ("item", 1, 1, 2)]


def test_items_behind_tabs_begin_on_their_own_lines() -> None:
    assert [one[1:] for one in _lines("* a:\n\t* b\n\t* c\n") if one[0] == "item"] == [(1, 0, 3), (3, 1, 2), (3, 2, 3)]


def test_a_tab_behind_a_fence_does_not_keep_it_open() -> None:
    assert _lines("```\nx\n```\t\t\n\ntext\n") == [("fence", 0, 0, 3), ("paragraph", 0, 4, 5)]


def test_a_stray_carriage_return_ends_no_line() -> None:
    assert _lines("a\rb\n\nc\n") == [("paragraph", 0, 0, 1), ("paragraph", 0, 2, 3)]


def test_half_a_surrogate_pair_is_text() -> None:
    assert _lines("a \ud800\n\n# b\n") == [("paragraph", 0, 0, 1), ("heading", 0, 2, 3)]


class TestTables:
    def test_a_table_reaches_to_the_next_blank_line(self) -> None:
        assert _lines("| a | b |\n|---|:-:|\n| 1 | 2 |\nand more\n\ntext") == [
            ("table", 0, 0, 4),
            ("paragraph", 0, 5, 6),
        ]

    def test_a_table_needs_no_edges_and_may_follow_a_paragraph(self) -> None:
        assert _lines("Said:\na | b\n--|--\n1 | 2 \n") == [("paragraph", 0, 0, 1), ("table", 0, 1, 4)]

    @pytest.mark.parametrize(
        "text", ["a | b\n---\n1 | 2\n", "| a | b |\n|---|\n| 1 |\n", "a\n:-\nb\n", "|---|---|\n| 1 | 2 |\n"]
    )
    def test_what_has_no_names_above_as_many_dashes_is_none(self, text: str) -> None:
        assert "table" not in [kind for kind, *_ in _lines(text)]

    def test_a_rule_below_a_table_makes_no_heading_of_it(self) -> None:
        assert _lines("| a | b |\n|---|---|\n| 1 | 2 |\n---\n") == [("table", 0, 0, 3), ("rule", 0, 3, 4)]

    def test_a_line_of_equal_signs_is_a_row(self) -> None:
        assert _lines("| a | b |\n|---|---|\n| 1 | 2 |\n===\n") == [("table", 0, 0, 4)]

    def test_tables_stand_in_items_and_quotes(self) -> None:
        assert ("table", 2, 0, 3) in _lines("- | a | b |\n  |---|---|\n  | 1 | 2 |\n- x\n")
        assert ("table", 1, 0, 3) in _lines("> | a | b |\n> |---|---|\n> | 1 | 2 |\n")
        assert ("table", 3, 2, 5) in _lines("> - x\n>\n>   | a | b |\n>   |---|---|\n>   | 1 | 2 |\n")

    def test_bars_in_cells_do_not_part_them(self) -> None:
        assert _lines("| a \\| b | c |\n|---|---|\n| 1 | 2 |\n") == [("table", 0, 0, 3)]
