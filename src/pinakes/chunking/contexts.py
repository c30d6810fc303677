"""Context that a chunk repeats from the text above it: column names, signatures, record keys, parent list items."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from pinakes.chunking.scale import SEPARATOR, Scale, clean
from pinakes.chunking.tables import Table
from pinakes.core.records import Int64

CONTEXT_SHARE = 3
"""A header, including repeated context, takes at most this fraction (1/n) of a chunk."""
OUTER_SHARE = 4
"""Of the context, at least this fraction (1/n) is reserved for outer contexts, if they need it."""
MAX_DEPTH = 100
"""More deeply nested contexts are ignored."""
MAX_PARTS = 8
"""The maximum number of contexts in a chunk, the innermost ones."""
MAX_LABEL_CHARS = 200
_MORE = "…"
_BAR = " | "


@dataclass(frozen=True, slots=True)
class Context:
    """A span of the text that gives context to chunks that begin inside of it, after ``start``.

    ``label`` returns the text that such a chunk repeats; for a ``table``, it repeats column names. ``joins``: the label
    is a key, joined with the keys above it, up to one that names a record.
    """

    start: int
    end: int
    label: Callable[[], str] = str
    table: Table | None = None
    joins: bool = False


@dataclass(frozen=True, slots=True)
class _Part:
    label: str
    table: Table | None = None


class Contexts:
    """Finds the contexts at a position, and writes them within the remaining room. Spans must be nested or disjoint."""

    def __init__(self, scale: Scale, contexts: Sequence[Context]) -> None:
        self._scale = scale
        self._contexts: list[Context] = []
        self._parents: list[int] = []
        self._parts: dict[int, tuple[_Part, ...]] = {-1: ()}
        self._reserves: dict[tuple[int, tuple[str, ...]], Int64] = {}
        self._nest(sorted(contexts, key=lambda context: (context.start, -context.end)))
        self._starts = [context.start for context in self._contexts]
        self._nothing = np.zeros_like(scale.limits)
        self._separator = scale.pieces_units([SEPARATOR.strip()]) if contexts else self._nothing[:-1]

    def table_at(self, point: int) -> Table | None:
        """Return the table in which a chunk starting at ``point`` would begin."""
        index = self._innermost(point)
        return self._contexts[index].table if index >= 0 else None

    def reserve(self, point: int, path: tuple[str, ...]) -> Int64:
        """Return int64 (k,): the units to reserve for the context of a chunk under ``path`` from ``point`` on."""
        index = self._innermost(point)
        if index < 0:
            return self._nothing
        key = index, path
        if key not in self._reserves:
            room = self._most(path)
            units = self._nothing.copy()
            for part in self._parts_of(index, path):
                units[:-1] += self._separator + self._units(part, room)
            units[:-1] = np.minimum(units[:-1], room)
            self._reserves[key] = units
        return self._reserves[key]

    def one_name(self, table: Table, path: tuple[str, ...]) -> Int64:
        """Return the units of the shortest context for the columns of ``table``: one name."""
        units = self._nothing.copy()
        some = [next(filter(None, table.names), ""), *([_MORE] if len(table.names) > 1 else [])]
        units[:-1] = np.minimum(self._separator + self._scale.pieces_units(some), self._most(path))
        return units

    def least(self, room: Int64) -> Int64:
        """Return the minimum of ``room`` that remains for text, whatever context is repeated."""
        return room - self._scale.limits // CONTEXT_SHARE if self._contexts else room

    def labels(self, start: int, end: int, path: tuple[str, ...]) -> tuple[str, ...]:
        """Return the context of the chunk [start, end) under ``path``, within its share and what the text leaves."""
        index = self._innermost(start)
        if index < 0:
            return ()
        left = self._scale.room(path) - self._scale.count(start, end)
        room = np.minimum(self._most(path), left[:-1])
        parts = self._parts_of(index, path)
        table = self._contexts[index].table
        if table and parts and (key := table.key_at(start)):
            parts.insert(-1, _Part(key))
        outer = self._nothing[:-1].copy()
        for part in parts[:-1]:
            outer += self._separator + self._units(part, room)
        kept = np.minimum(outer, np.maximum(room, 0) // OUTER_SHARE)
        found: list[str] = []
        for place, part in enumerate(reversed(parts)):
            within = room - self._separator - (kept if place == 0 else 0)
            label = self._fitted(part, start, end, within)
            if not label:
                break
            found.append(label)
            room = room - self._separator - self._scale.pieces_units([label])
        return tuple(reversed(found))

    def _nest(self, contexts: Sequence[Context]) -> None:
        """Store each context with the index of the one around it, without those nested too deep or overlapping it."""
        around: list[int] = []
        for context in contexts:
            while around and self._contexts[around[-1]].end <= context.start:
                around.pop()
            if len(around) >= MAX_DEPTH or (around and context.end > self._contexts[around[-1]].end):
                continue
            self._parents.append(around[-1] if around else -1)
            around.append(len(self._contexts))
            self._contexts.append(context)

    def _innermost(self, point: int) -> int:
        index = bisect_left(self._starts, point) - 1 if self._contexts else -1
        while index >= 0 and self._contexts[index].end <= point:
            index = self._parents[index]
        return index

    def _parts_of(self, index: int, path: tuple[str, ...]) -> list[_Part]:
        headings = {name.casefold() for name in (self._scale.title, *path)}
        return [part for part in self._written(index) if part.table or part.label.casefold() not in headings]

    def _written(self, index: int) -> tuple[_Part, ...]:
        """Return the parts of the context ``index`` and of those around it, outermost first."""
        if index not in self._parts:
            chain = [index]
            while self._parents[chain[-1]] >= 0:
                chain.append(self._parents[chain[-1]])
            parts: list[_Part] = []
            keys = ""
            for context in (self._contexts[each] for each in reversed(chain)):
                label = shortened(clean(context.label()))
                if context.joins:
                    keys += label if label.startswith("[") or not keys else f".{label}"
                    if ": " not in label:
                        continue
                    label = ""
                parts += [_Part(shortened(keys))] if keys else []
                parts += [_Part(label, context.table)] if label or context.table else []
                keys = ""
            parts += [_Part(shortened(keys))] if keys else []
            self._parts[index] = tuple(parts[-MAX_PARTS:])
        return self._parts[index]

    def _most(self, path: tuple[str, ...]) -> Int64:
        """Return the maximum units of context beside the headings of ``path``."""
        limits = self._scale.limits
        return np.asarray(np.maximum(limits // CONTEXT_SHARE - (limits - self._scale.room(path)), 0)[:-1])

    def _units(self, part: _Part, room: Int64) -> Int64:
        """Return the units of ``part``; column names are counted only until they exceed ``room``."""
        pieces = [part.label] if part.table is None else _with_bars(part.table.names)
        return self._scale.pieces_units(pieces, room)

    def _fitted(self, part: _Part, start: int, end: int, room: Int64) -> str:
        if (room < 1).any():
            return ""
        if part.table is None:
            whole = (self._units(part, room) <= room).all()
            return part.label if whole else self._cut(part.label.split(), room)
        names: Sequence[str] = part.table.names
        if not (self._units(part, room) <= room).all():
            names = part.table.names_in(start, end)
        if not (self._scale.pieces_units(_with_bars(names), room) <= room).all():
            return self._cut(_with_bars(names), room)
        return _BAR.join(names)

    def _cut(self, pieces: Iterable[str], room: Int64) -> str:
        """Return the first ``pieces`` that fit, followed by an ellipsis."""
        room = room - self._scale.pieces_units([_MORE])
        kept: list[str] = []
        for piece in pieces:
            room = room - self._scale.pieces_units([piece])
            if (room < 0).any():
                break
            kept.append(piece)
        return " ".join([*kept, _MORE]) if kept else ""


def shortened(label: str) -> str:
    """Return ``label``, cut to its first words if it is long."""
    if len(label) <= MAX_LABEL_CHARS:
        return label
    return label[:MAX_LABEL_CHARS].rpartition(" ")[0].rstrip(" ,;:") + f" {_MORE}"


def _with_bars(names: Iterable[str]) -> Iterator[str]:
    """Yield the pieces of ``A | B | C``."""
    for place, name in enumerate(names):
        if place:
            yield _BAR.strip()
        yield name
