"""Elements of XML as plain records."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias


@dataclass(slots=True)
class Node:
    """An element: ``parts`` are its texts and child elements in order. Names keep their prefix (``dc:creator``)."""

    name: str
    attributes: dict[str, str]
    parts: list[Part]

    @property
    def children(self) -> list[Node]:
        """The child elements."""
        return [part for part in self.parts if isinstance(part, Node)]

    @property
    def raw(self) -> str:
        """All text in the element, unchanged."""
        return "".join(part if isinstance(part, str) else part.raw for part in self.parts)

    @property
    def words(self) -> str:
        """All text in the element on one line; paragraphs on separate lines."""
        lines = (" ".join(line.split()) for line in self.raw.split("\n\n"))
        return "\n".join(line for line in lines if line)

    @property
    def is_prose(self) -> bool:
        """Whether there is text between the child elements."""
        return any(isinstance(part, str) and not part.isspace() for part in self.parts)

    def of(self, *names: str) -> list[Node]:
        """Return the child elements called one of ``names``."""
        return [child for child in self.children if child.name in names]

    def first(self, *names: str) -> str:
        """Return the text of the first non-empty child element, in the order of ``names``; ``""`` if there is none."""
        found = (child.words for name in names for child in self.of(name))
        return next(filter(None, found), "")


Part: TypeAlias = str | Node
