"""Recognises the format of a file by its content, if the file name is wrong."""

from __future__ import annotations

import io
import struct
import zipfile
from typing import Final

ZIP: Final = b"PK\x03\x04"
OLE: Final = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
OLE_FORMATS: Final = frozenset((".doc", ".xls", ".ppt", ".msg"))

_OPENED: Final = frozenset((".pdf", ".rtf", ".docx", ".xlsx", ".pptx", ".odt", ".ods", ".odp", ".epub", *OLE_FORMATS))
"""Formats that are never plain text, so that a web page under such a name is clearly misnamed."""
_FAMILIES: Final = {
    ".docx": (".docm", ".dotx"),
    ".xlsx": (".xlsm",),
    ".pptx": (".pptm", ".ppsx"),
}
_PARTS: Final = (("xl/workbook.bin", ".xlsb"), ("word/", ".docx"), ("xl/", ".xlsx"), ("ppt/", ".pptx"))
_OPENDOCUMENT: Final = b"application/vnd.oasis.opendocument."
_MIMETYPES: Final = {
    _OPENDOCUMENT + b"text": ".odt",
    _OPENDOCUMENT + b"spreadsheet": ".ods",
    _OPENDOCUMENT + b"presentation": ".odp",
    b"application/epub+zip": ".epub",
}
_STREAMS: Final = {
    ".msg": ("__properties_version1.0",),
    ".ppt": ("PowerPoint Document",),
    ".doc": ("WordDocument",),
    ".xls": ("Workbook", "Book"),
}
_MAX_MIMETYPE_BYTES: Final = 100
_PAGE: Final = (b"<!doctype html", b"<html")


def other_extension(data: bytes, extension: str) -> str:
    """Return the extension that fits ``data``, ``""`` if ``extension`` does or the format is uncertain."""
    found = _by_content(data, extension)
    return "" if extension == found or extension in _FAMILIES.get(found, ()) else found


def _by_content(data: bytes, extension: str) -> str:
    if data.startswith(b"%PDF-"):
        return ".pdf"
    if data.startswith(rb"{\rtf"):
        return ".rtf"
    if data.startswith(ZIP):
        return _in_zip(data)
    if data.startswith(OLE):
        return kind_of_ole(data, extension)
    page = extension in _OPENED and data[:200].lstrip(b"\xef\xbb\xbf \t\r\n").lower().startswith(_PAGE)
    return ".html" if page else ""


def _in_zip(data: bytes) -> str:
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as container:
            entries = {entry.filename.replace("\\", "/").lower(): entry for entry in container.infolist()}
            declared = entries.get("mimetype")
            if declared is not None and declared.file_size <= _MAX_MIMETYPE_BYTES:
                return _MIMETYPES.get(container.read(declared).strip().removesuffix(b"-template"), "")
    except (zipfile.BadZipFile, ValueError, OverflowError, struct.error, NotImplementedError, RuntimeError, OSError):
        return ""  # the reader will report the damage
    if "[content_types].xml" not in entries:
        return ""
    return next((kind for part, kind in _PARTS if any(name.startswith(part) for name in entries)), "")


def kind_of_ole(data: bytes, extension: str) -> str:
    """Return the kind of an OLE file by its streams; they may embed others, so the extension takes precedence."""
    there = [kind for kind, names in _STREAMS.items() if any(name.encode("utf-16-le") in data for name in names)]
    return extension if extension in there else next(iter(there), "")
