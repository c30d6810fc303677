from __future__ import annotations

from pinakes.chunking import Sizing, chunk
from pinakes.chunking.sizing import char_starts, word_starts
from pinakes.core.records import Chunk, Document


def cut(text: str, language: str | None = None, size: int = 20) -> list[Chunk]:
    return chunk(Document(text, kind="text", language=language), Sizing(size, 0, word_starts))


def test_prose_is_cut_between_paragraphs_first() -> None:
    paragraphs = [f"Paragraph {index} has some words. It ends." for index in range(10)]
    for each in cut("\n\n".join(paragraphs)):
        assert set(each.text.split("\n\n")) <= set(paragraphs)


def test_wrapped_lines_of_a_sentence_stay_together() -> None:
    text = "One sentence that goes\nover two lines. " * 10
    assert all(each.text.endswith("lines.") for each in cut(text))


def test_abbreviations_and_lower_case_end_no_sentence() -> None:
    text = "It works with e.g. Alpha beta gamma delta. " * 6
    assert all(each.text.startswith("It works") for each in cut(text))


def test_japanese_sentences_are_cut_behind_their_stop() -> None:
    text = "これは一つの文です。" * 30
    chunks = chunk(Document(text, kind="text"), Sizing(50, 0, char_starts))
    assert [each.text for each in chunks] == ["これは一つの文です。" * 5] * 6


def test_data_is_cut_between_lines() -> None:
    lines = [f"key{index}: Some value. With dots" for index in range(30)]
    chunks = cut("\n".join(lines), "yaml")
    assert [line for each in chunks for line in each.text.split("\n")] == lines


def test_rst_titles_become_heading_paths_by_order_of_style() -> None:
    body = "word " * 15
    text = (
        f".. _top:\n\n=====\nGuide\n=====\n\n{body}\n\nPart ``x``\n------\n\n{body}\n\n"
        f"Deep\n~~~~\n\n{body}\n\nOther\n-----\n\n{body}\n"
    )
    chunks = cut(text, "rst", 25)
    assert [each.heading_path for each in chunks] == [
        ("Guide",),
        ("Guide", "Part x"),
        ("Guide", "Part x", "Deep"),
        ("Guide", "Other"),
    ]
    assert chunks[0].text.startswith(".. _top:\n\n=====\nGuide")


def test_rst_tables_and_literals_make_no_sections() -> None:
    text = (
        "Title\n=====\n\n=====  =====\na      b\n=====  =====\n1      2\n=====  =====\n\ntext::\n\n    x\n    ---\n\n"
        + ("word " * 30)
    )
    assert {each.heading_path for each in cut(text, "rst")} == {("Title",)}


def test_large_texts_of_blanks_are_no_chunks() -> None:
    assert [each.text for each in cut("a" + " " * 100_000 + "\n" * 100_000 + "b")] == ["a", "b"]
