"""Documents of the old format (DOC): paragraphs, headings, tables, links, notes, comments, headers, text boxes.

Source: [MS-DOC] 2.4.1 (text by pieces), 2.4.6.1 (properties of paragraphs), 2.8.25 (fields). Other properties are not
read: numbers of lists, emphasis, hidden and deleted text, symbols of a font of symbols.
"""

from __future__ import annotations

import io
import re
import struct
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from itertools import accumulate, pairwise
from typing import Final, NamedTuple

import numpy as np

from pinakes.parsing import notes
from pinakes.parsing.blocks import Block, flat, in_margin, joined, margins
from pinakes.parsing.limits import Limits
from pinakes.parsing.rtf_blocks import Flow
from pinakes.parsing.text_runs import Piece
from pinakes.parsing.word_styles import PLAIN

_LENGTHS_AT: Final = 0x4C
"""Lengths of main text, footnotes, headers, macros, comments, endnotes, text boxes, text boxes of headers."""
_TABLES_AT: Final = 0x9A
"""Pairs of the place and the length of each table; the numbers of tables follow."""
_FOOTNOTES, _COMMENTS, _PARAGRAPHS, _PIECES, _ENDNOTES = 2, 4, 13, 33, 46
"""Numbers of tables: of the marks of notes and comments, of the pages of paragraphs, of the pieces of text."""
_PAGE: Final = 512
_LEVELS: Final = {style: min(style, 6) for style in range(1, 10)}
"""Style number → level of a heading: the numbers of these styles are fixed."""
_IN_TABLE, _ENDS_ROW, _IS_ITEM = b"\x16\x24\x01", b"\x17\x24\x01", re.compile(rb"\x0b\x46(?!\0\0)")
"""Properties are searched as bytes, not parsed: these bytes may also be in the value of another one, which is rare."""
_ELSEWHERE: Final = re.compile(rb"[\x45\x46]\x66(.{4})", re.DOTALL)
"""The properties are too large for their page: where they are in the data stream."""
_RUN: Final = re.compile("[\x00-\x1f]|[^\x00-\x1f]+")
_ENDS: Final = "\r\x07\x0c\x0e"
"""Ends of a paragraph, a cell or row, a page, a column."""
_SHOWN: Final = {"\t": " ", "\x0b": "\n", "\x1e": "-"}
_BUTTON: Final = re.compile(r"\s*(?:MACRO|GOTO)BUTTON\s+[^\s\\\x00-\x1f]+ +([^\x00-\x1f]+)")
_LINK: Final = re.compile(r"\s*HYPERLINK\s+\"([^\"\s\x00-\x1f]+)\"")


class _Style(NamedTuple):
    """The number of a paragraph's style, and its own properties."""

    number: int
    properties: bytes


_PLAIN_STYLE: Final = _Style(0, b"")


def read_old_document(data: bytes, limits: Limits) -> str:
    """Return the text of a document as Markdown.

    Raises:
        TooLarge: the text exceeds the limit.
        Exception: whatever the libraries raise on a damaged file.
    """
    from xlrd.compdoc import CompDoc

    container = CompDoc(data, logfile=io.StringIO())
    main = container.get_named_stream("WordDocument")
    flags = struct.unpack_from("<H", main, 10)[0]
    table = container.get_named_stream("1Table" if flags & 0x200 else "0Table")
    return _Document(main, table, container.get_named_stream("Data") or b"", limits).text()


class _Document:
    def __init__(self, main: bytes, table: bytes, data: bytes, limits: Limits) -> None:
        self._main, self._table, self._data = main, table, data
        self._pieces = self._placed()
        self._text = self._decoded(limits)
        self._ends, self._styles = self._paragraphs()
        lengths = struct.unpack_from("<8i", main, _LENGTHS_AT)
        self._stories = list(pairwise(accumulate(lengths, initial=0)))
        self._marks: dict[int, int] = {}

    def text(self) -> str:
        """Return all texts of the document, the main one first."""
        body, footnotes, headers, _, comments, endnotes, boxes, header_boxes = self._stories
        noted: list[str] = []
        for number, story in ((_FOOTNOTES, footnotes), (_ENDNOTES, endnotes)):
            places, texts = self._notes(number, story)
            self._marks |= {place: len(noted) + at for at, place in enumerate(places, 1)}
            noted += texts
        blocks = [*self._blocks(*body), *self._blocks(*boxes)]
        around = dict.fromkeys(
            in_margin(block, numbered=False) for story in (headers, header_boxes) for block in self._blocks(*story)
        )
        said = filter(None, self._notes(_COMMENTS, comments)[1])
        return f"{joined(blocks)}\n{notes.sections(noted, said)}{margins(around)}"

    def _part(self, number: int) -> bytes:
        at, size = struct.unpack_from("<2I", self._main, _TABLES_AT + 8 * number)
        return self._table[at : at + size]

    def _placed(self) -> tuple[list[int], list[int]]:
        """Return the first character of each piece of text and the end, and where each piece is in the stream."""
        part = self._part(_PIECES)
        at = 0
        while part[at] == 1:  # properties of pieces
            at += 3 + struct.unpack_from("<H", part, at + 1)[0]
        count = (struct.unpack_from("<I", part, at + 1)[0] - 4) // 12
        begins = struct.unpack_from(f"<{count + 1}I", part, at + 5)
        return [*begins], [
            struct.unpack_from("<I", part, at + 5 + 4 * (count + 1) + 8 * one + 2)[0] for one in range(count)
        ]

    def _decoded(self, limits: Limits) -> str:
        """Return the text, one character per UTF-16 code unit."""
        parts: list[str] = []
        size = 0
        for (begin, end), place in zip(pairwise(self._pieces[0]), self._pieces[1], strict=True):
            size += end - begin
            limits.check_size(size)
            at, width = _located(place)
            raw = self._main[at : at + width * (end - begin)]
            if len(raw) != width * (end - begin):
                raise ValueError("The text is cut off.")
            wide = np.frombuffer(raw, "<u2") if width == 2 else None
            parts.append(
                raw.decode("cp1252", "replace")
                if wide is None
                else wide.astype("<u4").tobytes().decode("utf-32-le", "surrogatepass")
            )
        return "".join(parts)

    def _paragraphs(self) -> tuple[list[int], list[_Style]]:
        """Return where each paragraph ends in the stream, in order, and its style."""
        part = self._part(_PARAGRAPHS)
        count = (len(part) - 4) // 8
        found: dict[int, _Style] = {}
        for number in dict.fromkeys(struct.unpack_from(f"<{count}I", part, 4 * (count + 1))):
            page = self._main[number * _PAGE : (number + 1) * _PAGE]
            runs = page[-1]
            ends = struct.unpack_from(f"<{runs}I", page, 4)
            for at, end in enumerate(ends):
                place = 2 * page[4 * (runs + 1) + 13 * at]
                begin = place + (1 if page[place] else 2)
                properties = self._whole(page[begin + 2 : begin + 2 * (page[place] or page[place + 1])])
                found[end] = _Style(struct.unpack_from("<H", page, begin)[0], properties) if place else _PLAIN_STYLE
        return sorted(found), [found[end] for end in sorted(found)]

    def _whole(self, properties: bytes) -> bytes:
        """Return properties and the first of those that are elsewhere: a paragraph's, before those of its table row."""
        if not (elsewhere := _ELSEWHERE.search(properties)):
            return properties
        at = int.from_bytes(elsewhere[1], "little")
        size = int.from_bytes(self._data[at : at + 2], "little")
        return properties + self._data[at + 2 : at + 2 + min(size, _PAGE)]

    def _style(self, character: int) -> _Style:
        """Return the style of the paragraph that has a character."""
        piece = bisect_right(self._pieces[0], character) - 1
        at, width = _located(self._pieces[1][piece])
        run = bisect_right(self._ends, at + width * (character - self._pieces[0][piece]))
        return self._styles[run] if run < len(self._styles) else _PLAIN_STYLE

    def _notes(self, number: int, story: tuple[int, int]) -> tuple[list[int], list[str]]:
        """Return the places of the marks of notes or comments, and their texts.

        The table after the one of the marks has where each text begins in the ``story``, and where the last one ends.
        """
        part, begins = self._part(number), self._part(number + 1)
        places = struct.unpack_from(f"<{len(begins) // 4 - 2}I", part) if len(begins) > 8 else ()
        edges = struct.unpack_from(f"<{len(places) + 1}I", begins) if places else ()
        if any(one > end for one, end in pairwise((*edges, story[1] - story[0]))):  # a text would be read many times
            raise ValueError("Notes overlap.")
        return [*places], [flat(self._blocks(story[0] + one, story[0] + end)) for one, end in pairwise(edges)]

    def _blocks(self, begin: int, end: int) -> Iterable[Block]:
        """Return the paragraphs and tables of a part of the text."""
        flow = Flow(_LEVELS)
        for piece in self._shown(begin, end):
            if isinstance(piece, Piece):
                flow.add(piece)
                continue
            style = self._style(piece)
            flow.control("pard", None)
            flow.control("s", style.number)
            if _IS_ITEM.search(style.properties):
                flow.labelled("-")
            if _IN_TABLE in style.properties:
                flow.control("intbl", None)
            in_cell = self._text[piece] == "\x07"
            flow.control("par" if not in_cell else "row" if _ENDS_ROW in style.properties else "cell", None)
        return flow.finished()

    def _shown(self, begin: int, end: int) -> Iterator[Piece | int]:
        """Yield the runs of text that are shown, and the place of each end of a paragraph or cell.

        Of fields the result is shown, not the instruction; of buttons, which have no result, their text.
        """
        fields: list[tuple[int | None, str]] = []  # where each's instruction begins, None after it; the link around it
        link, instructions = "", 0
        for match in _RUN.finditer(self._text, begin, end):
            run = match[0]
            opened, around = fields[-1] if fields else (None, "")
            if run == "\x13":
                fields.append((match.end(), link))
                instructions += 1
            elif run in "\x14\x15" and fields:
                found = None if opened is None else _LINK.match(self._text, opened, match.start())
                link = found[1] if found and run == "\x14" else around if run == "\x15" else link
                instructions -= opened is not None
                fields[-1:] = [(None, around)] if run == "\x14" else []
                if run == "\x15" and opened is not None and not instructions:
                    yield Piece(_of_button(self._text[opened : match.start()]), PLAIN, around)
            elif run in _ENDS:
                if instructions:  # a paragraph ends none: the file is damaged
                    fields, link, instructions = [], "", 0
                yield match.start()
            elif instructions:
                continue
            elif match.start() in self._marks:
                yield Piece(f"[^{self._marks[match.start()]}]", PLAIN)
            elif run in _SHOWN or run >= " ":
                yield Piece(_SHOWN.get(run, run), PLAIN, link)


def _located(place: int) -> tuple[int, int]:
    """Return where a piece of text is in the stream, and the size of a character, both in bytes."""
    return ((place & 0x3FFFFFFF) // 2, 1) if place & 0x40000000 else (place, 2)


def _of_button(instruction: str) -> str:
    """Return the text that a button shows, which is in its instruction; "" for other fields without a result."""
    found = _BUTTON.match(instruction)
    return found[1].partition("\\* ")[0].rstrip() if found else ""
