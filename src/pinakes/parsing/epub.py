"""Books (EPUB): the chapters in reading order, each converted like a web page."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from typing import Final
from urllib.parse import unquote
from xml.etree.ElementTree import Element

from pinakes.core.errors import Empty, Unreadable
from pinakes.core.records import JSON, Document, ReadingNote
from pinakes.core.wording import counted
from pinakes.parsing.containers import check_zip, reading_zip
from pinakes.parsing.decode import declared_charset, decode
from pinakes.parsing.encrypted import encrypted
from pinakes.parsing.html import to_markdown
from pinakes.parsing.html_content import HIDDEN_MARK, main_part
from pinakes.parsing.limits import LimitedReader, Limits
from pinakes.parsing.office import metadata_of
from pinakes.parsing.openxml import Package, line
from pinakes.parsing.recognise import ZIP
from pinakes.parsing.titles import markdown_title, own_title

_CONTAINER: Final = "META-INF/container.xml"
_LOCKED: Final = "META-INF/encryption.xml"
_PAGES: Final = ("application/xhtml+xml", "text/html", "application/x-dtbook+xml")
_TITLE_CHARS: Final = 5000
_PAGE_NAMES: Final = (".xhtml", ".html", ".htm")
_BODY: Final = re.compile(r"<body\b[^<>]*>(.*?)(?:</body\s*>|\Z)", re.IGNORECASE | re.DOTALL)
_EMPTY: Final = re.compile(r"<(title|script|style|a|i|b|em|strong|span|div|p|td|th)\b([^<>]*)/>", re.IGNORECASE)
"""Self-closing elements, which HTML would leave open to the end of the page."""


class Epub(LimitedReader):
    """Reads EPUB."""

    def read(self, data: bytes, path: str) -> Document:  # noqa: ARG002 - the port's signature
        """Read ``data``; the title is that of the metadata, else the first heading.

        Raises:
            Empty: the book has no text.
            Locked: its chapters are encrypted.
            TooLarge: its chapters exceed the limits.
            Unreadable: it is damaged, or lists no chapters.
        """
        if not data.strip(b"\0 \t\r\n"):
            raise Empty("The file is empty.")
        with reading_zip():
            if not data.startswith(ZIP):
                raise _no_book("is no ZIP container")
            check_zip(data)
            package = Package(data)
            part = _main(package)
            book = package.tree(part)
            texts, hidden = self._texts(package, list(dict.fromkeys(_chapters(package, book, posixpath.dirname(part)))))
        text = "\n\n".join(filter(None, texts))
        if not text.strip():
            raise Empty("The file holds no text.")
        metadata = metadata_of(_metadata(book))
        message = f"Read and marked: {counted(hidden, 'hidden part')}."
        return Document(
            text=self._limits.check(f"{text}\n"),
            title=own_title(str(metadata.get("title") or "")) or markdown_title(text[:_TITLE_CHARS]),
            kind="markdown",
            metadata=metadata,
            notes=(*([ReadingNote("hidden", message, count=hidden)] if hidden else ()), *package.notes),
        )

    def _texts(self, package: Package, chapters: list[str]) -> tuple[list[str], int]:
        """Return the text of each chapter, and the total number of hidden parts."""
        locked = {unquote(one.get("URI", "")) for one in package.tree(_LOCKED).iter("CipherReference")}
        if chapters and locked.issuperset(chapters):
            raise encrypted("File")
        texts: list[str] = []
        size = hidden = 0
        for name in chapters:
            if name not in locked:
                text, count = _chapter(package.data(name), self._limits)
                size, hidden = size + len(text), hidden + count
                self._limits.check_size(size)
                texts.append(text.strip("\n"))
        return texts, hidden


def _no_book(why: str) -> Unreadable:
    return Unreadable(
        f"The file is damaged or not what its name says: it {why}.", hint="Open and save it again, or replace it."
    )


def _main(package: Package) -> str:
    """Return the name of the package document, which lists the chapters."""
    named = [one.get("full-path", "") for one in package.tree(_CONTAINER).iter("rootfile")]
    there = [
        *(name for name in named if name in package.names),
        *(one for one in package.names if one.endswith(".opf")),
    ]
    if not there:
        raise _no_book("names no chapters")
    return there[0]


def _chapters(package: Package, book: Element, folder: str) -> Iterator[str]:
    """Yield the names of the chapters: first in reading order, then the other listed ones, without the menu."""
    items = {one.get("id", ""): one for one in book.iter("item")}
    ordered = [items[one.get("idref", "")] for one in book.iter("itemref") if one.get("idref", "") in items]
    listed = [one for one in items.values() if one.get("media-type") in _PAGES[:2]]
    for one in (*ordered, *listed):
        address = unquote(one.get("href", "").partition("#")[0])
        name = posixpath.normpath(posixpath.join(folder, address)).lstrip("/")
        is_page = one.get("media-type", "") in _PAGES or name.lower().endswith(_PAGE_NAMES)
        if is_page and name in package.names and "nav" not in one.get("properties", "").split():
            yield name


def _chapter(data: bytes, limits: Limits) -> tuple[str, int]:
    """Return a chapter as Markdown, and its number of hidden parts."""
    source = _EMPTY.sub(r"<\1\2></\1>", decode(data, charset=declared_charset(data)))
    body = _BODY.search(source)
    page = f"<main>{body[1] if body else source}</main>"
    text = to_markdown(main_part(page, mark_hidden=True), limits)
    return text, max(text.count(HIDDEN_MARK) - source.count(HIDDEN_MARK), 0)


def _metadata(book: Element) -> dict[str, JSON]:
    """Return the metadata of a book, with the field names of other conversions."""
    values: dict[str, list[JSON]] = {}
    for about in book.iter("metadata"):
        for one in about.iter():
            if text := line("".join(one.itertext())):
                values.setdefault(one.tag, []).append(text)
            if one.tag == "meta" and one.get("property") == "dcterms:modified" and one.text:
                values["modified"] = [one.text.strip()]
    found: dict[str, JSON] = {"title": values["title"][0]} if "title" in values else {}
    if "creator" in values:
        found["authors"] = values["creator"]
    if "subject" in values:
        found["keywords"] = values["subject"]
    for name, ours in (("date", "created_at"), ("modified", "modified_at")):
        if name in values:
            found[ours] = values[name][0]
    return found
