"""Expansion of a search by the knowledge graph: its options, and the steps of a path."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

Direction: TypeAlias = Literal["out", "in", "both"]
"""Relations from an entity, to it, or both."""

MOST_HOPS: Final = 2
"""A search follows so many relations in a row at most."""


@dataclass(frozen=True, slots=True)
class PathStep:
    """One relation on the way from the question to a hit, in the direction in which it is stated.

    ``chunk_id``: the chunk that states it in the words ``text``, at ``path``; "" where metadata does. ``confidence``:
    0 to 1.
    """

    source: str
    source_type: str
    relation: str
    target: str
    target_type: str
    confidence: float
    chunk_id: str
    path: str
    text: str


@dataclass(frozen=True, slots=True)
class Expansion:
    """How far a search follows the relations of the knowledge graph. None: as the settings of the collection say.

    ``hops``: 0 to 2. ``relations``: types of relations, none = all. ``hits``: so many hits are added at most.
    """

    hops: int | None = None
    relations: tuple[str, ...] = ()
    direction: Direction | None = None
    min_confidence: float | None = None
    hits: int | None = None

    @property
    def is_narrow(self) -> bool:
        """Whether only some relations, or one direction, are asked for."""
        return bool(self.relations) or self.direction in ("in", "out")
