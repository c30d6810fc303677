"""Web pages: values and words as people see them."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st
from linear import assert_linear

from pinakes.parsing import read
from pinakes.parsing.page_tables import with_spans
from pinakes.parsing.page_values import with_values


def text_of(body: str) -> str:
    return read(f"<html><body>{body}</body></html>".encode(), "a.html", max_chars=1_000_000).text.strip()


@pytest.mark.parametrize(
    ("body", "text"),
    [
        ("10<sup>-9</sup> m", "10⁻⁹ m"),
        ("2<sup><b>32</b></sup>", "2³²"),
        ("H<sub>2</sub>O", "H₂O"),
        ("x<sub>max</sub>", "x_max"),
        ("harbour<sup>1</sup> wall", "harbour[1] wall"),
        ("harbour<sup class=reference><a href='#n1'>[1]</a></sup>.", "harbour[1]."),
        ("m<sup><a href='#fn2'>2</a></sup>", "m[2]"),
        ("the 21<sup>st</sup> day", "the 21st day"),
    ],
)
def test_scripts_are_characters_and_notes_stand_apart(body: str, text: str) -> None:
    assert text_of(f"<p>{body}</p>") == text


@pytest.mark.parametrize(
    ("body", "text"),
    [
        ("<b>S</b>ome info", "Some info"),
        ("<i>I</i>tem A", "Item A"),
        ("f<strong><em>oo</em></strong>d", "food"),
        ("l<mark>a</mark>st", "last"),
        ("so<wbr>ft, hy&shy;phen, ze&#8203;ro, jo&#x2060;in", "soft, hyphen, zero, join"),
        ("<span style='float:left'>O</span>nce", "Once"),
        ("a <b>bold</b> word", "a **bold** word"),
        ("the <a href='x'>tortoise</a>s", "the [tortoises](x)"),
        ("un<a href='x'>seen</a>", "[unseen](x)"),
        ("caf&eacute;<b>s</b>", "cafés"),
    ],
)
def test_no_word_is_cut_by_marks(body: str, text: str) -> None:
    assert text_of(f"<p>{body}</p>") == text


@pytest.mark.parametrize(
    ("body", "text"),
    [
        (
            "<ul><li><input type=checkbox checked> done</li><li><input type='checkbox'> open</li></ul>",
            "- ☒ done\n- ☐ open",
        ),
        ("<p><input type=radio checked>Yes <input type=radio>No</p>", "☒ Yes ☐ No"),
        ("<p>Name: <input value='Zelda &amp; Co'></p>", "Name: Zelda & Co"),
        ("<p>Size <select><option>S<option selected>M</select></p>", "Size ☐ S ☒ M"),
        ("<p>Key <input type=password value=x><input type=hidden value=y></p>", "Key"),
    ],
)
def test_forms_show_what_they_hold(body: str, text: str) -> None:
    assert text_of(body) == text


@pytest.mark.parametrize(
    ("body", "text"),
    [
        ("<ol start=3><li>three<li>four</ol>", "3. three\n4. four"),
        ("<ol><li>one</li><li value=7>seven</li><li>eight</li></ol>", "1. one\n\n7. seven\n8. eight"),
        ("<ol type=a start=2><li>b<li>c</ol>", "- b. b\n- c. c"),
        ("<math><mfrac><mi>a</mi><mi>b</mi></mfrac></math>", "a/b"),
        ("<math><msup><mi>x</mi><mrow><mi>n</mi><mo>+</mo><mn>1</mn></mrow></msup></math>", "x^(n+1)"),
        ("<math><msubsup><mi>x</mi><mi>i</mi><mn>2</mn></msubsup><msqrt><mn>2</mn></msqrt></math>", "x_i^2√2"),
        (
            "<math><semantics><mfrac><mrow><mi>p</mi><mo>+</mo><mi>q</mi></mrow><mi>r</mi></mfrac>"
            "<annotation>\\frac{p+q}{r}</annotation></semantics></math>",
            "(p+q)/r",
        ),
        ("<math><mn>3</mn><mfrac><mn>1</mn><mn>2</mn></mfrac></math>", "3 1/2"),
        ("<math><munderover><mo>∑</mo><mi>i</mi><mi>n</mi></munderover><mi>x</mi></math>", "∑_i^n x"),
        ("<math><mrow><msup><mi>x</mi><mn>2</mn></msup></mrow><mn>5</mn></math>", "x^2 5"),
        ("<math><msup><mi>x</mi><mn>2</mn></msup><mo>+</mo><mn>5</mn></math>", "x^2+5"),
        ("<math><msqrt><mn>2</mn></msqrt><mi>x</mi><mroot><mi>y</mi><mn>3</mn></mroot></math>", "√2 x y^(1/3)"),
        ("<math><mn>2</mn><mi>x</mi></math>", "2x"),
        ("<ol reversed><li>three<li>two<li>one</ol>", "- 3. three\n- 2. two\n- 1. one"),
        ("<ol reversed start=10><li>a<li value=5>b<li>c</ol>", "- 10. a\n- 5. b\n- 4. c"),
        ("<ol type=A reversed><li>c<li>b<li>a</ol>", "- C. c\n- B. b\n- A. a"),
        ("<ol type=I><li>x<li>y</ol>", "- I. x\n- II. y"),
    ],
)
def test_items_have_the_numbers_that_people_see(body: str, text: str) -> None:
    assert text_of(body) == text


@pytest.mark.parametrize(
    ("table", "rows"),
    [
        (
            "<tr><th>Land</th><th>City</th></tr><tr><td rowspan=2>A</td><td>b</td></tr><tr><td>c</td></tr>",
            ["| Land | City |", "| A | b |", "| A | c |"],
        ),
        (
            "<thead><tr><th rowspan=2>Name</th><th colspan=2>2023</th></tr><tr><th>Q1</th><th>Q2</th></tr></thead>"
            "<tr><td>A</td><td>1</td><td>2</td></tr>",
            ["| Name | 2023 / Q1 | 2023 / Q2 |", "| A | 1 | 2 |"],
        ),
        (
            "<tr><th>a</th><th>b</th><th>c</th></tr><tr><td colspan=3>North</td></tr><tr><td>1</td><td>2</td><td>3</td></tr>",  # noqa: E501
            ["| North |  |  |", "| 1 | 2 | 3 |"],
        ),
        (
            "<caption>Rates</caption><tr><th>a</th><th>b</th></tr><tr><td rowspan=0>x</td><td>1</td></tr><tr><td>2</td></tr>",  # noqa: E501
            ["*Rates*", "| x | 1 |", "| x | 2 |"],
        ),
    ],
)
def test_cells_that_span_others_stand_in_each_row(table: str, rows: list[str]) -> None:
    lines = text_of(f"<table>{table}</table>").split("\n")
    assert not set(rows) - set(lines), lines


@given(
    st.lists(
        st.sampled_from(
            [
                "<b>",
                "</b>",
                "<sup>",
                "</sup>",
                "<a href=x>",
                "</a>",
                "<td colspan=2>",
                "<tr>",
                "</tr>",
                "<table>",
                "</table>",
                "<li value=3>",
                "<ol type=a>",
                "</ol>",
                "<input checked type=checkbox>",
                "<p>",
                "alpha",
                "Beta ",
                "7",
                " gamma,",
            ]
        ),
        max_size=40,
    )
)
def test_no_letter_of_a_page_is_lost(parts: list[str]) -> None:
    written = "".join(char for part in parts if not part.startswith("<") for char in part if char.isalpha())
    changed = with_spans(with_values("".join(parts)))
    shown = "".join(changed.replace("<", ">").split(">")[::2])
    for letter in set(written):
        assert shown.count(letter) >= written.count(letter)


@pytest.mark.parametrize(
    "hostile",
    [
        lambda n: "<sup>1" * n,
        lambda n: "<b>a" * n,
        lambda n: "<a href=x>b</a>" * n,
        lambda n: "<table>" + "<tr><td colspan=1000 rowspan=1000>x" * (n // 20),
        lambda n: "<table><tr>" + "<td>a" * n,
        lambda n: "<table><thead>" + "<tr><th>a" * n,
        lambda n: "<ol type=a>" * n,
        lambda n: "<li value=1>" * n,
        lambda n: "<form>" * n,
        lambda n: "&shy" * n,
        lambda n: "</a-" + "a-" * (5 * n),
        lambda n: ("</a-b>" + "\n" * 500) * (n // 10),
    ],
)
def test_pages_that_are_made_to_be_slow_take_linear_time(hostile: Callable[[int], str]) -> None:
    def change(page: str) -> None:
        assert len(with_spans(with_values(page))) < 20_000_000

    assert_linear(change, hostile, 8_000)


@pytest.mark.parametrize(
    "row",
    ["<tr><td>one<td>two<td>three</tr>", "<TR><TH>one<TD>two<TD>three</TR>", "<tr><td>one<td>two</td><td>three"],
)
def test_cells_that_a_page_leaves_open_are_read_all(row: str) -> None:
    assert text_of(f"<table>{row}</table>").startswith("| one | two | three |")


@pytest.mark.parametrize(
    ("body", "shown"),
    [
        (
            "<form id=aspnetForm action=x.aspx><h1>Prices</h1><p>All of the page.</p></form>",
            "# Prices\n\nAll of the page.",
        ),
        ("<p>before<form><p>within</form><p>after", "before\n\nwithin\n\nafter"),
        (
            "<table><tr><th>A<th>B</tr><FORM action=x><tr><td>one<td>two<input value=3></tr></FORM></table>",
            "| one | two 3 |",
        ),
        ("<form><label>Name</label><input value=Zelda></form>", "Name\n\nZelda"),
        (
            "<p><input value=Ada>\n<label>Country <select><option selected>Norway</select></label></p>",
            "Ada Country ☒ Norway",
        ),
        ("<form>never closed", "never closed"),
        ("<my-form>x</my-form> <formula>y</formula>", "x y"),
    ],
)
def test_the_text_of_forms_is_read(body: str, shown: str) -> None:
    assert shown in text_of(body)


@pytest.mark.parametrize(
    ("body", "shown"),
    [
        ("<font>Ada</font>\n<font>Lovelace</font>", "Ada Lovelace"),
        ("<user-name>Ada</user-name>\n  <user-name>Lovelace</user-name>", "Ada Lovelace"),
        ("<st1:City>Paris</st1:City>\n<st1:place>France</st1:place>", "Paris France"),
        ("<tt>one</tt>\n<big>two</big>", "one two"),
        ("<my-part>S</my-part><my-part>ome</my-part>", "Some"),
        ("<p><img src='a' alt='one tree'> <img src='b' alt='two trees'></p>", "one tree two trees"),
        ("<p><img src='a' alt='one'>\n<img src='b' alt='two'>\n<img src='c' alt='three'></p>", "one two three"),
    ],
)
def test_a_line_break_between_elements_parts_their_words(body: str, shown: str) -> None:
    assert text_of(body) == shown


@pytest.mark.parametrize(
    ("body", "shown"),
    [
        (
            "<pre><font>def f():</font>\n    <font>return 1</font>\n\n    <font>x</font></pre>",
            "```\ndef f():\n    return 1\n\n    x\n```",
        ),
        ("<PRE class=c><tt>a</tt>\n  <tt>b</tt></PRE><tt>c</tt>\n<tt>d</tt>", "```\na\n  b\n```\n\nc d"),
        ("<pre><c-k>if</c-k>\n  <c-k>go</c-k>", "```\nif\n  go\n```"),
    ],
)
def test_line_breaks_of_preformatted_text_stay(body: str, shown: str) -> None:
    assert text_of(body) == shown


@pytest.mark.parametrize(
    ("body", "shown"),
    [
        ("<b>Name:</b>\n<font>Value</font>", "**Name:** Value"),
        ("<a href='http://a.b/c'>Link</a>\n  <nobr>next</nobr>", "[Link](http://a.b/c) next"),
        ("<i>see</i>\n<my-part>this</my-part>", "*see* this"),
        ("<noindex>one</noindex>\n<noindex>two</noindex>\n<portal>three</portal>", "one two three"),
        ("<i>a</i><font>b</font>", "ab"),
    ],
)
def test_a_line_break_before_an_unusual_element_parts_words(body: str, shown: str) -> None:
    assert text_of(body) == shown


@pytest.mark.parametrize("text", ["<pre>", "<pre ", "</pre ", "<textarea", "<b>\n", "\n", "></font>\n", "<a-", ">\n<x"])
def test_elements_without_end_take_linear_time(text: str) -> None:
    assert_linear(with_values, lambda chars: text * (chars // len(text)), 100_000)


@pytest.mark.parametrize(
    ("rows", "loose"),
    [
        ("<tr>loose text<td>a</td><td>b</td></tr><tr><td>c</td><td>d</td></tr>", "loose text"),
        ("<tr><td>a</td><td>b</td></tr><tr><td>c</td>mid<td>d</td>after</tr>", "mid\n\nafter"),
        ("<tr><td>a</td>&nbsp;<td>b</td></tr>between<tr><td>c</td> <td>d</td></tr>end", "between\n\nend"),
    ],
)
def test_text_of_a_row_outside_of_its_cells_stands_before_the_table(rows: str, loose: str) -> None:
    assert text_of(f"<table>{rows}</table>") == f"{loose}\n\n| a | b |\n| --- | --- |\n| c | d |"
