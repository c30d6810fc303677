"""The records of the knowledge graph: what extractors find in a document."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, NamedTuple

from pinakes.core.records import Chunk, Document, Metadata

UNTYPED: Final = ""
"""The type of a candidate: a name of the text whose type the statistics of the collection may tell later."""

DOCUMENT: Final = "DOCUMENT"
"""The type of documents as such, named by their paths; one that is about an entity is another name of that."""

TOPIC: Final = "TOPIC"
"""The type of topics: what folders and recurring headings are about."""

STRUCTURE: Final = frozenset({DOCUMENT, TOPIC})
"""Types that come from the form of a collection, not from its texts: they are shown to those who ask for them."""

LINKS_TO: Final = "LINKS_TO"
CO_OCCURS: Final = "CO_OCCURS"
PART_OF: Final = "PART_OF"

WEAK: Final = frozenset({CO_OCCURS})
"""Types of relations that are followed only where they are asked for."""
FUNCTION: Final = "FUNCTION"
STRUCT: Final = "STRUCT"
CLASS: Final = "CLASS"
MACRO: Final = "MACRO"
CONFIG: Final = "CONFIG"
FILE: Final = "FILE"
SUBSYSTEM: Final = "SUBSYSTEM"

CODE_TYPES: Final = frozenset({FUNCTION, STRUCT, CLASS, MACRO, CONFIG, FILE})
"""The types of entities of code: their names differ also where only the case of a letter does, and are never merged."""

MAX_NAME_CHARS: Final = 200
"""A longer name is no name: mentions of it are left out."""


@lru_cache(maxsize=50_000)
def folded(name: str) -> str:
    """Return a name as names are compared: NFKC, case folded, each run of blanks, dashes and quotes as one blank.

    ``.``, ``+``, ``#``, ``&``, ``/`` and ``@`` stay, since they tell names apart (C, C++, C#).
    """
    text = unicodedata.normalize("NFKC", name).casefold()
    return " ".join("".join(char if char.isalnum() or char in ".+#&/@_" else " " for char in text).split()).strip(".")


def compared(kind: str, name: str) -> str:
    """Return the form of a name in which names of this type of entities are compared: folded, but for code."""
    return name if kind in CODE_TYPES else folded(name)


class EntityName(NamedTuple):
    """An entity of a collection: type and name; ``compared`` names are equal. ``UNTYPED``: the type of a candidate."""

    type: str
    name: str

    @property
    def key(self) -> tuple[str, str]:
        """What tells it from every other entity of a collection: type and name as it is compared."""
        return self.type, compared(self.type, self.name)


class Mention(NamedTuple):
    """A place ``text[start:end]`` of a document that names an entity.

    ``start == end``: the document says it outside of its text, in its metadata or its path. ``confidence``: 0 to 1.
    ``extractor``: what found it, and by which clue: "lists", "candidates:heading".
    """

    entity: EntityName
    start: int
    end: int
    confidence: float
    extractor: str

    @property
    def is_in_text(self) -> bool:
        """Whether the text itself says so."""
        return self.end > self.start


class StatedRelation(NamedTuple):
    """A directed relation that a document states in ``text[start:end]``; see ``Mention`` for ``start == end``."""

    source: EntityName
    type: str
    target: EntityName
    start: int
    end: int
    confidence: float
    extractor: str


@dataclass(frozen=True, slots=True)
class Findings:
    """What one document says of the graph. ``recipe``: the extractors and rules by which it was found.

    ``left_out``: number of mentions and relations over the limits, which were not kept. ``problems``: extractors that
    failed, in words; what the others found is here.
    """

    mentions: Sequence[Mention] = ()
    relations: Sequence[StatedRelation] = ()
    recipe: str = ""
    left_out: int = 0
    problems: Sequence[str] = ()

    def entities(self) -> list[EntityName]:
        """Return each entity once, sorted by key, so that all writers lock their rows in one order."""
        named = {name.key: name for name in reversed(self.every_name())}
        return [named[key] for key in sorted(named)]

    def every_name(self) -> list[EntityName]:
        """Return the entities as they are written, each way of writing once."""
        named = {(one.entity.type, one.entity.name): one.entity for one in self.mentions}
        for one in self.relations:
            source, target = one.source, one.target
            named.setdefault((source.type, source.name), source)
            named.setdefault((target.type, target.name), target)
        return list(named.values())


@dataclass(frozen=True, slots=True)
class Link:
    """A link of a text: the span of its label, and where it leads."""

    start: int
    end: int
    target: str


@dataclass(frozen=True, slots=True)
class ExtractionSubject:
    """The input of an extractor: a document at ``path`` with its chunks and metadata.

    ``prose``: the text, as long as it is, with blanks in place of code blocks, addresses and targets of links, which
    ``links`` has.
    ``mentions``: those in the text that extractors before this one found, by place, without overlaps.
    """

    path: str
    title: str
    document: Document
    metadata: Metadata
    prose: str
    links: Sequence[Link] = ()
    chunks: Sequence[Chunk] = ()
    mentions: Sequence[Mention] = ()
