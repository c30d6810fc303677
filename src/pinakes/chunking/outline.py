"""What a chunker finds out about a document: its sections, and where it may be cut, best places first."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np

from pinakes.chunking.contexts import Context
from pinakes.chunking.scale import common
from pinakes.core.records import Int64

BLOCK = 60
"""Level of a cut between blocks (paragraphs, lists, top-level units). Lower levels lie inside of higher ones."""
FENCE_LINE = 12
SHORT_HOLE = 120
"""A comment up to so many characters between a heading and its text is rather kept than the heading left out."""
SLIGHT_WORDS = 5
SLIGHT_CHARS = 40
"""Text of no more words and characters ("N/A", "No.", a link) says nothing without its heading."""
_SLIGHT_LOOKED_AT = 10_000
_SLIGHT_UNCOMMENTED = 500

_COMMENT = re.compile(r"<!--(?:(?!-->).)*+-->", re.DOTALL)
_HEADING = re.compile(r"^[ \t]*#{1,6}[ \t][^\n]*$", re.MULTILINE)
_ADDRESS = re.compile(r"\]\([^()\n]*\)|https?://\S+")


@dataclass(frozen=True, slots=True)
class Section:
    """A part of the text under the headings ``path``. ``children`` lie in order, and fill it when ``gapless``."""

    start: int
    end: int
    path: tuple[str, ...] = ()
    children: tuple[Section, ...] = ()
    gapless: bool = True


def branch(children: Sequence[Section]) -> Section:
    """Put ``children`` under what their paths have in common."""
    if len(children) == 1:
        return children[0]
    gapless = all(child.gapless for child in children) and all(
        left.end == right.start for left, right in pairwise(children)
    )
    path = common([child.path for child in children])
    return Section(children[0].start, children[-1].end, path, tuple(children), gapless)


@dataclass(slots=True)
class Cuts:
    """Collects the places where a text may be cut, each with its level; the highest of one place counts."""

    found: dict[int, int] = field(default_factory=dict)

    def add(self, point: int, level: int) -> None:
        """Allow a cut at ``point``."""
        if self.found.get(point, -1) < level:
            self.found[point] = level

    def arrays(self) -> tuple[Int64, Int64]:
        """Return the offsets, ascending, and their levels: two int64 (n,)."""
        points = np.fromiter(self.found.keys(), np.int64, len(self.found))
        levels = np.fromiter(self.found.values(), np.int64, len(self.found))
        order = np.argsort(points)
        return points[order], levels[order]


@dataclass(frozen=True, slots=True)
class Symbol:
    """A name and the part of the text that defines it."""

    start: int
    end: int
    name: str


@dataclass(frozen=True, slots=True)
class OutlineEntry:
    """A heading or a definition, and the part of the text under it, its own lines included. Levels count from 1."""

    level: int
    title: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Outline:
    """The structure of one document.

    ``glue`` are offsets where lines meet that belong together, a heading and its first paragraph;
    ``solids`` are spans, ascending and apart, that overlap must not begin in. Where no cut helps, a text is cut between
    sentences, lines, words; with ``lines_first`` between lines before sentences. A higher cut is taken when
    the chunk is at least ``min_fill`` of its size by then. ``entries`` are what a table of contents has; ``contexts``
    what chunks repeat that begin inside of them.
    """

    root: Section
    cuts: Cuts = field(default_factory=Cuts)
    glue: frozenset[int] = frozenset()
    solids: tuple[tuple[int, int], ...] = ()
    symbols: tuple[Symbol, ...] = ()
    lines_first: bool = False
    min_fill: float = 0.5
    entries: tuple[OutlineEntry, ...] = ()
    contexts: tuple[Context, ...] = ()


@dataclass(slots=True)
class Region:
    """A heading with the text up to the next heading. ``body`` is where the heading ends; level 0 has none."""

    level: int
    path: tuple[str, ...]
    start: int
    body: int
    end: int
    parts: list[Section] = field(default_factory=list)
    """What is to be chunked of it."""


def regions(headings: Sequence[tuple[int, int, int, str]], end: int) -> list[Region]:
    """Return the region before the first of ``headings``, as of ``contents``, and that of each."""
    ends = [start for start, *_ in headings] + [end]
    found = [Region(0, (), 0, 0, ends[0])]
    names = paths((level, name) for *_, level, name in headings)
    for (start, body, level, _), path, stop in zip(headings, names, ends[1:], strict=True):
        found.append(Region(level, path, start, body, stop))
    return found


def contents(headings: Sequence[tuple[int, int, int, str]], end: int) -> tuple[OutlineEntry, ...]:
    """Return an entry for each (start, where its line ends, level, name) of a text that ends at ``end``.

    It reaches to the next heading of its level or a lower one. Levels are made to begin with 1 and to leave none out.
    """
    ends = [end] * len(headings)
    levels: list[int] = []
    above: list[tuple[int, int]] = []
    for place, (start, _, level, _) in enumerate(headings):
        while above and above[-1][0] >= level:
            ends[above.pop()[1]] = start
        above.append((level, place))
        levels.append(len(above))
    return tuple(
        OutlineEntry(levels[i], name, start, ends[i]) for i, (start, _, _, name) in enumerate(headings) if name
    )


def paths(headings: Iterable[tuple[int, str]]) -> list[tuple[str, ...]]:
    """Return for each (level, name) of ``headings``, in order, the names above it and its own."""
    above: list[tuple[int, str]] = []
    result = []
    for level, name in headings:
        above = [heading for heading in above if heading[0] < level]
        above.append((level, name))
        result.append(tuple(name for _, name in above if name))
    return result


def sections(
    text: str,
    regions: Sequence[Region],
    holes: Sequence[tuple[int, int]],
    fits: Callable[[int, int, tuple[str, ...]], bool] | None = None,
) -> tuple[Section, set[int]]:
    """Make a tree of ``regions``, leaving ``holes`` (spans, ascending) out, and the places to glue.

    A heading without text of its own goes with what follows it, at the end with what precedes. With a hole between, it
    does where the hole is short, or where what follows says nothing without its heading and ``fits`` with all of it.
    Else such a heading is left out: the headers of what stands under it carry its words.
    """
    glue: set[int] = set()
    lead: tuple[int, int] | None = None
    last: Region | None = None
    for region, (start, end) in _islands(text, regions, holes):
        if lead and not (lead[1] == start or _bridged(text, lead, start, end, region.path, fits)):
            lead = None
        elif lead:
            glue.add(start)
        if region.level and start == region.start and not text[region.body : end].strip():
            lead = (lead[0] if lead else start, end)
            continue
        region.parts.append(Section(lead[0] if lead else start, end, region.path))
        lead, last = None, region
    if last is None:
        return Section(0, len(text)), glue
    if lead and lead[0] == last.parts[-1].end:
        final = last.parts[-1]
        glue.add(final.end)
        last.parts[-1] = Section(final.start, lead[1], final.path)
    return _tree(regions), glue


def is_slight(text: str) -> bool:
    """Say whether ``text`` says nothing without what stands around it: a few words besides a heading and comments."""
    if len(text) > (_SLIGHT_LOOKED_AT if "<!--" in text else _SLIGHT_UNCOMMENTED):
        return False
    parts = [part for part in _HEADING.split(_COMMENT.sub("", text)) if part.strip()]
    if len(parts) != 1:
        return not parts
    said = _ADDRESS.sub("a", parts[0])
    return len(said.split()) <= SLIGHT_WORDS and len(said.strip()) <= SLIGHT_CHARS


def _bridged(
    text: str,
    lead: tuple[int, int],
    start: int,
    end: int,
    path: tuple[str, ...],
    fits: Callable[[int, int, tuple[str, ...]], bool] | None,
) -> bool:
    """Say whether a heading goes with the text [start, end) although a hole is between."""
    if start - lead[1] <= SHORT_HOLE:
        return True
    return fits is not None and is_slight(text[start:end]) and fits(lead[0], end, path)


def _islands(
    text: str, regions: Sequence[Region], holes: Sequence[tuple[int, int]]
) -> Iterable[tuple[Region, tuple[int, int]]]:
    index = 0
    for region in regions:
        start = region.start
        while index < len(holes) and holes[index][0] < region.end:
            if text[start : holes[index][0]].strip():
                yield region, (start, holes[index][0])
            start = holes[index][1]
            index += 1
        if text[start : region.end].strip():
            yield region, (start, region.end)


def _tree(regions: Sequence[Region]) -> Section:
    """Nest the regions by level; those above stand open on a stack until one of their level comes."""
    stack: list[tuple[int, list[Section]]] = [(-1, [])]
    for region in regions:
        while stack[-1][0] >= region.level:
            _close(stack)
        stack.append((region.level, list(region.parts)))
    while len(stack) > 1:
        _close(stack)
    return branch(stack[0][1])


def _close(stack: list[tuple[int, list[Section]]]) -> None:
    _, children = stack.pop()
    if children:
        stack[-1][1].append(branch(children))
