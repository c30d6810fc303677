"""Headers and footers of sheets (XLSX, XLS), written with codes: ``&LReport&RPage &P``."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final

from pinakes.parsing import blocks
from pinakes.parsing.blocks import Block
from pinakes.parsing.openxml import line

_SECTION: Final = re.compile(r"&[LCR]")
_NUMBER: Final = re.compile(r"&[PN]")
_CODE: Final = re.compile(r"&(?:\"[^\"]*\"|K(?:[\dA-Fa-f]{6}|\d\d[+-]\d{3})|\d{1,3}|[A-JM-Zb-z])")
"""Codes of fonts, sizes, colours, pictures, and of values that printing adds: page, date, file, sheet."""


def texts_of(written: str) -> Iterator[str]:
    """Yield the left, centre and right texts of a header or footer, without page numbers and the like."""
    for section in _SECTION.split(written.replace("&&", "\0")):  # an ampersand
        numbered = bool(_NUMBER.search(section))
        text = line(_CODE.sub(" " if numbered else "", section).replace("\0", "&"))
        if shown := blocks.in_margin(Block("text", text), numbered=numbered):
            yield shown


def with_margins(sheets: list[str], texts: Iterable[str]) -> list[str]:
    """Return the texts of sheets; the last one that has a text ends with the headers and footers, each once."""
    section = blocks.margins(dict.fromkeys(texts)).strip("\n")
    at = next((at for at in reversed(range(len(sheets))) if sheets[at]), None)
    if at is not None and section:
        sheets[at] = f"{sheets[at]}\n\n{section}"
    return sheets
