"""Presentations of the old format (PPT) are read also where newer programs saved them."""

from __future__ import annotations

import struct
import time

import pytest
from small_doc import compound

from pinakes import parsing
from pinakes.core.errors import Empty, TooLarge, Unreadable
from pinakes.core.records import Document


def record(kind: int, content: bytes, *, holds_others: bool = False) -> bytes:
    return struct.pack("<HHI", 15 if holds_others else 0, kind, len(content)) + content


NEWER = record(1064, b"PK\3\4\24\0\6\0" + bytes(40), holds_others=True)
"""What newer programs add for themselves."""


def text(words: str) -> bytes:
    drawn = record(4000, words.encode("utf-16-le"))
    for kind in (61453, 61444, 61443, 61442, 1036):
        drawn = record(kind, drawn, holds_others=True)
    return drawn


def ppt(*parts: bytes, directory: bytes | None = None, is_newer: bool = True) -> bytes:
    stream, places = record(1000, NEWER if is_newer else b"", holds_others=True), []
    for part in parts:
        places.append(len(stream))
        stream += part
    numbers = struct.pack(f"<{len(places) + 1}I", 1 | len(places) << 20, *places)
    stream += record(6002, numbers if directory is None else directory)
    made: bytes = compound({"Current User": bytes(4096), "PowerPoint Document": stream})
    return made


def slide(*texts: str) -> bytes:
    return record(1006, record(1007, bytes(24)) + b"".join(map(text, texts)), holds_others=True)


def notes(words: str, number: int = 256) -> bytes:
    return record(1008, record(1009, struct.pack("<II", number, 0)) + text(words), holds_others=True)


def read(data: bytes, most: int = 1_000_000) -> Document:
    return parsing.read(data, "a.ppt", max_chars=most)


def test_slides_and_notes_are_read_in_their_order() -> None:
    found = read(ppt(slide("The press", "One\rTwo", "*"), slide("Grüße ☃"), notes("Say this"), notes("Edit", 0)))
    assert found.text == "The press\n\nOne\nTwo\n\nGrüße ☃\n\n### Notes\n\nSay this\n"
    assert [found.text[at:][:5] for at in found.pages] == ["The p", "Grüße", "### N"]


@pytest.mark.parametrize("is_newer", [False, True])
@pytest.mark.parametrize(
    ("parts", "count"),
    [
        ((slide("One", "Two"),), 1),
        ((slide("One"), slide(), slide("Three")), 3),
        ((slide("One"), slide("Two"), notes("Say this"), notes("And this", 257), notes("Master", 0)), 2),
    ],
)
def test_the_number_of_pages_is_that_of_the_slides(parts: tuple[bytes, ...], count: int, is_newer: bool) -> None:
    assert read(ppt(*parts, is_newer=is_newer)).metadata["page_count"] == count


def test_a_slide_that_was_replaced_is_not_read() -> None:
    old, new, begin = slide("Before"), slide("After"), 8 + len(NEWER)
    directory = struct.pack("<4I", 1 | 1 << 20, begin, 1 | 1 << 20, begin + len(old))
    assert read(ppt(old, new, directory=directory)).text == "After\n"


def test_a_slide_with_several_numbers_is_read_once_and_a_bad_place_is_skipped() -> None:
    begin, first, second = 8 + len(NEWER), slide("One"), slide("Two")
    places = [begin, *[begin + len(first)] * 500, begin + 8, 2**30, begin + len(first)]
    directory = struct.pack(f"<{len(places) + 1}I", 1 | len(places) << 20, *places)
    assert read(ppt(first, second, directory=directory)).text == "One\n\nTwo\n"


def listed(*entries: tuple[int, str], instance: int = 0) -> bytes:
    """Return a list of slides: of each its number in the directory, and its text of the outline."""
    inside = b"".join(
        record(1011, struct.pack("<I16x", number)) + record(3999, bytes(4)) + record(4008, words.encode("latin-1"))
        for number, words in entries
    )
    return struct.pack("<HHI", 15 | instance << 4, 4080, len(inside)) + inside


def test_slides_are_in_the_order_of_their_list_with_its_texts() -> None:
    masters, order, of_notes = (
        listed((6, "Master"), instance=1),
        listed((3, "Grün"), (2, ""), (9, "Nowhere")),
        listed((5, ""), (4, ""), instance=2),
    )
    document = record(1000, NEWER + masters + order + of_notes, holds_others=True)
    pages = slide("Two"), slide("Three", "drawn"), notes("A"), notes("B"), slide("Not in the list")
    text = read(ppt(document, *pages)).text
    assert text == ("Grün\n\nThree\n\ndrawn\n\nTwo\n\nNowhere\n\nNot in the list\n\n### Notes\n\nB\n\n### Notes\n\nA\n")


def test_texts_that_only_the_list_has_are_read() -> None:
    document = record(1000, listed((2, "First\rline"), (3, "Second")), holds_others=True)
    assert read(ppt(document, slide(), slide())).text == "First\nline\n\nSecond\n"


@pytest.mark.parametrize("directory", [b"", b"\xff" * 40, struct.pack("<2I", 1 | 9 << 20, 2**31)])
def test_a_damaged_directory_gives_a_reason(directory: bytes) -> None:
    with pytest.raises(Unreadable) as caught:
        read(ppt(slide("words"), directory=directory))
    assert isinstance(caught.value, Empty) or caught.value.hint


def test_a_presentation_of_much_text_respects_the_limit_in_good_time() -> None:
    start = time.process_time()
    with pytest.raises(TooLarge):
        read(ppt(*[slide("words " * 100)] * 20), 1_000)
    assert time.process_time() - start < 5
