"""The prose of a text: as long as the text, without code blocks, addresses and markup; its links and sentences."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

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
_BLOCK = re.compile(_FENCED, re.MULTILINE | re.DOTALL)
_IN_LINE = re.compile(f"{_LINK}|{_ADDRESS}|{_TAG}")
_ADDRESSES = re.compile(_ADDRESS)
_HAS_MARKUP = re.compile(r"\]\(|://|www\.|@|<")  # a line without these has nothing to blank
_HALF = re.compile("[\ud800-\udfff]")
_SENTENCE_END = re.compile(r"[.!?;][\"')\]*_]*[ \t]+(?=[\"'(\[*_]*[A-Z0-9])")


def prose_of(text: str) -> tuple[str, list[Link]]:
    """Return the prose of ``text``, with blanks for what is none, and its links in order. Linear time."""
    links: list[Link] = []
    text = whole(text)
    parts, at = list[str](), 0
    for block in _BLOCK.finditer(text) if "```" in text or "~~~" in text else ():
        parts += _without_markup(text, at, block.start(), links)
        parts.append("\n".join(" " * len(line) for line in block[0].split("\n")))
        at = block.end()
    parts += _without_markup(text, at, len(text), links)
    return "".join(parts), links


def _without_markup(text: str, start: int, end: int, links: list[Link]) -> Iterator[str]:
    """Yield the parts of ``text[start:end]`` with blanks for links, addresses and tags; add its links to ``links``."""

    def blanks(found: re.Match[str]) -> str:
        if found["label"] is None:
            return " " * len(found[0])
        first, last = (line + place for place in found.span("label"))
        if not found[0].startswith("!"):
            links.append(Link(first, last, found["target"]))
        before, after = found.start("label") - found.start(), found.end() - found.end("label")
        label = (
            _ADDRESSES.sub(lambda one: " " * len(one[0]), found["label"]) if "@" in found["label"] else found["label"]
        )
        return f"{' ' * before}{label}{' ' * after}"

    while markup := _HAS_MARKUP.search(text, start, end):
        line = max(start, text.rfind("\n", start, markup.start()) + 1)
        until = text.find("\n", markup.end(), end)
        until = end if until < 0 else until
        yield text[start:line]
        yield _IN_LINE.sub(blanks, text[line:until])
        start = until
    yield text[start:end]


def whole(text: str) -> str:
    """Return ``text``, as long as it is, with U+FFFD for halves of characters, which no matcher takes."""
    return text if text.isascii() else _HALF.sub("\ufffd", text)


def sentences(prose: str, places: Iterable[int]) -> Iterator[Span]:
    """Yield the spans of the sentences in the lines that hold ``places``, which are in order.

    A line has one at least, and none is longer than ``MAX_SENTENCE_CHARS``.
    """
    end = -1
    for place in places:
        if place <= end:
            continue
        start = prose.rfind("\n", 0, place) + 1
        end = prose.find("\n", place)
        end = len(prose) if end < 0 else end
        for found in _SENTENCE_END.finditer(prose, start, end):
            last = found.start() + 1
            if last - start <= MAX_SENTENCE_CHARS:
                if last > start:
                    yield start, last
            else:
                yield from _parts(start, last)
            start = found.end()
        yield from _parts(start, end)


def _parts(start: int, end: int) -> Iterator[Span]:
    for at in range(start, end, MAX_SENTENCE_CHARS):
        yield at, min(at + MAX_SENTENCE_CHARS, end)
