"""Addresses are told of events by a server: in order, at least once, whatever either side does meanwhile."""

from __future__ import annotations

import json
import signal
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from forking import Forked
from receiver import Receiver, receiving
from working import jobs_of, worker_of

from pinakes.catalog import webhooks
from pinakes.catalog.webhooks import Progress
from pinakes.core.errors import InvalidSetting
from pinakes.jobs.worker import Worker
from pinakes.library import Library

Start = Callable[..., Library]

SERVE = """
import sys
from pinakes.api import serve
from pinakes.settings import load
settings = load(home=sys.argv[1], embedding__provider="deterministic", server__port=0)
serve(settings, on_ready=lambda url: print(url, flush=True))
"""


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Open the home with webhooks and tell them; starting again ends what was there."""
    opened: list[tuple[Library, Worker]] = []

    def end() -> None:
        while opened:
            library, hooks = opened.pop()
            assert hooks.stop()
            library.close()

    def start_one(*hooks: dict[str, Any], **settings: Any) -> Library:
        end()
        given = {"embedding__provider": "deterministic", "fetch__allow_private": ["127.0.0.1"], **settings}
        library = Library.open(tmp_path / "home", webhooks=[{"name": "wiki", **hook} for hook in hooks], **given)
        told = worker_of(library, library.webhooks())
        told.start()
        opened.append((library, told))
        until = time.monotonic() + 20
        while any(progress(library, hook.get("name", "wiki")) is None for hook in hooks):
            assert time.monotonic() < until
        return library

    yield start_one
    end()


def progress(library: Library, name: str = "wiki") -> Progress | None:
    with library.app.catalog.read() as connection:
        return webhooks.find_progress(connection, name)


def aside(library: Library, name: str = "wiki") -> list[webhooks.FailedDelivery]:
    with library.app.catalog.read() as connection:
        return webhooks.failed_posts(connection, name)


def at_once(library: Library, name: str = "wiki") -> None:
    """Do not wait for the time at which a post is sent again."""
    with library.app.catalog.write() as connection:
        connection.exec_driver_sql("UPDATE webhooks SET retry_at = NULL WHERE name = ?", (name,))


def once_more(library: Library, name: str = "wiki") -> None:
    """Send what was laid aside once more."""
    with library.app.catalog.write() as connection:
        assert webhooks.retry(connection, name)


def put(library: Library, *titles: str, collection: str = "default") -> None:
    for title in titles:
        library.documents.put(f"# {title}\n\nAbout {title}.\n", title=title, collection=collection)


def titles(receiver: Receiver) -> list[str]:
    return [event["title"] for event in receiver.taken]


def test_an_address_is_told_of_what_happens_from_now_on(start: Start, tmp_path: Path) -> None:
    with receiving() as receiver:
        library = start()
        put(library, "before")
        library = start({"url": receiver.url})
        docs = tmp_path / "docs"
        docs.mkdir()
        (docs / "a.md").write_text("# A\n\nwords\n")
        library.add(str(docs))
        (docs / "a.md").write_text("# A\n\nother words\n")
        library.add(str(docs))
        (docs / "a.md").unlink()
        library.add(str(docs))
        receiver.wait_for(lambda: len(receiver.taken) == 6)
        receiver.wait_for(lambda: bool((known := progress(library)) and known.delivered == 6))
    kinds = [event["kind"] for event in receiver.taken]
    assert kinds == ["indexed", "sync_finished", "updated", "sync_finished", "deleted", "sync_finished"]
    assert receiver.ids == sorted(receiver.ids)
    assert receiver.taken[0]["uri"] == (docs / "a.md").as_uri()
    assert receiver.taken[1]["source"] == str(docs)
    known = progress(library)
    assert known is not None
    assert (known.tries, known.error) == (0, None)


def test_it_is_told_only_of_the_kinds_and_collections_that_it_wants(start: Start) -> None:
    with receiving() as receiver:
        library = start({"url": receiver.url, "events": ["deleted"], "collections": ["a"]})
        put(library, "one", collection="a")
        put(library, "two", collection="b")
        for name in ("a", "b"):
            [document] = uids(library, name)
            library.documents.delete(document, collection=name)
        receiver.wait_for(lambda: bool(receiver.taken))
    assert [(event["kind"], event["title"]) for event in receiver.taken] == [("deleted", "one")]


def uids(library: Library, name: str) -> list[str]:
    record = library.collection(name)
    with library.app.catalog.read() as connection:
        query = "SELECT uid FROM documents WHERE collection_id = ?"
        return list(connection.exec_driver_sql(query, (record.id,)).scalars())


def test_what_could_not_be_delivered_is_delivered_later_in_order(start: Start) -> None:
    with receiving(500) as receiver:
        library = start({"url": receiver.url, "batch": 2})
        put(library, "a", "b", "c", "d", "e")
        receiver.wait_for(lambda: len(receiver.seen) >= 1)
        receiver.status = 200
        receiver.wait_for(lambda: (at_once(library), len(receiver.taken) == 5)[1])
    assert titles(receiver) == ["a", "b", "c", "d", "e"]
    assert all(len(json.loads(body)["events"]) <= 2 for _, body in receiver.seen)
    first = [json.loads(body)["delivery"] for _, body in receiver.seen]
    assert first[0] == first[1]


def test_a_post_that_failed_is_sent_again_as_it_was_whatever_happens_meanwhile(start: Start) -> None:
    with receiving(500) as receiver:
        library = start({"url": receiver.url})
        put(library, "a")
        receiver.wait_for(lambda: len(receiver.seen) >= 1)
        put(library, "b")
        receiver.wait_for(lambda: (at_once(library), len(receiver.seen) >= 3)[1])
        receiver.status = 200
        receiver.wait_for(lambda: (at_once(library), len(receiver.taken) == 2)[1])
    posts = [json.loads(body) for _, body in receiver.seen]
    told = [(one["delivery"], [event["title"] for event in one["events"]]) for one in posts]
    assert told == [("wiki-1-1", ["a"])] * (len(told) - 1) + [("wiki-2-2", ["b"])]


def test_a_post_that_fails_too_often_is_laid_aside_and_the_next_ones_are_sent(start: Start) -> None:
    with receiving(500) as receiver:
        library = start({"url": receiver.url, "tries": 2, "batch": 1})
        put(library, "a")
        receiver.wait_for(lambda: (at_once(library), bool(aside(library)))[1])
        receiver.status = 200
        put(library, "b")
        receiver.wait_for(lambda: titles(receiver) == ["b"])
        [post] = aside(library)
        assert (post.tries, post.error, post.events[0]["title"]) == (2, "answers 500: broken", "a")
        once_more(library)
        receiver.wait_for(lambda: titles(receiver) == ["b", "a"])
        receiver.wait_for(lambda: not aside(library))
    known = progress(library)
    assert known is not None
    assert known.delivered == 2


def test_why_a_post_failed_is_not_told_on_once_it_was_delivered_after_all(start: Start) -> None:
    with receiving(500) as receiver:
        library = start({"url": receiver.url, "tries": 2})
        put(library, "a")
        receiver.wait_for(lambda: (at_once(library), bool(aside(library)))[1])
        receiver.status = 200
        once_more(library)
        receiver.wait_for(lambda: not aside(library))
    known = progress(library)
    assert known is not None
    assert (known.delivered, known.error) == (1, None)


def test_a_receiver_that_is_down_is_told_when_it_is_back(start: Start) -> None:
    with receiving() as receiver:
        library = start({"url": receiver.url})
        port = int(receiver.url.split(":")[2].split("/")[0])
        put(library, "a")
        receiver.wait_for(lambda: titles(receiver) == ["a"])
    put(library, "b")
    until = time.monotonic() + 20
    while not ((known := progress(library)) and known.tries):
        assert time.monotonic() < until
    assert known.error
    assert known.retry_at is not None
    with receiving(port=port) as back:
        at_once(library)
        back.wait_for(lambda: titles(back) == ["b"])


def test_whoever_opens_the_home_next_goes_on_where_it_was_left(start: Start) -> None:
    with receiving(503) as receiver:
        library = start({"url": receiver.url})
        put(library, "a", "b")
        receiver.wait_for(lambda: len(receiver.seen) >= 1)
        library = start()
        put(library, "c")
        receiver.status = 200
        library = start({"url": receiver.url})
        receiver.wait_for(lambda: (at_once(library), len(receiver.taken) == 3)[1])
    assert titles(receiver) == ["a", "b", "c"]


def test_of_two_servers_of_one_home_one_tells(start: Start, tmp_path: Path) -> None:
    with receiving() as receiver:
        library = start({"url": receiver.url})
        second = worker_of(library, library.webhooks())
        second.start()
        put(library, "a", "b", "c")
        receiver.wait_for(lambda: len(receiver.taken) >= 3)
        put(library, "d")
        receiver.wait_for(lambda: len(receiver.taken) >= 4)
        assert second.stop()
    assert titles(receiver) == ["a", "b", "c", "d"]


def test_a_slow_receiver_makes_nobody_wait_that_writes(start: Start) -> None:
    with receiving() as receiver, receiving() as other:
        receiver.silent = True
        library = start({"url": receiver.url, "timeout_s": 30}, {"url": other.url, "name": "other"})
        put(library, "first")
        receiver.wait_for(lambda: len(receiver.seen) == 1)
        began = time.monotonic()
        put(library, *map(str, range(20)))
        assert time.monotonic() - began < 20
        other.wait_for(lambda: len(other.taken) == 21)
        assert len(receiver.seen) == 1
        receiver.released.set()


def test_an_address_of_this_machine_is_not_told_unless_that_is_allowed(start: Start) -> None:
    with receiving() as receiver:
        library = start({"url": receiver.url, "tries": 1}, fetch__allow_private=[])
        put(library, "a")
        receiver.wait_for(lambda: bool((known := progress(library)) and known.error))
        assert not receiver.seen
        assert not aside(library)
    known = progress(library)
    assert known is not None
    assert known.tries == 0


def test_events_that_were_dropped_meanwhile_are_counted(start: Start) -> None:
    with receiving(500) as receiver:
        library = start({"url": receiver.url})
        put(library, "a", "b", "c")
        receiver.wait_for(lambda: len(receiver.seen) >= 1)
        library = start()
        with library.app.catalog.write() as connection:
            connection.exec_driver_sql("DELETE FROM events WHERE id < 3")
        receiver.status = 200
        library = start({"url": receiver.url})
        receiver.wait_for(lambda: (at_once(library), titles(receiver) == ["c"])[1])
    known = progress(library)
    assert known is not None
    assert known.missed == 2


def test_a_clock_that_was_set_back_keeps_nobody_waiting(start: Start) -> None:
    with receiving() as receiver:
        library = start({"url": receiver.url})
        with library.app.catalog.write() as connection:
            webhooks.failed(connection, "wiki", "x", 1, (datetime.now(UTC) + timedelta(days=300)).isoformat())
        put(library, "a")
        receiver.wait_for(lambda: titles(receiver) == ["a"])


def test_webhooks_that_cannot_be_used_are_told_when_a_server_starts(start: Start) -> None:
    with pytest.raises(InvalidSetting, match="Two webhooks are called"):
        start({"url": "https://a.example"}, {"url": "https://b.example"})


def test_a_server_that_is_killed_loses_no_event(tmp_path: Path, process: Callable[..., Forked]) -> None:
    home = tmp_path / "home"
    home.mkdir()
    with receiving(500) as receiver:
        (home / "config.toml").write_text(
            f'[fetch]\nallow_private = ["127.0.0.1"]\n[[webhooks]]\nname = "wiki"\nurl = "{receiver.url}"\n'
        )
        server = process(SERVE, home)
        assert server.stdout is not None
        assert server.stdout.readline().startswith(b"http")
        receiver.wait_for(lambda: _begun(home))
        with Library.open(home, embedding__provider="deterministic") as library:
            put(library, "a", "b")
            receiver.wait_for(lambda: len(receiver.seen) >= 1)
            server.send_signal(signal.SIGKILL)
            server.wait()
            put(library, "c")
            receiver.status = 200
            at_once(library)
        again = process(SERVE, home)
        receiver.wait_for(lambda: len(receiver.taken) >= 3, 60)
        again.send_signal(signal.SIGTERM)
        assert again.wait(30) == 0
    assert titles(receiver) == ["a", "b", "c"]


def test_a_post_that_a_killed_server_was_sending_is_sent_by_the_next_one(
    tmp_path: Path, process: Callable[..., Forked]
) -> None:
    home = tmp_path / "home"
    home.mkdir()
    with receiving() as receiver:
        receiver.silent = True
        (home / "config.toml").write_text(
            f'[fetch]\nallow_private = ["127.0.0.1"]\n[[webhooks]]\nname = "wiki"\nurl = "{receiver.url}"\n'
        )
        server = process(SERVE, home)
        receiver.wait_for(lambda: (home / "catalog.db").exists() and _begun(home))
        with Library.open(home, embedding__provider="deterministic") as library:
            put(library, "a")
            receiver.wait_for(lambda: len(receiver.seen) == 1)
            assert [(job.key, job.state) for job in jobs_of(library, "webhook")] == [("webhook:wiki", "running")]
            server.send_signal(signal.SIGKILL)
            server.wait()
            assert [(job.key, job.state) for job in jobs_of(library, "webhook")] == [("webhook:wiki", "waiting")]
            receiver.silent = False
            process(SERVE, home)
            receiver.wait_for(lambda: bool(receiver.taken), 60)
            receiver.wait_for(lambda: not jobs_of(library, "webhook"))
    assert titles(receiver) == ["a"]
    deliveries = {json.loads(body)["delivery"] for _, body in receiver.seen}
    assert deliveries == {"wiki-1-1"}, "the receiver can tell that it is the same post"


def _begun(home: Path) -> bool:
    with closing(sqlite3.connect(home / "catalog.db")) as connection:
        return connection.execute("SELECT count(*) FROM webhooks").fetchone() == (1,)
