"""Markdown: the unchanged text, with front matter as metadata."""

from __future__ import annotations

from pinakes.core.errors import Empty
from pinakes.core.records import Document
from pinakes.parsing.decode import decode
from pinakes.parsing.front_matter import split_front_matter
from pinakes.parsing.joined_words import joined
from pinakes.parsing.limits import Limits
from pinakes.parsing.titles import markdown_title


class Markdown:
    """Reads Markdown. Line numbers are those of the file: front matter is replaced by blank lines."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits

    def read(self, data: bytes, path: str) -> Document:  # noqa: ARG002 - the port's signature
        """Read ``data``; the title is that of the front matter, else the first level-1 heading.

        Front matter that cannot be parsed stays in the text, with a note.
        """
        text, metadata, title, notes = split_front_matter(self._limits.check(decode(data)))
        if text.isspace():
            raise Empty("The file holds nothing but front matter.")
        text = joined(text)
        title = title or markdown_title(text)
        return Document(text=text, title=title, kind="markdown", metadata=metadata, notes=notes)
