"""OpenDocument files: texts (ODT), workbooks (ODS) and presentations (ODP)."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator
from typing import Final, NamedTuple
from xml.etree.ElementTree import Element

from pinakes.core.errors import Unreadable
from pinakes.core.records import JSON, ReadingNote
from pinakes.core.wording import counted
from pinakes.parsing import blocks
from pinakes.parsing.blocks import Block
from pinakes.parsing.charts import titled
from pinakes.parsing.encrypted import encrypted
from pinakes.parsing.grids import markdown
from pinakes.parsing.limits import Limits
from pinakes.parsing.notes import sections
from pinakes.parsing.odf_blocks import Flow, comments_of
from pinakes.parsing.odf_sheets import read_sheets
from pinakes.parsing.odf_styles import Styles
from pinakes.parsing.odf_text import Story
from pinakes.parsing.openxml import Package, line, number
from pinakes.parsing.sheet_margins import with_margins
from pinakes.parsing.slides import hidden_notes, slide_text

_CONTENT: Final = "content.xml"
_MANIFEST: Final = "META-INF/manifest.xml"
_MARGINS: Final = frozenset(f"{kind}{which}" for kind in ("header", "footer") for which in ("", "-left", "-first"))
_OPENED, _CLOSED = "☐", "☒"
_MOST_REPEATED: Final = 1000
_CHECKED: Final = ("checked", "true")
_TITLE: Final = "title"
_MARGIN_KINDS: Final = ("page-number", "date-time", "header", "footer")


class OpenText(NamedTuple):
    """The content of a file: ``parts`` are its slides or sheets; a text document is a single part."""

    parts: list[str]
    metadata: dict[str, JSON]
    notes: list[ReadingNote]


def read_opendocument(package: Package, extension: str, limits: Limits) -> OpenText:
    """Read an ODT, ODS or ODP.

    Raises:
        Locked: it is encrypted.
        TooLarge: it exceeds the limits.
        Unreadable: it is not an OpenDocument file.
    """
    if _CONTENT not in package.names:
        raise Unreadable(
            f"The file is damaged or not what its name says: it has no {_CONTENT}.",
            hint="Open and save it again, or replace it.",
        )
    if any(True for _ in package.tree(_MANIFEST).iter("encryption-data")):
        raise encrypted("File")
    common = package.tree("styles.xml")
    metadata = _metadata(package.tree("meta.xml"))
    shared = [part for name in ("styles", "automatic-styles", "master-styles") for part in common.iter(name)]
    objects = _Objects(package)
    if extension == ".ods":
        parts, notes = read_sheets(package, _CONTENT, shared, objects.shown, limits)
        texts = _margins_of(common, Story(Styles(*shared), objects.shown, pages=False))
        # dates and times without a value stand there by default
        parts = with_margins(parts, (one for one in texts if any(map(str.isalpha, one))))
        return OpenText(parts, metadata, notes)
    root = package.tree(_CONTENT)
    body = root.find("body")
    styles = Styles(*(one for one in shared if one.tag != "automatic-styles"), *root.iter("automatic-styles"))
    story = Story(styles, objects.shown, dict(_controls(root)))
    if extension == ".odp":
        show = body.find("presentation") if body is not None else None
        parts, notes = read_slides(show if show is not None else Element(""), story)
        return OpenText(parts, metadata, notes)
    text = blocks.joined(Flow(story).blocks(body if body is not None else root, 0))
    margins = Story(Styles(*shared), objects.shown, pages=False)
    text = f"{text}\n{sections(story.cited, story.comments)}{_margins(common, margins)}"
    count = story.hidden + margins.hidden
    message = f"Read and marked: {counted(count, 'chunk')} of hidden text."
    return OpenText([text], metadata, [ReadingNote("hidden", message, count=count)] if count else [])


def _margins(common: Element, story: Story) -> str:
    """Return the distinct texts of headers and footers as a section."""
    return blocks.margins(_margins_of(common, story))


def _margins_of(common: Element, story: Story) -> dict[str, None]:
    """Return the distinct texts of headers and footers, without page numbers."""
    found: dict[str, None] = {}
    for page in common.iter("master-page"):
        for margin in page:
            if margin.tag not in _MARGINS or margin.get("display") == "false":
                continue
            story.had_pages = False
            for block in [*Flow(story).blocks(margin, 0)]:
                found.setdefault(blocks.in_margin(block, numbered=story.had_pages))
    return found


def _controls(root: Element) -> Iterator[tuple[str, str]]:
    """Yield the id of each form field, and its displayed value."""
    for forms in root.iter("forms"):
        for one in forms.iter():
            shown = _shown(one)
            if shown and one.get("id"):
                yield one.get("id", ""), shown


def _shown(control: Element) -> str:
    label = line(control.get("label", ""))
    if control.tag in ("checkbox", "radio"):
        state = control.get("current-state") or control.get("current-selected") or control.get("state") or ""
        state = state or control.get("selected", "")
        return f"{_CLOSED if state in _CHECKED else _OPENED} {label}".strip()
    if control.tag == "listbox":
        chosen = [
            one.get("label", "")
            for one in control.iter("option")
            if one.get("current-selected", one.get("selected")) == "true"
        ]
        return line(", ".join(chosen))
    if control.tag in ("fixed-text", "frame"):
        return label
    if control.tag in ("button", "password", "hidden", "image"):
        return ""
    return line(control.get("current-value") or control.get("value") or "")


def _metadata(root: Element) -> dict[str, JSON]:
    """Return the metadata of a file, with the field names of other conversions."""
    found: dict[str, JSON] = {}
    values = {one.tag: line("".join(one.itertext())) for parent in root.iter("meta") for one in parent}
    for name in ("title", "subject"):
        if values.get(name):
            found[name] = values[name]
    if author := values.get("initial-creator") or values.get("creator"):
        found["authors"] = [part.strip() for part in author.split(";")]
    keywords = [line("".join(one.itertext())) for one in root.iter("keyword")]
    if keywords:
        found["keywords"] = [part.strip() for one in keywords for part in one.split(",")]
    for name, ours in (("creation-date", "created_at"), ("date", "modified_at")):
        if values.get(name):
            found[ours] = values[name][:19]
    pages = next((number(one.get("page-count")) for one in root.iter("document-statistic")), 0)
    if pages:
        found["page_count"] = pages
    return found


class _Objects:
    """Embedded charts and equations, each shown once."""

    def __init__(self, package: Package) -> None:
        self._package = package
        self._read: set[str] = set()

    def shown(self, address: str) -> Iterator[Block]:
        """Yield the blocks of an embedded object; ``address``: its path in the file."""
        part = posixpath.normpath(posixpath.join(address.lstrip("./"), _CONTENT))
        if part in self._read or part == _CONTENT:
            return
        self._read.add(part)
        root = self._package.tree(part)
        if root.tag == "math":
            words = line(root.findtext(".//annotation", "")) or line(" ".join(root.itertext()))
            if words:
                yield Block("text", f"${words}$")
        for chart in root.iter("chart"):
            if chart.find("chart") is None:  # the root element has the same name as the chart in it
                yield from (Block("text", text) for text in _chart(chart))


def _chart(chart: Element) -> Iterator[str]:
    """Yield the title and the table of a chart."""
    title = _words(chart.find("title")) or _words(chart.find("subtitle"))
    axes = [text for one in chart.iterfind("./plot-area/axis/title") if (text := _words(one))]
    table = chart.find("table")
    grid = []
    for row in table.iter("table-row") if table is not None else ():
        cells: list[str] = []
        for cell in row.iterfind("table-cell"):
            again = min(max(number(cell.get("number-columns-repeated"), 1), 1), _MOST_REPEATED)
            cells += [_words(cell) or cell.get("value", "")] * again
        grid.append(cells)
    yield from titled(title, axes, markdown(grid))


def _words(element: Element | None) -> str:
    return line(" ".join("".join(one.itertext()) for one in element.iter("p"))) if element is not None else ""


def read_slides(body: Element, story: Story) -> tuple[list[str], list[ReadingNote]]:
    """Return the text of each slide, and notes."""
    hidden = 0
    texts = []
    for page in body.iterfind("page"):
        is_hidden = story.styles.of("drawing-page", page.get("style-name", "")).hidden
        hidden += is_hidden
        texts.append(_slide(page, story, is_hidden=is_hidden))
    return texts, hidden_notes(hidden, story.hidden)


def _slide(page: Element, story: Story, *, is_hidden: bool) -> str:
    titles: list[str] = []
    shown: list[Block] = []
    for one in page:
        if one.tag in ("notes", "annotation", "forms") or one.get("class") == "page-number":
            continue
        inner = Flow(story).blocks(_alone(one), 0)
        if one.get("class") == _TITLE:
            titles.append(line(" ".join(block.text.lstrip("# ").removeprefix("- ") for block in inner)))
        else:
            shown += inner
    extras = [*_notes(page, story)]
    if comments := comments_of(story, page):
        extras.append("\n".join(["### Comments\n", *(f"- {one}" for one in comments)]))
    return slide_text(" ".join(filter(None, titles)), [blocks.joined(shown), *extras], is_hidden=is_hidden)


def _notes(page: Element, story: Story) -> Iterator[str]:
    """Yield the speaker notes of a slide."""
    for notes in page.iterfind("notes"):
        found: list[Block] = []
        for one in notes:
            if one.get("class") not in _MARGIN_KINDS and one.tag not in ("page-thumbnail", "forms"):
                found += Flow(story).blocks(_alone(one), 0)
        if text := blocks.joined(found):
            yield f"### Notes\n\n{text}"


def _alone(shape: Element) -> Element:
    holder = Element("shapes")
    holder.append(shape)
    return holder
