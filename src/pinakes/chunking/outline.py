"""The structure of a document: its sections, and weighted places to cut it."""

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
"""Level of a cut between blocks (paragraphs, lists, top-level units). Cuts inside of blocks have lower levels."""
FENCE_LINE = 12
SHORT_HOLE = 120
"""A comment of up to this many characters between a heading and its text is kept, so that the heading is, too."""
SLIGHT_WORDS = 5
SLIGHT_CHARS = 40
"""Text with no more words and characters ("N/A", "No.", a link) is meaningless without its heading."""
_SLIGHT_LOOKED_AT = 10_000
_SLIGHT_UNCOMMENTED = 500

_COMMENT = re.compile(r"<!--(?:(?!-->).)*+-->", re.DOTALL)
_HEADING = re.compile(r"^[ \t]*#{1,6}[ \t][^\n]*$", re.MULTILINE)
_ADDRESS = re.compile(r"\]\([^()\n]*\)|https?://\S+")


@dataclass(frozen=True, slots=True)
class Section:
    """A part of the text under the headings ``path``. ``children`` are in order, and cover it if ``gapless``."""

    start: int
    end: int
    path: tuple[str, ...] = ()
    children: tuple[Section, ...] = ()
    gapless: bool = True


def branch(children: Sequence[Section]) -> Section:
    """Return a section of ``children`` under the common part of their paths."""
    if len(children) == 1:
        return children[0]
    gapless = all(child.gapless for child in children) and all(
        left.end == right.start for left, right in pairwise(children)
    )
    path = common([child.path for child in children])
    return Section(children[0].start, children[-1].end, path, tuple(children), gapless)


@dataclass(slots=True)
class Cuts:
    """Collects cuts with their levels; the highest level of an offset counts."""

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
    """A heading or a definition, and its part of the text, including its own lines. Levels count from 1."""

    level: int
    title: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Outline:
    """The structure of one document.

    ``glue``: offsets between lines that belong together, such as a heading and its first paragraph. ``solids``: spans,
    ascending and disjoint, in which overlap must not begin. Without usable cuts, text is cut between sentences, lines,
    words; with ``lines_first`` between lines before sentences. A higher cut is used if the chunk has reached
    ``min_fill`` of its size. ``entries``: the table of contents; ``contexts``: what chunks repeat.
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
    """A heading with the text up to the next heading. ``body``: the end of the heading; level 0 has no heading."""

    level: int
    path: tuple[str, ...]
    start: int
    body: int
    end: int
    parts: list[Section] = field(default_factory=list)
    """The parts of it to chunk."""


def regions(headings: Sequence[tuple[int, int, int, str]], end: int) -> list[Region]:
    """Return the region before the first heading, then that of each heading; ``headings`` as in ``contents``."""
    ends = [start for start, *_ in headings] + [end]
    found = [Region(0, (), 0, 0, ends[0])]
    names = paths((level, name) for *_, level, name in headings)
    for (start, body, level, _), path, stop in zip(headings, names, ends[1:], strict=True):
        found.append(Region(level, path, start, body, stop))
    return found


def contents(headings: Sequence[tuple[int, int, int, str]], end: int) -> tuple[OutlineEntry, ...]:
    """Return an entry for each (start, end of its line, level, name) of a text that ends at ``end``.

    An entry extends to the next heading of its level or above. Levels are renumbered to begin with 1 without gaps.
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
    """Return the tree of ``regions`` without ``holes`` (spans, ascending), and the offsets to glue.

    A heading without text joins the text after it, at the end of the document the text before it. Across a hole, it
    does so only if the hole is short, or if the text after it is meaningless without its heading and ``fits`` together
    with it. Otherwise the heading is dropped from the text: the headers of chunks under it have its words.
    """
    glue: set[int] = set()
    heading: tuple[int, int] | None = None
    last: Region | None = None
    for region, (start, end) in _between_holes(text, regions, holes):
        if heading and not (heading[1] == start or _joins_across_hole(text, heading, start, end, region.path, fits)):
            heading = None
        elif heading:
            glue.add(start)
        if region.level and start == region.start and not text[region.body : end].strip():
            heading = (heading[0] if heading else start, end)
            continue
        region.parts.append(Section(heading[0] if heading else start, end, region.path))
        heading, last = None, region
    if last is None:
        return Section(0, len(text)), glue
    if heading and heading[0] == last.parts[-1].end:
        final = last.parts[-1]
        glue.add(final.end)
        last.parts[-1] = Section(final.start, heading[1], final.path)
    return _tree(regions), glue


def is_slight(text: str) -> bool:
    """Return whether ``text`` is meaningless by itself: only a few words besides a heading and comments."""
    if len(text) > (_SLIGHT_LOOKED_AT if "<!--" in text else _SLIGHT_UNCOMMENTED):
        return False
    parts = [part for part in _HEADING.split(_COMMENT.sub("", text)) if part.strip()]
    if len(parts) != 1:
        return not parts
    prose = _ADDRESS.sub("a", parts[0])
    return len(prose.split()) <= SLIGHT_WORDS and len(prose.strip()) <= SLIGHT_CHARS


def _joins_across_hole(
    text: str,
    heading: tuple[int, int],
    start: int,
    end: int,
    path: tuple[str, ...],
    fits: Callable[[int, int, tuple[str, ...]], bool] | None,
) -> bool:
    """Return whether a heading joins the text [start, end) across a hole."""
    if start - heading[1] <= SHORT_HOLE:
        return True
    return fits is not None and is_slight(text[start:end]) and fits(heading[0], end, path)


def _between_holes(
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
    """Nest the regions by level; open sections are on a stack until a region of their level or above follows."""
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
