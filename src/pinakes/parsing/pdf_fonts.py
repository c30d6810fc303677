"""Names the fonts of a PDF page without letters, which neither the file nor the system has."""

from __future__ import annotations

import ctypes
from typing import Any, Final

_MOST_OBJECTS: Final = 1000
_NAME_BYTES: Final = 200
_TEXT_OBJECT: Final = 1


def missing_fonts(library: Any, page: Any) -> frozenset[str]:
    """Return the names of the fonts in which a page without letters is written, and which are not in the file."""
    names: set[str] = set()
    for at in range(min(library.FPDFPage_CountObjects(page), _MOST_OBJECTS)):
        drawn = library.FPDFPage_GetObject(page, at)
        if library.FPDFPageObj_GetType(drawn) != _TEXT_OBJECT:
            continue
        font = library.FPDFTextObj_GetFont(drawn)
        if font and library.FPDFFont_GetIsEmbedded(font) == 0:
            buffer = ctypes.create_string_buffer(_NAME_BYTES)
            library.FPDFFont_GetBaseFontName(font, buffer, _NAME_BYTES)
            names.add(buffer.value.decode("utf-8", "replace") or "without a name")
    return frozenset(names)
