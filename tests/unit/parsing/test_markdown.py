"""Markdown: titles, front matter, true line numbers."""

from __future__ import annotations

import time

import pytest

from pinakes import parsing
from pinakes.core.errors import Empty
from pinakes.core.records import Document


def read(text: str, path: str = "page.md") -> Document:
    return parsing.read(text.encode(), path, max_chars=1_000_000)


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("# Plain title\n\ntext", "Plain title"),
        ("intro\n\n## Second\n\n# First *level* `one` ##\n", "First *level* one"),
        (
            "# KEP-1: **Bold** [link](https://example.org) ![logo](x.png) &amp; more {#anchor}",
            "KEP-1: Bold link logo & more",
        ),
        ("```sh\n# not a title\n```\n\n# Title\n", "Title"),
        ("~~~\n# no\n```\n# no\n~~~\n# Title\n", "Title"),
        ("<!--\n# a comment\n-->\n# Title\n", "Title"),
        ("Title\n=====\n\ntext", "Title"),
        ('<h1 align="center">\n  <b>Title</b>\n</h1>\n', "Title"),
        ("#hashtag is no heading\n\ntext", ""),
        ("## Opens with level two\n\ntext", "Opens with level two"),
        ("some text\n\n## Later level two\n", ""),
        ("no heading at all", ""),
        ("# " + "word " * 60, ("word " * 23).strip() + "…"),
    ],
)
def test_the_title_is_the_first_level_one_heading_outside_code(text: str, title: str) -> None:
    assert read(text).title == title


def test_front_matter_becomes_metadata_and_line_numbers_stay_true() -> None:
    source = "---\ntitle: From the front\nstatus: draft\nweight: 10\nversion: 1.10\ndate: 2024-05-06\n"
    source += "tags: [a, b]\nnested: {x: 1}\n---\n\n# Heading\n\nBody"
    document = read(source)
    assert document.title == "From the front"
    assert document.metadata == {
        "title": "From the front",
        "nested": {"x": 1},
        "status": "draft",
        "weight": 10,
        "version": "1.10",
        "date": "2024-05-06",
        "tags": ["a", "b"],
    }
    assert "status" not in document.text
    assert document.text.split("\n").index("# Heading") == source.split("\n").index("# Heading")


def test_toml_front_matter_is_read_too() -> None:
    document = read('+++\ntitle = "T"\ndate = 2024-05-06\n+++\ntext')
    assert (document.title, document.metadata["date"], document.text) == ("T", "2024-05-06", "\n\n\n\ntext")


def test_broken_front_matter_stays_in_the_text_and_is_reported() -> None:
    document = read("---\ntitle: [unclosed\nstatus: x\n---\n# Heading\n")
    assert document.title == "Heading"
    assert "[unclosed" in document.text
    assert "line" in document.metadata["front_matter_error"]
    assert [note.code for note in document.notes] == ["front-matter"]


@pytest.mark.parametrize("text", ["---\nprose: between, rules?\nand more\n", "---\n\nProse.\n\n---\n\nMore prose.\n"])
def test_thematic_breaks_are_not_front_matter(text: str) -> None:
    document = read(text)
    assert document.text == text
    assert document.metadata == {}


@pytest.mark.parametrize(
    "text",
    [
        "---\n\nNote: bring your own keys to the room.\n\n---\n\n# Play\n",
        "---\nAlice: Hello there.\nBob: Good day!\n---\n\nThey leave.\n",
        "---\nAlice: yes\nBob: no\nAlice: why\n---\n",
        "---\n- one\n- two\n---\n",
        "---\n\nThe file begins with a rule, not with this: keepthis sentence.\n\n---\n",
        "\n---\ntitle: Not on the first line\n---\n",
        "text\n---\ntitle: Not at the beginning\n---\n",
    ],
)
def test_prose_dialogues_and_lists_between_rules_stay_text(text: str) -> None:
    document = read(text)
    assert (document.text, document.metadata, document.notes) == (text, {}, ())


@pytest.mark.parametrize("mark", ["", "\ufeff"])
@pytest.mark.parametrize(
    ("front", "field"),
    [("title: T\n", "title"), ("Owner: team-a\n", "Owner"), ("sidebar: auto\n", "sidebar"), ("\ntags: [a]\n", "tags")],
)
def test_mappings_are_front_matter(mark: str, front: str, field: str) -> None:
    document = read(f"{mark}---\n{front}---\nBody\n")
    assert field in document.metadata
    assert field not in document.text


def test_front_matter_with_a_value_that_is_too_long_for_a_field_stays_in_the_text() -> None:
    document = read("---\ntitle: T\nabstract: " + "many words " * 200 + "end\n---\nBody\n")
    assert "words end" in document.text
    assert document.title == "T"


def test_front_matter_alone_is_nothing_to_read() -> None:
    with pytest.raises(Empty, match="front matter"):
        read("---\ntitle: x\n---\n")


def test_an_alias_bomb_in_front_matter_costs_nothing() -> None:
    lines = ["a: &a [x, x, x, x, x, x, x, x, x]"]
    lines += [f"{b}: &{b} [{', '.join([f'*{a}'] * 9)}]" for a, b in zip("abcdefghij", "bcdefghijk", strict=True)]
    document = read("---\n" + "\n".join(lines) + "\n---\n# Title\n")
    assert document.title == "Title"
    assert set(document.metadata) <= {"a", "b"}


def test_trailing_space_and_blank_lines_are_kept() -> None:
    text = "# T  \n\n\n    code  \ntail\n\n\n"
    assert read(text).text == text
    assert read(text).kind == "markdown"


@pytest.mark.parametrize("body", ["a: " + "x " * 45_000, "a: b\n" * 15_000, '"a' * 40_000, "a: [" * 20_000])
def test_hostile_front_matter_takes_linear_time(body: str) -> None:
    began = time.process_time()
    read(f"---\n{body}\n---\ntext\n")
    assert time.process_time() - began < 3


@pytest.mark.parametrize(
    ("source", "shown"),
    [
        ("co&shy;opera&#173;tion caf&eacute; na&#xEF;ve H&#8322;O", "cooperation café naïve H₂O"),
        ("S**ome** info, **W**izard, un**break**able", "Some info, Wizard, unbreakable"),
        ("*Dino*saur, photo*graph*, *im*possible, possib*ly*.", "Dinosaur, photograph, impossible, possibly."),
        ("un*frigging*believable, width*height*depth, area=rate*time*2, n*log*n", None),
        ("$f*gain*g$ and http://x.y/a*bcd*e, fn foo*bar*baz\n\n| a | b |\n|---|---|\n| rate*time*days | x |", None),
        ("a *slanted* word, `f*oo*bar`, 2*x*y, a*b*c, *.py and src/*.js", None),
        ("S<b>ome</b> w<span class='x'>or</span>d <em>un</em>safe super<wbr>fluous", "Some word unsafe superfluous"),
        ("a &amp; b &lt;c&gt; &mdash; x&nbsp;y &lsqb;", "a &amp; b &lt;c&gt; — x\u00a0y &lsqb;"),
        ("AT&amp;T, R&amp;D, rock&#39;n&rsquo;roll &ldquo;so&rdquo;", "AT&T, R&D, rock'n’roll “so”"),
        (
            "a&amp;lt; &amp;copy; 5&nbsp;&times;&thinsp;3 \\&amp; x&#8232;y",
            "a&amp;lt; &amp;copy; 5\u00a0×\u20093 \\&amp; x&#8232;y",
        ),
        ("`R&amp;D&nbsp;`\n\n    R&amp;D &mdash;\n", None),
        ("2**32 and a **bold** word, <b>bold</b>, f(**kwargs) x*y*z", None),
        ("`caf&eacute;` and ``a**b**c``\n\n```\ncaf&eacute; x**yy**z\n```\n\n> ~~~\n> &shy;\n> ~~~\n", None),
        ("2. ```py\n   y = a**b**c\n   ```\nx**y**z", "2. ```py\n   y = a**b**c\n   ```\nxyz"),
        ("- ```\n  caf&eacute; S<b>o</b>me\n  ```\n\nS<b>o</b>me", "- ```\n  caf&eacute; S<b>o</b>me\n  ```\n\nSome"),
        ("```\t\na**b**c\n```\t\nx**y**z", "```\t\na**b**c\n```\t\nxyz"),
        ("1. x\n\n       a**b**c &eacute;\n\n   x**y**z", "1. x\n\n       a**b**c &eacute;\n\n   xyz"),
        ("\tü = a**b**c\n\nx**y**z", "\tü = a**b**c\n\nxyz"),
        (
            "<pre>\ncaf&eacute; x**y**z\n\nu<b>b</b>u\n</pre>\nx**y**z",
            "<pre>\ncaf&eacute; x**y**z\n\nu<b>b</b>u\n</pre>\nxyz",
        ),
        ("`a**b**\nc**d**e &eacute;` ü**y**z", "`a**b**\nc**d**e &eacute;` üyz"),
        (
            "\\&eacute; \\\\&eacute; x**y\\**z <!-- a**b**c &eacute; -->",
            "\\&eacute; \\\\é x**y\\**z <!-- a**b**c &eacute; -->",
        ),
        ("<td>caf&eacute; un<b>be</b>kannt a**b**c</td>", "<td>café unbekannt a**b**c</td>"),
        ("[l&uuml;x](http://a/?b&copy;=1) | caf&eacute; |", "[lüx](http://a/?b&copy;=1) | café |"),
    ],
)
def test_words_that_marks_cut_are_whole_and_code_stays(source: str, shown: str | None) -> None:
    assert read(source).text.rstrip("\n") == (source if shown is None else shown).rstrip("\n")


NESTED = ["x**y**z > ", "x**y**z [", "&shy;\n- ```\n", "<pre>\n\n&shy;"]


@pytest.mark.parametrize(
    "text", ["**a", "a**", "&a", "```\n", "`a", "<b>a", "<b " * 3, "x<wbr>", "&shy;", "a**b**", *NESTED]
)
def test_marks_without_end_take_linear_time(text: str) -> None:
    started = time.process_time()
    read(text * (300_000 // len(text)))
    assert time.process_time() - started < 5
