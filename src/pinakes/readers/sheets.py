"""What kreuzberg 4 leaves out of workbooks (XLSX): text boxes, and comments, as notes and as threads."""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from pinakes.readers.decode import line_of
from pinakes.readers.notes import comment
from pinakes.readers.openxml import part_text, relations

_WORKBOOK: Final = "xl/workbook.xml"
_PEOPLE: Final = "xl/persons/"
_SHEET: Final = re.compile(r'<(?:\w+:)?sheet\s[^<>]*?\b\w++:id="([^"]*)"')
_PERSON: Final = re.compile(r"<(?:\w+:)?person\s[^<>]*>")
_NOTE: Final = re.compile(r"<(?:\w+:)?(?:threadedComment|comment)\s([^<>]*)>")
_ATTRIBUTE: Final = re.compile(r'\b(ref|authorId|personId|displayName|id)="([^"]*)"')
_AUTHOR: Final = re.compile(r"<(?:\w+:)?author(?:/>|>([^<]*)<)")
_WORDS: Final = re.compile(r"<(?:\w+:)?(?:t|text)(?:\s[^<>]*)?>([^<]+)")
_LINE_END: Final = re.compile(r"</(?:\w+:)?p>|<(?:\w+:)?br\b")
_OF_A_THREAD: Final = "tc="
"""Begins the author of a note that only says, to old programs, that there is a thread."""


def besides(data: bytes) -> list[tuple[int, str]]:
    """Return where each sheet with text boxes or comments is in its workbook, from 0, and these as Markdown."""
    with zipfile.ZipFile(io.BytesIO(data)) as container:
        parts = relations(container, _WORKBOOK)
        sheets = [parts.get(one, ("", ""))[1] for one in _SHEET.findall(part_text(container, _WORKBOOK))]
        people, read = dict(_people(container)), set[str]()
        first = {sheet: at for at, sheet in reversed([*enumerate(sheets)])}
        found = [(at, "\n\n".join(_besides(container, one, people, read))) for one, at in reversed(first.items())]
    return [(at, text) for at, text in found if text]


def parted(text: str, names: Sequence[str], besides: Sequence[tuple[int, str]]) -> list[str]:
    """Return the text of each sheet, of which all have sections called by their ``names`` but those without cells.

    What stands ``besides`` some of them follows these.
    """
    lines, parts = f"\n{text}", dict[int, str]()
    last, begun = 0, 0
    for number, name in enumerate(names):
        at = lines.find(f"\n## {name}\n", begun)
        if at >= 0:
            parts[last] = text[begun:at]
            last, begun = number, at
    parts[last] = text[begun:]
    for number, more in besides:
        title = f"## {names[number]}" if number < len(names) else ""
        parts[number] = f"{parts.get(number, '').strip() or title}\n\n{more}"
    return [parts.get(number, "") for number in range(max(parts) + 1)]


def _people(container: zipfile.ZipFile) -> Iterator[tuple[str, str]]:
    """Yield the id and the name of each who wrote in threads."""
    for name in container.namelist():
        if name.startswith(_PEOPLE) and name.endswith(".xml"):
            for tag in _PERSON.findall(part_text(container, name)):
                values = dict(_ATTRIBUTE.findall(tag))
                yield values.get("id", ""), values.get("displayName", "")


def _besides(container: zipfile.ZipFile, sheet: str, people: Mapping[str, str], read: set[str]) -> Iterator[str]:
    """Yield the paragraphs of a sheet's text boxes, and its comments; what another sheet has was ``read`` there."""
    there = {kind: name for kind, name in relations(container, sheet).values() if name not in read}
    read.update(there.values())
    lines = _LINE_END.split(part_text(container, there.get("drawing", "")))
    yield from filter(None, dict.fromkeys(line_of("".join(_WORDS.findall(one))) for one in lines))
    if found := [f"- {one}" for one in _comments(container, there, people)]:
        yield "\n".join(["### Comments\n", *found])


def _comments(container: zipfile.ZipFile, there: Mapping[str, str], people: Mapping[str, str]) -> Iterator[str]:
    """Yield the comments of a sheet, each with its cell and who made it, from the parts that are ``there``."""
    threads = part_text(container, there.get("threadedComment", ""))
    notes = part_text(container, there.get("comments", ""))
    authors = {str(number): name for number, name in enumerate(_AUTHOR.findall(notes))}
    for part, names in ((notes, authors), (threads, people)):
        _, *found = _NOTE.split(part)
        for attributes, body in zip(found[::2], found[1::2], strict=True):
            values: dict[str, str] = dict(_ATTRIBUTE.findall(attributes))
            author = line_of(names.get(values.get("personId", values.get("authorId", "")), ""))
            if author.startswith(_OF_A_THREAD):
                if threads:
                    continue
                author = ""
            if words := line_of("".join(_WORDS.findall(body))):
                yield f"{values.get('ref', '')}: {comment(author, words.removeprefix(f'{author}: '))}"
