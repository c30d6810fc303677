"""The texts of presentations of the old format (PPT) that newer programs saved.

The converter finds none in them, since one of their records holds a ZIP container instead of records.
Source: [MS-PPT] 2.3.4 (where the current records are), 2.4.14.3 (list of slides), 2.9.41 and 2.9.42 (texts).
"""

from __future__ import annotations

import io
from collections.abc import Iterable
from typing import Final, NamedTuple

from pinakes.parsing.limits import Limits
from pinakes.parsing.openxml import clean
from pinakes.parsing.slide_records import (
    DOCUMENT,
    LIST,
    LISTED,
    NOTES,
    PLACES,
    SLIDE,
    Record,
    places_of,
    records,
    texts,
)

_OF_MASTERS: Final = 1
"""The instance of the list of masters; those of slides and notes are others."""
_NOWHERE: Final = Record(SLIDE, 0, 0, 0, 0)
"""A slide of which the file has only what the list says."""
_FIELD: Final = "*"
"""What stands for the number or date of a slide."""


class OldSlides(NamedTuple):
    """The texts of slides and of pages of notes, in the order in which they are shown; the number of all slides."""

    texts: list[str]
    slides: int


def read_old_slides(data: bytes, limits: Limits) -> OldSlides:
    """Return the text of each slide and of each page of notes, without those that have none.

    Raises:
        Exception: whatever the library raises on a damaged file.
    """
    from xlrd.compdoc import CompDoc

    stream = CompDoc(data, logfile=io.StringIO()).get_named_stream("PowerPoint Document")
    found: dict[int, Record] = {}
    places: dict[int, int] = {}
    for record in records(stream, 0, len(stream)):
        if record.kind == PLACES:  # a later directory replaces places of an earlier one
            places |= places_of(stream[record.begin : record.end])
        elif record.kind in (DOCUMENT, SLIDE, NOTES):
            found[record.at] = record
    current = {number: found.pop(at) for number, at in sorted(places.items()) if at in found}  # each once
    listed = _listed(stream, current.values())
    parts: list[str] = []
    size = count = 0
    for wanted, heading in ((SLIDE, ""), (NOTES, "### Notes\n\n")):
        for number in dict.fromkeys((*listed, *current)):
            record = current.get(number, _NOWHERE)
            if record.kind != wanted or (wanted == NOTES and not record.number(stream, 8)):  # the master of notes
                continue
            count += wanted == SLIDE
            if text := _text((*listed.get(number, ()), *texts(stream, record.begin, record.end))):
                parts.append(heading + text)
                size += len(text)
                limits.check_size(size)
    return OldSlides(parts, count)


def _listed(stream: bytes, current: Iterable[Record]) -> dict[int, list[str]]:
    """Return the numbers of slides and notes in their order, and those of their texts that only the lists have."""
    found: dict[int, list[str]] = {}
    documents = (record for record in current if record.kind == DOCUMENT)
    for one in (inner for document in documents for inner in records(stream, document.begin, document.end)):
        if one.kind == LIST and one.bits >> 4 != _OF_MASTERS:
            of_slide: list[str] = []
            for record in records(stream, one.begin, one.end):
                if record.kind == LISTED:
                    of_slide = found.setdefault(record.number(stream, 0), [])
                else:
                    of_slide += texts(stream, record.at, record.end)
    return found


def _text(found: Iterable[str]) -> str:
    lines = (text.replace("\r", "\n").replace("\x0b", "\n").strip() for text in found)
    return "\n\n".join(clean(text) for text in lines if text and text != _FIELD)
