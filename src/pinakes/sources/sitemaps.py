"""Sitemaps: lists of pages, and lists of sitemaps, plain or gzipped."""

from __future__ import annotations

import re
import zlib
from dataclasses import dataclass
from typing import Final
from xml.etree import ElementTree

from pinakes.core.errors import TooLarge, Unreadable

MAX_BYTES: Final = 60_000_000
"""Maximum unpacked size of a sitemap; the protocol allows 50 MB."""

_START_BYTES: Final = 4096
_BEFORE: Final = rb"(?:\xef\xbb\xbf)?(?>\s+|<\?.*?\?>|<!--.*?-->|<!DOCTYPE[^<>\[]*(?:\[.*?\]\s*)?>)*"
_ROOT: Final = re.compile(_BEFORE + rb"<(?:[\w.-]+:)?(?:urlset|sitemapindex)[\s>/]", re.DOTALL)
"""The start of a sitemap up to its root element. Pages about sitemaps may contain these words, too."""

_GZIP: Final = b"\x1f\x8b"


@dataclass(frozen=True, slots=True)
class SitemapEntry:
    """A page or a further sitemap; ``changed``: time of its last change as stated by the site, or ""."""

    url: str
    changed: str


@dataclass(frozen=True, slots=True)
class Sitemap:
    """The entries of a sitemap: pages, or further sitemaps if ``is_index``."""

    is_index: bool
    entries: tuple[SitemapEntry, ...]


def is_sitemap(body: bytes) -> bool:
    """Return whether the root element of ``body`` is that of a sitemap; gzipped ones are unpacked."""
    if body.startswith(_GZIP):
        try:
            body = zlib.decompressobj(31).decompress(body, _START_BYTES)
        except zlib.error:
            return False
    return _ROOT.match(body[:_START_BYTES]) is not None


def parse(body: bytes) -> Sitemap:
    """Return the content of a sitemap; entries without a URL are skipped.

    Raises:
        Unreadable: it is damaged, or declares entities, which sitemaps do not need.
        TooLarge: it unpacks to more than 60 MB.
    """
    body = _unpacked(body)
    listing = _Listing()
    parser = ElementTree.XMLParser(target=listing)  # noqa: S314 - document types, and so entities, are refused
    try:
        parser.feed(body)
        parser.close()
    except ElementTree.ParseError as error:
        raise Unreadable(f"The sitemap is damaged: {error}.") from error
    if listing.root not in ("urlset", "sitemapindex"):
        raise Unreadable(f"It is no sitemap: it begins with {listing.root!r}.")
    return Sitemap(listing.root == "sitemapindex", tuple(listing.entries))


class _Listing:
    """Extracts the entries of a sitemap while it is parsed, without building a tree."""

    def __init__(self) -> None:
        self.root = ""
        self.entries: list[SitemapEntry] = []
        self._path: list[str] = []
        self._values: dict[str, str] = {}

    def doctype(self, *_: str | None) -> None:
        raise Unreadable("The sitemap declares a document type, which sitemaps do not need.")

    def start(self, tag: str, _attributes: dict[str, str]) -> None:
        name = tag.rpartition("}")[2]
        self.root = self.root or name
        self._path.append(name)

    def data(self, text: str) -> None:
        if len(self._path) == 3 and self._path[2] in ("loc", "lastmod"):
            self._values[self._path[2]] = self._values.get(self._path[2], "") + text

    def end(self, _tag: str) -> None:
        if len(self._path) == 2:
            if url := self._values.get("loc", "").strip():
                self.entries.append(SitemapEntry(url, self._values.get("lastmod", "").strip()))
            self._values = {}
        self._path.pop()


def _unpacked(body: bytes) -> bytes:
    if not body.startswith(_GZIP):
        return body
    unpack = zlib.decompressobj(31)
    try:
        data = unpack.decompress(body, MAX_BYTES + 1)
    except zlib.error as error:
        raise Unreadable(f"The sitemap is packed, and damaged: {error}.") from error
    if len(data) > MAX_BYTES:
        raise TooLarge(f"The sitemap unpacks to more than {MAX_BYTES:,} bytes.")
    if not unpack.eof:
        raise Unreadable("The sitemap is packed, and breaks off.")
    return data
