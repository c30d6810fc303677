"""PDF: the text of its pages through kreuzberg, put together to Markdown that knows where each page begins."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime
from typing import Any, Final

from pinakes.errors import Empty, NeedsOcr, NoText
from pinakes.readers import ocr
from pinakes.readers.decode import scrub
from pinakes.readers.limits import Limits
from pinakes.readers.office import MIME_TYPES, convert, joined, metadata_of
from pinakes.readers.prose import Pages
from pinakes.readers.running import mended, without_running
from pinakes.readers.tidying import tidy
from pinakes.readers.titles import first_line, own_title
from pinakes.types import Document

_NO_TEXT: Final = "No extractable text found in PDF"
_MIME_TYPE: Final = MIME_TYPES[".pdf"]
_LINKS: Final = "Links: "
_CREATED: Final = rb"/CreationDate\s*\(D:%s(?P<zone>Z|[+-]\d\d'?(?:\d\d)?)"


class Pdf:
    """Reads PDF. Pages that are only pictures are read where ``limits`` allow OCR."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits

    def read(self, data: bytes, path: str) -> Document:  # noqa: ARG002 - the port's signature
        """Read ``data``; the title is that of its properties, else its first line.

        Raises:
            Empty: there is nothing in it.
            Unreadable: it is encrypted, damaged, has no text, or takes too long.
        """
        if not data.strip(b"\0 \t\r\n"):
            raise Empty("The file is empty.")
        result = convert(data, _MIME_TYPE, self._limits, "pages")
        metadata = metadata_of(result.metadata)
        if created := str(metadata.get("created") or ""):
            metadata["created"] = _in_its_zone(created, data)
        title = own_title(str(metadata.get("title") or ""))
        pages = [page["content"].replace("\r\n", "\n").replace("\r", "\n") for page in result.pages or ()]
        if self._limits.ocr:
            scanned = [at for at, page in enumerate(pages) if not page.strip()]
            for at, text in ocr.read_pages(data, scanned, self._limits).items():
                pages[at] = text
        text, begins = joined([*markdown(pages, title, _links(result))])
        if not text.strip():
            text, begins = self._otherwise(data), ()
        metadata["page_count"] = max(len(pages), 1)
        return Document(
            text=self._limits.check(text),
            title=title or first_line(text),
            kind="markdown",
            metadata=metadata,
            pages=begins,
        )

    def _otherwise(self, data: bytes) -> str:
        """Return what the converter finds where no page has text of its own: alternative texts of pictures."""
        text = tidy(convert(data, _MIME_TYPE, self._limits).content)
        if text.strip():
            return text
        if not self._limits.ocr:
            raise NeedsOcr(f"{_NO_TEXT}.", hint=ocr.MISSING)
        raise NoText(f"{_NO_TEXT}, not by OCR either.", hint="Exclude the file.")


def markdown(pages: Sequence[str], title: str = "", links: Sequence[Sequence[str]] = ()) -> list[str]:
    """Return the text of each page as Markdown, without what stands there for paper's sake.

    ``links`` are the addresses that a page leads to; those that its text does not show stand below it.
    """
    writer = Pages(title)
    texts = [writer.markdown(scrub(page)) for page in mended(without_running(pages))]
    for at, addresses in enumerate(links):
        hidden = [f"<{one}>" for one in dict.fromkeys(addresses) if one not in texts[at]]
        texts[at] += f"\n\n{_LINKS}{', '.join(hidden)}" if hidden else ""
    return texts


def _in_its_zone(created: str, data: bytes) -> str:
    """Return when a PDF was made with its own zone, without one where ``data`` does not show which.

    The converter says of the time of any zone that it is that of Greenwich.
    """
    local = datetime.fromisoformat(created).replace(tzinfo=None).isoformat()
    found = re.search(_CREATED % re.sub(r"\D", "", local).encode(), data)
    zone = found["zone"].decode().replace("'", "") if found else ""
    try:
        return datetime.fromisoformat(local + zone).isoformat()
    except ValueError:
        return local


def _links(result: Any) -> list[list[str]]:
    """Return the addresses that each page has links to."""
    links: list[list[str]] = [[] for _ in result.pages or ()]
    for one in result.annotations or ():
        address, page = str(one.content or ""), one.page_number
        if one.annotation_type == "link" and address.startswith(("http", "mailto:")) and page <= len(links):
            links[page - 1].append(scrub(address).strip())
    return links
