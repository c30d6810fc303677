"""Code in a language without a grammar: blocks by their indentation, each named by the line above it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from itertools import pairwise

from pinakes.chunking.contexts import MAX_LABEL_CHARS, Context
from pinakes.chunking.outline import BLOCK, Cuts, Outline, Section
from pinakes.chunking.scale import Scale, clean
from pinakes.chunking.text import paragraphs
from pinakes.types import Document

MAX_DEPTH = 8
_INNER = BLOCK - 20
_CONTROL = re.compile(
    r"[})\s]*(?:if|else|elif|elsif|for|foreach|while|until|unless|switch|case|when|match|try|catch|rescue|except|finally|"
    r"ensure|do|loop|with|using|lock|return|begin|then|default|synchronized|guard|repeat)\b"
)
_GOES_ON = re.compile(r"[{})\]]|(?:end|fi|done|esac|endif|endfunction)\b")
"""The beginning of a line that belongs to the block above it, though it is not indented."""
_WORD = re.compile(r"[^\W\d_]{2}")
_UNINDENTED = frozenset(("patch",))


@dataclass(slots=True)
class _Line:
    indent: int
    start: int
    number: int


def outline(document: Document, scale: Scale) -> Outline:
    """Find paragraphs, and blocks that have a first line with words, but those of conditions and loops."""
    cuts = Cuts()
    paragraphs(document.text, cuts)
    contexts = () if document.language in _UNINDENTED else tuple(_blocks(scale, cuts))
    return Outline(Section(0, len(scale.text)), cuts, lines_first=True, contexts=contexts)


def _blocks(scale: Scale, cuts: Cuts) -> Iterator[Context]:
    text = scale.text
    opened: list[_Line] = []
    for number, (start, end) in enumerate(pairwise(scale.line_starts.tolist())):
        line = text[start : min(end, start + MAX_LABEL_CHARS)]
        words = line.lstrip()
        if not words:
            continue
        indent = len(line[: len(line) - len(words)].expandtabs(4))
        belongs = bool(_GOES_ON.match(words))
        while opened and opened[-1].indent >= indent + belongs:
            yield from _block(text, opened, start, number, cuts)
        if not belongs:
            opened.append(_Line(indent, start, number))
    while opened:
        yield from _block(text, opened, len(text), len(scale.line_starts), cuts)


def _block(text: str, opened: list[_Line], end: int, number: int, cuts: Cuts) -> Iterator[Context]:
    """End the innermost open line; where lines stand below it, allow a cut before it and yield its context."""
    first = opened.pop()
    if number - first.number < 2 or len(opened) >= MAX_DEPTH:
        return
    cuts.add(first.start, _INNER - 2 * len(opened))
    line = text[first.start : first.start + MAX_LABEL_CHARS].partition("\n")[0]
    if _WORD.search(line) and not _CONTROL.match(line):
        yield Context(first.start, end, partial(_label, line))


def _label(line: str) -> str:
    return clean(line).rstrip(" {:(").removesuffix(" do")
