"""Cutting documents into passages along their own structure, linear in the length of the text."""

from __future__ import annotations

from importlib import import_module

from pinakes.chunking.packing import assemble
from pinakes.chunking.scale import Scale
from pinakes.chunking.sizing import Sizing, sizing_for
from pinakes.types import Chunk, Document

__all__ = ["CHUNKERS", "Sizing", "chunk", "sizing_for"]

CHUNKERS = {
    "markdown": "pinakes.chunking.markdown:outline",
    "code": "pinakes.chunking.code:outline",
    "text": "pinakes.chunking.text:outline",
    "rst": "pinakes.chunking.rst:outline",
}
"""Where the structure of each kind of document is found; a text's language may have a row of its own."""


def chunk(document: Document, sizing: Sizing) -> list[Chunk]:
    """Cut ``document`` into chunks within ``sizing``, ordinals from 0, in the order of the text.

    Each is an exact slice of the text, never blank. Together they hold every character that is not white
    space, except HTML comments between the blocks of a Markdown document, and headings that such comments
    part from their text: these stand in the header. Empty for a blank document.
    """
    if not document.text.strip():
        return []
    kind: str = document.kind
    if kind == "text" and document.language in CHUNKERS:
        kind = document.language
    module, function = CHUNKERS[kind].split(":")
    scale = Scale(document, sizing)
    return assemble(scale, getattr(import_module(module), function)(document, scale))
