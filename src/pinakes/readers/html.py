"""HTML: Markdown through kreuzberg, without scripts, styles and navigation; title and meta tags."""

from __future__ import annotations

import html.parser
import re
from typing import Final

from pinakes.errors import Empty
from pinakes.readers.decode import decode, scrub
from pinakes.readers.limits import Limits
from pinakes.readers.office import convert, tidy
from pinakes.readers.titles import cut, markdown_title
from pinakes.types import JSON, Document

_CHARSET: Final = re.compile(rb"""<(?:meta\b[^>]*?charset|\?xml\b[^>]*?encoding)\s*=\s*["']?([\w.:-]{2,40})""", re.I)
_HEAD_TAGS: Final = re.compile(
    r"<title\b[^<>]*>[^<]{0,2000}(?:<(?!/title)[^<]{0,200}){0,5}</title\s*>|<(?:meta|link|base|html)\b[^<>]*>",
    re.IGNORECASE,
)
_UNSEEN: Final = re.compile(
    r"<(script|style|noscript|template|svg)\b[^<>]*>.*?(?:</\1\s*>|\Z)|<!--.*?(?:-->|\Z)", re.IGNORECASE | re.DOTALL
)
_META: Final = {
    "description": "description",
    "og:description": "description",
    "author": "author",
    "article:author": "author",
    "date": "date",
    "dc.date": "date",
    "article:published_time": "date",
    "last-modified": "modified",
    "article:modified_time": "modified",
    "keywords": "keywords",
}
_MAX_META_CHARS: Final = 1000


class Html:
    """Reads HTML and XHTML."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits

    def read(self, data: bytes, path: str) -> Document:  # noqa: ARG002 - the port's signature
        """Read ``data``; the title is ``<title>``, else the first ``<h1>``.

        Raises:
            Empty: it shows no text.
            Unreadable: it cannot be converted.
        """
        source = _UNSEEN.sub(" ", decode(data, charset=_declared_charset(data)))
        head = _Head()
        head.feed("".join(_HEAD_TAGS.findall(source)))
        head.close()
        # Without its head tags, or kreuzberg writes them into the text.
        body = _HEAD_TAGS.sub("", source)
        text = tidy(convert(body.encode(), "text/html", self._limits).content)
        if not text.strip():
            raise Empty("The page shows no text.")
        title = cut(" ".join(scrub(head.title).split())) or markdown_title(text)
        return Document(text=self._limits.check(text), title=title, kind="markdown", metadata=head.metadata)


class _Head(html.parser.HTMLParser):
    """Collects the title and what the meta tags say of the page."""

    def __init__(self) -> None:
        super().__init__()
        self.title = ""
        self.metadata: dict[str, JSON] = {}
        self._in_title = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note a meta tag, or that the title begins."""
        self._in_title = tag == "title" and not self.title
        values = {name: value or "" for name, value in attrs}
        if tag == "html" and values.get("lang"):
            self.metadata.setdefault("lang", scrub(values["lang"])[:20])
        if tag != "meta":
            return
        name = _META.get((values.get("name") or values.get("property") or "").lower())
        if name and (content := " ".join(scrub(values.get("content", "")).split())):
            self.metadata.setdefault(name, content[:_MAX_META_CHARS])

    def handle_data(self, data: str) -> None:
        """Add to the title."""
        if self._in_title:
            self.title += data

    def handle_endtag(self, tag: str) -> None:
        """Note that the title ends."""
        if tag == "title":
            self._in_title = False


def _declared_charset(data: bytes) -> str | None:
    match = _CHARSET.search(data[:4096])
    return match[1].decode("ascii") if match else None
