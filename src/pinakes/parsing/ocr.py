"""Text recognition on pages that are only pictures, by RapidOCR. Requires the extra ``ocr``."""

from __future__ import annotations

import functools
import logging
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any, Final

from pinakes.core.errors import NeedsOcr, Unreadable
from pinakes.core.installation import install_command
from pinakes.parsing import pdfium
from pinakes.parsing.limits import Limits, lacks_memory

_DPI: Final = 150
_POINTS_PER_INCH: Final = 72
_MAX_SIDE: Final = 1760
"""Maximum size of a page picture in pixels, that of A4 at this resolution. More exceeds the memory of a worker."""

_LINE_SHARE: Final = 0.5
"""Words are on one line if the distance of their middles is less than this share of their height."""


@dataclass(frozen=True, slots=True)
class Word:
    """Recognised text with its left and right edge, vertical middle and height, in pixels from the top left."""

    text: str
    left: float
    right: float
    middle: float
    height: float


def needed() -> str:
    """Return what to do about a file without text on any page."""
    install = "" if find_spec("rapidocr") else f"{install_command('ocr')}, then "
    return f"It needs OCR: {install}set ingest.ocr to auto; or exclude it."


def read_pages(data: bytes, pages: Sequence[int], limits: Limits) -> Mapping[int, str]:
    """Return page number, from 0 → text, for those of ``pages`` on which text was recognised.

    Raises:
        NeedsOcr: the extra is not installed.
        Unreadable: it takes longer than ``limits.timeout_s``.
    """
    if not pages:
        return {}
    try:
        from rapidocr import RapidOCR
    except ImportError as error:
        raise NeedsOcr("Its pages are pictures, which need OCR.", hint=needed()) from error
    recognise = _engine(RapidOCR)
    end = time.monotonic() + limits.timeout_s
    found: dict[int, str] = {}
    with pdfium.opened(data, limits) as document:
        for number in pages:
            if time.monotonic() > end:
                raise Unreadable(
                    f"Reading its pictures of pages took longer than {limits.timeout_s:g} seconds.",
                    hint="Raise the setting ingest.read_timeout_s, or split the file.",
                )
            page = document[number]
            scale = min(_DPI / _POINTS_PER_INCH, _MAX_SIDE / max(*page.get_size(), 1))
            if text := laid_out(_words(_recognised(recognise, page.render(scale=scale).to_numpy()))):
                found[number] = text
    return found


def laid_out(words: Sequence[Word]) -> str:
    """Return words as lines from top to bottom; columns far apart are separated by more than one space."""
    lines: list[list[Word]] = []
    for word in sorted(words, key=lambda one: one.middle):
        last = lines[-1] if lines else []
        if last and word.middle - last[0].middle < _LINE_SHARE * max(word.height, last[0].height):
            last.append(word)
        else:
            lines.append([word])
    return "\n".join("  ".join(one.text for one in sorted(line, key=lambda one: one.left)) for line in lines)


def _recognised(recognise: Any, picture: Any) -> Any:
    """Return what the engine finds in a picture.

    Raises:
        MemoryError: there is not enough memory.
        Unreadable: recognition fails.
    """
    try:
        return recognise(picture)
    except Exception as error:
        if lacks_memory(error):
            raise MemoryError from error
        raise Unreadable("Recognising the text of its pages failed.", hint="Exclude the file.") from error


def _words(result: Any) -> list[Word]:
    words = []
    for box, text in zip(result.boxes if result.txts else (), result.txts or (), strict=True):
        across, down = [float(corner[0]) for corner in box], [float(corner[1]) for corner in box]
        words.append(Word(text, min(across), max(across), (min(down) + max(down)) / 2, max(down) - min(down)))
    return words


@functools.cache
def _engine(kind: Any) -> Any:
    """Return the OCR engine; its models come with the package."""
    logger = logging.getLogger("RapidOCR")
    engine = kind(params={"Global.log_level": "error", "Global.max_side_len": _MAX_SIDE, "Rec.rec_batch_num": 1})
    logger.setLevel(logging.ERROR)
    return engine
