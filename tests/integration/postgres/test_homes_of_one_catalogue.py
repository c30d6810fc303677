"""Several homes, as on several machines, share a catalogue: what one writes others find, and work is done once."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from pathlib import Path

import pytest
from forking import Forked
from waiting import until

from pinakes.catalog import Catalog, jobs
from pinakes.catalog.jobs import Job
from pinakes.core.errors import Busy
from pinakes.jobs.queue import SHARED_LEASE_S, Queue, Stopped
from pinakes.library import Library
from pinakes.platform.locks import is_free, try_acquire
from pinakes.settings import Settings


@pytest.fixture
def places(new_database: Callable[[], str], tmp_path: Path) -> tuple[Settings, Settings]:
    """Settings of two homes of one catalogue."""
    url = new_database()
    one, two = (
        Settings.model_validate(
            {"home": tmp_path / name, "catalog": {"url": url}, "embedding": {"provider": "deterministic"}}
        )
        for name in ("one", "two")
    )
    return one, two


@pytest.fixture
def libraries(places: tuple[Settings, Settings]) -> Iterator[tuple[Library, Library]]:
    with Library(places[0]) as one, Library(places[1]) as two:
        yield one, two


def _found(library: Library, word: str) -> list[str]:
    return [hit.title for hit in library.search(word, mode="keyword").hits]


def test_what_one_writes_the_other_finds(libraries: tuple[Library, Library]) -> None:
    one, two = libraries
    for number in range(10):
        writing, reading = (one, two) if number % 2 else (two, one)
        writing.documents.put(f"The word quark{number} is new.", title=f"N{number}")
        assert _found(writing, f"quark{number}") == [f"N{number}"], "at once, where it was written"
        until(lambda reading=reading, number=number: _found(reading, f"quark{number}") == [f"N{number}"])  # type: ignore[misc]


def test_each_home_builds_its_own_index_anew(libraries: tuple[Library, Library], tmp_path: Path) -> None:
    one, two = libraries
    one.documents.put("The cardinal buoy.", title="Buoy")
    assert _found(one, "cardinal") == _found(two, "cardinal") == ["Buoy"]
    for _ in range(2):
        one.reindex()
    folders = [sorted(path.name for path in (tmp_path / name / "index").glob("1-*")) for name in ("one", "two")]
    assert folders == [["1-3"], ["1-1"]]
    two.documents.put("The cardinal mark.", title="Mark")
    for library in libraries:
        until(lambda library=library: sorted(_found(library, "cardinal")) == ["Buoy", "Mark"])  # type: ignore[misc]
        assert not any(library.verify().values())


def test_a_source_is_read_by_one_at_a_time(libraries: tuple[Library, Library]) -> None:
    place = ("folder", "/notes", "")
    with ExitStack() as held:
        mine, theirs = (library.app.home.reading("c", place) for library in libraries)
        assert try_acquire(mine)
        held.callback(mine.release)
        assert not is_free(theirs)
    assert is_free(theirs)


def test_a_reader_that_is_killed_keeps_nobody_out(places: tuple[Settings, Settings]) -> None:
    script = (
        "import sys, time, pathlib\n"
        "from pinakes.catalog import Catalog\n"
        "from pinakes.settings import CatalogSettings, Settings\n"
        "catalog = Catalog.of(Settings(home=pathlib.Path(sys.argv[1]), catalog=CatalogSettings(url=sys.argv[2])))\n"
        "lock = catalog.shared_lock('sources/x', 0)\n"
        "lock.acquire(); print('held', flush=True); time.sleep(60)"
    )
    words = (str(places[0].home), places[0].catalog.url)
    with closing(Catalog.of(places[1])) as catalog:
        assert catalog.shared_lock is not None
        with Forked(script, *words, text=True) as process:
            assert process.stdout is not None
            assert process.stdout.readline() == "held\n"
            lock = catalog.shared_lock("sources/x", 5)
            assert not is_free(lock)
            process.kill()
        lock.acquire()
        lock.release()


WRITE = """
import sys, pathlib
from pinakes.catalog import Catalog, collections
from pinakes.settings import CatalogSettings, Settings
there = CatalogSettings(url=sys.argv[2], lock_timeout_s=4)
catalog = Catalog.of(Settings(home=pathlib.Path(sys.argv[1]), catalog=there))
try:
    with catalog.write() as connection:
        record = collections.get(connection, "default")
        collections.hold(connection, record.id)
        connection.exec_driver_sql("CREATE TABLE written_by_the_first (id int)")
        print("held", flush=True)
        sys.stdin.readline()
except BaseException as error:
    print(type(error).__name__, flush=True)
with catalog.read() as connection:
    print(connection.exec_driver_sql("SELECT to_regclass('written_by_the_first')").scalar(), flush=True)
"""


def test_a_writer_that_sleeps_keeps_nobody_waiting_and_writes_nothing(
    libraries: tuple[Library, Library], places: tuple[Settings, Settings]
) -> None:
    libraries[0].documents.put("The first word.", title="First")
    with Forked(WRITE, str(places[0].home), places[0].catalog.url, text=True) as process:
        assert process.stdout is not None
        assert process.stdin is not None
        assert process.stdout.readline() == "held\n"
        process.send_signal(signal.SIGSTOP)
        begin = time.monotonic()
        libraries[1].documents.put("The second word.", title="Second")
        assert time.monotonic() - begin < 20
        process.send_signal(signal.SIGCONT)
        process.stdin.write("\n")
        process.stdin.flush()
        assert process.stdout.readline() == f"{Busy.__name__}\n"
        assert process.stdout.readline() == "None\n"


def test_many_write_the_same_document_and_one_is_left(libraries: tuple[Library, Library]) -> None:
    failed: list[BaseException] = []

    def write(library: Library) -> None:
        try:
            for number in range(10):
                library.documents.put(f"Text {number}.", uri="note:same", title="Same")
        except BaseException as error:
            failed.append(error)
            raise

    threads = [threading.Thread(target=write, args=(library,)) for library in libraries * 2]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert failed == []
    assert [one.documents for one in libraries[0].status()] == [1]


HOLD = """
import sys, time, pathlib
from pinakes.catalog import Catalog
from pinakes.jobs.queue import Queue
from pinakes.settings import CatalogSettings, Settings
home = pathlib.Path(sys.argv[1])
catalog = Catalog.of(Settings(home=home, catalog=CatalogSettings(url=sys.argv[2])))
queue = Queue(catalog, home)
[job] = queue.list_all()
lease = queue.claim(job)
print("held", flush=True)
sys.stdin.readline()
try:
    with queue.guard(lease), catalog.write() as connection:
        connection.exec_driver_sql("CREATE TABLE written_by_the_first (id int)")
except BaseException as error:
    print(type(error).__name__, flush=True)
"""


@pytest.mark.long
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGSTOP])
def test_the_job_of_a_home_that_died_or_sleeps_is_taken_over_and_written_once(
    how: signal.Signals, places: tuple[Settings, Settings]
) -> None:
    with closing(Catalog.of(places[1])) as catalog, closing(Queue(catalog, places[1].home)) as queue:
        queue.enqueue([Job("k", "count")])
        with Forked(HOLD, str(places[0].home), places[0].catalog.url, text=True) as process:
            assert process.stdout is not None
            assert process.stdin is not None
            assert process.stdout.readline() == "held\n"
            process.send_signal(how)
            begin = time.monotonic()
            while (job := queue.list_all()[0]).is_held:
                assert time.monotonic() < begin + 4 * SHARED_LEASE_S
                time.sleep(0.2)
            lease = queue.claim(job)
            assert lease
            assert queue.list_all()[0].attempts == 1
            if how == signal.SIGSTOP:
                process.send_signal(signal.SIGCONT)
                process.stdin.write("\n")
                process.stdin.flush()
                assert process.stdout.readline() == f"{Stopped.__name__}\n", "it has lost its lease"
            process.kill()
        queue.finish(lease)
        assert queue.list_all() == []


def test_a_lease_cannot_be_taken_while_its_holder_commits(places: tuple[Settings, Settings]) -> None:
    with closing(Catalog.of(places[0])) as one, closing(Catalog.of(places[1])) as two:
        queue, other = Queue(one, places[0].home), Queue(two, places[1].home)
        queue.enqueue([Job("k", "count")])
        lease = queue.claim(queue.list_all()[0])
        taken_over: list[str] = []
        with queue.guard(lease), one.write() as connection:
            assert jobs.is_held(connection, lease)
            stealing = threading.Thread(target=lambda: taken_over.append(other.claim(queue.list_all()[0])))
            stealing.start()
            stealing.join(0.5)
            assert taken_over == []
        stealing.join(10)
        assert taken_over
        queue.close()
        other.close()


def test_a_home_says_so_where_its_name_is_none(places: tuple[Settings, Settings]) -> None:
    Catalog.of(places[0]).close()
    (places[0].home / "home.id").write_text("'; DROP TABLE jobs; --")
    with pytest.raises(Exception, match="does not hold the name of a home"):
        Catalog.of(places[0])
    Catalog.of(places[1]).close()
