"""What kreuzberg 4 loses of OpenDocument texts (ODT), or puts elsewhere: notes, comments, spaces that are elements."""

from __future__ import annotations

import html
import io
import re
import zipfile
from typing import Final

from pinakes.readers.containers import rewritten
from pinakes.readers.decode import line_of, scrub
from pinakes.readers.notes import comment, mark, sections

_CONTENT: Final = "content.xml"
_NOTE: Final = re.compile(
    rb"<text:note\s(?:(?!<text:note\s).)*?</text:note>"
    rb"|<office:annotation(?=[\s>])(?:(?!<office:annotation[\s>]).)*?</office:annotation>",
    re.DOTALL,
)
_CELL: Final = re.compile(rb"<table:table-cell\s[^<>]*[^<>/]>")
_KIND: Final = re.compile(rb'\soffice:value-type="(?:float|percentage|currency|date|time|boolean)"')
_VALUE: Final = re.compile(rb'\s(?:calcext:value-type|office:(?:value|date-value|time-value|boolean-value))="[^"]*"')
_SPACE: Final = re.compile(rb"<text:s(?:\s[^<>]*)?/>")
_CITATION: Final = re.compile(r"<text:note-citation\b[^<>]*>[^<]*</text:note-citation>")
_AUTHOR: Final = re.compile(r"<dc:creator>([^<]*)</dc:creator>")
_ABOUT: Final = re.compile(r"<(?:dc|meta|loext):[^<>]*>[^<]*</[^<>]*>")
_BREAK: Final = re.compile(r"</text:(?:p|h)>|<text:(?:s|tab|line-break)\b[^<>]*>")
_TAG: Final = re.compile(r"<[^<>]*>")


def prepared(data: bytes) -> tuple[bytes, str]:
    """Return an ODT with numbers in the place of its notes, and these and its comments as Markdown.

    Where it has none of them it is the same ODT; else its pictures are left out.
    """
    notes: list[str] = []
    comments: list[str] = []

    def taken(match: re.Match[bytes]) -> bytes:
        found = match[0].decode("utf-8", "replace")
        author = _AUTHOR.search(found)
        if not (words := _words(found)):
            return b""
        if found.startswith("<office:"):
            comments.append(comment(scrub(html.unescape(author[1])) if author else "", words))
            return b""
        notes.append(words)
        return mark(len(notes)).encode()

    with zipfile.ZipFile(io.BytesIO(data)) as container:
        if _CONTENT not in container.NameToInfo:
            return data, ""
        before = container.read(_CONTENT)
        after = _SPACE.sub(b" ", _NOTE.sub(taken, before))
        if after == before:
            return data, ""
        pictures = {name for name in container.namelist() if name.startswith("Pictures/")}
        return rewritten(container, {_CONTENT: after}, pictures), sections(notes, comments)


def as_displayed(data: bytes) -> bytes:
    """Return an ODS whose cells are the texts that they show, not the values behind them."""
    with zipfile.ZipFile(io.BytesIO(data)) as container:
        if _CONTENT not in container.NameToInfo:
            return data
        before = container.read(_CONTENT)
        after = _CELL.sub(lambda cell: _VALUE.sub(b"", _KIND.sub(b' office:value-type="string"', cell[0])), before)
        pictures = {name for name in container.namelist() if name.startswith("Pictures/")}
        return rewritten(container, {_CONTENT: after}, pictures) if after != before else data


def _words(element: str) -> str:
    text = _BREAK.sub(" ", _ABOUT.sub("", _CITATION.sub("", element)))
    return line_of(_TAG.sub("", text))
