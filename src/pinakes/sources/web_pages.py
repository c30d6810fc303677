"""Fetched pages: their file names, and their storage between runs."""

from __future__ import annotations

import codecs
import hashlib
import json
import os
import re
from collections.abc import Collection
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.parse import unquote, urlsplit

from pinakes.core.errors import Unreadable, storing
from pinakes.platform import plugins
from pinakes.platform.permissions import make_private

if TYPE_CHECKING:
    from pinakes.fetching.client import Fetched

_EXTENSIONS: Final = {
    "text/html": (".html", ".htm", ".xhtml"),
    "application/xhtml+xml": (".xhtml", ".html", ".htm"),
    "text/markdown": (".md", ".markdown", ".mdx", ".qmd", ".rmd"),
    "text/x-rst": (".rst",),
    "text/csv": (".csv",),
    "text/tab-separated-values": (".tsv", ".tab"),
    "application/json": (".json", ".ipynb"),
    "application/yaml": (".yaml", ".yml"),
    "application/toml": (".toml",),
    "application/pdf": (".pdf",),
    "application/rtf": (".rtf",),
    "application/epub+zip": (".epub",),
    "application/msword": (".doc",),
    "application/vnd.ms-excel": (".xls",),
    "application/vnd.ms-powerpoint": (".ppt",),
    "application/vnd.openxmlformats-officedocument.wordprocessingml.document": (".docx",),
    "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet": (".xlsx",),
    "application/vnd.openxmlformats-officedocument.presentationml.presentation": (".pptx",),
    "application/vnd.oasis.opendocument.text": (".odt",),
    "application/vnd.oasis.opendocument.spreadsheet": (".ods",),
    "application/vnd.oasis.opendocument.presentation": (".odp",),
    "message/rfc822": (".eml",),
}
"""Content type → extensions that its readers know; the first is used for a page with none of them."""

_HTML: Final = ("text/html", "application/xhtml+xml")
_NEVER: Final = re.compile(
    r"(?:image|audio|video|font)/.*|application/(?:zip|gzip|x-tar|x-7z-compressed|javascript|wasm)|text/(?:css|javascript)"
)
_VAGUE: Final = ("", "application/octet-stream", "binary/octet-stream", "text/plain", "application/x-download")
_LOOKS_LIKE_HTML: Final = re.compile(rb"\s*(?:<!--.*?-->\s*)*<(?:!doctype\s+html|html|head|body)\b", re.I | re.S)
_CHARSET: Final = re.compile(r"charset\s*=\s*[\"']?([\w.:-]{1,40})", re.IGNORECASE)
_EXTENSION: Final = re.compile(r"\.[A-Za-z0-9]{1,10}$")
_UNSAFE: Final = re.compile(r"[\x00-\x1f\x7f\\]")
_MAX_PART_CHARS: Final = 150


@dataclass(frozen=True, slots=True)
class StoredPage:
    """The record of a page: its URL, the final URL after redirects, its validators, and the hash of its content.

    ``listed``: last change according to its sitemap; ``fetched``: time of the last request, in seconds since the epoch.
    """

    url: str
    final: str
    media_type: str
    size_bytes: int
    digest: str
    etag: str = ""
    modified: str = ""
    listed: str = ""
    fetched: float = 0.0
    is_sitemap: bool = False

    def conditions(self) -> dict[str, str]:
        """Return the headers of a conditional request."""
        given = {"if-none-match": self.etag, "if-modified-since": self.modified}
        return {name: value for name, value in given.items() if value}


class Store:
    """Stores the pages of a source in a folder: their records and their contents."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def get(self, url: str) -> StoredPage | None:
        """Return the record of a page whose content is stored; None if there is none."""
        about, content = self._places(url)
        try:
            kept = StoredPage(**json.loads(about.read_text("utf-8")))
            return kept if kept.url == url and content.stat().st_size == kept.size_bytes else None
        except (OSError, ValueError, TypeError):
            return None

    def put(self, kept: StoredPage, body: bytes | None = None) -> None:
        """Store a page; without ``body``, its stored content is kept.

        Raises:
            StorageFull: it cannot be written.
        """
        about, content = self._places(kept.url)
        with storing("What was fetched"):
            make_private(self._folder)
            if body is not None:
                _write(content, body)
            _write(about, json.dumps(asdict(kept)).encode())

    def body(self, kept: StoredPage) -> bytes:
        """Return the content of a page.

        Raises:
            Unreadable: it is missing, or was replaced by another version.
        """
        try:
            data = self._places(kept.url)[1].read_bytes()
        except OSError as error:
            raise Unreadable("The page is not in the home any more.", hint="Sync the source again.") from error
        if hashlib.sha256(data).hexdigest() != kept.digest:
            raise Unreadable("The page was fetched anew meanwhile.", hint="Sync the source again.")
        return data

    def keep_only(self, urls: Collection[str], fetched_since: float) -> None:
        """Delete all other pages, except those requested since then: sources of other collections may share them."""
        wanted = {path.stem for url in urls for path in self._places(url)}
        for about in self._folder.glob("*.json"):
            if about.stem not in wanted and about.stat().st_mtime < fetched_since:
                about.unlink(missing_ok=True)
        for path in self._folder.glob("*.*"):
            if path.suffix != ".json" and not path.with_suffix(".json").exists():
                path.unlink(missing_ok=True)

    def _places(self, url: str) -> tuple[Path, Path]:
        name = hashlib.sha256(url.encode()).hexdigest()[:32]
        return self._folder / f"{name}.json", self._folder / f"{name}.body"


def _write(path: Path, data: bytes) -> None:
    fresh = path.with_name(f"{path.name}.new")
    fresh.write_bytes(data)
    os.replace(fresh, path)  # noqa: PTH105 - named after what it does


def path_of(url: str, *, with_host: bool) -> str:
    """Return the file path of a page before its content type is known: ``guide/index.html``.

    A query becomes part of the name. Parts that are not valid in a path stay encoded.
    """
    parts = urlsplit(url)
    names = [_name(part) for part in parts.path.split("/") if part]
    if not names or parts.path.endswith("/"):
        names.append("index.html")
    if parts.query:
        names[-1] += f"?{_name(parts.query)}"
    return "/".join([parts.netloc.replace(":", "_"), *names] if with_host else names)


def typed_path(path: str, media_type: str) -> str:
    """Return ``path`` with an extension that selects the right reader."""
    fitting = _EXTENSIONS.get(media_type) or plugins.extensions(media_type)
    if not fitting:
        return path if "?" not in path and _EXTENSION.search(path) else f"{path}.txt"
    return path if path.lower().endswith(fitting) and "?" not in path else f"{path}{fitting[0]}"


def media_type(answer: Fetched) -> str:
    """Return the content type of a page: as declared by the host, or guessed if that is unspecific."""
    declared = answer.content_type
    if declared in _VAGUE:
        if _LOOKS_LIKE_HTML.match(answer.body[:1024]):
            return "text/html"
        if answer.body.startswith(b"%PDF-"):
            return "application/pdf"
    return declared


def refusal(media_type: str) -> str | None:
    """Return why pages of a content type are not read, None if they are."""
    return f"Content type {media_type}, which is not read" if _NEVER.fullmatch(media_type) else None


def content(answer: Fetched, media_type: str) -> bytes:
    """Return the content for its reader: text whose encoding only the host declares is converted to UTF-8."""
    charset = _CHARSET.search(answer.headers.get("content-type", ""))
    if charset is None or not (media_type.startswith("text/") or media_type in _HTML):
        return answer.body
    try:
        if codecs.lookup(charset[1]).name in ("utf-8", "ascii", "iso8859-1"):  # often declared wrongly
            return answer.body
        return answer.body.decode(charset[1], "replace").encode("utf-8", "replace")
    except (LookupError, ValueError):
        return answer.body


def with_base(body: bytes, kept: StoredPage) -> bytes:
    """Return an HTML page with its URL as base, so that its links can be resolved; other content unchanged."""
    if kept.media_type not in _HTML or b"<base" in body[:65_536].lower() or body[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return body
    return b'<base href="' + kept.final.replace('"', "%22").replace("<", "%3C").encode() + b'">' + body


def _name(part: str) -> str:
    """Return one part of a URL path as a file name."""
    try:
        plain = unquote(part, errors="strict")
    except UnicodeDecodeError:
        plain = part
    name = plain if "/" not in plain and not _UNSAFE.search(plain) and plain not in (".", "..") else part
    name = name.replace("/", "%2F")
    if len(name) <= _MAX_PART_CHARS:
        return name
    return f"{name[: _MAX_PART_CHARS - 17]}-{hashlib.sha256(part.encode()).hexdigest()[:16]}"
