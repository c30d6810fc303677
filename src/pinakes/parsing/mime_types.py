"""MIME types of the files that kreuzberg converts; separate from their reader, which takes long to import."""

from __future__ import annotations

from typing import Final

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
    ".msg": "application/vnd.ms-outlook",
    ".org": "text/x-org",
    ".opml": "application/xml+opml",
}
"""Extension → MIME type for kreuzberg."""
