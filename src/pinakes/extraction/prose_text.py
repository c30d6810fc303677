"""The prose of a text: as long as the text, without code blocks, addresses and markup; its links and sentences."""

from __future__ import annotations

import re
from collections.abc import Iterator

from pinakes.core.graph_records import Link
from pinakes.core.records import Span

MAX_SENTENCE_CHARS = 1000

_FENCED = r"^(?P<fence>```++|~~~++)[^\n]*+\n.*?(?:^(?P=fence)[ \t]*$|\Z)"
_LINK = r"!?\[(?P<label>[^\]\n]{0,300}+)\]\((?P<target>[^()\s]{0,1000}+)[^()\n]{0,300}+\)"
_BEGINS = r"(?<![\w.+-])"  # a word is tried once, not again from each of its letters
_ADDRESS = (
    rf"{_BEGINS}[a-z][a-z0-9+.-]{{1,20}}://[^\s)>\]|\"']+|\bwww\.[^\s)>\]|\"']+"
    rf"|{_BEGINS}[\w.+-]{{1,64}}@[\w-]{{1,64}}\.[\w.-]{{1,64}}"
)
_TAG = r"</?[A-Za-z!][^<>\n]{0,300}+>"
_BLANKED = re.compile(f"{_FENCED}|{_LINK}|{_ADDRESS}|{_TAG}", re.MULTILINE | re.DOTALL)
_HALF = re.compile("[\ud800-\udfff]")
_SENTENCE_END = re.compile(r"(?<=[.!?:;])[\"')\]*_]*[ \t]+(?=[\"'(\[*_]*[A-Z0-9])|\n")


def prose_of(text: str) -> tuple[str, list[Link]]:
    """Return the prose of ``text``, with blanks for what is none, and its links in order. Linear time."""
    links: list[Link] = []
    text = whole(text)

    def blanks(found: re.Match[str]) -> str:
        if found["label"] is None:
            return "\n".join(" " * len(line) for line in found[0].split("\n"))
        start, end = found.span("label")
        if not found[0].startswith("!"):
            links.append(Link(start, end, found["target"]))
        before, after = start - found.start(), found.end() - end
        return f"{' ' * before}{found['label']}{' ' * after}"

    return _BLANKED.sub(blanks, text), links


def whole(text: str) -> str:
    """Return ``text``, as long as it is, with U+FFFD for halves of characters, which no matcher takes."""
    return text if text.isascii() else _HALF.sub("\ufffd", text)


def sentences(prose: str) -> Iterator[Span]:
    """Yield the spans of the sentences: a line has one at least, and none is longer than ``MAX_SENTENCE_CHARS``."""
    start = 0
    for found in _SENTENCE_END.finditer(prose):
        yield from _parts(start, found.start())
        start = found.end()
    yield from _parts(start, len(prose))


def _parts(start: int, end: int) -> Iterator[Span]:
    for at in range(start, end, MAX_SENTENCE_CHARS):
        yield at, min(at + MAX_SENTENCE_CHARS, end)
