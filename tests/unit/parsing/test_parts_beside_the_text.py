"""Text that stands beside the text of a file: equations, links, inserted files, margins, framed pages, reports."""

from __future__ import annotations

import io
import zipfile
from email.message import EmailMessage
from html import escape

import pytest
from linear import assert_linear
from small_docx import docx, paragraph, zipped
from small_odf import opendocument
from small_pptx import pptx, relations
from small_xlsx import xlsx

from pinakes import parsing
from pinakes.core.records import Document
from pinakes.parsing.page_inserts import visible_source

MATH = 'xmlns:m="http://schemas.openxmlformats.org/officeDocument/2006/math"'
OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
HEAD = b"From: Jo <jo@example.org>\r\nTo: Al <al@example.org>\r\n"


def read(data: bytes | str, name: str) -> Document:
    return parsing.read(data if isinstance(data, bytes) else data.encode(), name, max_chars=10_000_000)


def page(body: str) -> str:
    return read(f"<!doctype html><html><body>{body}<p>After.</p></body></html>", "a.html").text


def slide(runs: str, **targets: tuple[str, str]) -> str:
    """Return the text below the title of a slide with a table of one cell."""
    table = f"<a:tbl><a:tr><a:tc><a:txBody><a:p>{runs}</a:p></a:txBody></a:tc></a:tr></a:tbl>"
    data = pptx(["Title"], [0], tables={0: table})
    return read(_with(data, "ppt/slides/_rels/slide1.xml.rels", _external(targets)), "a.pptx").text


def _external(targets: dict[str, tuple[str, str]]) -> str:
    return relations(targets).replace("/>", ' TargetMode="External"/>')


def _with(data: bytes, name: str, content: str) -> bytes:
    with zipfile.ZipFile(io.BytesIO(data)) as container:
        return zipped({one: container.read(one) for one in container.namelist()} | {name: content.encode()})


@pytest.mark.parametrize(
    ("equation", "shown"),
    [
        ("<m:f><m:num><m:r><m:t>p</m:t></m:r></m:num><m:den><m:r><m:t>q</m:t></m:r></m:den></m:f>", "$\\frac{p}{q}$"),
        ("<m:sSup><m:e><m:r><m:t>x</m:t></m:r></m:e><m:sup><m:r><m:t>2</m:t></m:r></m:sup></m:sSup>", "$x^{2}$"),
        ("<m:r><m:t>a=b</m:t></m:r>", "$a=b$"),
    ],
)
def test_equations_of_slides_are_written_as_in_documents(equation: str, shown: str) -> None:
    run = f'<a14:m xmlns:a14="urn:a14"><m:oMath {MATH}>{equation}</m:oMath></a14:m>'
    assert shown in slide(f"<a:r><a:t>Where </a:t></a:r>{run}")


@pytest.mark.parametrize(
    ("address", "shown"),
    [
        ("https://example.org/a", "[our site](https://example.org/a)"),
        ("mailto:a@example.org", "[our site](mailto:a@example.org)"),
        ("javascript:alert(1)", "our site"),
        ("VBScript:x", "our site"),
    ],
)
def test_links_of_slides_have_their_address_but_scripts_do_not(address: str, shown: str) -> None:
    run = '<a:r><a:rPr><a:hlinkClick r:id="r7"/></a:rPr><a:t>{}</a:t></a:r>'
    assert f"\n{shown}\n" in slide(run.format("our") + run.format(" site"), r7=("hyperlink", address))


@pytest.mark.parametrize("script", ["javascript:alert(1)", " JavaScript:void(0)", "vbscript:x"])
def test_no_format_shows_the_address_of_a_script(script: str) -> None:
    link = f'<text:p><text:a xlink:href="{script}">Press</text:a> it</text:p>'
    row = f"<table:table-row><table:table-cell>{link}</table:table-cell></table:table-row>"
    cell = f'<table:table table:name="S">{row}</table:table>'
    body = f'<w:p><w:hyperlink xmlns:r="{OFFICE}" r:id="r1"><w:r><w:t>Press</w:t></w:r></w:hyperlink></w:p>'
    rels = _external({"r1": ("hyperlink", script)}).encode()
    field = r'{\rtf1 {\field{\*\fldinst HYPERLINK "' + script.strip() + r'"}{\fldrslt Press}} it\par}'
    assert read(opendocument("text", link), "a.odt").text == "Press it\n"
    assert read(opendocument("sheet", cell), "a.ods").text == "## S\n\nPress it\n"
    assert read(docx(body, **{"word/_rels/document.xml.rels": rels}), "a.docx").text == "Press\n"
    assert read(field, "a.rtf").text == "Press it\n"


@pytest.mark.parametrize(
    ("name", "content", "shown"),
    [
        ("a.html", "<html><body><p>Words of <b>HTML</b></p></body></html>", "Words of **HTML**"),
        ("a.txt", "Words of text", "Words of text"),
        ("a.rtf", r"{\rtf1 Words of RTF\par}", "Words of RTF"),
        ("a.docx", docx(paragraph("Words of Word")), "Words of Word"),
    ],
)
def test_files_inserted_into_a_document_are_read(name: str, content: str | bytes, shown: str) -> None:
    body = f'{paragraph("Before")}<w:altChunk xmlns:r="{OFFICE}" r:id="r1"/>{paragraph("After")}'
    rels = relations({"r1": ("aFChunk", name)}).encode()
    data = content if isinstance(content, bytes) else content.encode()
    more = {"word/_rels/document.xml.rels": rels, f"word/{name}": data}
    assert read(docx(body, **more), "b.docx").text == f"Before\n\n{shown}\n\nAfter\n"


def test_an_inserted_file_that_cannot_be_read_and_deleted_text_are_named() -> None:
    deleted = "<w:p><w:del><w:r><w:delText>gone</w:delText></w:r></w:del><w:r><w:t>kept</w:t></w:r></w:p>"
    body = f'{deleted}<w:altChunk xmlns:r="{OFFICE}" r:id="r1"/>'
    more = {"word/_rels/document.xml.rels": relations({"r1": ("aFChunk", "a.xyz")}).encode(), "word/a.xyz": b"?"}
    document = read(docx(body, **more), "b.docx")
    assert document.text == "kept\n"
    assert [note.message for note in document.notes] == [
        "Left out: 1 part of deleted text.",
        "Left out: 1 inserted file in a format that is not read here.",
    ]


def test_letters_drawn_along_a_path_are_read() -> None:
    shape = '<v:shape xmlns:v="urn:schemas-microsoft-com:vml"><v:textpath string="Grand opening"/></v:shape>'
    assert "Grand opening" in read(docx(f"<w:p><w:r><w:pict>{shape}</w:pict></w:r></w:p>"), "a.docx").text


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ("&amp;LDept of Energy&amp;RPage &amp;P of &amp;N", ["Dept of Energy"]),
        ('&amp;C&amp;"Arial,Bold"&amp;12&amp;K01+000R&amp;&amp;D report&amp;R&amp;D', ["R&D report"]),
        ("&amp;LLeft&amp;CMiddle&amp;RRight", ["Left", "Middle", "Right"]),
        ('&amp;C&amp;"Times New Roman,Regular"&amp;12&amp;A', []),
        ("&amp;CPage &amp;P", []),
    ],
)
def test_headers_of_sheets_stand_once_at_the_end(written: str, shown: list[str]) -> None:
    margins = f"<headerFooter><oddHeader>{written}</oddHeader><evenHeader>{written}</evenHeader></headerFooter>"
    data = xlsx({"One": ["cell"], "Two": ["more"]})
    for sheet in ("sheet1", "sheet2"):
        name = f"xl/worksheets/{sheet}.xml"
        data = _with(data, name, _part(data, name).replace("</worksheet>", f"{margins}</worksheet>"))
    section = "".join(f"- {one}\n" for one in shown)
    end = f"\n## Headers and footers\n\n{section}" if shown else ""
    assert read(data, "a.xlsx").text == f"## One\n\ncell\n\n## Two\n\nmore\n{end}"


def _part(data: bytes, name: str) -> str:
    return zipfile.ZipFile(io.BytesIO(data)).read(name).decode()


def test_headers_of_an_open_document_sheet_are_read_without_what_stands_there_by_default() -> None:
    cell = "<table:table-row><table:table-cell><text:p>cell</text:p></table:table-cell></table:table-row>"
    margin = (
        '<office:master-styles><style:master-page style:name="D"><style:header><text:p>Bureau of maps</text:p>'
        "<text:p><text:sheet-name>???</text:sheet-name></text:p><text:p>00.00.0000, 00:00:00</text:p></style:header>"
        "</style:master-page></office:master-styles>"
    )
    data = opendocument("sheet", f'<table:table table:name="S">{cell}</table:table>', common=margin)
    assert read(data, "a.ods").text == "## S\n\ncell\n\n## Headers and footers\n\n- Bureau of maps\n"


@pytest.mark.parametrize(
    ("source", "shown"),
    [
        (r"10\up6 -9\up0  m", "10⁻⁹ m"),
        (r"H{\dn4 2}O", "H₂O"),
        (r"{\field{\*\fldinst FORMCHECKBOX{\*\formfield{\fftype1\ffres1{\*\ffname C}}}}{\fldrslt}} Paid", "☒ Paid"),
        (r"{\field{\*\fldinst FORMCHECKBOX{\*\formfield{\fftype1\ffres25\ffdefres0}}}{\fldrslt}} Sent", "☐ Sent"),
        (
            r"{\field{\*\fldinst FORMDROPDOWN{\*\formfield{\fftype2\ffres1{\*\ffl Red}{\*\ffl Green}}}}{\fldrslt}} it",
            "Green it",
        ),
    ],
)
def test_rtf_shows_raised_text_boxes_and_choices(source: str, shown: str) -> None:
    assert read(rf"{{\rtf1\ansi {source}\par}}", "a.rtf").text == f"{shown}\n"


@pytest.mark.parametrize(
    ("body", "shown"),
    [
        ('<iframe srcdoc="&lt;p&gt;Framed words&lt;/p&gt;"></iframe>', "Framed words"),
        ("<iframe title=x srcdoc='<p>Framed <b>w</b>ords</p>'></iframe>", "Framed words"),
        (
            '<svg><path d="M0 0"/><text x="1">Roads 40%</text><text>R<tspan>ail</tspan></text></svg>',
            "Roads 40%\n\nRail",
        ),
        ('<svg><text><tspan x="0" dy="1">One</tspan><tspan x="0" dy="2">Two</tspan></text></svg>', "One Two"),
        ('<svg role="img"><title>Map of the port</title><path d="M0 0"/></svg>', "Map of the port"),
        ("<svg><foreignObject><div>Box A</div></foreignObject></svg>", "Box A"),
        ('<div><template shadowrootmode="open"><p>Shown at once</p></template></div>', "Shown at once"),
        ("<table><tr><td><h2>Left</h2><p>Words.</p></td><td>Right</td></tr></table>", "## Left\n\nWords.\n\nRight"),
    ],
)
def test_text_that_no_element_holds_is_read(body: str, shown: str) -> None:
    assert page(body) == f"{shown}\n\nAfter.\n"


@pytest.mark.parametrize(
    "body",
    [
        "<svg><title>Menu</title><path d='M0 0'/></svg>",
        "<template><p>Never shown</p></template>",
    ],
)
def test_signs_and_templates_are_not_read(body: str) -> None:
    assert page(body) == "After.\n"


@pytest.mark.parametrize(
    "body",
    [
        '<p>Intro</p><script>if (s.startsWith("<svg")) f = a => 1;</script>{}',
        '<p>Intro</p><script>x = "<iframe srcdoc=\'" + "<template shadowrootmode=open>";</script>{}',
        "<p>Intro</p><style>/* <svg> <template> */</style>{}",
        "<p>Intro</p><!-- an <svg> icon, <iframe srcdoc='-->{}",
        "<p>Intro</p><!--[if IE]><svg><![endif]-->{}",
        "<title>How an <svg> is made</title><p>Intro</p>{}",
        "<p title='<svg><text>no</text></svg> <svg>' data-x=\"<iframe srcdoc='no'>\">Intro</p>{}",
        "<p>Intro<svg viewBox='0 0'/></p>{}",
        "<p>Intro</p><svg><path>{}",
        "<iframe srcdoc='&lt;p&gt;Intro&lt;/p&gt;'/>{}",
        "<iframe srcdoc='&lt;title&gt;T&lt;/title&gt;&lt;p&gt;Intro&lt;/p&gt;&lt;/div&gt;&lt;!--'>none</iframe>{}",
    ],
)
def test_signs_of_drawings_and_frames_in_other_text_hide_nothing(body: str) -> None:
    assert page(body.format("<p>Mid</p><p>More</p>")) == "Intro\n\nMid\n\nMore\n\nAfter.\n"


@pytest.mark.parametrize("part", ["main", "article", "div role=main"])
def test_a_framed_page_does_not_replace_the_page_around_it(part: str) -> None:
    framed = escape(f'<body><{part}><p>Sign up for our letter</p></{part.split()[0]}><a href="/x')
    body = f'<h1>Town</h1><p>First words.</p><iframe srcdoc="{framed}"></iframe><p>Last words.</p>'
    assert page(body) == "# Town\n\nFirst words.\n\nSign up for our letter\n\nLast words.\n\nAfter.\n"


def test_frames_in_frames_are_read() -> None:
    inner = "<p>Inner</p>"
    for _ in range(3):
        inner = f'<p>One</p><iframe srcdoc="{escape(inner)}"></iframe>'
    assert page(inner) == "One\n\nOne\n\nOne\n\nInner\n\nAfter.\n"


@pytest.mark.parametrize(
    ("body", "shown"),
    [
        ("<iframe hidden srcdoc='<p>Words</p>'></iframe>", ["[hidden]", "Words"]),
        ("<iframe style='display:none' srcdoc='Words'></iframe>", ["[hidden] Words"]),
        ("<svg style='display: none'><text>Words</text></svg>", ["[hidden] Words"]),
        ("<svg><text visibility='hidden'>Words</text></svg>", ["[hidden] Words"]),
        ("<svg><g display='none'><text>Words</text></g><text>More</text></svg>", ["[hidden] Words", "More"]),
    ],
)
def test_hidden_text_of_frames_and_drawings_is_marked(body: str, shown: list[str]) -> None:
    document = read(f"<html><body>{body}<p>After.</p></body></html>", "a.html")
    assert document.text == "\n\n".join([*shown, "After.\n"])
    assert [note.count for note in document.notes] == [1]


@pytest.mark.parametrize(
    ("body", "shown"),
    [
        ("<p>Press <svg role='img'><title>Menu</title><path/></svg> to open.</p>", "Press Menu to open."),
        ("<ul><li>One <svg role='img'><title>Yes</title></svg> two</li></ul>", "- One Yes two"),
        ("<svg><switch><foreignObject><div>Box</div></foreignObject><text>Box</text></switch></svg>", "Box"),
        ("<svg><switch><g/><text>It cannot be shown</text></switch><text>Box</text></svg>", "Box"),
        ("<svg><defs><text>no</text></defs><symbol><title>no</title></symbol><text>a < b</text></svg>", "a < b"),
    ],
)
def test_words_of_drawings_stand_once_and_where_they_are_shown(body: str, shown: str) -> None:
    assert page(body) == f"{shown}\n\nAfter.\n"


@pytest.mark.parametrize(
    "part",
    [
        '<iframe srcdoc="',
        "<iframe srcdoc='",
        "<svg><text>",
        "<template shadowroot>",
        "<iframe srcdoc=\"'>",
        '<a "="',
        "<svg><svg/>",
        "<title>",
    ],
)
def test_unclosed_frames_and_drawings_take_linear_time(part: str) -> None:
    assert_linear(visible_source, lambda size: f"<p>Before.</p>{part * size}<p>After.</p>", 10_000)


def test_what_became_of_a_message_is_read() -> None:
    source = (
        b'Content-Type: multipart/report; report-type=delivery-status; boundary="b"\r\n\r\n--b\r\n'
        b"Content-Type: text/plain\r\n\r\nNot delivered.\r\n--b\r\nContent-Type: message/delivery-status\r\n\r\n"
        b"Reporting-MTA: dns; mx.example.org\r\n\r\nFinal-Recipient: rfc822; gone@example.org\r\nStatus: 5.1.1\r\n"
        b"--b--\r\n"
    )
    text = read(HEAD + source, "a.eml").text
    assert text.endswith(
        "Not delivered.\n\nReporting-MTA: dns; mx.example.org\n\nFinal-Recipient: rfc822; gone@example.org\n"
        "Status: 5.1.1\n"
    )


@pytest.mark.parametrize(
    ("encoding", "subject"),
    [("latin-1", "Größe der Tür für März"), ("utf-8", "Größe der Tür"), ("cp1251", "Отчёт о железной дороге за март")],
)
def test_a_subject_in_an_encoding_that_it_does_not_name_is_read(encoding: str, subject: str) -> None:
    kind = f"Content-Type: text/plain; charset={encoding}\r\n".encode()
    source = HEAD + kind + f"Subject: {subject}\r\n\r\nText\r\n".encode(encoding)
    assert read(source, "a.eml").title == subject


@pytest.mark.parametrize("header", ["Subject", "From", "To", "Cc", "Date", "X-Other"])
@pytest.mark.parametrize("odd", [b"\x80\x81\x01\x02\x03\x04\x05\x06", b"\xff\xfe\x00\x00", b"\xfc\x00 \x00a"])
def test_odd_bytes_of_a_header_hide_no_message(header: str, odd: bytes) -> None:
    odd_one = header.encode() + b": Odd " + odd + b"\r\nMessage-Id: <a@b>\r\n\r\nWords\r\n"
    messages = [HEAD + b"Subject: One\r\n\r\nFirst\r\n", odd_one, HEAD + b"Subject: Two\r\n\r\nLast\r\n"]
    assert "Words" in read(odd_one, "a.eml").text
    text = read(b"\r\n".join(b"From a Mon Jan 1 00:00:00 2024\r\n" + one for one in messages), "a.mbox").text
    assert all(f"\n{word}\n" in text for word in ("First", "Words", "Last"))


@pytest.mark.parametrize("encoding", ["latin-1", "utf-8"])
def test_names_in_an_encoding_that_is_not_named_are_read_in_all_fields(encoding: str) -> None:
    source = (
        "From: Ren\xe9 <r@x.y>\r\nTo: Ren\xe9 <r@x.y>, Zo\xeb <z@x.y>\r\nSubject: Gr\xfc\xdfe \0 aus\r\n\r\nText\r\n"
    )
    document = read(source.encode(encoding), "a.eml")
    assert document.metadata["to"] == ["Ren\xe9 <r@x.y>", "Zo\xeb <z@x.y>"]
    assert "From: Ren\xe9 <r@x.y>\n" in document.text
    assert "To: Ren\xe9 <r@x.y>, Zo\xeb <z@x.y>\n" in document.text
    assert document.title == "Gr\xfc\xdfe aus"


def test_links_of_a_page_are_no_words_that_its_plain_form_lacks() -> None:
    message = EmailMessage()
    message["Subject"] = "Parcel"
    message.set_content("Your parcel is on its way. Track it here: https://shop.example/t/4711 or write to us.")
    links = [f"https://click.example/{at}/a{at}/b{at}/c{at}/d{at}/e{at}/f{at}?u=g{at}&v=h{at}" for at in range(2)]
    message.add_alternative(
        f"<p>Your parcel is on its way. <a href='{links[0]}'>Track it here</a> "
        f"or <a href='{links[1]}'>write to us</a>.</p>",
        "html",
    )
    assert read(bytes(message), "a.eml").text.count("Your parcel") == 1


@pytest.mark.parametrize("charset", ["utf-7", "utf7", "unicode-1-1-utf-7"])
def test_a_text_in_utf_7_is_read(charset: str) -> None:
    source = HEAD + f"Content-Type: text/plain; charset={charset}\r\n\r\nGr+APwA3w-e an alle\r\n".encode()
    assert read(source, "a.eml").text.endswith("\n\nGrüße an alle\n")


def test_a_page_that_says_what_the_remark_before_it_does_not_is_read() -> None:
    message = EmailMessage()
    message["Subject"] = "Sale"
    message.set_content("View this message in your browser: https://example.org/v")
    message.add_alternative(
        "<p>All garden chairs cost 19 euros until Sunday evening, and delivery is free for everyone.</p>", "html"
    )
    assert "garden chairs cost 19 euros" in read(bytes(message), "a.eml").text


@pytest.mark.parametrize(
    ("formula", "shown"),
    [
        ("<mml:mfrac><mml:mi>x</mml:mi><mml:mi>y</mml:mi></mml:mfrac>", "x/y"),
        ("<mml:msup><mml:mi>r</mml:mi><mml:mn>2</mml:mn></mml:msup><mml:mtext>for all</mml:mtext>", "r^2 for all"),
        ("<mml:mi>sin</mml:mi><mml:mi>x</mml:mi>", "sin x"),
    ],
)
def test_formulas_of_articles_are_on_one_line(formula: str, shown: str) -> None:
    math = f'<mml:math xmlns:mml="http://www.w3.org/1998/Math/MathML">{formula}</mml:math>'
    source = (
        f"<article><body><p>Where <inline-formula>{math}</inline-formula> holds.</p><disp-formula><label>(3)</label>"
        f"<alternatives>{math}<tex-math>no</tex-math></alternatives></disp-formula></body></article>"
    )
    assert read(source, "a.nxml").text == f"Where {shown} holds.\n\n(3)\n\n{shown}\n"


@pytest.mark.parametrize(
    ("element", "content", "shown"),
    [
        (
            "inline-formula",
            "for all <math><mi>x</mi></math> in <math><mi>Y</mi></math>",
            "We have for all x in Y that.",
        ),
        ("inline-formula", "all <tex-math>x</tex-math> in <tex-math>Y</tex-math>", "We have all x in Y that."),
        (
            "inline-formula",
            "<math><semantics><mi>q</mi><annotation-xml><math><mi>r</mi></math></annotation-xml></semantics></math>",
            "We have q that.",
        ),
        ("disp-formula", "<math><mi>a=b</mi></math><math><mi>c=d</mi></math>", "We have a=b c=d that."),
    ],
)
def test_every_equation_of_a_formula_and_the_words_around_it_are_read(element: str, content: str, shown: str) -> None:
    source = f"<article><body><p>We have <{element}>{content}</{element}> that.</p></body></article>"
    assert read(source, "a.nxml").text == f"{shown}\n"


@pytest.mark.parametrize(
    ("content", "shown"),
    [
        ("<math><mi>a=b</mi></math><math><mi>c=d</mi></math>", "a=b\n\nc=d"),
        ("if <math><mi>a=b</mi></math> then <math><mi>c=d</mi></math>", "if a=b then c=d"),
        ("<math>x</math>", "x"),
    ],
)
def test_formulas_on_lines_of_their_own_have_all_equations(content: str, shown: str) -> None:
    source = f"<article><body><p>Words.</p><disp-formula><label>(1)</label>{content}</disp-formula></body></article>"
    assert read(source, "a.nxml").text == f"Words.\n\n(1)\n\n{shown}\n"


@pytest.mark.parametrize(
    ("title", "shown"),
    [
        ('<title type="html">if a &lt; b and c &gt; d then</title>', "if a < b and c > d then"),
        ('<title type="html">Green &amp;amp; &lt;b&gt;black&lt;/b&gt;</title>', "Green &amp; black"),
        ("<title>Green &amp; black</title>", "Green &amp; black"),
    ],
)
def test_titles_of_entries_that_are_html_lose_its_marks(title: str, shown: str) -> None:
    entry = f"<entry>{title}<summary>Leaves.</summary></entry>"
    source = f'<feed xmlns="http://www.w3.org/2005/Atom"><title>Tea</title>{entry}</feed>'
    text = read(source, "a.atom").text
    assert "Leaves." in text
    assert text.replace("&amp;", "&").count(shown.replace("&amp;", "&")) == 1
    assert "amp;amp;" not in text
