"""Office, OpenDocument, RTF, Outlook messages and other formats as Markdown, mostly through kreuzberg."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from datetime import datetime
from email.utils import parsedate_to_datetime
from typing import Any, Final, Literal, TypeAlias, TypeVar

from pinakes.core.errors import Empty, TooLarge, Unreadable
from pinakes.core.records import JSON, Document, ReadingNote
from pinakes.parsing import outlines
from pinakes.parsing.containers import check_ole, check_zip, reading_zip
from pinakes.parsing.decode import declared_charset, scrub, to_utf8
from pinakes.parsing.encrypted import decrypted, encrypted, is_encrypted
from pinakes.parsing.equations import written
from pinakes.parsing.inserted import InsertedFiles
from pinakes.parsing.limits import LimitedReader, Limits
from pinakes.parsing.mime_types import MIME_TYPES
from pinakes.parsing.old_documents import read_old_document
from pinakes.parsing.old_sheets import read_old_workbook
from pinakes.parsing.old_slides import OldSlides, read_old_slides
from pinakes.parsing.opendocument import read_opendocument
from pinakes.parsing.openxml import Package
from pinakes.parsing.recognise import OLE, OLE_FORMATS, ZIP
from pinakes.parsing.rtf import read_rtf
from pinakes.parsing.sheets import read_workbook
from pinakes.parsing.slide_prompts import without_prompts
from pinakes.parsing.slides import read_presentation
from pinakes.parsing.tidying import tidy
from pinakes.parsing.titles import cut, markdown_title, own_title
from pinakes.parsing.word import read_word

_WORD: Final = frozenset((".docx", ".docm", ".dotx"))
_SHEETS: Final = frozenset((".xlsx", ".xlsm", ".xlsb", ".xls", ".ods"))
_RTF: Final = ".rtf"
_XLS: Final = ".xls"
_DOC: Final = ".doc"
_WORD_95: Final = "magic number: 0xA5DC"
_NEW_LINE: Final = "\n"
_BETWEEN_SLIDES: Final = "\ue0f6"
_MAIL: Final = ".msg"
"""Converted to plain text, since the Markdown of a message joins its lines."""

_PPT: Final = ".ppt"
_SLIDES: Final = frozenset((".pptx", ".pptm", ".ppsx", ".ppt", ".odp"))
_OPEN_XML: Final = frozenset((*_WORD, ".pptx", ".pptm", ".ppsx", ".xlsx", ".xlsm"))
_OPEN_DOCUMENT: Final = frozenset((".odt", ".ods", ".odp"))
"""Read by our own code; kreuzberg converts the other formats."""
_TEXTUAL: Final = frozenset((".org", ".opml"))
_DECLARED: Final = re.compile(rb"""(?i)\A(\s*<\?xml\b[^<>]{0,100}?)\s+encoding\s*=\s*["'][\w.:-]{1,40}["']""")

Read = TypeVar("Read")
Form: TypeAlias = Literal["markdown", "marked", "plain"]

_PAGE_MARK: Final = "\ue0f0{page_num}\ue0f1"
_PAGE: Final = re.compile(r"\s*\ue0f0(\d+)\ue0f1\s*")
_NO_DATE: Final = re.compile(r"\b1899-12-3[01] (?=\d\d:\d\d:\d\d \|)")
_MIDNIGHT: Final = re.compile(r"\b(\d{4}-\d\d-\d\d) 00:00:00(?= \|)")
"""Placeholders that kreuzberg adds to cells with only a time, or only a date."""
_TITLE_CHARS: Final = 5000
"""Characters in which a heading counts as the document's title; later ones are titles of sections."""
_NOBODY: Final = frozenset(("anonymous", "(anonymous)", "(unspecified)", "unknown"))
_MOST_NAMES: Final = 100
_DIRECTORY_NAME: Final = re.compile(r"(?<=\") </o=[^<>\n]*>", re.IGNORECASE)
"""The name of a person in an Exchange directory, after the person's own name."""


class Office(LimitedReader):
    """Reads the formats that kreuzberg converts. Pictures are not read (no OCR)."""

    def read(self, data: bytes, path: str) -> Document:
        """Read ``data`` in the format of the extension of ``path``.

        Raises:
            Empty: the file has no text.
            TooLarge: it would unpack to too much.
            Unreadable: it is encrypted, damaged, has no text, or takes too long.
        """
        extension = "." + path.rpartition(".")[2].lower()
        if not data.strip(b"\0 \t\r\n"):
            raise Empty("The file is empty.")
        if extension != _MAIL and is_encrypted(data, extension):  # of a message only what is attached may be
            data = decrypted(data, self._limits)
        if data.startswith(OLE):
            check_ole(data)
            _refuse_old(extension)
        elif data.startswith(ZIP):
            check_zip(data)
        if extension in _OPEN_XML or extension in _OPEN_DOCUMENT:
            return self._packaged(data, extension)
        return self._converted(data, extension)

    def _packaged(self, data: bytes, extension: str) -> Document:
        """Read an Office Open XML or OpenDocument file."""
        if not data.startswith(ZIP):
            raise Unreadable(
                "File is damaged or not what its name says: it is no ZIP container.",
                hint="Open and save it again, or replace it.",
            )
        pages: tuple[int, ...] = ()
        notes: Sequence[ReadingNote]
        with reading_zip():
            package = Package(data)
            if extension in _OPEN_DOCUMENT:
                found = read_opendocument(package, extension, self._limits)
                text, pages = joined(found.parts) if extension != ".odt" else (found.parts[0], ())
                metadata = metadata_of(found.metadata)
                return self._document(text, metadata, extension, pages, (*found.notes, *package.notes))
            if extension in _WORD:
                inserted = InsertedFiles(package, self._limits)
                word = read_word(package, inserted.blocks)
                text = written(word.text, word.equations, self._with_equations)
                notes = (*word.notes, *inserted.notes())
            else:
                if extension in _SLIDES:
                    slides, equations, notes = read_presentation(package)
                    whole = written(_BETWEEN_SLIDES.join(slides), equations, self._with_equations)
                    parts = whole.split(_BETWEEN_SLIDES) if slides else []
                else:
                    parts, notes = read_workbook(package, self._limits)
                text, pages = joined(parts)
            metadata = metadata_of(package.properties())
        return self._document(text, metadata, extension, pages, (*notes, *package.notes))

    def _with_equations(self, data: bytes) -> str:
        return tidy(convert(data, MIME_TYPES[".docx"], self._limits).content)

    def _converted(self, data: bytes, extension: str) -> Document:
        """Read a file through kreuzberg."""
        if extension == _RTF:
            rtf = read_rtf(data)
            return self._document(rtf.text, metadata_of(rtf.metadata), extension, (), tuple(rtf.notes))
        if extension == _XLS and (found := self._old(read_old_workbook, data)) is not None:
            text, pages = joined(found[0])
            return self._document(text, {}, extension, pages, tuple(found[1]))
        if extension == _DOC and (old := self._old(read_old_document, data)) is not None:
            about: Any = {}
            with suppress(Unreadable):
                about = convert(data, MIME_TYPES[_DOC], self._limits).metadata
            return self._document(old, metadata_of(about), extension, ())
        notes: tuple[ReadingNote, ...] = ()
        if extension in _TEXTUAL:  # whose declared encoding the conversion ignores
            data, notes = to_utf8(data, declared_charset(data))
            data = _DECLARED.sub(rb"\1", data, count=1)
        data = without_prompts(data) if extension == _PPT else outlines.prepared(data, extension)
        how: Form = "plain" if extension == _MAIL else "marked" if extension in _SLIDES else "markdown"
        result = convert(data, MIME_TYPES[extension], self._limits, how)
        text = tidy(result.content)
        if extension in _TEXTUAL:
            text = outlines.restored(text)
        if extension == _MAIL:
            text = with_head(text, result.metadata.get("attachments") or ())
        text, pages = _paged(text, extension, result.metadata)
        about = metadata_of(result.metadata)
        if extension == _PPT:  # the conversion has no marks between slides, and counts masters
            slides = self._old(read_old_slides, data) or OldSlides([], 0)
            text, pages = (text, ()) if text.strip() else joined(slides.texts)
            about.pop("page_count", None)
            about |= {"page_count": slides.slides} if slides.slides else {}
        return self._document(text, about, extension, pages, notes)

    def _old(self, read: Callable[[bytes, Limits], Read], data: bytes) -> Read | None:
        """Return what ``read`` returns; None if only a conversion, which tolerates more damage, may read ``data``."""
        try:
            return read(data, self._limits)
        except Unreadable:
            raise
        except Exception:  # noqa: BLE001 - the library may raise anything on damaged files
            return None

    def _document(
        self,
        text: str,
        metadata: dict[str, JSON],
        extension: str,
        pages: tuple[int, ...],
        notes: tuple[ReadingNote, ...] = (),
    ) -> Document:
        if not text.strip():
            if damaged := next((note.message for note in notes if note.code == "damaged-part"), ""):
                raise Unreadable(damaged, hint="Open and save the file again, or replace it.")
            raise Empty("The file holds no text.")
        if pages and extension != _PPT:
            metadata["page_count"] = len(pages)
        return Document(
            text=self._limits.check(f"{text.strip(_NEW_LINE)}{_NEW_LINE}"),
            title=_title(metadata, text, extension),
            kind="markdown",
            metadata=metadata,
            pages=pages,
            notes=notes,
        )


def convert(data: bytes, mime_type: str, limits: Limits, form: Form = "markdown") -> Any:
    """Return kreuzberg's result for ``data`` in the ``form``: Markdown, with ``marked`` slides, or plain text.

    Raises:
        Unreadable: the conversion failed; the message gives the reason.
    """
    import kreuzberg

    config = _config(max(1, round(limits.timeout_s)), limits.passwords, form)
    try:
        return kreuzberg.extract_bytes_sync(data, mime_type, config=config)
    except (KeyboardInterrupt, SystemExit, GeneratorExit, MemoryError):
        raise
    except BaseException as error:  # a panic of the Rust core derives from BaseException
        raise translate(error, mime_type, limits) from error


def translate(error: BaseException, mime_type: str, limits: Limits) -> Unreadable:
    """Return kreuzberg's ``error`` as one of ours."""
    what = "PDF" if mime_type == MIME_TYPES[".pdf"] else "File"
    message = " ".join(str(error).split())
    if "password" in message.lower() or "encrypted" in message.lower():
        return encrypted(what)
    if type(error).__name__ == "ExtractionTimeoutError":
        return Unreadable(
            f"Reading took longer than {limits.timeout_s:g} seconds.",
            hint="Raise the setting ingest.read_timeout_s, or exclude the file.",
        )
    name, _, rest = message.partition(": ")
    reason = rest if name == type(error).__name__ and rest else message
    half = reason[: (len(reason) - 2) // 2]
    if half and reason == f"{half}: {half}":  # kreuzberg repeats some reasons
        reason = half
    if "security" in reason.lower() or "bomb" in reason.lower():
        return TooLarge(f"{what} exceeds a safety limit: {cut(reason)}.", hint="Exclude the file.")
    if _WORD_95 in reason:
        return Unreadable("The file has the format of Word 95 or 6.", hint="Open it in Word and save it as DOCX.")
    return Unreadable(
        f"{what} is damaged or not what its name says: {cut(reason)}.", hint="Open and save it again, or replace it."
    )


@functools.cache
def _config(timeout_s: int, passwords: tuple[str, ...], form: Form) -> Any:
    from kreuzberg import ExtractionConfig, PageConfig, PdfConfig, PostProcessorConfig

    options: dict[str, Any] = {
        "use_cache": False,
        "disable_ocr": True,  # known to the library, missing from its type stubs
        "enable_quality_processing": False,
        "output_format": "plain" if form == "plain" else "markdown",
        "postprocessor": PostProcessorConfig(enabled=False),
        "extraction_timeout_secs": timeout_s,
        "pdf_options": PdfConfig(passwords=list(passwords)),
    }
    if form == "marked":
        options["pages"] = PageConfig(insert_page_markers=True, marker_format=f"\n\n{_PAGE_MARK}\n\n")
    return ExtractionConfig(**options)


def _paged(text: str, extension: str, metadata: Any) -> tuple[str, tuple[int, ...]]:
    """Return ``text`` without page marks, and the offsets at which its slides or sheets begin."""
    if extension in _SLIDES:
        parts = _PAGE.split(text.lstrip("\n"))
        found = {int(number): slide for number, slide in zip(parts[1::2], parts[2::2], strict=True)}
        found[1] = parts[0] + found.get(1, "")
        return joined([found.get(at, "") for at in range(1, max(found) + 1)])
    if extension not in _SHEETS:
        return text, ()
    names = [" ".join(scrub(str(name)).split()) for name in metadata.get("sheet_names") or ()]
    return joined(_parted(_MIDNIGHT.sub(r"\1", _NO_DATE.sub("", text)), names))


def _parted(text: str, names: Sequence[str]) -> list[str]:
    """Return the text of each sheet, found by section headings with the ``names``; sheets without cells have none."""
    lines, parts = f"\n{text}", dict[int, str]()
    last, begun = 0, 0
    for number, name in enumerate(names):
        at = lines.find(f"\n## {name}\n", begun)
        if at >= 0:
            parts[last] = text[begun:at]
            last, begun = number, at
    parts[last] = text[begun:]
    return [parts.get(number, "") for number in range(max(parts) + 1)]


def joined(pages: Sequence[str]) -> tuple[str, tuple[int, ...]]:
    """Return the joined text of all pages, and the offset of each; an empty page has the offset of the next one."""
    parts: list[str] = []
    begins: list[int] = []
    size = 0
    for page in pages:
        text = page.strip("\n")
        begins.append(size)
        if text:
            parts.append(text)
            size += len(text) + 2
    return "\n\n".join(parts) + "\n" if parts else "", tuple(begins)


def _refuse_old(extension: str) -> None:
    """Reject old formats under a new name, unless the extension identifies the old format."""
    if extension not in OLE_FORMATS:
        raise Unreadable(
            f"The file is an old Office file, not {extension[1:].upper()}.", hint="Rename it, or save it again."
        )


def _title(metadata: dict[str, JSON], text: str, extension: str) -> str:
    named = metadata.get("subject") if extension == _MAIL else metadata.get("title")
    own = own_title(str(named or ""))
    return own if own or extension in _SHEETS else markdown_title(text[:_TITLE_CHARS])


def metadata_of(found: Any) -> dict[str, JSON]:
    """Return the metadata that is useful to readers or filters, as JSON values."""
    kept: dict[str, JSON] = {}
    for name in ("title", "subject"):
        if isinstance(value := found.get(name), str) and own_title(value):
            kept[name] = scrub(value.strip())[:1000]
    for name, ours in (("authors", "authors"), ("keywords", "keywords"), ("to_emails", "to"), ("cc_emails", "cc")):
        values = found.get(name)
        clean = [scrub(item.strip()) for item in values if isinstance(item, str)] if isinstance(values, list) else []
        clean = [item for item in clean if item and item.lower() not in _NOBODY][:100]
        if clean:
            kept[ours] = clean
    for name, ours in (("created_at", "created"), ("modified_at", "modified")):
        if moment := iso(found.get(name)):
            kept[ours] = moment
    if isinstance(sender := found.get("from_email"), str) and sender:
        kept["from"] = scrub(sender)
    if isinstance(pages := found.get("page_count") or found.get("slide_count"), int) and pages > 0:
        kept["page_count"] = pages
    return kept


def iso(raw: JSON) -> str:
    """Return a date as ISO 8601 to the second, ``""`` if it is not a date."""
    if not isinstance(raw, str):
        return ""
    for parse in (datetime.fromisoformat, parsedate_to_datetime):
        try:
            return parse(raw).isoformat(timespec="seconds")
        except (ValueError, TypeError, IndexError):
            continue
    return ""


def with_head(text: str, attachments: Iterable[object]) -> str:
    """Return a message whose head names its attachments, which are not read, and people only as people call them."""
    head, _, body = text.partition("\n\n")
    head = _DIRECTORY_NAME.sub("", head)
    names = [cut(" ".join(scrub(str(name)).split())) for name in attachments][:_MOST_NAMES]
    if names:
        head += f"\nAttachments: {', '.join(names)}"
    return f"{head}\n\n{body}"
