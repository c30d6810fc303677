"""Plain text: cut between paragraphs; between lines if the text is data rather than prose."""

from __future__ import annotations

import re

from pinakes.chunking.outline import BLOCK, Cuts, Outline, Section
from pinakes.chunking.plain import lists
from pinakes.chunking.scale import Scale
from pinakes.core.records import Document

INDENTED = BLOCK - 10
_PARAGRAPH = re.compile(r"\n(?:[^\S\n]*\n)++")


def outline(document: Document, scale: Scale) -> Outline:
    """Find paragraphs. Code, and text with a language (yaml, csv, log …), is cut into lines, prose into sentences."""
    cuts = Cuts()
    paragraphs(document.text, cuts)
    lines_first = document.kind == "code" or document.language is not None
    contexts = () if lines_first else tuple(lists(scale, cuts))
    return Outline(Section(0, len(scale.text)), cuts, lines_first=lines_first, contexts=contexts)


def paragraphs(text: str, cuts: Cuts) -> None:
    """Allow cuts after blank lines; at a lower level before an indented paragraph, as it belongs to the one above."""
    for match in _PARAGRAPH.finditer(text):
        indented = text[match.end() : match.end() + 1].isspace()
        cuts.add(match.end(), INDENTED if indented else BLOCK)
