"""HTML: converted to Markdown by kreuzberg without scripts, styles and navigation; title and meta tags."""

from __future__ import annotations

import html.parser
import re
from typing import Final

from pinakes.core.errors import Empty
from pinakes.core.records import JSON, Document, ReadingNote
from pinakes.core.wording import counted
from pinakes.parsing.decode import declared_charset, decode, scrub
from pinakes.parsing.html_content import HIDDEN_MARK, main_part
from pinakes.parsing.limits import LimitedReader, Limits
from pinakes.parsing.office import convert
from pinakes.parsing.page_inserts import visible_source
from pinakes.parsing.page_tables import with_spans, without_layout
from pinakes.parsing.page_values import with_values
from pinakes.parsing.tidying import tidy
from pinakes.parsing.titles import cut, markdown_title

_HEAD_TAGS: Final = re.compile(
    r"<title\b[^<>]*>[^<]{0,2000}(?:<(?!/title)[^<]{0,200}){0,5}</title\s*>|<(?:meta|link|base|html)\b[^<>]*>",
    re.IGNORECASE,
)
_MATHML: Final = re.compile(r"<!-- MathML: .*?(?:-->[ ]?|\Z)", re.DOTALL)
"""The source of an equation, which the converter writes before the equation's text."""

_META: Final = {
    "description": "description",
    "og:description": "description",
    "author": "author",
    "article:author": "author",
    "citation_author": "author",
    "dc.creator": "author",
    "dcterms.creator": "author",
    "date": "date",
    "dc.date": "date",
    "dcterms.date": "date",
    "dcterms.created": "date",
    "datepublished": "date",
    "article:published_time": "date",
    "citation_publication_date": "date",
    "last-modified": "modified",
    "datemodified": "modified",
    "dcterms.modified": "modified",
    "article:modified_time": "modified",
    "keywords": "keywords",
    "og:site_name": "site",
}
_OWN: Final = "pinakes:"
"""Prefix of our own meta tags, by which a source that generates pages adds metadata."""

_MAX_META_CHARS: Final = 1000
_SITE: Final = r"\s*[-–—|·:»]\s*"


class Html(LimitedReader):
    """Reads HTML and XHTML."""

    def read(self, data: bytes, path: str) -> Document:  # noqa: ARG002 - the port's signature
        """Read ``data``; the title is ``<title>``, else the first ``<h1>``.

        Raises:
            Empty: the page shows no text.
            Unreadable: the page cannot be converted.
        """
        source = visible_source(decode(data, charset=declared_charset(data)))
        head = _Head()
        head.feed("".join(_HEAD_TAGS.findall(source)))
        head.close()
        text = to_markdown(main_part(source, head.base, mark_hidden=True), self._limits)
        if not text.strip():
            raise Empty("The page shows no text.")
        title = cut(_without_site(" ".join(scrub(head.title).split()), head.metadata)) or markdown_title(text)
        hidden = max(text.count(HIDDEN_MARK.strip()) - source.count(HIDDEN_MARK.strip()), 0)
        message = f"Read and marked: {counted(hidden, 'hidden part')}."
        notes = (ReadingNote("hidden", message, count=hidden),) if hidden else ()
        text = self._limits.check(text)
        return Document(text=text, title=title, kind="markdown", metadata=head.metadata, notes=notes)


def to_markdown(source: str, limits: Limits) -> str:
    """Return the visible content of a page as Markdown.

    Raises:
        Unreadable: the page cannot be converted.
    """
    # Head tags are removed, since kreuzberg would write them into the text.
    body = with_spans(without_layout(with_values(_HEAD_TAGS.sub("", visible_source(source)))))
    return tidy(_MATHML.sub("", convert(body.encode(), "text/html", limits).content))


class _Head(html.parser.HTMLParser):
    """Collects the title, the meta tags, and the base URL of links."""

    def __init__(self) -> None:
        super().__init__()
        self.title = ""
        self.metadata: dict[str, JSON] = {}
        self.base = ""
        self._in_title = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Collect a meta tag, or note the start of the title."""
        self._in_title = tag == "title" and not self.title
        values = {name: value or "" for name, value in attrs}
        if tag == "html" and values.get("lang"):
            self.metadata.setdefault("lang", scrub(values["lang"])[:20])
        href = values.get("href", "").strip()
        if tag == "base" and _is_address(href):
            self.base = self.base or href
        elif tag == "link" and "canonical" in values.get("rel", "").lower().split() and _is_address(href):
            self.metadata.setdefault("canonical", scrub(href)[:_MAX_META_CHARS])
        if tag != "meta":
            return
        told = (values.get("name") or values.get("property") or values.get("itemprop") or "").lower()
        name = told.removeprefix(_OWN) if told.startswith(_OWN) else _META.get(told)
        if name and (content := " ".join(scrub(values.get("content", "")).split())):
            content = content[:_MAX_META_CHARS]
            self.metadata.setdefault(name, _parts(content) if name == "keywords" else content)

    def handle_data(self, data: str) -> None:
        """Append to the title."""
        if self._in_title:
            self.title += data

    def handle_endtag(self, tag: str) -> None:
        """Note the end of the title."""
        if tag == "title":
            self._in_title = False


def _parts(keywords: str) -> list[JSON]:
    """Return the distinct keywords as a list, as other formats have them."""
    return list(dict.fromkeys(part for each in re.split("[,;]", keywords) if (part := each.strip())))


def _is_address(href: str) -> bool:
    return href.lower().startswith(("http://", "https://"))


def _without_site(title: str, metadata: dict[str, JSON]) -> str:
    """Return a title without the name of the site, if the page declares that name."""
    site = str(metadata.get("site", ""))
    if not site:
        return title
    return re.sub(rf"(?:^{re.escape(site)}{_SITE}(?=\S)|(?<=\S){_SITE}{re.escape(site)}$)", "", title)
