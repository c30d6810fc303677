"""Cutting documents into chunks along their own structure, linear in the length of the text."""

from __future__ import annotations

from importlib import import_module

import numpy as np

from pinakes.chunking.outline import Outline
from pinakes.chunking.packing import assemble
from pinakes.chunking.scale import Scale
from pinakes.chunking.sizing import Sizing, sizing_for
from pinakes.core.records import Chunk, Document, Heading, Int64

__all__ = ["CHUNKERS", "VERSIONS", "Sizing", "chunk", "chunker_of", "headings", "is_older", "row_of", "sizing_for"]

CHUNKERS = {
    "markdown": "pinakes.chunking.markdown:outline",
    "code": "pinakes.chunking.code:outline",
    "text": "pinakes.chunking.plain_text:outline",
    "rst": "pinakes.chunking.rst:outline",
    "asciidoc": "pinakes.chunking.asciidoc:outline",
    "latex": "pinakes.chunking.latex:outline",
    "csv": "pinakes.chunking.rows:outline",
    **dict.fromkeys(("ini", "json", "toml", "xml", "yaml"), "pinakes.chunking.data_records:outline"),
}
"""Where the structure of each kind of document is found; a text's language may have a row of its own."""


VERSIONS = dict.fromkeys(CHUNKERS, 2)
"""The version of each row of ``CHUNKERS``. Raise it when its chunks change: documents are then read again by a sync."""


def chunker_of(document: Document) -> str:
    """Return the row of ``CHUNKERS`` that cuts ``document``, with its version: "markdown:1"."""
    kind = _kind_of(document)
    return f"{kind}:{VERSIONS[kind]}"


def is_older(chunker: str, kind: str, language: str | None) -> bool:
    """Say whether a document of this kind and language was cut by an older version of its chunker than there is now.

    ``chunker`` is as ``chunker_of`` gives it; "" is the first version of the one for such documents.
    """
    name, _, version = (chunker or f"{row_of(kind, language)}:1").partition(":")
    return int(version) < VERSIONS.get(name, 0)


def chunk(document: Document, sizing: Sizing) -> list[Chunk]:
    """Cut ``document`` into chunks within ``sizing``, ordinals from 0, in the order of the text.

    Each is an exact slice of the text, never blank. Together they hold every character that is not white
    space, except HTML comments between the blocks of a Markdown document, and headings that such comments
    part from their text: these stand in the header. Empty for a blank document.
    """
    if not document.text.strip():
        return []
    scale = Scale(document, sizing)
    return assemble(scale, _outline(document, scale))


def headings(document: Document) -> tuple[Heading, ...]:
    """Return the headings of ``document``, or what its code defines, in the order of the text.

    None for text without structure, and for code in a language without a grammar.
    """
    if not document.text.strip():
        return ()
    scale = Scale(document, _UNLIMITED)
    entries = _outline(document, scale).entries
    lines = scale.line_starts
    first = np.searchsorted(lines, [entry.start for entry in entries], "right")
    last = np.searchsorted(lines, [entry.end - 1 for entry in entries], "right")
    return tuple(
        Heading(entry.level, entry.title, entry.start, entry.end, scale.file_line(start), scale.file_line(end))
        for entry, start, end in zip(entries, first.tolist(), last.tolist(), strict=True)
    )


def _kind_of(document: Document) -> str:
    return row_of(document.kind, document.language)


def row_of(kind: str, language: str | None) -> str:
    """Return the row of ``CHUNKERS`` that cuts documents of this kind and language."""
    return language if kind == "text" and language is not None and language in CHUNKERS else kind


def _outline(document: Document, scale: Scale) -> Outline:
    module, function = CHUNKERS[_kind_of(document)].split(":")
    found: Outline = getattr(import_module(module), function)(document, scale)
    return found


def _counting_nothing(_: str) -> Int64:
    return np.empty(0, np.int64)


_UNLIMITED = Sizing(2**31, 0, _counting_nothing)
"""For documents that are not to be cut: everything fits, and nothing is counted."""
