"""Of a web page its content is read, not what is around it."""

from __future__ import annotations

import pytest
from linear import assert_linear

from pinakes.core.records import Document
from pinakes.parsing import read
from pinakes.parsing.html_content import main_part
from pinakes.text.markup import cut, elements

PROSE = "<p>The tortoise walks slowly over the warm stones of the old harbour wall.</p>" * 5


def page(body: str, head: str = "") -> Document:
    source = f"<!doctype html><html><head>{head}</head><body>{body}</body></html>"
    return read(source.encode(), "page.html", max_chars=1_000_000)


@pytest.mark.parametrize(
    "noise",
    [
        "<nav><a href='/'>NOISE</a></nav>",
        "<header><nav>NOISE</nav></header>",
        "<footer>NOISE</footer>",
        "<aside>NOISE</aside>",
        "<div role='navigation'>NOISE</div>",
        "<div role='search'>NOISE</div>",
        "<dialog open>NOISE</dialog>",
        "<div id='cookie-banner'>NOISE <button>Accept</button></div>",
        "<div class='cc cookie-consent-modal'>NOISE</div>",
        "<section class='gdpr-notice'>NOISE</section>",
        "<div class='CookieConsent'>NOISE</div>",
        "<ul class='breadcrumb'><li>NOISE</li></ul>",
        "<div class='sidebar'>NOISE</div>",
        "<a class='skip-link' href='#main'>NOISE</a>",
        "<div hidden><nav>NOISE</nav></div>",
        "<script>NOISE</script><noscript>NOISE</noscript><template>NOISE</template><style>NOISE</style>",
    ],
)
def test_what_is_around_the_content_is_left_out(noise: str) -> None:
    text = page(f"{noise}<h1>Tortoises</h1>{PROSE}").text
    assert "tortoise walks" in text
    assert "NOISE" not in text


@pytest.mark.parametrize(
    "hidden",
    [
        "<div hidden>The old rule</div>",
        "<p style='color: red; display: none'>The old rule</p>",
        '<span style="visibility:hidden">The <b hidden>old</b> rule</span>',
        "<div hidden=until-found class=x>The old rule</div>",
        "<table><tr style='display:none'><td>The old rule</td><td>b</td></tr><tr><td>c</td><td>d</td></tr></table>",
    ],
)
def test_what_is_hidden_is_read_and_marked_once(hidden: str) -> None:
    document = page(f"<h1>Tortoises</h1>{PROSE}{hidden}")
    text = document.text.replace("**", "")
    assert "[hidden] The old rule" in text
    assert text.count("[hidden]") == 1
    assert [(note.code, note.count) for note in document.notes] == [("hidden", 1)]


def test_only_the_main_part_is_read_where_a_page_has_one() -> None:
    around = "<div>Latest news</div>", "<div>Related pages</div>"
    for tag in ("main", "div role='main'"):
        text = page(f"{around[0]}<{tag}><h1>Tortoises</h1>{PROSE}</{tag.split()[0]}>{around[1]}").text
        assert "tortoise walks" in text
        assert "news" not in text
        assert "Related" not in text


def test_a_main_part_that_holds_little_of_the_page_is_not_trusted() -> None:
    assert "tortoise walks" in page(f"<main><h1>Hello</h1></main>{PROSE}").text


@pytest.mark.parametrize(
    "kept",
    [
        "<main><aside>KEPT</aside>{}</main>",
        "<article><footer>KEPT</footer>{}</article>",
        "{}<aside id='footnotes' class='footnotes footnotes-end-of-document' role='doc-endnotes'>KEPT</aside>",
        "{}<aside class='footnote-list brackets'><aside role='doc-footnote'>KEPT</aside></aside>",
        "{}<aside class='admonition tip'><p>KEPT</p></aside>",
        "<div class='sidebar'>KEPT{}</div>",
        "<div class='cookies-recipe'>KEPT</div>{}",
        "<div class='consent'><p>KEPT</p>{}</div>",
        "<body class='has-sidebar cookie-banner'>KEPT{}",
        "<header><h1>KEPT</h1></header>{}",
    ],
)
def test_what_belongs_to_the_content_stays(kept: str) -> None:
    text = page(kept.format(PROSE)).text
    assert "KEPT" in text
    assert "tortoise walks" in text


def test_links_say_where_they_lead() -> None:
    body = (
        "<p><a href='../b?x=1&amp;y=2#part'>one</a> <a class=x href=/c>two</a> <a href='#here'>three</a> "
        f"<a HREF=\"https://other.example/\">four</a> <a href='mailto:a@b.example'>five</a></p>{PROSE}"
    )
    text = page(body, "<base href='https://docs.example/guide/a/'>").text
    assert "[one](https://docs.example/guide/b?x=1&y=2#part)" in text
    assert "[two](https://docs.example/c)" in text
    assert "[three](#here)" in text
    assert "[four](https://other.example/)" in text
    assert "[five](mailto:a@b.example)" in text


def test_links_stay_as_they_are_where_nobody_knows_where_the_page_was() -> None:
    assert "[one](../b)" in page(f"<a href='../b'>one</a>{PROSE}").text


def test_what_a_page_says_of_itself_is_kept() -> None:
    document = page(
        PROSE,
        "<title>Tortoises | The Harbour</title><meta property='og:site_name' content='The Harbour'>"
        "<link rel='alternate canonical' href='https://docs.example/tortoises'>"
        "<meta itemprop='datePublished' content='2024-03-01'><meta name='DC.creator' content='Ada Vogel'>"
        "<meta property='article:modified_time' content='2024-04-01T00:00:00Z'>"
        "<meta name='pinakes:space' content='Zoo'><meta name='keywords' content='slow, shells,,slow; old age'>",
    )
    assert document.title == "Tortoises"
    assert document.metadata == {
        "site": "The Harbour",
        "canonical": "https://docs.example/tortoises",
        "date": "2024-03-01",
        "author": "Ada Vogel",
        "modified": "2024-04-01T00:00:00Z",
        "space": "Zoo",
        "keywords": ["slow", "shells", "old age"],
    }


@pytest.mark.parametrize("href", ["javascript:alert(1)", "/relative", "file:///x", ""])
def test_an_address_that_is_none_is_not_taken_for_one(href: str) -> None:
    document = page(f"<a href='x'>one</a>{PROSE}", f"<link rel='canonical' href='{href}'><base href='{href}'>")
    assert "canonical" not in document.metadata
    assert "[one](x)" in document.text


def test_elements_know_where_they_stand() -> None:
    text = '<div id="a">\n<p class="B c">one<br>two\n<p>three</div><img src=x>tail'
    found = elements(text)
    assert [(one.tag, one.parent) for one in found] == [("div", None), ("p", 0), ("br", 1), ("p", 1), ("img", None)]
    assert text[found[0].start : found[0].end].endswith("three</div>")
    assert text[found[3].inside : found[3].inner_end] == "three"
    assert found[1].words == {"b", "c"}
    assert cut(text, (0, len(text)), [(found[1].start, found[1].end, "-"), (found[3].start, found[3].end, "lost")]) == (
        '<div id="a">\n-</div><img src=x>tail'
    )


@pytest.mark.parametrize("unit", ["<div>" * 2, "<a href='", "</div>" * 2, "<" * 4, "<p class='cookie'>", "<!"])
def test_hostile_markup_takes_linear_time(unit: str) -> None:
    assert_linear(lambda page: main_part(page, "https://docs.example/"), lambda count: unit * count, 12_000)


@pytest.mark.parametrize("tag", ["div", "blockquote", "ul><li", "table><tr><td", "b", "span"])
def test_words_are_kept_however_deep_they_are_wrapped(tag: str) -> None:
    names = tag.split("><")
    closing = "".join(f"</{name}>" for name in reversed(names))
    text = page(f"{PROSE}{f'<{tag}>' * 300}The heron<p>and the stork.</p>{closing * 300}<p>At the end.</p>").text
    assert "The heron" in text
    assert "and the stork." in text
    assert "\n\nAt the end." in text


def test_what_stands_in_many_wrappers_keeps_its_form() -> None:
    inner = "<h2>Waders</h2><p>The heron.</p><ul><li>stork</li><li>egret</li></ul>"
    text = page("<div>" * 90 + inner + "</div>" * 90).text
    assert text == "## Waders\n\nThe heron.\n\n- stork\n- egret\n"


@pytest.mark.parametrize(
    "address",
    [
        "whatsapp://send?text=The%20tortoise%20walks",
        "mailto:?subject=Look&amp;body=The%20tortoise",
        "https://www.facebook.com/sharer/sharer.php?u=a",
        "//twitter.com/intent/tweet?text=The%20tortoise",
        "https://api.whatsapp.com/send?text=tortoise",
        "https://www.linkedin.com/shareArticle?mini=true",
        "javascript:open(%27//mail.example/?a=%20%27);",
    ],
)
def test_the_address_of_a_link_that_shares_the_page_is_dropped_and_its_words_stay(address: str) -> None:
    text = page(f"{PROSE}<p><a href='{address}'>Tell a friend</a> <a href=\"{address}\"><img alt='Bird'></a></p>").text
    assert "Tell a friend" in text
    assert "Bird" in text
    assert not [mark for mark in ("%20", "](", "//") if mark in text]


@pytest.mark.parametrize("address", ["mailto:a@b.org", "https://x.com/ann", "https://wa.me/123", "/share/reports"])
def test_other_links_keep_their_addresses(address: str) -> None:
    assert f"[Ann]({address})" in page(f"{PROSE}<p><a href='{address}'>Ann</a></p>").text


SIGNS = [("+", "+"), ("&lt;=", "<="), ("...", "..."), ("**", "**"), ("∑", "∑"), ("≤", "≤"), ("€", "€")]


@pytest.mark.parametrize(("sign", "shown"), SIGNS)
def test_a_link_to_a_sign_that_the_page_is_about_is_there(sign: str, shown: str) -> None:
    text = page(f"{PROSE}<p>There is <a href='#op'>{sign}</a> for numbers.</p>").text
    assert f"There is [{shown}](#op) for numbers." in text.replace("\\", "")


@pytest.mark.parametrize("mark", ["↩", "&#8617;&#xFE0E;", "¶", "^", " ↑ ", "←", "×"])
def test_a_mark_that_leads_back_into_the_text_is_dropped(mark: str) -> None:
    link = f"<a href='#fnref:1' title='Jump back to footnote 1 in the text'>{mark}</a>"
    text = page(f"{PROSE}<ol><li>A note.{link}</li></ol><p><a href='#fn:1'>1</a> <a href='#a'>See</a></p>").text
    assert "A note.\n" in text
    assert "[See](#a)" in text
