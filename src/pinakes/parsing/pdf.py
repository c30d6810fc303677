"""PDF: page texts from PDFium, converted to Markdown with the offset of each page."""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any, Final

from pinakes.core.errors import Empty, NeedsOcr, NoText, Unreadable
from pinakes.core.records import JSON, Document, ReadingNote
from pinakes.core.wording import counted, first_of
from pinakes.parsing import ocr, pdfium
from pinakes.parsing.decode import scrub
from pinakes.parsing.limits import LimitedReader
from pinakes.parsing.mime_types import MIME_TYPES
from pinakes.parsing.office import convert, joined, metadata_of
from pinakes.parsing.pdf_forms import Annotations, PageExtras, form_of, written, xfa_fields
from pinakes.parsing.pdf_framed import blocks_of
from pinakes.parsing.pdf_headers import cleaned
from pinakes.parsing.pdf_prose import Pages, mended
from pinakes.parsing.pdf_tables import continued, tables_as_text
from pinakes.parsing.pdf_text import PageText, load_text, text_of
from pinakes.parsing.tidying import tidy
from pinakes.parsing.titles import cut as shortened
from pinakes.parsing.titles import first_line, own_title

_NO_TEXT: Final = "No extractable text found in PDF"
_MIME_TYPE: Final = MIME_TYPES[".pdf"]
_INSTALL_FONTS: Final = "Install them on this machine, or save the file again with its fonts."
_NAMED_FONTS: Final = 5
_LINKS: Final = "Links: "
_FORMS_SHARE: Final = 0.25
"""The share of a document's time limit that form fields and comments may use."""
_CREATED: Final = re.compile(
    r"D?:?(?P<date>\d{4})(?P<month>\d\d)?(?P<day>\d\d)?(?P<time>\d{6}|\d{4})?(?P<zone>Z|[+-]\d\d'?(?:\d\d)?)?"
)
_PEOPLE: Final = re.compile(r"\s*[;,]\s*|\s+(?:and|und|et|&)\s+")


class Pdf(LimitedReader):
    """Reads PDF. Pages that are only pictures are recognised if ``limits.ocr`` is set."""

    def read(self, data: bytes, path: str) -> Document:  # noqa: ARG002 - the port's signature
        """Read ``data``; the title is that of its properties, else its first line.

        Raises:
            Empty: the file is empty.
            Unreadable: it is encrypted, damaged, has no text, or takes too long.
        """
        if not data.strip(b"\0 \t\r\n"):
            raise Empty("The file is empty.")
        with pdfium.opened(data, self._limits) as document:
            metadata = metadata_of(_properties(document.get_metadata_dict()))
            read, cut = self._pages(document)
        blocks = [blocks_of(text.lines, text.frames) for text, _ in read]
        continued(blocks)
        pages, extras = [tables_as_text(page) for page in blocks], [other for _, other in read]
        title = own_title(str(metadata.get("title") or ""))
        if self._limits.ocr:
            scanned = [at for at, page in enumerate(pages) if not page.strip()]
            for at, recognised in ocr.read_pages(data, scanned, self._limits).items():
                pages[at] = recognised
                read[at] = replace(read[at][0], no_fonts=frozenset()), read[at][1]
        printed = cleaned(pages)
        text, begins = joined(markdown(printed.pages, title, extras))
        if not text.strip():
            text, begins = self._converted_text(data, _missing(text for text, _ in read)), ()
        metadata["page_count"] = max(len(pages), 1)
        return Document(
            text=self._limits.check(text),
            title=title or first_line(text),
            kind="markdown",
            metadata=metadata,
            pages=begins,
            notes=tuple(note for note in (printed.note(), *_notes([text for text, _ in read], cut)) if note),
        )

    def _pages(self, document: Any) -> tuple[list[tuple[PageText, PageExtras]], int]:
        """Return the text and the extras of each page, and how many annotations were not read for lack of time.

        Raises:
            TooLarge, Unreadable: its text is too long, or reading takes too long.
        """
        import pypdfium2.raw as library

        end = time.monotonic() + self._limits.timeout_s
        pages: list[tuple[PageText, PageExtras]] = []
        size = 0
        with form_of(library, document) as form:
            annotations = Annotations(library, document, form, self._limits.timeout_s * _FORMS_SHARE)
            for number in range(len(document)):
                if time.monotonic() > end:
                    raise Unreadable(
                        f"Reading took longer than {self._limits.timeout_s:g} seconds.",
                        hint="Raise the setting ingest.read_timeout_s, or exclude the file.",
                    )
                pages.append(_page(library, document, number, annotations))
                size += sum(map(len, _words_of(*pages[-1])))
                self._limits.check_size(size)
        if pages and not any(other.fields for _, other in pages):
            pages[0][1].fields.extend(xfa_fields(library, document))
        return pages, annotations.cut

    def _converted_text(self, data: bytes, fonts: str) -> str:
        """Return what kreuzberg finds if no page has text: alternative texts of pictures. ``fonts``: missing ones."""
        text = tidy(convert(data, _MIME_TYPE, self._limits).content)
        if text.strip():
            return text
        if fonts:
            raise NoText(f"{_NO_TEXT}: its fonts are not in the file: {fonts}.", hint=_INSTALL_FONTS)
        if not self._limits.ocr:
            raise NeedsOcr(f"{_NO_TEXT}.", hint=ocr.needed())
        raise NoText(f"{_NO_TEXT}, not by OCR either.", hint="Exclude the file.")


def _missing(pages: Iterable[PageText]) -> str:
    """Return the names of fonts without which pages have no letters."""
    names = sorted({name for page in pages for name in page.no_fonts})
    return first_of([shortened(name) for name in names], _NAMED_FONTS)


def _page(library: Any, document: Any, number: int, annotations: Annotations) -> tuple[PageText, PageExtras]:
    """Return the text and the extras of a page, both empty if the page is damaged."""
    page = library.FPDF_LoadPage(document, number)
    if not page:
        return PageText([]), PageExtras()
    textpage = load_text(library, page)
    try:
        text = text_of(library, page, textpage) if textpage else PageText([])
        return text, annotations.of(page, textpage)
    finally:
        if textpage:
            library.FPDFText_ClosePage(textpage)
        library.FPDF_ClosePage(page)


def _words_of(text: PageText, extras: PageExtras) -> Iterator[str]:
    """Yield all words of a page."""
    yield from (word.text for line in text.lines for word in line.words)
    yield from (*map(str, extras.fields), *extras.comments, *extras.texts)


def _notes(pages: Sequence[PageText], cut: int) -> list[ReadingNote]:
    """Return notes on text that was dropped as invisible or for lack of time, and on unmapped characters."""
    notes = []
    if outside := sum(page.outside for page in pages):
        words = counted(outside, "word")
        notes.append(ReadingNote("hidden", f"{words} outside of the visible part of the pages left out", count=outside))
    if hidden := sum(page.hidden for page in pages):
        lines = counted(hidden, "line that is", "lines that are")
        notes.append(ReadingNote("hidden", f"{lines} drawn invisibly read and marked", count=hidden))
    if unmapped := sum(page.unmapped for page in pages):
        message = f"{unmapped} characters have no letter in the fonts of the file"
        notes.append(ReadingNote("unmapped-characters", message, count=unmapped))
    for partly in (False, True):
        some = [page for page in pages if page.no_fonts and bool(page.lines) is partly]
        if some:
            read = "read in part only" if partly else "not read"
            message = (
                f"{counted(len(some), 'page')} {read}: fonts are not in the file: {_missing(some)}. {_INSTALL_FONTS}"
            )
            notes.append(ReadingNote("missing-fonts", message, count=len(some)))
    if cut:
        message = f"{cut} fields or comments not read: those before took too long (ingest.read_timeout_s)"
        notes.append(ReadingNote("limit", message, count=cut))
    return notes


def markdown(pages: Sequence[str], title: str = "", extras: Sequence[PageExtras] = ()) -> list[str]:
    """Return the text of each page as Markdown, without headers, footers and page numbers.

    ``extras``: the extras of each page, which follow its text; of its links, those that the text does not show.
    """
    writer = Pages(title)
    texts = [writer.markdown(scrub(page)) for page in mended(pages)]
    for at, other in enumerate(extras):
        if more := written(other):
            texts[at] = f"{texts[at]}\n\n{more}".lstrip("\n")
        hidden = [f"<{one}>" for one in dict.fromkeys(other.links) if one not in texts[at]]
        texts[at] += f"\n\n{_LINKS}{', '.join(hidden)}" if hidden else ""
    return texts


def _properties(found: dict[str, str]) -> dict[str, JSON]:
    """Return the properties of a document, with the field names of other conversions."""
    people = [one.strip() for one in _PEOPLE.split(found.get("Author", ""))]
    return {
        "title": found.get("Title", ""),
        "subject": found.get("Subject", ""),
        "authors": [one for one in people if one],
        "keywords": [one.strip() for one in re.split("[;,]", found.get("Keywords", "")) if one.strip()],
        "created_at": _date(found.get("CreationDate", "")),
    }


def _date(raw: str) -> str:
    """Return a PDF date as ISO 8601, with its zone if it has one; any other text unchanged."""
    match = _CREATED.match(raw.strip())
    if match is None:
        return raw
    local = f"{match['date']}-{match['month'] or '01'}-{match['day'] or '01'}"
    clock = (match["time"] or "").ljust(6, "0")
    local += f"T{clock[:2]}:{clock[2:4]}:{clock[4:]}"
    zone = (match["zone"] or "").replace("'", "")
    for one in (local + zone, local):
        try:
            return datetime.fromisoformat(one).isoformat()
        except ValueError:
            continue
    return ""
