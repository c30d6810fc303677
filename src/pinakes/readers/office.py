"""PDF, Office, OpenDocument, EPUB, e-mail and the rest, through kreuzberg, as Markdown."""

from __future__ import annotations

import functools
import re
from datetime import datetime
from email.utils import parsedate_to_datetime
from typing import Any, Final

from pinakes.errors import Empty, TooLarge, Unreadable
from pinakes.readers.containers import check_ole, check_zip
from pinakes.readers.decode import decode, scrub
from pinakes.readers.limits import Limits
from pinakes.readers.titles import cut, first_line, markdown_title, own_title
from pinakes.types import JSON, Document

_OPENXML: Final = "application/vnd.openxmlformats-officedocument."
_OPENDOCUMENT: Final = "application/vnd.oasis.opendocument."
MIME_TYPES: Final = {
    ".pdf": "application/pdf",
    ".docx": _OPENXML + "wordprocessingml.document",
    ".docm": "application/vnd.ms-word.document.macroEnabled.12",
    ".dotx": _OPENXML + "wordprocessingml.template",
    ".doc": "application/msword",
    ".rtf": "application/rtf",
    ".pptx": _OPENXML + "presentationml.presentation",
    ".pptm": "application/vnd.ms-powerpoint.presentation.macroEnabled.12",
    ".ppsx": _OPENXML + "presentationml.slideshow",
    ".ppt": "application/vnd.ms-powerpoint",
    ".xlsx": _OPENXML + "spreadsheetml.sheet",
    ".xlsm": "application/vnd.ms-excel.sheet.macroEnabled.12",
    ".xlsb": "application/vnd.ms-excel.sheet.binary.macroEnabled.12",
    ".xls": "application/vnd.ms-excel",
    ".odt": _OPENDOCUMENT + "text",
    ".odp": _OPENDOCUMENT + "presentation",
    ".ods": _OPENDOCUMENT + "spreadsheet",
    ".epub": "application/epub+zip",
    ".fb2": "application/x-fictionbook+xml",
    ".eml": "message/rfc822",
    ".msg": "application/vnd.ms-outlook",
    ".org": "text/x-org",
    ".opml": "application/xml+opml",
}
"""Extension → the MIME type kreuzberg knows the format by."""

_SHEETS: Final = frozenset((".xlsx", ".xlsm", ".xlsb", ".xls", ".ods"))
_OLE_FORMATS: Final = frozenset((".doc", ".xls", ".ppt", ".msg"))
_TEXTUAL: Final = frozenset((".eml", ".fb2", ".org", ".opml"))
_ZIP: Final = b"PK\x03\x04"
_OLE: Final = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_ENCRYPTED_PACKAGE: Final = "EncryptedPackage".encode("utf-16-le")
_BOMS: Final = (b"\xff\xfe", b"\xfe\xff")

_ESCAPED: Final = re.compile(
    r"^```.*?(?:^```|\Z)|`[^`\n]+`|\$\$.+?\$\$|^[ \t]*\d*\\.|\\([\\_#.+=~!()<>*&\[\]-])", re.MULTILINE | re.DOTALL
)
_IMAGE: Final = re.compile(r"\\?!\[([^\[\]\n]*)\]\((?:<[^<>]*>|[^()<>\s]*)[^()<>\n]*\)")
_EMPTY_LINK: Final = re.compile(r"(?<!!)\[\s*\]\([^()\s]*\)")
_BLANK_LINES: Final = re.compile(r"\n{4,}")
NO_TEXT: Final = "No extractable text found in PDF"
_TITLE_CHARS: Final = 5000
"""A heading further down names a part of the document, not the document."""
_NOBODY: Final = frozenset(("anonymous", "(anonymous)", "(unspecified)", "unknown"))


class Office:
    """Reads what kreuzberg converts. Pictures are not read (no OCR)."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits

    def read(self, data: bytes, path: str) -> Document:
        """Read ``data`` in the format that the extension of ``path`` names.

        Raises:
            Empty: there is nothing in it.
            TooLarge: it would unpack to too much.
            Unreadable: it is encrypted, damaged, has no text, or takes too long.
        """
        extension = "." + path.rpartition(".")[2].lower()
        if not data.strip(b"\0 \t\r\n"):
            raise Empty("The file is empty.")
        if data.startswith(_ZIP):
            check_zip(data)
        elif data.startswith(_OLE):
            check_ole(data)
            _refuse_wrapped(data, extension)
        if extension in _TEXTUAL and data.startswith(_BOMS):
            data = decode(data).encode()
        result = convert(data, MIME_TYPES[extension], self._limits)
        text = tidy(result.content)
        if not text.strip():
            raise _without_text(extension)
        metadata = _metadata(result.metadata)
        return Document(
            text=self._limits.check(text),
            title=_title(metadata, text, extension),
            kind="markdown",
            metadata=metadata,
        )


def convert(data: bytes, mime_type: str, limits: Limits) -> Any:
    """Return kreuzberg's result for ``data``.

    Raises:
        Unreadable: whatever went wrong, in words.
    """
    import kreuzberg

    config = _config(max(1, round(limits.timeout_s)))
    try:
        return kreuzberg.extract_bytes_sync(data, mime_type, config=config)
    except (KeyboardInterrupt, SystemExit, GeneratorExit, MemoryError):
        raise
    except BaseException as error:  # a panic of the Rust core derives from BaseException
        raise translate(error, mime_type, limits) from error


def tidy(markdown: str) -> str:
    """Return kreuzberg's Markdown without escapes that only hide words; pictures become their alternative text."""
    text = _EMPTY_LINK.sub("", _IMAGE.sub(r"\1", scrub(markdown)))
    text = _ESCAPED.sub(lambda match: match[1] or match[0], text)
    return _BLANK_LINES.sub("\n\n\n", text).strip("\n") + "\n"


def translate(error: BaseException, mime_type: str, limits: Limits) -> Unreadable:
    """Return what kreuzberg's ``error`` means, in our words."""
    what = "PDF" if mime_type == MIME_TYPES[".pdf"] else "File"
    message = " ".join(str(error).split())
    if "password" in message.lower() or "encrypted" in message.lower():
        return _encrypted(what)
    if type(error).__name__ == "ExtractionTimeoutError":
        return Unreadable(
            f"Reading took longer than {limits.timeout_s:g} seconds.",
            hint="Raise the setting ingest.read_timeout_s, or exclude the file.",
        )
    name, _, rest = message.partition(": ")
    reason = rest if name == type(error).__name__ and rest else message
    half = reason[: (len(reason) - 2) // 2]
    if half and reason == f"{half}: {half}":  # kreuzberg says some reasons twice
        reason = half
    if "security" in reason.lower() or "bomb" in reason.lower():
        return TooLarge(f"{what} exceeds a safety limit: {cut(reason)}.", hint="Exclude the file.")
    return Unreadable(
        f"{what} is damaged or not what its name says: {cut(reason)}.", hint="Open and save it again, or replace it."
    )


@functools.cache
def _config(timeout_s: int) -> Any:
    from kreuzberg import ExtractionConfig, PostProcessorConfig

    options: dict[str, Any] = {
        "use_cache": False,
        "disable_ocr": True,  # known to the library, missing from its type stubs
        "enable_quality_processing": False,
        "output_format": "markdown",
        "postprocessor": PostProcessorConfig(enabled=False),
        "extraction_timeout_secs": timeout_s,
    }
    return ExtractionConfig(**options)


def _refuse_wrapped(data: bytes, extension: str) -> None:
    """Refuse the container that encrypted Office files are wrapped in, and old formats under a new name."""
    if _ENCRYPTED_PACKAGE in data:
        raise _encrypted("File")
    if extension not in _OLE_FORMATS:
        raise Unreadable(
            f"The file is an old Office file, not {extension[1:].upper()}.", hint="Rename it, or save it again."
        )


def _encrypted(what: str) -> Unreadable:
    return Unreadable(f"{what} is encrypted and cannot be decrypted.", hint="Save a copy without a password.")


def _without_text(extension: str) -> Unreadable:
    if extension == ".pdf":
        return Unreadable(f"{NO_TEXT}.", hint="It may hold scanned pages: run OCR over it (e.g. ocrmypdf).")
    return Empty("The file holds no text.")


def _title(metadata: dict[str, JSON], text: str, extension: str) -> str:
    named = metadata.get("subject") if extension in (".eml", ".msg") else metadata.get("title")
    own = own_title(str(named or ""))
    if own or extension in _SHEETS:
        return own
    return first_line(text) if extension == ".pdf" else markdown_title(text[:_TITLE_CHARS])


def _metadata(found: Any) -> dict[str, JSON]:
    """Keep what is of use to a reader or a filter, as plain JSON values."""
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
        if moment := _iso(found.get(name)):
            kept[ours] = moment
    if isinstance(sender := found.get("from_email"), str) and sender:
        kept["from"] = scrub(sender)
    if isinstance(pages := found.get("page_count") or found.get("slide_count"), int) and pages > 0:
        kept["page_count"] = pages
    return kept


def _iso(raw: JSON) -> str:
    """Return a date as ISO 8601 to the second, ``""`` when it is none."""
    if not isinstance(raw, str):
        return ""
    for parse in (datetime.fromisoformat, parsedate_to_datetime):
        try:
            return parse(raw).isoformat(timespec="seconds")
        except (ValueError, TypeError, IndexError):
            continue
    return ""
