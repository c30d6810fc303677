"""Entries of the audit log as the catalogue keeps them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pinakes.catalog import Catalog, audit, collections
from pinakes.catalog.audit import AuditEntry, AuditQuery
from pinakes.catalog.collections import CollectionRecord

FIRST = AuditEntry(
    "2026-01-01T10:00:00.000+00:00",
    "mcp",
    "search",
    caller="ann",
    session="s1",
    collection="c",
    parameters={"query": "Über die Brücke", "top_k": 3},
    result_count=2,
    ids=("a", "b"),
    latency_ms=1.5,
)
SECOND = replace(FIRST, at="2026-01-02T10:00:00.000+00:00", tool="read", session="s2", parameters={"path": 'say "yes"'})
THIRD = replace(
    FIRST, at="2026-01-03T10:00:00.000+00:00", interface="http", caller="bob", outcome="NOT_FOUND", message="None."
)
EVERY = AuditQuery()


def write(catalog: Catalog, *entries: AuditEntry) -> None:
    with catalog.write() as connection:
        audit.add(connection, entries)


def found(catalog: Catalog, wanted: AuditQuery = EVERY, most: int = 100) -> list[str]:
    with catalog.read() as connection:
        return [entry.at[8:10] for entry in audit.newest(connection, wanted, most)]


def test_an_entry_comes_back_as_it_was_written(catalog: Catalog) -> None:
    write(catalog, FIRST, THIRD)
    with catalog.read() as connection:
        assert audit.newest(connection, EVERY, 10) == [replace(THIRD, id=2), replace(FIRST, id=1)]
        assert list(audit.oldest_first(connection, EVERY)) == [replace(FIRST, id=1), replace(THIRD, id=2)]
        assert audit.count(connection) == 2


@pytest.mark.parametrize(
    ("wanted", "days"),
    [
        (AuditQuery(), ["03", "02", "01"]),
        (AuditQuery(tool="search"), ["03", "01"]),
        (AuditQuery(tool="search", caller="ann"), ["01"]),
        (AuditQuery(session="s2"), ["02"]),
        (AuditQuery(interface="http"), ["03"]),
        (AuditQuery(collection="other"), []),
        (AuditQuery(outcome="ok"), ["02", "01"]),
        (AuditQuery(outcome="failed"), ["03"]),
        (AuditQuery(outcome="NOT_FOUND"), ["03"]),
        (AuditQuery(since=SECOND.at), ["03", "02"]),
        (AuditQuery(until=SECOND.at), ["02", "01"]),
        (AuditQuery(text="brücke"), ["03", "01"]),
        (AuditQuery(text='say "YES"'), ["02"]),
        (AuditQuery(text="%"), []),
    ],
)
def test_entries_are_looked_for_by_all_that_is_said(catalog: Catalog, wanted: AuditQuery, days: list[str]) -> None:
    write(catalog, FIRST, SECOND, THIRD)
    assert found(catalog, wanted) == days


def test_no_more_than_wanted_are_returned(catalog: Catalog) -> None:
    write(catalog, FIRST, SECOND, THIRD)
    assert found(catalog, most=2) == ["03", "02"]


def test_all_are_read_though_they_are_many(catalog: Catalog) -> None:
    write(catalog, *(replace(FIRST, latency_ms=number) for number in range(2500)))
    with catalog.read() as connection:
        assert [entry.latency_ms for entry in audit.oldest_first(connection, EVERY)] == list(range(2500))


def test_the_newest_are_kept_when_there_are_too_many_or_they_are_too_old(catalog: Catalog) -> None:
    write(catalog, FIRST, SECOND, THIRD)
    with catalog.write() as connection:
        assert audit.trim(connection, 3) == 0
        assert audit.trim(connection, 2) == 1
    assert found(catalog) == ["03", "02"]
    with catalog.write() as connection:
        assert audit.trim(connection, 2, before=THIRD.at) == 1
    assert found(catalog) == ["03"]
    write(catalog, FIRST)
    with catalog.write() as connection:
        audit.trim(connection, 2)
    assert found(catalog) == ["01", "03"]


def test_half_a_character_can_be_stored(catalog: Catalog) -> None:
    write(catalog, replace(FIRST, parameters={"query": "a\ud800b"}))
    with catalog.read() as connection:
        [entry] = audit.newest(connection, EVERY, 1)
    assert entry.parameters == {"query": "a?b"}


def test_entries_outlive_their_collection(catalog: Catalog, collection: CollectionRecord) -> None:
    write(catalog, FIRST)
    with catalog.write() as connection:
        collections.drop_if_empty(connection, collection.id)
        assert collections.find(connection, "c") is None
    assert found(catalog, AuditQuery(collection="c")) == ["01"]
