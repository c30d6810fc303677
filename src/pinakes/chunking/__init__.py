"""Chunking: cuts documents into chunks along their structure, in time linear in the length of the text."""

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
"""Document kind, or language of a text → the chunker's function that finds its structure."""


VERSIONS = {**dict.fromkeys(CHUNKERS, 2), "asciidoc": 3, "code": 3, "csv": 3, "markdown": 4, "text": 4}
"""Chunker → version. Increase it when its chunks change: a sync then reads its documents again."""


def chunker_of(document: Document) -> str:
    """Return the key of ``CHUNKERS`` for ``document``, with its version: "markdown:1"."""
    kind = _kind_of(document)
    return f"{kind}:{VERSIONS[kind]}"


def is_older(chunker: str, kind: str, language: str | None) -> bool:
    """Return whether a document of this kind and language was chunked by an older version of its chunker.

    ``chunker``: as ``chunker_of`` returns it; "" means version 1 of the chunker for such documents.
    """
    name, _, version = (chunker or f"{row_of(kind, language)}:1").partition(":")
    return int(version) < VERSIONS.get(name, 0)


def chunk(document: Document, sizing: Sizing) -> list[Chunk]:
    """Cut ``document`` into chunks within ``sizing``, in the order of the text, with ordinals from 0.

    Each is an exact slice of the text, never blank. Together they contain every character except white space; and of a
    Markdown document HTML comments between its blocks, tables of contents whose words its headings have, headings that
    these separate from their text (the chunk's header has them), and headings over nothing else. A blank document has
    no chunks.
    """
    if not document.text.strip():
        return []
    scale = Scale(document, sizing)
    return assemble(scale, _outline(document, scale))


def headings(document: Document) -> tuple[Heading, ...]:
    """Return the headings of ``document``, or the definitions in its code, in the order of the text.

    Empty for text without structure, and for code in a language without a grammar.
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
    """Return the key of ``CHUNKERS`` for documents of this kind and language."""
    return language if kind == "text" and language is not None and language in CHUNKERS else kind


def _outline(document: Document, scale: Scale) -> Outline:
    module, function = CHUNKERS[_kind_of(document)].split(":")
    found: Outline = getattr(import_module(module), function)(document, scale)
    return found


def _counting_nothing(_: str) -> Int64:
    return np.empty(0, np.int64)


_UNLIMITED = Sizing(2**31, 0, _counting_nothing)
"""For documents that are not cut: everything fits, and nothing is counted."""
