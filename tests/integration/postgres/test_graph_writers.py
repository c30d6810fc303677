"""Processes that write documents about the same new entities, in SQLite and PostgreSQL, and the graph of all."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from forking import forked
from graph_writer import NAMES, extraction, opened, write_there

from pinakes.catalog import collections, entities, stated_edges
from pinakes.graph.following import follow

WRITERS, DOCUMENTS = 3, 8


@pytest.mark.parametrize("shared", [False, True], ids=["sqlite", "postgresql"])
def test_processes_that_write_of_one_entity_neither_wait_for_ever_nor_lose_a_mention(
    shared: bool, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    make: Callable[[], str] = request.getfixturevalue("new_database") if shared else str
    url = make()
    with closing(opened(str(tmp_path), url)) as catalog:
        running = [forked(write_there, str(tmp_path), url, number, DOCUMENTS) for number in range(WRITERS)]
        for one in running:
            one.join(120)
        assert [one.exitcode for one in running] == [0] * WRITERS
        with catalog.write() as connection:
            record = collections.ensure(connection, "kept", "")
        assert follow(catalog, record, extraction())
        with catalog.read() as connection:
            vendors = {one.name: one.documents for one in entities.known(connection, record.id, ["VENDOR"])}
            topics = {one.name: one.documents for one in entities.known(connection, record.id, ["TOPIC"])}
            [first] = entities.named(connection, [record.id], "writer1/0")
            links = stated_edges.edges(connection, [first.id], ["LINKS_TO"])
        assert vendors == dict.fromkeys(NAMES, WRITERS * DOCUMENTS)
        assert topics == {f"writer{number}": DOCUMENTS for number in range(WRITERS)}
        assert len(links) == DOCUMENTS - 1
        assert not follow(catalog, record, extraction())
