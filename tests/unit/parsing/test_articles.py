"""XML that is a document is read like one."""

from __future__ import annotations

import re
import time

import pytest
from linear import assert_linear

from pinakes import parsing
from pinakes.core.records import Document


def read(text: str) -> Document:
    return parsing.read(text.encode(), "a.xml", max_chars=1_000_000)


JATS = """<article id="a1"><front><journal-meta><journal-id>PB</journal-id></journal-meta><article-meta>
<article-id pub-id-type="doi">10.1/x</article-id><title-group>
<article-title>On <italic>Apis</italic> bees</article-title>
</title-group><contrib-group><contrib contrib-type="author"><name><surname>Doe</surname>
<given-names>Jane</given-names></name>
</contrib></contrib-group><abstract><p>We studied bees.</p></abstract></article-meta></front><body><sec id="s1">
<title>Introduction</title><p>Bees fly<sup><xref ref-type="bibr" rid="b1">1</xref></sup> far
[<xref ref-type="bibr" rid="b1">1</xref>, <xref ref-type="bibr" rid="b2">2</xref>],
see <xref ref-type="fig">Fig 1</xref>.</p>
<sec><title>Energy</title><p>10<sup>-9</sup> J and H<sub>2</sub>O</p><table-wrap id="t1"><label>Table 1</label>
<caption><p>Counts.</p>
</caption><table><tr><th>Hive</th><th>Bees</th></tr><tr><td>A</td><td>9</td></tr></table></table-wrap></sec>
</sec></body>
<back><ref-list><ref id="b1"><label>1</label><element-citation><source>Nature</source><year>1999</year>
<pub-id>123456</pub-id></element-citation></ref></ref-list></back></article>"""
PATENT = """<us-patent-grant file="US1.XML"><us-bibliographic-data-grant><doc-number>123</doc-number>
<invention-title id="d2">Bee counter</invention-title></us-bibliographic-data-grant><abstract id="abstract">
<p id="p-1">A device.</p>
</abstract><description><heading id="h-1">BACKGROUND</heading>
<p id="p-2">Bees <b>10</b> (<figref idref="D">FIG. 1</figref>) are many.</p>
</description><claims><claim id="CLM-1"><claim-text>1. A device with<claim-text>a sensor.</claim-text>
</claim-text></claim></claims>
</us-patent-grant>"""
DOCBOOK = """<book xmlns:xlink="http://www.w3.org/1999/xlink"><title>Keeping bees</title><chapter xml:id="c1">
<title>Spring</title>
<para>Feed <emphasis role="b">them</emphasis>.</para><itemizedlist><listitem><para>sugar</para></listitem>
</itemizedlist></chapter></book>"""


@pytest.mark.parametrize(
    ("source", "title", "there", "never"),
    [
        (
            JATS,
            "On Apis bees",
            (
                "## Abstract\n\nWe studied bees.",
                "## Introduction\n\nBees fly far, see Fig 1.",
                "### Energy\n\n10⁻⁹ J and H₂O",
                "Table 1. Counts.\n\n| Hive | Bees |\n| --- | --- |\n| A | 9 |",
                "- Nature 1999",
                "Jane Doe",
            ),
            ("10.1/x", "123456", "b1", "s1", "PB"),
        ),
        (
            PATENT,
            "Bee counter",
            (
                "## Abstract\n\nA device.",
                "## BACKGROUND\n\nBees 10 (FIG. 1) are many.",
                "## Claims\n\n1. A device with a sensor.",
            ),
            ("CLM", "US1", "123", "h-1"),
        ),
        (DOCBOOK, "Keeping bees", ("# Keeping bees", "## Spring\n\nFeed them.", "- sugar"), ("c1", "http", "role")),
    ],
)
def test_a_document_has_headings_tables_and_no_identifiers(
    source: str, title: str, there: tuple[str, ...], never: tuple[str, ...]
) -> None:
    document = read(source)
    assert (document.title, document.kind) == (title, "markdown")
    assert [part for part in there if part not in document.text] == []
    assert [part for part in never if part in document.text] == []


def test_attributes_of_data_stay_where_they_say_something() -> None:
    text = read(
        '<servers><server id="s1" uuid="0" name="web one" port="80"/><server ref="x" name="web two"/></servers>'
    ).text
    assert "Name: web one" in text
    assert "Port: 80" in text
    assert "s1" not in text
    assert "Ref" not in text


@pytest.mark.parametrize("part", ["[,] ", "<xref ref-type='bibr'>1</xref> , ", "( ", "x <b>y</b>"])
def test_hostile_paragraphs_take_linear_time(part: str) -> None:
    assert_linear(read, lambda times: f"<article><p>words {part * times}</p></article>", 10_000)


JATS_TABLE = (
    "<table><thead><tr><th rowspan='2'>Site</th><th colspan='2'>Pairs</th></tr>"
    "<tr><th>May</th><th>June</th></tr></thead>"
    "<tbody><tr><td rowspan='2'>Dune</td><td>1</td><td>2</td></tr><tr><td>3</td><td>4</td></tr></tbody></table>"
)
CALS_TABLE = (
    "<table><title>Counted pairs</title><tgroup cols='3'><colspec colname='a'/><colspec colname='b'/>"
    "<colspec colname='c'/>"
    "<thead><row><entry morerows='1'>Site</entry><entry namest='b' nameend='c'>Pairs</entry></row>"
    "<row><entry>May</entry><entry>June</entry></row></thead><tbody><row><entry morerows='1'>Dune</entry>"
    "<entry>1</entry><entry>2</entry></row><row><entry>3</entry><entry>4</entry></row></tbody></tgroup></table>"
)


@pytest.mark.parametrize(
    ("table", "caption"), [(JATS_TABLE, ""), (CALS_TABLE, "Counted pairs"), (f"<p>As in{JATS_TABLE}</p>", "As in")]
)
def test_cells_of_a_table_fill_what_they_span(table: str, caption: str) -> None:
    text = read(f"<article><p>Words.</p>{table}</article>").text
    assert "| Site | Pairs / May | Pairs / June |\n| --- | --- | --- |\n| Dune | 1 | 2 |\n| Dune | 3 | 4 |" in text
    assert f"{caption}\n\n| Site" in text


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("<p>So <inline-formula><tex-math>x+1</tex-math></inline-formula> holds.</p>", "So x+1 holds."),
        ("<p>So <inline-formula><tex-math>x</tex-math><math>y</math></inline-formula>.</p>", "So y."),
        (
            "<p>So.</p><disp-formula><tex-math>\\documentclass{a}\\begin{document}$E=m$\\end{document}</tex-math>"
            "</disp-formula>",
            "$E=m$",
        ),
        ("<p>Terns<fn><label>a</label><p>Not all.</p></fn> fly.</p>", "Terns ( Not all.) fly."),
        ("<p>So:</p><programlisting>int a;\n  b</programlisting>", "```\nint a;\n  b\n```"),
    ],
)
def test_equations_notes_and_listings_are_kept(source: str, said: str) -> None:
    assert said in read(f"<article>{source}</article>").text


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("between <i>t</i><sub>KCN </sub>and <i>t</i><sub>L </sub>only", "between t_KCN and t_L only"),
        ("R<sup>2 </sup>= 0.7", "R² = 0.7"),
        ("is written<disp-formula><graphic href='e7.jpg'/></disp-formula>in which", "is written in which"),
        ("activities<xref ref-type='table-fn' rid='n1'>a</xref> rose", "activities[a] rose"),
        ("menopause<xref ref-type='fn' rid='n2'><sup>d</sup></xref> began", "menopause[d] began"),
        ("mass (<xref ref-type='fn' rid='n3'>b</xref>)", "mass (b)"),
        ("grew<ref type='foot' target='#n4'>12</ref> fast", "grew fast"),
        ("grew <ref type='foot' target='#n5'>See the long note</ref> fast", "grew See the long note fast"),
    ],
)
def test_formulas_scripts_and_marks_of_notes_do_not_join_words(source: str, said: str) -> None:
    assert said in read(f"<article><p>{source}.</p></article>").text


TEI = """<TEI xmlns="http://www.tei-c.org/ns/1.0"><teiHeader><fileDesc><titleStmt><title>On bees</title></titleStmt>
<sourceDesc><biblStruct><analytic><author><persName><forename type="first">Jane</forename>
<forename type="middle">Q</forename><surname>Doe</surname></persName><affiliation><orgName>Bee Institute</orgName>
<address><settlement>Kochi</settlement></address></affiliation></author></analytic></biblStruct></sourceDesc></fileDesc>
<profileDesc><textClass><keywords><term>hive</term></keywords></textClass><abstract><p>We counted.</p></abstract>
</profileDesc></teiHeader><text><body><div><head>Methods</head><p>By hand.</p></div></body><back><div><listBibl>
<biblStruct><analytic><title>Old bees</title><author><persName><forename>Max</forename><surname>Roe</surname></persName>
</author></analytic></biblStruct></listBibl></div></back></text></TEI>"""


def test_the_head_of_a_tei_document_is_read_and_works_are_cited_on_one_line() -> None:
    document = read(TEI)
    assert document.metadata["authors"] == ["Jane Q Doe"]
    assert document.text == (
        "# On bees\n\nJane Q Doe\n\nKeywords: hive\n\nBee Institute, Kochi\n\n## Abstract\n\nWe counted.\n\n"
        "## Methods\n\nBy hand.\n\n- Old bees Max Roe\n"
    )


@pytest.mark.parametrize("name", ["a.nxml", "A.NXML", "a.tei", "a.dbk"])
def test_articles_have_many_extensions(name: str) -> None:
    assert parsing.read(JATS.encode(), name, max_chars=1_000_000) == read(JATS)


@pytest.mark.parametrize(
    ("notes", "shown"),
    [
        ("<author-notes><corresp>Write to <email>a@b.org</email></corresp></author-notes>", "Write to a@b.org"),
        (
            "<author-notes><fn><label>*</label><p>None competes.</p></fn><fn><p>JD wrote.</p></fn></author-notes>",
            "None competes.\n\nJD wrote.",
        ),
        (
            "<funding-group><funding-statement>Paid by <italic>SIDA</italic>.</funding-statement></funding-group>",
            "Paid by SIDA.",
        ),
    ],
)
def test_what_authors_say_of_themselves_stands_at_the_end(notes: str, shown: str) -> None:
    document = read(JATS.replace("<abstract>", f"{notes}<abstract>"))
    assert document.text == f"{read(JATS).text}\n## Notes\n\n{shown}\n"


def test_the_text_of_a_citation_with_marked_parts_stands_there_once() -> None:
    work = "<bibl>Smith, <title>On sheds</title>, 1999</bibl>"
    place = "<affiliation>University of <hi>Rome</hi>, Italy</affiliation>"
    text = read(f"<TEI><author>{place}</author><text><p>Hello.</p><listBibl>{work}</listBibl></text></TEI>").text
    assert "- Smith, On sheds, 1999\n" in text
    assert "\n\nUniversity of Rome, Italy\n" in text


def test_whoever_made_the_file_of_a_book_is_none_of_its_authors() -> None:
    names = "<author><first-name>{}</first-name><last-name>Byron</last-name></author>"
    head = f"<title-info>{names.format('Ada')}</title-info><document-info>{names.format('Scanner')}</document-info>"
    book = read(f"<FictionBook><description>{head}</description><body><p>Once.</p></body></FictionBook>")
    assert book.metadata["authors"] == ["Ada Byron"]


@pytest.mark.parametrize("name", ["author", "keywords", "contrib", "affiliation", "author-notes", "abstract"])
def test_elements_in_elements_of_their_kind_say_nothing_twice(name: str) -> None:
    inner = f"<{name}>" * 90 + "<p>rare word</p>" + f"</{name}>" * 90
    began = time.process_time()
    text = read(f"<TEI><teiHeader>{inner * 40}</teiHeader><text><p>Hello.</p></text></TEI>").text
    assert time.process_time() - began < 10
    assert text.count("rare word") <= 40


@pytest.mark.parametrize(
    "source",
    [
        "<TEI><text><body><p>w1 text</p><table><head>w2</head><row role='label'><cell>w3</cell><cell>w4</cell></row>"
        "<row><cell>w5</cell><cell>w6</cell></row></table></body></text></TEI>",
        "<TEI><text><body><p>w1<ref type='foot' target='#n'>n_1</ref> goes on</p><list><label>w2</label><item>w3</item>"
        "</list><figure><head>w4</head><figDesc>w5</figDesc></figure></body></text></TEI>",
        "<article><body><p>w1</p><supplementary-material><label>w2</label><caption><p>w3</p></caption>"
        "</supplementary-material><statement><label>w4</label><p>w5</p></statement></body></article>",
        "<article><body><p>w1</p></body><back><notes><title>w2</title><p>w3</p></notes></back></article>",
        "<topic><title>w1</title><body><p>w2</p><simpletable><sthead><stentry>w3</stentry></sthead><strow><stentry>w4"
        "</stentry></strow></simpletable></body></topic>",
    ],
)
def test_no_word_is_lost_whatever_the_vocabulary(source: str) -> None:
    said = read(source).text.split()
    assert [word for word in re.findall(r"\bw\d", source) if word not in [one.strip(":.|*-") for one in said]] == []


def test_a_table_of_tei_has_its_columns_and_cells_that_span() -> None:
    names = "<row><cell>Site</cell><cell cols='2'>Pairs</cell></row>"
    values = "<row><cell>Dune</cell><cell>1</cell><cell>2</cell></row>"
    text = read(f"<TEI><text><body><p>See.</p><table>{names}{values}</table></body></text></TEI>").text
    assert "| Site | Pairs | Pairs |\n| --- | --- | --- |\n| Dune | 1 | 2 |" in text


def test_parts_of_a_citation_that_stand_side_by_side_are_words_of_their_own() -> None:
    cited = "<source>J Bees</source><volume>83</volume>: <lpage>57</lpage><pub-id pub-id-type='pmid'>2068</pub-id>"
    source = f"<article><body><p>So.</p></body><back><ref-list><ref><mixed-citation>{cited}</mixed-citation></ref>"
    assert read(f"{source}</ref-list></back></article>").text.endswith("- J Bees 83: 57\n")
