"""Followers of one graph that meet: what one of them extracts or notes is never taken for followed by another."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import pytest
from graph_history import LISTS, RULES, new_document, paths, rows
from sqlalchemy import delete, func, insert, select

from pinakes.catalog import Catalog, Connection, collections, documents, entities, entity_changes, graph_state
from pinakes.catalog.collections import CollectionRecord
from pinakes.catalog.credentials import document, document_ids, mask_document
from pinakes.catalog.documents import NewDocument
from pinakes.catalog.schema import documents as documents_table
from pinakes.catalog.schema import entity_changes as notes_table
from pinakes.catalog.schema import entity_mentions as mentions_table
from pinakes.core.graph_records import Findings
from pinakes.core.records import Document
from pinakes.extraction import Extraction
from pinakes.graph.feeding import GraphFeed
from pinakes.graph.following import follow, is_behind
from pinakes.settings import GraphRules, Settings


def extraction(**rules: Any) -> Extraction:
    return Extraction(GraphRules.model_validate({**RULES, **rules}), LISTS)


@pytest.fixture
def catalog(tmp_path: Path) -> Iterator[Catalog]:
    with closing(Catalog.of(Settings(home=tmp_path))) as opened:
        yield opened


@pytest.fixture
def record(catalog: Catalog) -> CollectionRecord:
    """A collection of some documents that nobody has extracted."""
    chance = random.Random(5)
    with catalog.write() as connection:
        made = collections.ensure(connection, "kept", "")
        for path in paths():
            documents.add(connection, made.id, new_document(chance, path))
    return made


def noted(connection: Connection) -> int:
    return int(connection.scalar(select(func.count()).select_from(notes_table)) or 0)


def is_up_to_date(catalog: Catalog, record: CollectionRecord, by: Extraction) -> bool:
    with catalog.read() as connection:
        waiting = entities.outdated(connection, record.id, by.recipe, 1)
        return not (waiting or noted(connection) or is_behind(connection, record, by))


def is_that_of_a_rebuild(catalog: Catalog, record: CollectionRecord, by: Extraction) -> bool:
    followed = rows(catalog, record.id)
    with catalog.write() as connection:
        entities.forget(connection, record.id)
    follow(catalog, record, by)
    return followed == rows(catalog, record.id)


def once(action: Callable[[], object]) -> Callable[[int], None]:
    left = [action]

    def step(_: int) -> None:
        if left:
            left.pop()()

    return step


def stop(_: int) -> None:
    raise InterruptedError


def test_nothing_is_noted_while_a_graph_is_computed_anew(catalog: Catalog, record: CollectionRecord) -> None:
    counts = list[int]()

    def count(_: int) -> None:
        with catalog.read() as connection:
            counts.append(noted(connection))

    follow(catalog, record, extraction(), count)
    follow(catalog, record, extraction(co_occurs=3), count)
    with catalog.write() as connection:
        entities.forget(connection, record.id)
    follow(catalog, record, extraction(co_occurs=3), count)
    assert counts == [0, 0, 0]
    assert is_up_to_date(catalog, record, extraction(co_occurs=3))


def test_a_graph_is_behind_while_there_are_notes(catalog: Catalog, record: CollectionRecord) -> None:
    by = extraction()
    follow(catalog, record, by)
    feed = GraphFeed(by)
    new = feed.read(NewDocument("x.md", "x.md", Document("Globex uses Initech Inc."), (), "x.md", "x.md", {}))
    feed.name(catalog, record.id, [new])
    with catalog.write() as connection:
        [held, *_] = connection.scalars(select(documents_table.c.id).order_by(documents_table.c.id)).all()
        entities.put(connection, record.id, held, new.findings)
    with catalog.read() as connection:
        assert is_behind(connection, record, by), "somebody else extracted a document, and computed nothing"
    assert follow(catalog, record, by)
    assert is_up_to_date(catalog, record, by)
    assert not follow(catalog, record, by)


def test_documents_that_change_while_others_are_extracted_are_followed(
    catalog: Catalog, record: CollectionRecord
) -> None:
    by, chance = extraction(), random.Random(9)

    def change() -> None:
        with catalog.write() as connection:
            found = connection.execute(select(documents_table.c.id, documents_table.c.path).limit(3)).all()
            for row in found:
                documents.rewrite(connection, row.id, new_document(chance, row.path))

    follow(catalog, record, by, once(change))
    assert is_up_to_date(catalog, record, by)
    assert is_that_of_a_rebuild(catalog, record, by)


def test_what_is_masked_while_it_is_extracted_is_extracted_again(catalog: Catalog, record: CollectionRecord) -> None:
    with catalog.read() as connection:
        [held, *_] = document_ids(connection)
        one = document(connection, held)
    assert one is not None
    masked = "X" * len(one[1]["text"])

    class Masking(Extraction):
        """Masks a text behind the back of the first extraction."""

        left = True

        def extract(self, *subject: Any, **more: Any) -> Findings:
            if self.left:
                self.left = False
                with catalog.write() as connection:
                    mask_document(connection, one[0], {"text": masked}, [], [])
            return super().extract(*subject, **more)

    by = Masking(GraphRules.model_validate(RULES), LISTS)
    follow(catalog, record, by)
    follow(catalog, record, by)
    with catalog.read() as connection:
        places = connection.execute(select(mentions_table).where(mentions_table.c.document_id == held)).all()
    assert all((place.start, place.end) == (0, 0) for place in places), "no word of the old text"


def test_a_server_of_other_rules_in_between_leaves_nothing_of_its_own(
    catalog: Catalog, record: CollectionRecord
) -> None:
    by, other = extraction(), extraction(candidates=False)
    follow(catalog, record, by, once(lambda: follow(catalog, record, other)))
    assert is_up_to_date(catalog, record, by)
    assert is_that_of_a_rebuild(catalog, record, by)


def test_a_server_of_other_rules_that_stops_halfway_leaves_the_graph_behind(
    catalog: Catalog, record: CollectionRecord
) -> None:
    by, other = extraction(), extraction(candidates=False)
    follow(catalog, record, by)
    with suppress(InterruptedError):
        follow(catalog, record, other, stop)
    with catalog.read() as connection:
        assert is_behind(connection, record, by)
    follow(catalog, record, by)
    assert is_up_to_date(catalog, record, by)
    assert is_that_of_a_rebuild(catalog, record, by)


def test_servers_of_different_rules_come_to_an_end(catalog: Catalog, record: CollectionRecord) -> None:
    by, other = extraction(), extraction(candidates=False)
    follow(catalog, record, by, lambda _: follow(catalog, record, other))
    with catalog.read() as connection:
        assert is_behind(connection, record, by), "it says so, and the job tries again"
    follow(catalog, record, by)
    assert is_up_to_date(catalog, record, by)


def test_relations_of_a_name_in_code_are_checked_once_it_means_something_else(
    catalog: Catalog, record: CollectionRecord
) -> None:
    by = extraction()
    feed = GraphFeed(by)

    def add(path: str, text: str) -> None:
        new = feed.read(NewDocument(path, path, Document(text, "", "code", "c"), (), path, path, {}))
        feed.name(catalog, record.id, [new])
        with catalog.write() as connection:
            documents.add(connection, record.id, new)
        follow(catalog, record, by)

    def fits() -> set[Any]:
        return {row[8:] for row in rows(catalog, record.id)["relations"] if row[3] == "CALLS" and "reap" in row[4]}

    add("src/caller.c", "int run(int x)\n{\n\treturn reap(x);\n}\n")
    before = fits()
    add("src/reap.h", "#define reap(x) ((x) + 1)\n")
    assert {one[-1] for one in before} == {1}
    assert {one[-1] for one in fits()} == {0}, "a macro is no function"
    assert is_that_of_a_rebuild(catalog, record, by)


def test_more_notes_than_are_read_have_everything_computed_anew(catalog: Catalog, record: CollectionRecord) -> None:
    by = extraction()
    follow(catalog, record, by)
    with catalog.write() as connection:
        state = graph_state.state(connection, record.id)
        [one, *_] = entities.every(connection, record.id)
        few = [{"collection_id": record.id, "entity_id": one.id}] * entity_changes.MOST_NOTES
        connection.execute(insert(notes_table), few)
        assert entity_changes.since(connection, record.id, state.position, state.newest).entities == {one.id}
        entity_changes.note(connection, record.id, [one.id])
        assert entity_changes.since(connection, record.id, state.position, state.newest).entities is None
    assert follow(catalog, record, by)
    assert is_up_to_date(catalog, record, by)


def test_a_note_of_a_lower_id_that_comes_later_stays(catalog: Catalog, record: CollectionRecord) -> None:
    follow(catalog, record, extraction())
    with catalog.write() as connection:
        first, late, last = (one.id for one in entities.every(connection, record.id)[:3])
        entity_changes.note(connection, record.id, [first, late, last])
        of_late = notes_table.c.entity_id == late
        note_id = connection.scalar(select(notes_table.c.id).where(of_late))
        connection.execute(delete(notes_table).where(of_late))
        seen = entity_changes.since(connection, record.id, 1, 0)
        values = {"id": note_id, "collection_id": record.id, "entity_id": late}
        connection.execute(insert(notes_table).values(values))
        entity_changes.forget(connection, seen)
        assert connection.scalars(select(notes_table.c.entity_id)).all() == [late]
