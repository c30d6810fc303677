"""Names the fonts of text without letters on a PDF page, which neither the file nor the system has.

Only Chinese, Japanese and Korean fonts leave a page without letters: the library has a substitute for all others.
"""

from __future__ import annotations

import ctypes
from collections import Counter
from typing import Any, Final

_MOST_OBJECTS: Final = 1000
_NAME_BYTES: Final = 200
_TEXT_OBJECT: Final = 1
_FEW: Final = 16
_LEAST_HEIGHT: Final = 1.0
"""Text that is lower, in points, has a single letter of a missing font, which may be a space."""
_LEAST_WIDTH: Final = 0.9
"""The least width of Chinese, Japanese and Korean letters, as a share of their size; that of others is smaller."""


def missing_fonts(library: Any, page: Any, textpage: Any = None) -> frozenset[str]:
    """Return the names of the fonts of text without letters which are not in the file.

    ``textpage``: the text of a page that has letters in other fonts. A font with a single letter on the page is not
    named, since that may be a space.
    """
    letters: Counter[str] = Counter()
    names: dict[int, str | None] = {}
    for at in range(min(library.FPDFPage_CountObjects(page), _MOST_OBJECTS)):
        drawn = library.FPDFPage_GetObject(page, at)
        if library.FPDFPageObj_GetType(drawn) != _TEXT_OBJECT:
            continue
        font = library.FPDFTextObj_GetFont(drawn)
        key = ctypes.cast(font, ctypes.c_void_p).value or 0
        if key not in names:
            names[key] = _name(library, font) if key else None
        name = names[key]
        if name is not None and (textpage is None or not _has_text(library, drawn, textpage)):
            letters[name] += 1 if _height(library, drawn) < _LEAST_HEIGHT else 2
    return frozenset(name for name, count in letters.items() if count > 1)


def _name(library: Any, font: Any) -> str | None:
    """Return the name of a font without which there are no letters, None if it is in the file or has a substitute."""
    if library.FPDFFont_GetIsEmbedded(font) != 0 or not _is_east_asian(library, font):
        return None
    buffer = ctypes.create_string_buffer(_NAME_BYTES)
    library.FPDFFont_GetBaseFontName(font, buffer, _NAME_BYTES)
    return buffer.value.decode("utf-8", "replace") or "without a name"


def _has_text(library: Any, drawn: Any, textpage: Any) -> bool:
    buffer = (ctypes.c_ushort * _FEW)()
    length = library.FPDFTextObj_GetText(drawn, textpage, buffer, ctypes.sizeof(buffer))
    return bool(length > ctypes.sizeof(buffer) or any(code > ord(" ") for code in buffer))


def is_vertical(library: Any, font: Any) -> bool:
    """Return whether a font is for vertical text: the library returns the negative height of its letters as width."""
    return bool(font) and _width(library, font) < 0


def _is_east_asian(library: Any, font: Any) -> bool:
    """Return whether a font has letters as wide as high."""
    return abs(_width(library, font)) >= _LEAST_WIDTH


def _width(library: Any, font: Any) -> float:
    """Return the width of a Chinese letter as a share of its size, 0 if there is none."""
    width = ctypes.c_float()
    found = library.FPDFFont_GetGlyphWidth(font, ord("月"), 1.0, ctypes.byref(width))
    return width.value if found else 0.0


def _height(library: Any, drawn: Any) -> float:
    edges = [ctypes.c_float() for _ in range(4)]
    if not library.FPDFPageObj_GetBounds(drawn, *map(ctypes.byref, edges)):
        return 0.0
    return edges[3].value - edges[1].value
