"""Elements of XML as plain records."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias


@dataclass(slots=True)
class Node:
    """An element: ``parts`` are its texts and elements in their order. Prefixes stay in names (``dc:creator``)."""

    name: str
    attributes: dict[str, str]
    parts: list[Part]

    @property
    def children(self) -> list[Node]:
        """The elements directly in it."""
        return [part for part in self.parts if isinstance(part, Node)]

    @property
    def raw(self) -> str:
        """All text in it, as it is written."""
        return "".join(part if isinstance(part, str) else part.raw for part in self.parts)

    @property
    def words(self) -> str:
        """All text in it on one line; of several paragraphs each on its own."""
        lines = (" ".join(line.split()) for line in self.raw.split("\n\n"))
        return "\n".join(line for line in lines if line)

    @property
    def is_prose(self) -> bool:
        """Whether text stands between its elements."""
        return any(isinstance(part, str) and not part.isspace() for part in self.parts)

    def of(self, *names: str) -> list[Node]:
        """Return the elements directly in it that are called one of ``names``."""
        return [child for child in self.children if child.name in names]

    def first(self, *names: str) -> str:
        """Return the text of the first element directly in it under the first name that has any, ``""`` for none."""
        found = (child.words for name in names for child in self.of(name))
        return next(filter(None, found), "")


Part: TypeAlias = str | Node
