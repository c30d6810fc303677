"""Files that a Word document shows in place of a paragraph (HTML, plain text, RTF, Word): each is read as by itself."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from pinakes.core.errors import Empty, PinakesError, TooLarge
from pinakes.core.records import Document, ReadingNote
from pinakes.core.wording import counted
from pinakes.parsing import blocks, read_unmasked
from pinakes.parsing.blocks import Block
from pinakes.parsing.containers import reading_zip
from pinakes.parsing.limits import Limits, lacks_memory
from pinakes.parsing.openxml import Package, Relation, line
from pinakes.parsing.titles import cut

_READ: Final = frozenset((".docx", ".docm", ".dotx", ".rtf", ".html", ".htm", ".xhtml", ".txt"))
_DEEPEST: Final = 3
"""Levels of files inside of files that are read."""


class InsertedFiles:
    """Reads the inserted files of a document, each once. None of them makes the document unreadable."""

    def __init__(self, package: Package, limits: Limits) -> None:
        self._package = package
        self._limits = limits
        self._chars = 0
        self._read: dict[str, Sequence[Block]] = {}
        self._left_out: dict[str, dict[str, str]] = {}  # why → name of the file → error
        self._notes: dict[str, list[tuple[str, ReadingNote]]] = {}

    def blocks(self, relation: Relation | None) -> Sequence[Block]:
        """Return the content of the file that ``relation`` refers to."""
        name = relation.target if relation is not None else ""
        if relation is None or relation.external or name not in self._package.names:
            return self._without(name, "missing from the document")
        if name not in self._read:
            self._read[name] = self._blocks_of(name)
        found = self._read[name]
        size = sum(len(block.text) for block in found)
        if self._chars + size > self._limits.max_chars:
            return self._without(name, self._too_large)
        self._chars += size
        return found

    def notes(self) -> list[ReadingNote]:
        """Return notes of what was left out, and those of the files."""
        found = []
        for why, names in self._left_out.items():
            first = next(filter(None, names.values()), "")
            message = f"Left out: {counted(len(names), 'inserted file')} {why}{f': {first}' if first else '.'}"
            found.append(ReadingNote("damaged-part", message, count=len(names)))
        for code, told in self._notes.items():
            name, first_note = told[0]
            more = f" Also: {counted(len(told) - 1, 'other inserted file')}." if len(told) > 1 else ""
            message = f"In the inserted file {cut(line(name))}: {first_note.message}{more}"
            found.append(ReadingNote(code, message, count=sum(note.count for _, note in told)))
        return found

    @property
    def _too_large(self) -> str:
        return f"with which the text would exceed {self._limits.max_chars:,} characters, or that is too large"

    def _without(self, name: str, why: str, error: str = "") -> Sequence[Block]:
        self._left_out.setdefault(why, {})[name] = error
        return ()

    def _blocks_of(self, name: str) -> Sequence[Block]:
        if name[name.rfind(".") :].lower() not in _READ:
            return self._without(name, "in a format that is not read here")
        if self._limits.inserted_in >= _DEEPEST:
            return self._without(name, f"inside of others, deeper than {_DEEPEST} levels")
        left = replace(
            self._limits,
            max_chars=self._limits.max_chars - self._chars,
            inserted_in=self._limits.inserted_in + 1,
        )
        try:
            with reading_zip():
                document = read_unmasked(self._package.data(name), name, left)
        except Empty:
            return ()
        except TooLarge:
            return self._without(name, self._too_large)
        except Exception as error:  # any error of a part is one of that part only
            if lacks_memory(error):
                raise
            reason = error.message if isinstance(error, PinakesError) else type(error).__name__
            return self._without(name, "that cannot be read", cut(line(reason)))
        for note in document.notes:
            self._notes.setdefault(note.code, []).append((name, note))
        return _blocks(document)


def _blocks(document: Document) -> list[Block]:
    """Return the text of a document as blocks; plain text has no headings."""
    text = document.text.strip()
    if document.kind != "markdown":
        text = "\n".join(blocks.paragraph(one, 0, None, 0).text for one in text.split("\n"))
    return [Block(_kind(part), part.strip("\n")) for part in text.split("\n\n") if part.strip()]


def _kind(text: str) -> str:
    return "head" if text.startswith("#") else "table" if text.startswith("|") else "text"
