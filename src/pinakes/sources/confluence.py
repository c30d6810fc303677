"""An export of a Confluence space: its pages as HTML, or the XML backup of the whole space."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Mapping
from datetime import datetime
from pathlib import PurePosixPath
from typing import ClassVar, Final

from pinakes.core.records import JSON, Item, Skipped
from pinakes.sources.confluence_backup import Backup
from pinakes.sources.exports import ExportEntry, ExportSource, Tree, read
from pinakes.text.markup import Element, elements

_ENTITIES: Final = "entities.xml"
_PAGES: Final = (".html", ".htm")
_ATTACHED: Final = (".pdf", ".docx", ".pptx", ".xlsx", ".odt", ".md", ".txt", ".csv", ".rtf")
_TAG: Final = re.compile(r"<[^<>]*>")
_HEADING, _HEADING_END = re.compile(r"<h2\b", re.IGNORECASE), re.compile(r"</h2\s*>", re.IGNORECASE)
_DATE: Final = re.compile(
    r"\b(?:on|am|le|el)\s+(\w{3,9}\.? \d{1,2}, \d{4}|\d{1,2}\.? \w{3,9}\.? \d{4}|\d{4}-\d{2}-\d{2})"
)
_DATE_FORMS: Final = ("%b %d, %Y", "%B %d, %Y", "%d %b %Y", "%d %B %Y", "%Y-%m-%d")


class ConfluenceExport(ExportSource):
    """The pages of an exported space, in a folder or a ZIP archive.

    A page has the metadata ``space``, ``parents``, ``author``, ``modified``, from a backup also ``page_id``; its
    comments are at its end. Attachments are read if they are documents.
    """

    what: ClassVar[str] = "export of Confluence"
    version: ClassVar[int] = 1
    _backup: Backup | None = None

    def close(self) -> None:
        """Close the archive, and remove the extracted texts."""
        if self._backup is not None:
            self._backup.close()
            self._backup = None
        super().close()

    def _items(self, tree: Tree, skipped: list[Skipped]) -> Iterable[Item]:
        entries = tree.entries()
        if _ENTITIES in entries:
            self._backup = Backup.read(tree, _ENTITIES)
            for page in self._backup.pages():
                yield self._item(tree, page.path, ExportEntry(page.id, page.size_bytes, page.stamp), page.metadata)
            return
        if "index.html" not in entries:
            raise self._not_an_export()
        del skipped
        for path, entry in entries.items():
            lower = path.lower()
            is_page = lower.endswith(_PAGES) and "/" not in path and lower != "index.html"
            if is_page or (path.startswith("attachments/") and lower.endswith(_ATTACHED)):
                yield self._item(tree, path, entry)

    def _content(self, tree: Tree, place: str, item: Item) -> bytes:
        if self._backup is not None:
            return self._backup.page(place)
        data = read(tree, place, self._limit)
        if PurePosixPath(place).suffix.lower() not in _PAGES:
            return data
        return _page(data.decode("utf-8", "replace"), item.path)


def page(title: str, known: Mapping[str, JSON], body: str) -> bytes:
    """Return an HTML page with its metadata in the head."""
    metas = "".join(
        f'<meta name="{name if name == "author" else f"pinakes:{name}"}" content="{html.escape(str(value))}">'
        for name, value in known.items()
        if value
    )
    head = f"<title>{html.escape(title)}</title>{metas}"
    whole = f"<!doctype html><html><head>{head}</head><body><h1>{html.escape(title)}</h1>\n{body}</body></html>"
    return whole.encode("utf-8", "replace")


def _page(source: str, path: str) -> bytes:
    """Return the main content of a page of an HTML export."""
    found = elements(source)
    by_id = {element.attributes["id"]: element for element in reversed(found) if element.attributes.get("id")}
    main = by_id.get("main-content") or by_id.get("content") or next((one for one in found if one.tag == "body"), None)
    names = [_text(source, one) for one in found if one.tag == "li" and _contains(by_id.get("breadcrumbs"), one)]
    space = names[0] if names else ""
    heading = by_id.get("title-text") or next((one for one in found if one.tag == "title"), None)
    title = _text(source, heading) if heading else ""
    if space and title.startswith(f"{space} : "):
        title = title[len(space) + 3 :]
    about = next((one for one in found if "page-metadata" in one.words), None)
    about_text = _text(source, about) if about else ""
    known = {
        "author": _first(source, found, "author"),
        "editor": _first(source, found, "editor"),
        "modified": _date(about_text),
        "space": space,
        "parents": " / ".join(names[1:]),
    }
    body = source[main.inside : main.inner_end] if main else source
    comments = by_id.get("comments")
    if comments is not None and not _contains(main, comments):
        section = found[comments.parent] if comments.parent is not None else comments
        section = found[section.parent] if comments.tag.startswith("h") and section.parent is not None else section
        body += f"\n<h2>Comments</h2>\n{_without_heading(source, section)}"
    return page(title or PurePosixPath(path).stem, known, body)


def _without_heading(source: str, section: Element) -> str:
    text = source[section.inside : section.inner_end]
    begin = _HEADING.search(text)
    end = _HEADING_END.search(text, begin.end()) if begin else None
    return f"{text[: begin.start()]} {text[end.end() :]}" if begin and end else text


def _contains(outer: Element | None, inner: Element) -> bool:
    return outer is not None and outer.start < inner.start < outer.end


def _first(source: str, found: Iterable[Element], word: str) -> str:
    return next((_text(source, one) for one in found if word in one.words), "")


def _text(source: str, element: Element) -> str:
    return " ".join(html.unescape(_TAG.sub(" ", source[element.inside : element.inner_end])).split())


def _date(about_text: str) -> str:
    """Return the last date in a line as ISO 8601, "" if it has none in a known format."""
    for raw in reversed(_DATE.findall(about_text)):
        for form in _DATE_FORMS:
            try:
                return datetime.strptime(raw.replace(".", ""), form).date().isoformat()  # noqa: DTZ007 - a day
            except ValueError:
                continue
    return ""
