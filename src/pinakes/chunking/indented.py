"""Code in a language without a grammar: blocks by indentation, each named by the line above it."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise

from pinakes.chunking.contexts import MAX_LABEL_CHARS, Context
from pinakes.chunking.outline import BLOCK, Cuts, Outline, Section
from pinakes.chunking.plain_text import paragraphs
from pinakes.chunking.scale import Scale, clean
from pinakes.core.records import Document

MAX_DEPTH = 8
_INNER = BLOCK - 20
_CONTROL = re.compile(
    r"[})\s]*(?:if|else|elif|elsif|for|foreach|while|until|unless|switch|case|when|match|try|catch|rescue|except|finally|"
    r"ensure|do|loop|with|using|lock|return|begin|then|default|synchronized|guard|repeat)\b"
)
_GOES_ON = re.compile(r"[{})\]]|(?:end|fi|done|esac|endif|endfunction)\b")
"""The start of an unindented line that still belongs to the block above it."""
_ASIDE = re.compile(r"#(?!.*\{\s*$)|//|/\*|\*[\s/]|--|;|%[\s%]|(?P<word>\w+)(?P<colon>:?)\s*$")
"""A comment, directive, label or here-document end: it neither ends a block nor names one."""
_HERE = re.compile(r"<<[-~]?(?:[ \t]+(?=[\"'A-Z_]))?[\"']?(?!self\b)([A-Za-z_]\w*)")
_HERE_END = re.compile(r"^[ \t]*(\w+)[;,)]*[ \t]*$", re.MULTILINE)
_LABELLED = frozenset(("asm", "just", "makefile", "yaml", "yml"))
"""Languages in which a word with a colon begins a block."""
_INSERT = re.compile(
    r"^(?:INSERT[ \t]+INTO|REPLACE[ \t]+INTO|(?P<copy>COPY))[ \t]+[^\s(;]{1,200}[ \t]*"
    r"\([^()]{1,2000}\)\s*(?(copy)FROM\b|VALUES\b)",
    re.MULTILINE | re.IGNORECASE,
)
_INSERT_END = re.compile(r";[ \t]*$", re.MULTILINE)
_COPY_END = re.compile(r"^\\\.$", re.MULTILINE)
_WORD = re.compile(r"[^\W\d_]{2}")
_UNINDENTED = frozenset(("patch",))


@dataclass(slots=True)
class _Line:
    indent: int
    start: int
    number: int


def outline(document: Document, scale: Scale) -> Outline:
    """Find paragraphs, and blocks with a first line that has words, except those of conditions and loops."""
    cuts = Cuts()
    paragraphs(document.text, cuts)
    language = document.language
    contexts = () if language in _UNINDENTED else tuple(_blocks(scale, cuts, labelled=language in _LABELLED))
    rows = tuple(_inserted_rows(scale.text)) if language == "sql" else ()
    return Outline(Section(0, len(scale.text)), cuts, lines_first=True, contexts=(*rows, *contexts))


def _inserted_rows(text: str) -> Iterator[Context]:
    """Yield the statements of a dump that insert rows, each with its table and its column names."""
    statements = list(_INSERT.finditer(text))
    ends = [end.end() for end in _INSERT_END.finditer(text)] if statements else []
    copy_ends = [end.end() for end in _COPY_END.finditer(text)] if statements else []
    for at, found in enumerate(statements):
        some = ends if found["copy"] is None else copy_ends
        place = bisect_left(some, found.end())
        limit = statements[at + 1].start() if at + 1 < len(statements) else len(text)
        yield Context(found.start(), min([limit, *some[place : place + 1]]), partial(clean, found[0]))


def blocks_in(scale: Scale, first: int, last: int, language: str) -> Iterator[Context]:
    """Yield the blocks of code in the lines from ``first`` to before ``last``, such as those of a listing."""
    yield from _blocks(scale, Cuts(), labelled=language in _LABELLED, first=first, last=last)


def _blocks(scale: Scale, cuts: Cuts, *, labelled: bool, first: int = 0, last: int | None = None) -> Iterator[Context]:
    opened: list[_Line] = []
    unassigned: _Line | None = None
    starts = scale.line_starts[first : None if last is None else last + 1].tolist()
    for line, words in _lines(scale, starts, first):
        belongs = bool(_GOES_ON.match(words))
        found = None if belongs else _ASIDE.match(words)
        if found and not (labelled and found["colon"]):
            # It belongs to the block if that continues after it, else to the next block.
            unassigned = line if unassigned is None or line.indent < unassigned.indent else unassigned
            continue
        while opened and opened[-1].indent >= line.indent + belongs:
            yield from _block(scale.text, opened, line, unassigned, cuts)
        if not belongs:
            opened.append(line)
        unassigned = None
    end = _Line(0, starts[-1], first + len(starts))
    while opened:
        yield from _block(scale.text, opened, end, unassigned, cuts)


def _lines(scale: Scale, starts: Sequence[int], first: int) -> Iterator[tuple[_Line, str]]:
    """Yield the lines with words between ``starts``, and their text, except those of here-documents."""
    text = scale.text
    ends = {found[1]: found.start() for found in _HERE_END.finditer(text)} if "<<" in text else {}
    here = ""
    for number, (start, end) in enumerate(pairwise(starts), first):
        line = text[start : min(end, start + MAX_LABEL_CHARS)]
        words = line.lstrip()
        if here:
            here = "" if words.rstrip().rstrip(";,)") == here else here
        elif words:
            yield _Line(len(line[: len(line) - len(words)].expandtabs(4)), start, number), words
            opens = _HERE.search(words)
            here = opens[1] if opens and ends.get(opens[1], -1) >= end else ""


def _block(text: str, opened: list[_Line], line: _Line, unassigned: _Line | None, cuts: Cuts) -> Iterator[Context]:
    """Close the innermost block before ``line``; if it has several lines, cut before it and yield its context."""
    first = opened.pop()
    end = unassigned if unassigned and unassigned.indent <= first.indent else line
    if end.number - first.number < 2 or len(opened) >= MAX_DEPTH:
        return
    cuts.add(first.start, _INNER - 2 * len(opened))
    head = text[first.start : first.start + MAX_LABEL_CHARS].partition("\n")[0]
    if _WORD.search(head) and not _CONTROL.match(head) and not _HERE.search(head):
        yield Context(first.start, end.start, partial(_label, head))


def _label(line: str) -> str:
    return clean(line).rstrip(" {:(").removesuffix(" do")
