"""XML as readable lines, and feeds as Markdown."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from pinakes import parsing
from pinakes.core.errors import Empty, TooLarge
from pinakes.core.records import Document

FEED = """<?xml version="1.0"?>
<rss version="2.0" xmlns:dc="http://purl.org/dc/elements/1.1/"><channel>
<title>Press &amp; news</title><link>https://example.org/</link><description>What is new</description>
<item><title>The press is mended</title><link>https://example.org/press</link><dc:creator>Jo</dc:creator>
<pubDate>Tue, 19 Nov 2024 13:30:02 +0000</pubDate><category>cider</category>
<description><![CDATA[<p>It was <b>broken</b>.</p><h2>How</h2><script>alert(1)</script>]]></description></item>
</channel></rss>"""
ATOM = """<feed xmlns="http://www.w3.org/2005/Atom"><title>Notes</title><entry><title>First</title>
<link rel="self" href="https://example.org/self"/><link href="https://example.org/1"/>
<author><name>Al</name></author><updated>2024-01-02T03:04:05Z</updated>
<content type="text">Less &lt; more</content></entry></feed>"""


def read(text: str | bytes, path: str = "a.xml") -> Document:
    return parsing.read(text.encode() if isinstance(text, str) else text, path, max_chars=100_000)


def test_records_become_lines() -> None:
    document = read(
        "<farm><title>Our farm</title><hive id='7'><bees>9000</bees></hive><hive id='8' kind='Warré'/></farm>"
    )
    assert document.text == "Farm:\n  Title: Our farm\n  Hive:\n  - Bees: 9000\n  - Kind: Warré\n"
    assert (document.title, document.language) == ("Our farm", "xml")
    assert document.metadata["hive"] == [{"bees": "9000"}, {"kind": "Warré"}]


def test_prose_keeps_its_order_and_loses_its_marks() -> None:
    text = read("<book><h>One</h><p>Some <b>bold</b> words.</p><h>Two</h><p>More.</p></book>").text
    assert text.index("One") < text.index("Some bold words.") < text.index("Two") < text.index("More.")
    assert "<" not in text


def test_the_declared_encoding_is_used() -> None:
    data = '<?xml version="1.0" encoding="iso-8859-1"?><a>können</a>'.encode("iso-8859-1")
    assert read(data).text == "A: können\n"


@pytest.mark.parametrize("source", ["<a><b></a>", "no xml", "<a>1 < 2</a>", "<a>" * 200 + "</a>" * 200])
def test_what_is_no_xml_is_read_as_text_and_says_why(source: str) -> None:
    document = read(source)
    assert document.text.strip() == source
    assert document.metadata["parse_error"]


@pytest.mark.parametrize("dtd", ["", '<!DOCTYPE a PUBLIC "-//X//DTD" "http://example.org/x.dtd">'])
@pytest.mark.parametrize(
    ("source", "shown"),
    [
        ("caf&eacute;&nbsp;noir", "café noir"),
        ("1 &mdash; 2 of &product;", "1 — 2 of &product;"),
        ("R & D, AT&T", "R & D, AT&T"),
        ("R&amp;D &#233; &lt;", "R&D é <"),
        ("<![CDATA[a & b &eacute; c]]>", "a & b &eacute; c"),
    ],
)
def test_references_to_entities_that_no_one_declared_lose_no_letter(dtd: str, source: str, shown: str) -> None:
    assert read(f"{dtd}<a>{source}</a>").text == f"A: {shown}\n"


def test_an_entity_that_is_declared_is_what_it_says() -> None:
    declared = '<!DOCTYPE a [<!ENTITY eacute "E!"><!ENTITY us "R&amp;D">]>'
    assert read(f'{declared}<a b="x & y">&us; of &eacute;</a>').text == "A:\n  B: x & y\n  Text: R&D of E!\n"


def test_a_long_row_of_ampersands_is_read_in_good_time() -> None:
    begin = time.process_time()
    for part in ("&", "&a", "<![CDATA[", "<!--", "<!ENTITY "):
        read(f"<a>{part * 10_000}</a>")
    assert time.process_time() - begin < 2


@pytest.mark.parametrize("depth", [6, 9])
def test_entities_that_grow_beyond_measure_are_refused(depth: int) -> None:
    lines = "".join(f'<!ENTITY e{at} "{f"&e{at - 1};" * 10}">' for at in range(1, depth))
    with pytest.raises(TooLarge, match="entities would make it far longer"):
        read(f'<!DOCTYPE a [<!ENTITY e0 "ha">{lines}]><a>&e{depth - 1};</a>')


def test_entities_from_elsewhere_are_not_fetched(tmp_path: Path) -> None:
    secret = tmp_path / "secret.txt"
    secret.write_text("hidden words")
    text = read(f'<!DOCTYPE a [<!ENTITY x SYSTEM "{secret.as_uri()}">]><a>seen &x;</a>').text
    assert "seen" in text
    assert "hidden words" not in text


def test_xml_without_text_is_empty() -> None:
    with pytest.raises(Empty):
        read("<a><b/></a>")


@pytest.mark.parametrize("path", ["feed.xml", "feed.rss"])
def test_a_feed_becomes_a_section_for_each_entry(path: str) -> None:
    document = read(FEED, path)
    assert document.title == "Press & news"
    assert document.text.startswith(
        "# Press & news\n\nWhat is new\n\n## [The press is mended](https://example.org/press)"
    )
    assert "2024-11-19 · Jo · cider" in document.text
    assert "It was **broken**." in document.text
    assert "#### How" in document.text
    assert "alert" not in document.text
    assert document.metadata["entries"] == 1
    assert document.metadata["link"] == "https://example.org/"


def test_an_atom_feed_is_read_alike() -> None:
    document = read(ATOM, "notes.atom")
    assert "## [First](https://example.org/1)" in document.text
    assert "2024-01-02 · Al" in document.text
    assert "Less < more" in document.text


@pytest.mark.parametrize("prefix", ["content", "ns3"])
def test_the_whole_content_of_an_entry_is_read_whatever_its_prefix(prefix: str) -> None:
    content = f"<{prefix}:encoded>&lt;p&gt;It began with a worn screw.&lt;/p&gt;</{prefix}:encoded></item>"
    feed = FEED.replace("</item>", content).replace(
        "<rss ", f'<rss xmlns:{prefix}="http://purl.org/rss/1.0/modules/content/" '
    )
    text = read(feed).text
    assert text.index("It was **broken**.") < text.index("It began with a worn screw.")


@pytest.mark.parametrize("summary", ["It was broken.", "It was broken…", "broken"])
def test_a_summary_that_only_repeats_the_content_is_left_out(summary: str) -> None:
    item = f"<item><title>One</title><description>{summary}</description><c:encoded>It was broken.</c:encoded></item>"
    text = read(
        f'<rss xmlns:c="http://purl.org/rss/1.0/modules/content/"><channel><title>News</title>{item}</channel></rss>'
    ).text
    assert text.count("broken") == 1


@pytest.mark.parametrize(
    ("item", "said"),
    [
        ("<itunes:summary>An hour on presses.</itunes:summary>", "An hour on presses."),
        ("<itunes:author>Ida Roe</itunes:author>", "Ida Roe"),
        ("<dc:subject>printing</dc:subject><category>cider</category>", "cider, printing"),
        ("<media:group><media:description>How we did it.</media:description></media:group>", "How we did it."),
        ("<media:content url='a.mp4'><media:description>In colour.</media:description></media:content>", "In colour."),
        ("<xhtml:body><xhtml:p>The whole story.</xhtml:p></xhtml:body>", "The whole story."),
    ],
)
def test_what_other_vocabularies_say_of_an_entry_is_read(item: str, said: str) -> None:
    spaces = " ".join(f"xmlns:{one}='urn:{one}'" for one in ("itunes", "dc", "media", "xhtml"))
    feed = f"<rss {spaces}><channel><title>News</title><item><title>One</title>{item}</item></channel></rss>"
    assert said in read(feed).text


@pytest.mark.parametrize(
    ("titles", "heading"),
    [
        ("<media:group><media:title>In the group</media:title></media:group>", "## In the group"),
        ("<media:content url='a.mp4'><media:title>In the film</media:title></media:content>", "## In the film"),
        ("<title> </title><media:title>Beside it</media:title>", "## Beside it"),
        ("<media:title>Of the film</media:title><title>Of the entry</title>", "## Of the entry"),
        ("<description>No title at all</description>", "## …"),
    ],
)
def test_an_entry_has_its_own_title_as_heading_or_else_that_of_its_media(titles: str, heading: str) -> None:
    feed = f"<rss xmlns:media='urn:media'><channel><title>News</title><item>{titles}</item></channel></rss>"
    assert heading in read(feed).text.splitlines()


def test_authors_of_docbook_may_be_one_name() -> None:
    author = "<author><personname>Ida Holm</personname></author>"
    book = f"<book xmlns='http://docbook.org/ns/docbook'><info><title>T</title>{author}</info><para>a</para></book>"
    assert parsing.read(book.encode(), "a.xml", max_chars=1000).metadata["authors"] == ["Ida Holm"]
