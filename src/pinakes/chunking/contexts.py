"""What a chunk repeats of the text above it: column names, signatures, keys of a record, parents of a list item."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from pinakes.chunking.scale import SEPARATOR, Scale, clean
from pinakes.chunking.tables import Table
from pinakes.core.records import Int64

CONTEXT_SHARE = 3
"""A header takes at most one part in so many of a chunk, with what is repeated in it."""
OUTER_SHARE = 4
"""Of this at least one part in so many is for what stands further above, where that needs it."""
MAX_DEPTH = 100
"""Contexts nested more deeply are left out."""
MAX_PARTS = 8
"""A chunk repeats at most so many, the innermost ones."""
MAX_LABEL_CHARS = 200
_MORE = "…"
_BAR = " | "


@dataclass(frozen=True, slots=True)
class Context:
    """A part of the text that a chunk which begins inside it, after ``start``, is to be understood by.

    ``label`` returns what such a chunk repeats; for a ``table`` these are column names. ``joins``: it is a key, written
    into one part with the keys above it, up to one that names a record.
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
    """Finds the contexts of a place, and writes them within what a chunk has left. Spans are nested or apart."""

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
        """Return the table that a chunk from ``point`` on would begin in."""
        index = self._innermost(point)
        return self._contexts[index].table if index >= 0 else None

    def reserve(self, point: int, path: tuple[str, ...]) -> Int64:
        """Return int64 (k,): the units to keep free for what a chunk under ``path`` repeats when it begins there."""
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
        """Return the units of the shortest that can be said of the columns of ``table``."""
        units = self._nothing.copy()
        some = [next(filter(None, table.names), ""), *([_MORE] if len(table.names) > 1 else [])]
        units[:-1] = np.minimum(self._separator + self._scale.pieces_units(some), self._most(path))
        return units

    def least(self, room: Int64) -> Int64:
        """Return what ``room`` leaves at least for the text, whatever is repeated."""
        return room - self._scale.limits // CONTEXT_SHARE if self._contexts else room

    def labels(self, start: int, end: int, path: tuple[str, ...]) -> tuple[str, ...]:
        """Return what the chunk [start, end) under ``path`` repeats, within its share and what the text leaves."""
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
        """Keep each with the index of the one around it, none that is too deep or reaches out of it."""
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
        said = {name.casefold() for name in (self._scale.title, *path)}
        return [part for part in self._written(index) if part.table or part.label.casefold() not in said]

    def _written(self, index: int) -> tuple[_Part, ...]:
        """Return what the context ``index`` and those around it say, outermost first."""
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
        """Return what may be repeated at most beside the headings of ``path``."""
        limits = self._scale.limits
        return np.asarray(np.maximum(limits // CONTEXT_SHARE - (limits - self._scale.room(path)), 0)[:-1])

    def _units(self, part: _Part, room: Int64) -> Int64:
        """Count what ``part`` says, column names no further than ``room`` goes."""
        pieces = [part.label] if part.table is None else _barred(part.table.names)
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
        if not (self._scale.pieces_units(_barred(names), room) <= room).all():
            return self._cut(_barred(names), room)
        return _BAR.join(names)

    def _cut(self, pieces: Iterable[str], room: Int64) -> str:
        """Return the first ``pieces`` that fit, and the sign that says that there are more."""
        room = room - self._scale.pieces_units([_MORE])
        kept: list[str] = []
        for piece in pieces:
            room = room - self._scale.pieces_units([piece])
            if (room < 0).any():
                break
            kept.append(piece)
        return " ".join([*kept, _MORE]) if kept else ""


def shortened(label: str) -> str:
    """Return ``label``, or its first words where it is long."""
    if len(label) <= MAX_LABEL_CHARS:
        return label
    return label[:MAX_LABEL_CHARS].rpartition(" ")[0].rstrip(" ,;:") + f" {_MORE}"


def _barred(names: Iterable[str]) -> Iterator[str]:
    """Yield the words of ``A | B | C``."""
    for place, name in enumerate(names):
        if place:
            yield _BAR.strip()
        yield name
