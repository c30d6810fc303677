"""Code in a language without a grammar: blocks by indentation, each named by the line above it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise

from pinakes.chunking.contexts import MAX_LABEL_CHARS, Context
from pinakes.chunking.outline import BLOCK, Cuts, Outline, Section
from pinakes.chunking.plain_text import paragraphs
from pinakes.chunking.scale import Scale, clean
from pinakes.chunking.sql_rows import inserted_rows
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
_WORD = re.compile(r"[^\W\d_]{2}")
_OPENS = re.compile(r"[ \t]*+\w[^\n]*[:({\[][ \t\r]*$")
_UNINDENTED = frozenset(
    (
        *("patch", "udiff", "git-diff", "log", "logs", "output", "stdout", "text", "txt", "plain", "plaintext", "none"),
        *("console", "terminal", "session", "shell-session", "shellsession", "sh-session", "bash-session", "pycon"),
        *("csv", "tsv", "tree", "ascii", "markdown", "md"),
    )
)
"""Languages, as files and listings name them, in which a line does not name the indented ones below it."""


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
    if language == "sql":
        contexts = tuple(_with_rows(tuple(inserted_rows(scale.text)), contexts))
    return Outline(Section(0, len(scale.text)), cuts, lines_first=True, contexts=contexts)


def _with_rows(rows: Sequence[Context], blocks: Sequence[Context]) -> Iterator[Context]:
    """Yield ``rows`` and ``blocks``; a block that begins as a statement with rows does is one with it."""
    ends = {block.start: block.end for block in blocks}
    for statement in rows:
        yield replace(statement, end=max(statement.end, ends.get(statement.start, 0)))
    starts = {statement.start for statement in rows}
    yield from (block for block in blocks if block.start not in starts)


def blocks_in(scale: Scale, first: int, last: int, language: str) -> Iterator[Context]:
    """Yield the blocks of code in the lines from ``first`` to before ``last``: those of a listing in ``language``.

    A listing without a language may be the output of a program: only lines that open a block name one.
    """
    if first >= last or language.startswith("diff") or language in _UNINDENTED:
        return
    for block in _blocks(scale, Cuts(), labelled=language in _LABELLED, first=first, last=last):
        head = scale.text[block.start : block.start + MAX_LABEL_CHARS].partition("\n")[0]
        if language or _OPENS.match(head):
            yield block


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
    has_here = text.find("<<", starts[0], starts[-1]) >= 0
    ends = {found[1]: found.start() for found in _HERE_END.finditer(text, starts[0], starts[-1])} if has_here else {}
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
