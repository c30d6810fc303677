"""What a search remembers of single entities: the same as the catalogue says, read once."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from itertools import combinations
from pathlib import Path
from typing import Any

from sqlalchemy import event

from pinakes.catalog import Connection, entities, graph_lookups, tied_documents
from pinakes.core.graph_paths import Direction
from pinakes.graph.relation_memory import RelationMemory
from pinakes.library import Library
from pinakes.testing import write_files

OpenLibrary = Callable[..., Library]
DIRECTIONS: tuple[Direction, ...] = ("out", "in", "both")
GRAPH: dict[str, Any] = {
    "types": {"TEAM": {"names": {f"Team {name}": [f"Squad {name}"] for name in "ABCD"}}},
    "candidates": False,
    "links": True,
    "relations": [{"type": "HELPS", "source": ["TEAM"], "target": ["TEAM"], "patterns": ["{source} helps {target}"]}],
}
PAGES = {
    "a.md": "# A\n\nTeam A helps Team B. Team B helps Team C. See [the other page](b.md) and [the third](c.md).\n",
    "b.md": "# B\n\nSquad A helps Squad B. Team C helps Team A. Back to [the first](a.md).\n",
    "c.md": "# C\n\nTeam D helps Team A. Team D helps Team B. Team A helps Team D.\n",
}


@contextmanager
def read(open_library: OpenLibrary, docs: Path) -> Iterator[tuple[Connection, list[int]]]:
    """Yield a connection to a catalogue with a graph, and the ids of its canonical entities."""
    library = open_library(collections={"default": {"graph": GRAPH}})
    library.add(str(write_files(docs, PAGES)))
    [record] = library.app.records()
    with library.app.catalog.read() as connection:
        yield connection, [one.id for one in entities.every(connection, record.id) if one.canonical_id is None]


def sets_of(ids: Collection[int]) -> list[tuple[int, ...]]:
    return [some for count in (1, 2, 3, len(ids)) for some in combinations(ids, count)]


def test_relations_are_those_of_the_catalogue_in_its_order_whatever_was_asked_before(
    open_library: OpenLibrary, docs: Path
) -> None:
    with read(open_library, docs) as (connection, ids):
        memory = RelationMemory()
        for direction in DIRECTIONS:
            for types in ((), ("HELPS",)):
                for some in sets_of(ids):
                    meant = graph_lookups.hops(connection, some, types, direction, 0.5)
                    assert memory.hops(connection, some, types, direction, 0.5) == meant
        assert len(memory.hops(connection, ids)) > 8


def test_documents_and_names_are_those_of_the_catalogue_in_its_order(open_library: OpenLibrary, docs: Path) -> None:
    with read(open_library, docs) as (connection, ids):
        memory = RelationMemory()
        for some in sets_of(ids):
            assert memory.about(connection, some) == tied_documents.about(connection, some)
            assert memory.mentioning(connection, some) == tied_documents.mentioning(connection, some)
            assert memory.naming(connection, some) == tied_documents.naming(connection, some)
            assert memory.names_of(connection, some) == graph_lookups.names_of(connection, some)
        assert memory.about(connection, ids, "2000-01-01") == []


def test_an_entity_is_asked_of_the_catalogue_once(open_library: OpenLibrary, docs: Path) -> None:
    with read(open_library, docs) as (connection, ids):
        memory, statements = RelationMemory(), list[str]()
        event.listen(connection, "before_cursor_execute", lambda *given: statements.append(given[2]))
        for some in (ids[:2], ids, ids[1:], ids):
            memory.hops(connection, some)
            memory.about(connection, some)
            memory.mentioning(connection, some)
            memory.naming(connection, some)
            memory.names_of(connection, some)
        assert len(statements) == 2 * 5
