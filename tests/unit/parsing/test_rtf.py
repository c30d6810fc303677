"""Rich Text Format (RTF) is read as people see it. The files are made here."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from linear import assert_linear

from pinakes import parsing
from pinakes.core.records import Document

HEAD = (
    r"{\rtf1\ansi\ansicpg1252\uc1\deff0{\fonttbl{\f0\fnil\fcharset0 Arial;}{\f1\fnil\fcharset204 Arial;}"
    r"{\f2\fnil\fcharset2 Wingdings;}{\f3\fnil\fcharset128 MS Mincho;}"
    r"{\f4\ftech\fcharset2 Symbol;}{\f5\fnil\fcharset2 Wingdings 2;}{\f6\fnil Symbola;}"
    r"{\f7\fnil Wingdings 3;}{\f8\ftech\fcharset2 SymbolMT;}{\f9\fnil Symbolic Sans;}}"
    r"{\stylesheet{\s0 Normal;}{\s1\outlinelevel0 heading 1;}{\s2 heading 2;}{\*\cs10 Default;}}"
)


def read(body: str | bytes, head: str = HEAD) -> Document:
    data = head.encode() + (body.encode() if isinstance(body, str) else body) + b"}"
    return parsing.read(data, "a.rtf", max_chars=10_000_000)


@pytest.mark.parametrize(
    ("source", "shown"),
    [
        (r"10{\super -9} m", "10⁻⁹ m"),
        (r"2\super 32\nosupersub  bits", "2³² bits"),
        (r"H{\sub 2}O", "H₂O"),
        (r"S{\b ome} info", "Some info"),
        (r"soft\-hyphen and zero\zwbo width", "softhyphen and zerowidth"),
        (r"non\~breaking, hyphen\_ated", "non breaking, hyphen-ated"),
        (r"caf\'e9 \u8364?uro \emdash \ldblquote so\rdblquote", "café €uro —“so”"),
        (r"{\uc0\u233 }t\u233\'e9 \u-10179?\u-8704?", "été 😀"),
        (r"{\f1\'cf\'f0\'e8\'e2\'e5\'f2}", "Привет"),
        (r"{\f3\'93\'fa\'96\'7b}", "日本"),
        (r"{\f2\'fe} done {\f2\'a8} open", "☒ done ☐ open"),
        (r"{\f2 n} plain {\f2\u-3844?} private", "■ plain ✓ private"),
        (r"{\f4 a} \f4 b\f0  c", "α β c"),
        (r"{\f5 P} and {\f5\'52}", "✓ and ☑"),
        (r"{\f6 Chess pieces 12} and {\f7 as\'fc}", "Chess pieces 12 and asü"),
        (r"{\f8 a} {\f9 Symbols}", "α Symbols"),
        (r"{\upr{ansi?}{\*\ud unicode}} text", "unicode text"),
        (r"kept {\deleted gone }{\revised new}", "kept new"),
        (r"an \{escaped\} \\ sign", r"an {escaped} \ sign"),
        (r'{\field{\*\fldinst HYPERLINK "https://a.b/c"}{\fldrslt the link}} on', "[the link](https://a.b/c) on"),
        (r"{\pict\pngblip 89504e47}words", "words"),
        (r"{\*\unknown secret of a program}words", "words"),
        (r"{\shp{\*\shpinst{\sp{\sn a}{\sv b}}{\shptxt In a box\par}}}", "In a box"),
    ],
)
def test_words_and_values_are_those_that_people_see(source: str, shown: str) -> None:
    assert read(rf"\pard {source}\par").text == f"{shown}\n"


def test_hidden_text_is_marked_and_counted() -> None:
    found = read(r"\pard Open {\v secret words} here\par {\v alone}\par")
    assert found.text == "Open [hidden: secret words] here\n\n[hidden: alone]\n"
    assert [(one.code, one.count) for one in found.notes] == [("hidden", 2)]


def test_headings_and_lists_have_their_numbers() -> None:
    text = read(
        r"\pard\s1{\listtext 1\tab}Plan\par\pard\s2{\listtext 1.1\tab}Parts\par\pard\outlinelevel2 Small\par"
        r"\pard{\listtext 1.\tab}One\par{\listtext 2.\tab}Two\par\pard\ilvl1{\pntext a)\tab}Deep\par"
        r"\pard{\listtext\'b7\tab}Dot\par"
    ).text
    assert text == "# 1 Plan\n\n## 1.1 Parts\n\n### Small\n\n1. One\n2. Two\n    - a) Deep\n- Dot\n"


def test_merged_cells_fill_each_row_with_its_key_and_each_column_with_its_name() -> None:
    def row(defined: str, *cells: str) -> str:
        inner = "".join(one + r"\cell " for one in cells)
        return rf"\trowd{defined}\pard\intbl {inner}\row "

    text = read(
        row(r"\trhdr\cellx1000\cellx3000", "Region", "2023")
        + row(r"\trhdr\cellx1000\cellx2000\cellx3000", "", "Q1", "Q2")
        + row(r"\clvmgf\cellx1000\cellx2005\cellx3000", "North", "1", "2")
        + row(r"\clvmrg\cellx1000\cellx2000\cellx3000", "", "3", "4")
        + row(r"\cellx1000\clmgf\cellx2000\clmrg\cellx3000", "South", "5", "")
        + r"\pard After\par"
    ).text
    assert text.splitlines() == [
        "| Region | 2023 / Q1 | 2023 / Q2 |",
        "| --- | --- | --- |",
        "| North | 1 | 2 |",
        "| North | 3 | 4 |",
        "| South | 5 | 5 |",
        "",
        "After",
    ]


def test_notes_comments_headers_and_properties() -> None:
    made = (2024 - 1900) << 20 | 3 << 16 | 5 << 11 | 6 << 6 | 7
    found = read(
        r"{\info{\title My plan}{\author Ada}{\keywords one, two}{\creatim\yr2024\mo1\dy2\hr3\min4}}"
        r"{\header Secret draft\par}{\footer Page \chpgn\par}{\footer {\field{\*\fldinst PAGE}{\fldrslt 7}}\par}"
        r"\pard Words{\footnote The {\i small} print.} end{\*\atnid A}{\*\atnauthor Jo}\chatn{\*\annotation{\*\atndate "
        rf"{made}}}Really?}}\par"
    )
    assert found.text == (
        "Words[^1] end\n\n## Notes\n\n- [^1] The *small* print.\n\n## Comments\n\n- Jo (2024-03-05 06:07): Really?\n\n"
        "## Headers and footers\n\n- Secret draft\n"
    )
    assert found.title == "My plan"
    assert found.metadata == {
        "title": "My plan",
        "authors": ["Ada"],
        "keywords": ["one", "two"],
        "created": "2024-01-02T03:04:00",
    }


@pytest.mark.parametrize(
    ("source", "word"),
    [
        (lambda n: b"{" * (5 * n) + b"words", "words"),
        (lambda n: rb"\bin99999999999 words", None),
        (lambda n: b"}" * (5 * n) + b"words", None),
        (lambda n: rb"{\b a}b" * n + b" words", "words"),
        (lambda n: rb"{\footnote a" * (n // 2) + b"words", "words"),
        (lambda n: rb"\trowd" + rb"\cellx1" * (n // 40) + rb"\intbl x\cell" * n + rb"\row words", "words"),
        (
            lambda n: (
                rb"\trowd\clvmgf\cellx1\intbl x\cell\row\trowd\clvmrg\cellx1\cellx2\intbl\cell y\cell\row" * (n // 4)
                + b" words"
            ),
            "words",
        ),
        (lambda n: rb"\u55357?words \'", "words"),
    ],
    ids=["deep", "binary", "closed", "runs", "notes", "cells", "merged", "half"],
)
def test_unusual_files_lose_no_words_and_take_linear_time(source: Callable[[int], bytes], word: str | None) -> None:
    def parsed(data: bytes) -> None:
        text = read(b"\\pard begun " + data).text
        assert "begun" in text
        assert word is None or word in text

    assert_linear(parsed, source, 10_000)
