"""Masters of old presentations (PPT): their prompts are no text, what stands on them and on slides is."""

from __future__ import annotations

import io
import struct

import pytest
from xlwt.CompoundDoc import XlsDoc

from pinakes.parsing.slide_prompts import without_prompts

SLIDE, MASTER, NOTES, HANDOUT = 0x3EE, 0x3F8, 0x3F0, 0xFC9


def record(kind: int, *inner: bytes, container: bool = True) -> bytes:
    body = b"".join(inner)
    return struct.pack("<HHI", 15 if container else 0, kind, len(body)) + body


def shape(text: str, *, placeholder: bool) -> bytes:
    client = record(0xF011, record(0xBC3, bytes(8), container=False)) if placeholder else b""
    return record(0xF004, client, record(0xF00D, record(0xFA0, text.encode("utf-16-le"), container=False)))


def page(kind: int, first: int, *shapes: bytes) -> bytes:
    atom = record(0x3F1 if kind == NOTES else 0x3EF, struct.pack("<I", first), bytes(20), container=False)
    return record(kind, atom, record(0x40C, record(0xF002, record(0xF003, *shapes))))


def presentation(*pages: bytes) -> bytes:
    buffer = io.BytesIO()
    XlsDoc().save(buffer, b"".join(pages) + record(0x1772, bytes(8000), container=False))
    name, own = ("Workbook".encode("utf-16-le"), "PowerPoint Document".encode("utf-16-le"))
    before, _, after = buffer.getvalue().partition(name)
    return before + own.ljust(64, b"\0") + struct.pack("<H", len(own) + 2) + after[66 - len(name) :]


def shown(data: bytes, text: str) -> bool:
    at = data.index(text.encode("utf-16-le"))
    return data[at - 6 : at - 4] == b"\xa0\x0f"


@pytest.mark.parametrize(("kind", "first"), [(MASTER, 0), (HANDOUT, 0), (NOTES, 0), (NOTES, 0x8000_0008), (SLIDE, 2)])
def test_a_placeholder_of_a_master_is_no_text_but_other_shapes_are(kind: int, first: int) -> None:
    prompt, company = shape("Click to edit", placeholder=True), shape("Acme company", placeholder=False)
    data = without_prompts(presentation(page(kind, first, prompt, company)))
    assert (shown(data, "Click to edit"), shown(data, "Acme company")) == (False, True)


@pytest.mark.parametrize(("kind", "first"), [(SLIDE, 0), (SLIDE, 1), (NOTES, 0x101)])
def test_placeholders_of_slides_and_their_notes_are_text(kind: int, first: int) -> None:
    data = presentation(page(kind, first, shape("Okapi in the zoo", placeholder=True)))
    assert without_prompts(data) == data


def test_deep_records_and_damaged_files_stay_as_they_are() -> None:
    nested = shape("Okapi", placeholder=True)
    for _ in range(5000):
        nested = record(0xF003, nested)
    data = presentation(page(MASTER, 0, nested))
    for one in (data, data[:1000], b"", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600)):
        assert without_prompts(one) == one


def directory(*places: int) -> bytes:
    return record(0x1772, struct.pack(f"<{len(places) + 1}I", 1 | len(places) << 20, *places), container=False)


@pytest.mark.parametrize("kind", [SLIDE, NOTES])
@pytest.mark.parametrize("placeholder", [True, False])
def test_a_page_that_a_later_version_replaced_is_no_text(kind: int, placeholder: bool) -> None:
    old, new = (page(kind, 1, shape(words, placeholder=placeholder)) for words in ("Before", "After"))
    data = without_prompts(presentation(old, new, directory(0), directory(len(old))))
    assert (shown(data, "Before"), shown(data, "After")) == (False, True)


def test_pages_stay_where_no_directory_names_one() -> None:
    data = presentation(page(SLIDE, 1, shape("Before", placeholder=True)), directory(7))
    assert without_prompts(data) == data
