"""Books (FB2) and outlines (OPML): what is noted in them is read, where it belongs."""

from __future__ import annotations

import time
from contextlib import suppress

import pytest

from pinakes import parsing
from pinakes.core.errors import Unreadable
from pinakes.parsing import outlines


def read(text: str, path: str, encoding: str = "utf-8") -> str:
    return parsing.read(text.encode(encoding), path, max_chars=10_000_000).text


def outline(lines: str) -> str:
    return f'<?xml version="1.0"?><opml version="2.0"><head><title>T</title></head><body>{lines}</body></opml>'


@pytest.mark.parametrize("name", ['name="notes"', "id='b' name='notes'"])
def test_notes_of_a_book_are_chapters_at_its_end(name: str) -> None:
    book = (
        '<FictionBook xmlns="http://www.gribuser.ru/xml/fictionbook/2.0" xmlns:l="http://www.w3.org/1999/xlink">'
        "<body><section><title><p>One</p></title><p>Words go on.</p></section></body>"
        f"<body {name}><title><p>Notes</p></title><section><title><p>1</p></title><p>A walrus.</p></section></body>"
        "</FictionBook>"
    )
    text = read(book, "a.fb2")
    assert text.index("Words go on.") < text.index("# Notes") < text.index("A walrus.")


def test_titles_within_a_part_of_a_book_are_below_that_of_the_part() -> None:
    book = (
        '<FictionBook xmlns="http://www.gribuser.ru/xml/fictionbook/2.0"><description><title-info>'
        "<book-title>Birds</book-title></title-info></description><body><title><p>Birds</p></title>"
        "<section><title><p>One</p></title><p>Words.</p><section><title><p>Deep</p></title><p>More.</p></section>"
        '</section></body><body name="notes"><title><p>Notes</p></title>'
        "<section><title><p>1</p></title><p>A walrus.</p></section>"
        "<section><title><p>2</p></title><p>An otter.</p></section></body></FictionBook>"
    )
    headings = [line for line in read(book, "a.fb2").splitlines() if line.startswith("#")]
    assert headings == ["# Birds", "## One", "### Deep", "## Notes", "### 1", "### 2"]


def test_the_note_of_a_line_stands_below_it() -> None:
    lines = (
        '<outline text="A &amp; &quot;b&quot;" _note="First line&#10;second &lt;x&gt; it\'s">'
        "<outline _note='Deep \"note\"' text='C' type=\"x\"/><outline text='' _note='Only a note'/></outline>"
        '<outline text="D" _note=" "/>'
    )
    assert read(outline(lines), "a.opml") == (
        '# A & "b"\n\nFirst line\nsecond <x> it\'s\n\n## C\n\nDeep "note"\n\nOnly a note\n\n# D\n'
    )


def test_lines_that_are_never_closed_are_looked_through_at_once() -> None:
    start = time.process_time()
    read(outline('<outline text="A"/>' + "<!-- <outline text=\"A _note=' -->" * 50_000), "a.opml")
    assert time.process_time() - start < 10


def test_a_tag_of_a_book_that_is_never_closed_is_looked_through_at_once() -> None:
    start = time.process_time()
    with suppress(Unreadable):
        read("<FictionBook><body " + 'name="notes" ' * 100_000, "a.fb2")
    assert time.process_time() - start < 10


@pytest.mark.parametrize("keyword", ["#+CAPTION:", "#+caption:", "  #+CAPTION[short]:"])
def test_captions_and_tags_of_org_are_kept(keyword: str) -> None:
    text = read(
        f"* TODO Budget :finance:work:\nWords.\n{keyword} Budget by quarter\n"
        "| Item | Q1 |\n|------+----|\n| Rent | 100 |\n",
        "a.org",
    )
    assert "# TODO Budget (finance, work)" in text
    assert "Budget by quarter\n\n| Item | Q1 |\n| --- | --- |\n| Rent | 100 |" in text


@pytest.mark.parametrize("block", ["SRC org", "example", "VERSE", "src"])
def test_blocks_of_org_stay_and_what_follows_them_is_read(block: str) -> None:
    name = block.split()[0]
    lines = f"  #+BEGIN_{block}\n* x :a:\n#+CAPTION: c\n#+END_other\n* y :b:\n  #+END_{name}\n"
    text = read(f"* Time :größe:b_1:\n{lines}* End :c:\n", "a.org")
    assert "# Time (größe, b_1)" in text
    assert "* x :a:\n#+CAPTION: c\n" in text
    assert "* y :b:" in text
    assert "# End (c)" in text


def test_captions_in_quotations_of_org_are_kept() -> None:
    text = read("#+BEGIN_QUOTE\n#+CAPTION: By quarter\n| a | b |\n* x :a:\n#+END_QUOTE\n", "a.org")
    assert "> By quarter" in text
    assert "* x :a:" in text


@pytest.mark.parametrize(
    "text",
    [
        "* " + " " * 200_000 + "x",
        "* x" + " :a:" * 50_000 + " " * 100_000 + "x",
        "*" * 200_000,
        "#+BEGIN_SRC\n#+BEGIN_QUOTE\n" * 10_000,
        "#+BEGIN_SRC\n#+END_SRC x\n* x :a:\n" * 10_000,
        "#+BEGIN_" + "a" * 200_000,
    ],
)
def test_hostile_org_is_looked_through_at_once(text: str) -> None:
    start = time.process_time()
    outlines.prepared(text.encode(), ".org")
    assert time.process_time() - start < 2


def test_org_that_is_all_colons_is_looked_through_at_once() -> None:
    start = time.process_time()
    read("* a :" + "b:" * 50_000 + "c\n" + "* x " * 50_000 + "\n" + "#+CAPTION: x\n" * 20_000, "a.org")
    assert time.process_time() - start < 10


@pytest.mark.parametrize(
    ("body", "shown", "encoding"),
    [
        ("<emphasis>h</emphasis>ier", "hier", "utf-8"),
        ("Wei<strong>ß</strong>brot", "Weißbrot", "utf-8"),
        ("Уз<strong>ник</strong> и он", "Узник и он", "windows-1251"),
        ("a <strong>b</strong> c", "a b c", "utf-8"),
    ],
)
def test_emphasis_within_a_word_of_a_book_does_not_cut_it(body: str, shown: str, encoding: str) -> None:
    head = (
        f'<?xml version="1.0" encoding="{encoding}"?><FictionBook xmlns="http://www.gribuser.ru/xml/fictionbook/2.0">'
    )
    assert shown in read(f"{head}<body><section><p>{body}</p></section></body></FictionBook>", "a.fb2", encoding)


def test_emphasis_of_a_book_that_is_never_closed_is_looked_through_at_once() -> None:
    start = time.process_time()
    with suppress(Unreadable):
        read("<FictionBook><body><p>" + "a<emphasis>" * 50_000, "a.fb2")
    assert time.process_time() - start < 10


@pytest.mark.parametrize("encoding", ["windows-1251", "koi8-r", "utf-16", "utf-8"])
@pytest.mark.parametrize(
    ("path", "source"),
    [
        (
            "a.fb2",
            '<?xml version="1.0" encoding="{}"?><FictionBook xmlns="http://www.gribuser.ru/xml/fictionbook/2.0"><body>'
            "<section><p>Узник и он пошли домой.</p></section></body></FictionBook>",
        ),
        (
            "a.opml",
            '<?xml version="1.0" encoding="{}"?><opml version="2.0"><body><outline text="Узник и он пошли домой."/>'
            "</body></opml>",
        ),
        ("a.org", "* Глава\nУзник и он пошли домой. Там их ждали дети и собака, и все были рады.\n"),
    ],
)
def test_books_and_outlines_are_read_in_the_encoding_that_they_declare_or_have(
    path: str, source: str, encoding: str
) -> None:
    assert "Узник и он пошли домой." in read(source.replace("{}", encoding), path, encoding)


def test_a_book_is_read_with_all_that_it_says() -> None:
    book = (
        '<FictionBook xmlns="http://www.gribuser.ru/xml/fictionbook/2.0" xmlns:l="http://www.w3.org/1999/xlink">'
        "<description><title-info><genre>sf</genre><author><first-name>Ann</first-name><middle-name>B.</middle-name>"
        "<last-name>Lee</last-name></author><book-title>The Walrus</book-title><annotation><p>About walruses.</p>"
        "</annotation><lang>en</lang><translator><first-name>Bob</first-name><last-name>Ray</last-name></translator>"
        "</title-info><publish-info><publisher>Press House</publisher></publish-info></description>"
        "<body><epigraph><p>Words before.</p><text-author>Someone</text-author></epigraph>"
        "<section><title><p>One</p></title><poem><stanza><v>First line</v><v>Second line</v></stanza></poem>"
        "<cite><p>Cited.</p></cite><table><tr><th>Sea</th><th>Depth</th></tr><tr><td>Kara</td><td>620</td></tr></table>"
        '</section></body><binary id="x">iVBORw0KGgo</binary></FictionBook>'
    )
    document = parsing.read(book.encode(), "a.fb2", max_chars=10_000)
    assert document.title == "The Walrus"
    assert document.metadata["authors"] == ["Ann B. Lee"]
    assert document.text == (
        "# The Walrus\n\nAnn B. Lee\n\nAbout walruses.\n\nTranslator: Bob Ray\n\nPublisher: Press House\n\n"
        "Words before.\n\nSomeone\n\n## One\n\nFirst line\n\nSecond line\n\nCited.\n\n"
        "| Sea | Depth |\n| --- | --- |\n| Kara | 620 |\n"
    )


@pytest.mark.parametrize(
    ("source", "shown"),
    [
        ("#+BEGIN_CENTER\n1. a\n#+END_CENTER\n- x\n", "1. a\n- x\n"),
        ("#+BEGIN_FOO\n- a >\n#+END_FOO\n- b\n", "- a >\n- b\n"),
        ("#+BEGIN_FOO\n- a\n  2. c\n#+END_FOO\n  - b\n- e\n", "- a\n    2. c\n    - b\n- e\n"),
        ("- \ue0e2" + "9" * 5000 + " -\ue0e2a\ue0e0b\ue0e1c\n", f"- {'9' * 5000} -abc\n"),
        ("- \ue0e20 7.\ue0e2a\n", "- 0 7.a\n"),
        ("\t" * 200_000 + "- a\n", "- a\n"),
    ],
)
def test_items_that_follow_a_block_stand_on_their_own_line_without_marks(source: str, shown: str) -> None:
    assert read(source, "a.org") == shown


@pytest.mark.parametrize(
    "source",
    [
        "#+BEGIN_QUOTE\n#+BEGIN_FOO\n- a\n#+END_FOO\n- b\n#+END_QUOTE\n- c\n",
        "#+BEGIN_CENTER\ntext\n- a\n#+END_CENTER\ntail\n- x\n",
        "[fn:1] - a\n- b\n#+TITLE: - x\n- a",
        ":DRAWER:\n- a :: b\n:END:\n- [@5] b\n| - a |\n- - c\n",
        "* \ue0e0x\n- \ue0e2 \ue0e212 -\n#+CAPTION: \ue0e2\n| a |\n",
    ],
)
def test_no_mark_is_in_an_org_document(source: str) -> None:
    document = parsing.read(source.encode(), "a.org", max_chars=10_000)
    assert not set("\ue0e0\ue0e1\ue0e2") & set(f"{document.text}{document.title}{document.metadata}")


@pytest.mark.parametrize("mark", ["\ue0e0", "&#xE0E0;", "&#x0e0e2;", "&#57569;", "&#5\ue0e07568;"])
def test_no_mark_is_in_an_outline_document(mark: str) -> None:
    source = outline(f'<outline text="A{mark}x" _note="n{mark}m"/>')
    document = parsing.read(source.encode(), "a.opml", max_chars=10_000)
    assert not set("\ue0e0\ue0e1\ue0e2") & set(f"{document.text}{document.title}{document.metadata}")
    assert document.text.startswith("# A")
