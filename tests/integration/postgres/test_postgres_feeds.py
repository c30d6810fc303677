"""Several writers of one catalogue in PostgreSQL: whoever follows its feeds loses nothing."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from catalog_making import new, put
from waiting import until

from pinakes.catalog import Catalog, changes, collections, documents, events
from pinakes.catalog.collections import CollectionRecord
from pinakes.settings import CatalogSettings, Settings

WRITERS, EACH = 8, 40


@pytest.fixture
def servers(new_database: Callable[[], str], tmp_path: Path) -> Iterator[tuple[Catalog, Catalog]]:
    """Two servers of one catalogue, each with a home of its own."""
    url = new_database()
    both = tuple(
        Catalog.of(Settings(home=tmp_path / name, catalog=CatalogSettings(url=url))) for name in ("one", "two")
    )
    yield both[0], both[1]
    for catalog in both:
        catalog.close()


def _made(catalog: Catalog) -> CollectionRecord:
    with catalog.write() as connection:
        return collections.ensure(connection, "c")


def test_whoever_follows_while_many_write_sees_every_change_and_event(servers: tuple[Catalog, Catalog]) -> None:
    writing, reading = servers
    record = _made(writing)
    with writing.read() as connection:
        begin = events.newest(connection)
    done = threading.Event()
    seen: list[int] = []
    told: list[int] = []

    def follow() -> None:
        position, number = 0, begin
        while True:
            last = done.is_set()
            with reading.read() as connection:
                found = changes.since(connection, record.id, position, 1000)
                news = events.after(connection, number, 1000)
            seen.extend(change.document_id for change in found)
            told.extend(event.id for event in news)
            position, number = found[-1].seq if found else position, news[-1].id if news else number
            if last and not found and not news:
                return

    def write(writer: int) -> list[int]:
        drawn, made = random.Random(writer), []
        for number in range(EACH):
            with writing.write() as connection:
                made.append(documents.put(connection, record.id, new(f"{writer}-{number}.md", "words")))
                time.sleep(drawn.random() / 200)  # so that transactions end in another order than they begin
        return made

    follower = threading.Thread(target=follow)
    follower.start()
    with ThreadPoolExecutor(WRITERS) as pool:
        made = [one for ids in pool.map(write, range(WRITERS)) for one in ids]
    done.set()
    follower.join(60)
    assert sorted(seen) == sorted(made)
    assert len(told) == len(made)
    assert told == sorted(set(told))


def test_a_transaction_that_stays_open_delays_no_other(servers: tuple[Catalog, Catalog]) -> None:
    slow, quick = servers
    record = _made(slow)
    with slow.write() as connection:
        first = documents.put(connection, record.id, new("slow.md", "words"))
        [second] = put(quick, record, new("quick.md", "words"))
        with quick.read() as reading:
            assert [change.document_id for change in changes.since(reading, record.id, 0, 10)] == [second]
            position = changes.head(reading, record.id)
    with quick.read() as reading:
        assert [change.document_id for change in changes.since(reading, record.id, position, 10)] == [first]


def test_what_is_rolled_back_has_no_number(servers: tuple[Catalog, Catalog]) -> None:
    catalog, _ = servers
    record = _made(catalog)

    def fail() -> None:
        with catalog.write() as connection:
            documents.put(connection, record.id, new("a.md", "words"))
            raise KeyError("stop")

    with pytest.raises(KeyError):
        fail()
    with catalog.read() as connection:
        assert changes.head(connection, record.id) == events.newest(connection) == 0


def test_a_commit_of_one_server_is_news_for_the_other(servers: tuple[Catalog, Catalog]) -> None:
    one, other = servers
    record = _made(one)
    for _ in range(30):  # it listens once it is asked for some seconds
        other.version()
        time.sleep(0.1)
    for number in range(5):
        before = other.version()
        put(one, record, new(f"{number}.md", "words"))
        until(lambda before=before: other.version() != before)  # type: ignore[misc]


def test_texts_that_postgresql_refuses_are_kept(servers: tuple[Catalog, Catalog]) -> None:
    catalog, _ = servers
    record = _made(catalog)
    odd = "a\0b \ufdd0\ufdd1 \ufffe \U0001ffff c"
    metadata = {"odd\0": [odd, {"in": odd}], "told": "\\u0000"}
    [document_id] = put(catalog, record, new("odd.md", odd, metadata=metadata, title=odd))
    with catalog.read() as connection:
        [found] = documents.of_ids(connection, [document_id])
        assert (documents.text(connection, document_id), found.title, found.metadata) == (odd, odd, metadata)
        assert [one.text for one in changes.entries(connection, [document_id], None)] == [odd]
