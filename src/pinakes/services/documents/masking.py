"""Masking of credentials in documents and chunks that are stored, or about to be.

A mask is as long as what it hides, so that chunks stay the slices they were.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from pinakes.catalog.documents import NewDocument, embedding_key
from pinakes.core.records import JSON, Chunk
from pinakes.text.secrets.masking import Masking

TEXTS: Final = ("text", "title", "summary", "uri", "path", "group_key")
TABLES: Final = ("metadata", "inherited", "given")


def masked_new(new: NewDocument, masking: Masking) -> NewDocument:
    """Return a document that is cut already with what is secret in it masked."""
    document = masking.document(new.document)
    changed = replace(
        new,
        document=document,
        chunks=[masked_chunk(chunk, document.text, masking) for chunk in new.chunks],
        title=masking.text(new.title),
        metadata=masking.value(new.metadata),
        given=masking.value(new.given),
        summary=None if new.summary is None else masking.text(new.summary),
    )
    return new if changed == new else changed


def masked_chunk(chunk: Chunk, text: str, masking: Masking) -> Chunk:
    """Return a chunk of a document whose ``text`` is masked by now."""
    return replace(
        chunk,
        text=text[chunk.start : chunk.end],
        header=masking.text(chunk.header),
        heading_path=tuple(map(masking.text, chunk.heading_path)),
        symbols=tuple(map(masking.text, chunk.symbols)),
    )


def masked_row(row: Mapping[str, JSON], masking: Masking) -> dict[str, Any]:
    """Return the columns of a document or version that are others once they are masked."""
    values = {name: masking.text(row[name]) for name in TEXTS if isinstance(row.get(name), str)}
    values |= {name: masking.value(row[name]) for name in TABLES if row.get(name)}
    return {name: value for name, value in values.items() if value != row[name]}


def masked_lines(cut: Sequence[Mapping[str, JSON]], text: str, masking: Masking) -> list[dict[str, JSON]]:
    """Return the lines of an archive for chunks of a document whose ``text`` is masked by now."""
    found = []
    for ordinal, line in enumerate(cut):
        values = {name: value for name, value in line.items() if name != "key"}
        written, key = masked_columns({**values, "ordinal": ordinal}, text, masking)
        found.append({**line, **written, "key": key.hex()})
    return found


def masked_columns(chunk: Mapping[str, JSON], text: str, masking: Masking) -> tuple[dict[str, JSON], bytes]:
    """Return the columns of a chunk, all but its text, that masking changes, and the key of its vector by then.

    ``text`` is that of the document, masked.
    """
    values = {**chunk, "heading_path": tuple(chunk["heading_path"]), "symbols": tuple(chunk["symbols"])}
    made = masked_chunk(Chunk(text="", **values), text, masking)
    written = {"header": made.header, "heading_path": list(made.heading_path), "symbols": list(made.symbols)}
    return written, embedding_key(made)
