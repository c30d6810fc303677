"""What a converter would lose of Word documents is there, and where it belongs. The files are made here."""

from __future__ import annotations

import contextlib
import time

import pytest
from small_docx import docx, paragraph, zipped
from small_pptx import relations

from pinakes import parsing
from pinakes.core.errors import Unreadable

MATH = 'xmlns:m="http://schemas.openxmlformats.org/officeDocument/2006/math"'
WORD = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
HALF = "<m:f><m:num><m:r><m:t>1</m:t></m:r></m:num><m:den><m:r><m:t>2</m:t></m:r></m:den></m:f>"


def read(body: str, **more: bytes) -> str:
    return parsing.read(docx(body, **more), "a.docx", max_chars=10_000_000).text


def line(*runs: str) -> str:
    return f"<w:p>{''.join(runs)}</w:p>"


def run(text: str) -> str:
    return f'<w:r><w:t xml:space="preserve">{text}</w:t></w:r>'


def equation(inner: str) -> str:
    return f"<m:oMath {MATH}>{inner}</m:oMath>"


def box(*paragraphs: str) -> str:
    """Return a run with a text box, as Word writes it: once for new programs and once for old ones."""
    content = f"<w:txbxContent>{''.join(paragraphs)}</w:txbxContent>"
    return (
        '<w:r><mc:AlternateContent xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/2006">'
        f'<mc:Choice Requires="wps"><w:drawing><wps:txbx xmlns:wps="u">{content}</wps:txbx></w:drawing></mc:Choice>'
        f'<mc:Fallback><w:pict><v:textbox xmlns:v="urn:schemas-microsoft-com:vml">{content}</v:textbox></w:pict>'
        "</mc:Fallback></mc:AlternateContent></w:r>"
    )


def note(kind: str, number: int, text: str) -> str:
    return f'<w:{kind} w:id="{number}"><w:p>{run(text)}</w:p></w:{kind}>'


def notes(kind: str, *texts: str) -> bytes:
    """Return the part of a document that holds its notes, numbered from 1 behind the lines that part them."""
    lines = f'<w:{kind} w:type="separator" w:id="-1"><w:p/></w:{kind}><w:{kind} w:id="0"><w:p/></w:{kind}>'
    own = "".join(note(kind, number, text) for number, text in enumerate(texts, 1))
    return f"<w:{kind}s {WORD}>{lines}{own}</w:{kind}s>".encode()


def cited(kind: str, number: int) -> str:
    return f'<w:r><w:rPr><w:vertAlign w:val="superscript"/></w:rPr><w:{kind}Reference w:id="{number}"/></w:r>'


def test_characters_that_word_writes_as_references_come_back() -> None:
    assert read(line(run("R&amp;D &lt;b&gt; &#8220;x&#x201D; &apos;"))) == "R&D <b> “x” '\n"


def style(name: str, shown: str, more: str = "") -> str:
    return f'<w:style w:type="paragraph" w:styleId="{name}"><w:name w:val="{shown}"/>{more}</w:style>'


def test_headings_of_any_language_and_of_styles_of_ones_own_are_headings() -> None:
    text_again = '<w:basedOn w:val="berschrift1"/><w:pPr><w:outlineLvl w:val="9"/></w:pPr>'
    styles = (
        style("berschrift1", "heading 1", "<w:pPr><w:keepNext/></w:pPr>")
        + style("berschrift2", "Heading 2")
        + style("Eigene", "Meine", '<w:basedOn w:val="berschrift2"/>')
        + style("Tiefer", "Tiefer", '<w:basedOn w:val="Eigene"/><w:pPr><w:keepNext/></w:pPr>')
        + style("Text", "Text", text_again)
        + style("Kreis", "Kreis", '<w:basedOn w:val="Kreis"/>')
    )
    names = ("berschrift1", "berschrift2", "Eigene", "Tiefer", "Text", "Kreis")
    text = read(
        "".join(paragraph(f"In {name}", name) for name in names),
        **{
            "word/styles.xml": f"<w:styles {WORD}>{styles}</w:styles>".encode(),
            "word/_rels/document.xml.rels": relations({"r1": ("styles", "styles.xml")}).encode(),
        },
    )
    assert [line for line in text.splitlines() if line] == [
        "# In berschrift1",
        "## In berschrift2",
        "## In Eigene",
        "## In Tiefer",
        "In Text",
        "In Kreis",
    ]


def test_equations_within_a_line_stay_there_and_others_stay_apart() -> None:
    x, half = equation("<m:r><m:t>x&lt;1</m:t></m:r>"), equation(HALF)
    text = read(
        line(run("Let "), x, run(" and "), half, run(" R&amp;D."))
        + f"<w:tbl><w:tr><w:tc>{line(run('in a cell '), half)}</w:tc></w:tr></w:tbl>"
        + line(f"<m:oMathPara {MATH}>{half}</m:oMathPara>")
        + line(run("The end."))
        + "<w:sectPr/>"
    )
    assert "Let $x<1$ and $\\frac{1}{2}$ R&D." in text
    assert "in a cell $\\frac{1}{2}$" in text
    assert text.endswith("$$\\frac{1}{2}$$\n\nThe end.\n")
    assert text.count("frac") == 3


def test_an_equation_whose_place_is_not_read_stands_at_the_end() -> None:
    assert read(paragraph("Words.") + equation("<m:r><m:t>y=2</m:t></m:r>")) == "Words.\n\n$$y=2$$\n"


def test_a_paragraph_keeps_its_text_when_a_text_box_is_anchored_in_it() -> None:
    boxed = line(run("Before it, "), box(paragraph("In the box."), paragraph("Also.")), run("after it."))
    assert read(boxed + paragraph("Next.")) == "Before it, after it.\n\nIn the box.\n\nAlso.\n\nNext.\n"


def test_text_boxes_of_one_paragraph_are_all_there_once() -> None:
    text = read(line(box(paragraph("One.")), run("Words."), box(paragraph("Two."))))
    assert text == "Words.\n\nOne.\n\nTwo.\n"


def test_tabs_and_hard_hyphens_keep_words_apart() -> None:
    stops = '<w:pPr><w:tabs><w:tab w:val="left" w:pos="720"/></w:tabs></w:pPr>'
    runs = "<w:r><w:t>Name:</w:t><w:tab/><w:t>Jo</w:t><w:noBreakHyphen/><w:t>Ann</w:t></w:r>"
    assert read(line(stops, runs)) == "Name: Jo-Ann\n"


def test_what_was_moved_stands_where_it_is_now() -> None:
    moved = f"<w:moveFrom>{run('words')}</w:moveFrom>", f"<w:moveTo>{run('words')}</w:moveTo>"
    assert read(line(run("Few "), moved[0], run("and then "), moved[1])) == "Few and then words\n"


def test_all_notes_are_there_with_a_number_at_their_place() -> None:
    body = line(run("One"), cited("footnote", 1), run(" two"), cited("endnote", 1), run(" three"), cited("footnote", 2))
    parts = {
        "word/footnotes.xml": notes("footnote", "First &amp; foremost.", "Third."),
        "word/endnotes.xml": notes("endnote", "Second."),
    }
    assert read(body, **parts) == (
        "One[^1] two[^2] three[^3]\n\n## Notes\n\n- [^1] First & foremost.\n- [^2] Second.\n- [^3] Third.\n"
    )


def test_a_note_that_is_missing_leaves_no_number() -> None:
    assert read(line(run("One"), cited("footnote", 7), run(" two"))) == "One two\n"


def test_comments_stand_at_the_end_with_who_made_them() -> None:
    part = (
        f'<w:comments {WORD}><w:comment w:id="0" w:author="Jo &amp; Co" w:date="2024-01-01T00:00:00Z">'
        f"<w:p>{run('Is this')}</w:p><w:p>{run('so?')}</w:p></w:comment>"
        f'<w:comment w:id="1" w:author="Unknown Author"><w:p>{run("Yes.")}</w:p></w:comment>'
        '<w:comment w:id="2" w:author="Jo"><w:p/></w:comment></w:comments>'
    )
    text = read(paragraph("Words."), **{"word/comments.xml": part.encode()})
    assert text == "Words.\n\n## Comments\n\n- Jo & Co (2024-01-01 00:00): Is this so?\n- Yes.\n"


@pytest.mark.parametrize(
    "body",
    [
        "<w:p><w:txbxContent>" * 30_000,
        line(run("a"), "<m:oMath><w:t>") * 30_000,
        line(run("a"), "<w:moveFrom ") * 30_000,
        line(run("a"), '<w:footnoteReference w:id="1"') * 30_000,
    ],
    ids=["boxes", "equations", "moves", "notes"],
)
def test_marks_without_an_end_take_no_time(body: str) -> None:
    data = docx(body, **{"word/comments.xml": b"<w:comment w:id='1' " * 30_000})
    begun = time.process_time()
    with contextlib.suppress(Unreadable):
        parsing.read(data, "a.docx", max_chars=1_000_000)
    assert time.process_time() - begun < 5


def item(text: str, level: int, number: int = 1, before: str = "") -> str:
    numbering = f'<w:numPr><w:ilvl w:val="{level}"/><w:numId w:val="{number}"/></w:numPr>'
    return f"<w:p><w:pPr>{numbering}{before}</w:pPr>{run(text)}</w:p>"


def numbering() -> dict[str, bytes]:
    """Return the entries of a file whose list 1 has bullets, and list 2 numbers."""
    kinds = "".join(
        f'<w:abstractNum w:abstractNumId="{at}">'
        + "".join(f'<w:lvl w:ilvl="{level}"><w:numFmt w:val="{kind}"/></w:lvl>' for level in range(9))
        + f'</w:abstractNum><w:num w:numId="{at}"><w:abstractNumId w:val="{at}"/></w:num>'
        for at, kind in ((1, "bullet"), (2, "decimal"))
    )
    return {
        "word/numbering.xml": f"<w:numbering {WORD}>{kinds}</w:numbering>".encode(),
        "word/_rels/document.xml.rels": relations({"r1": ("numbering", "numbering.xml")}).encode(),
    }


def test_items_of_a_list_keep_their_levels_and_numbers() -> None:
    changed = '<w:pPrChange w:id="1"><w:pPr><w:numPr><w:ilvl w:val="5"/></w:numPr></w:pPr></w:pPrChange>'
    body = "".join(
        (
            *(paragraph("Fruit"), item("Apples", 0), item("green", 1), item("", 1), item("sour", 2, before=changed)),
            *(item("Pears", 0), paragraph("Steps"), item("Boil", 0, 2), item("Salt", 1, 2), item("Wait", 1, 2)),
            *(item("long", 2), item("Eat", 0, 2), paragraph("Other"), item("Alone", 3), item("Beside", 0)),
        )
    )
    assert read(body, **numbering()) == (
        "Fruit\n\n- Apples\n    - green\n        - sour\n- Pears\n\nSteps\n\n"
        "1. Boil\n    1. Salt\n    2. Wait\n        - long\n2. Eat\n\nOther\n\n- Alone\n- Beside\n"
    )


def test_a_list_goes_on_counting_behind_a_paragraph() -> None:
    body = "".join((item("One", 0, 2), item("Two", 0, 2), paragraph("Between"), item("Next", 0, 2), item("a", 1)))
    assert read(body, **numbering()) == "1. One\n2. Two\n\nBetween\n\n3. Next\n    - a\n"


def test_a_level_of_what_is_no_item_leaves_no_trace() -> None:
    cell = f"<w:tc>{item('In a cell', 1)}</w:tc>"
    body = f"{item('No list', 2, 0)}<w:tbl><w:tr>{cell}{cell}</w:tr></w:tbl>"
    text = read(body, **numbering())
    assert "No list" in text
    assert "In a cell" in text
    assert not [char for char in text if char >= "\ue000"]


@pytest.mark.parametrize(
    "body",
    [
        "<w:footnoteReference " + 'w:id="1" ' * 100_000,
        "<w:p><w:txbxContent>" + "<" * 300_000 + "</w:txbxContent></w:p>",
        "<w:txbxContent>" + "<w:p " * 300_000,
        "<m:oMath " * 300_000,
    ],
    ids=["reference", "box", "paragraphs", "equations"],
)
def test_tags_that_are_never_closed_are_looked_through_at_once(body: str) -> None:
    start = time.process_time()
    with contextlib.suppress(Unreadable):
        parsing.read(zipped({"word/document.xml": body.encode()}), "a.docx", max_chars=1_000_000)
    assert time.process_time() - start < 5


def test_a_note_that_is_cited_again_has_one_number_and_comes_once() -> None:
    cited = '<w:r><w:t>so</w:t></w:r><w:r><w:footnoteReference w:id="2"/></w:r>'
    note = f'<w:footnotes {WORD}><w:footnote w:id="2"><w:p><w:r><w:t>Why</w:t></w:r></w:p></w:footnote></w:footnotes>'
    text = parsing.read(
        docx(f"<w:p>{cited * 2}</w:p>", **{"word/footnotes.xml": note.encode()}), "a.docx", max_chars=1000
    ).text
    assert text == "so[^1]so[^1]\n\n## Notes\n\n- [^1] Why\n"


@pytest.mark.parametrize(("rows", "inside"), [(2, True), (200, False)])
def test_a_small_table_in_a_cell_stays_in_its_row(rows: int, inside: bool) -> None:
    def table(*lines: list[str]) -> str:
        cells = "".join(f"<w:tr>{''.join(f'<w:tc>{one}</w:tc>' for one in line)}</w:tr>" for line in lines)
        return f"<w:tbl>{cells}</w:tbl>"

    def words(*texts: str) -> list[str]:
        return [f"<w:p><w:r><w:t>{text}</w:t></w:r></w:p>" for text in texts]

    inner = table(words("Part", "Pieces"), *[words(f"bolt{row}", str(row)) for row in range(1, rows)])
    body = table(words("Kit", "Contents"), [words("K1")[0], f"{inner}<w:p/>"])
    text = parsing.read(docx(body), "a.docx", max_chars=1_000_000).text
    assert ("| K1 | Part, Pieces; bolt1, 1 |" in text) is inside
    assert ("| bolt1 | 1 |" in text) is not inside
