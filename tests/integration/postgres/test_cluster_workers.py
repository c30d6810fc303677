"""Workers embed what waits in a shared catalogue: each chunk once, faster the more there are, whatever happens."""

from __future__ import annotations

import re
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from slow_embedder import SlowEmbedder
from waiting import until
from worker_processes import WorkerProcess, worker

from pinakes.api.worker_process import unreached
from pinakes.catalog import embedding_claims, embeddings
from pinakes.catalog.schema import embedding_claims as claim_rows
from pinakes.catalog.schema import embeddings as vectors_kept
from pinakes.core.errors import ModelMismatch, PinakesError
from pinakes.ingestion import claiming
from pinakes.library import Library
from pinakes.models.embedders.deterministic import DeterministicEmbedder
from pinakes.settings import Settings, SourceSettings


@pytest.fixture
def url(new_database: Callable[[], str]) -> str:
    return new_database()


def _settings(home: Path, url: str, **more: object) -> Settings:
    named = {"home": home, "catalog": {"url": url}, "embedding": {"provider": "deterministic"}, **more}
    return Settings.model_validate(named)


@pytest.fixture
def library(url: str, tmp_path: Path) -> Iterator[Library]:
    with Library(_settings(tmp_path / "server", url)) as library:
        yield library


def fill(library: Library, count: int) -> None:
    """Put documents of a chunk each, and drop their vectors, as a large run leaves them."""
    library.documents.put("The first one.", title="First")
    folder = library.settings.home / "notes"
    folder.mkdir()
    for number in range(count):
        (folder / f"n{number}.md").write_text(f"# Note {number}\n\nThe word w{number} stands here.\n")
    library.add(str(folder))
    drop_vectors(library)


def drop_vectors(library: Library) -> None:
    with library.app.catalog.write() as connection:
        connection.execute(vectors_kept.delete())


def pending(library: Library) -> int:
    return library.status()[0].pending


def started(worker: WorkerProcess) -> WorkerProcess:
    until(lambda: "takes" in worker.said() or worker.process.poll() is not None)
    assert worker.process.poll() is None, worker.said()
    return worker


def test_a_worker_embeds_what_waits_and_a_server_searches_it(library: Library, url: str, tmp_path: Path) -> None:
    fill(library, 300)
    assert pending(library) == 301
    with worker(tmp_path / "worker", url) as one:
        until(lambda: pending(library) == 0)
        one.process.send_signal(signal.SIGTERM)
        assert one.process.wait(10) == 0, one.said()
    assert library.search("The word w7 stands here.", mode="vector").hits
    assert not any(library.verify().values())
    with library.app.catalog.read() as connection:
        assert connection.execute(claim_rows.select()).all() == []


def test_each_chunk_is_embedded_by_one_of_several(library: Library) -> None:
    fill(library, 400)
    record = library.collection()
    taken: list[bytes] = []

    def take(name: str) -> None:
        claims = claiming.Claims(library.app.catalog, name)
        while rows := claims.take(record, 16):
            taken.extend(key for _, key, _ in rows)

    threads = [threading.Thread(target=take, args=(f"w{number}",)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert len(taken) == len(set(taken)) == 401


def test_what_a_search_met_comes_first(library: Library) -> None:
    fill(library, 100)
    record, claims = library.collection(), claiming.Claims(library.app.catalog, "w")
    with library.app.catalog.read() as connection:
        last = embeddings.pending(connection, record.id, record.model_id, 1000)[-1]
    claims.prioritise(record, [last[0]])
    assert claims.take(record, 2)[0] == last
    assert last not in claims.take(record, 1000)


def test_a_batch_of_who_is_gone_is_taken_over_and_the_late_one_stores_nothing(library: Library) -> None:
    fill(library, 20)
    record, catalog = library.collection(), library.app.catalog
    dead, other = claiming.Claims(catalog, "dead"), claiming.Claims(catalog, "other")
    rows = dead.take(record, 100)
    assert len(rows) == 21
    assert other.take(record, 100) == []
    with catalog.write() as connection:
        connection.execute(claim_rows.update().values(expires_at=0.0))
    assert sorted(other.take(record, 100)) == sorted(rows)
    texts = {key: text for _, key, text in rows}
    vectors = dict(zip(texts, SlowEmbedder().embed(list(texts.values())), strict=True))
    with dead.stored(record, texts, {}) as store:
        store(vectors)
    assert pending(library) == 21
    with other.stored(record, texts, {}) as store:
        store(vectors)
    assert pending(library) == 0


def test_a_text_that_the_model_refuses_is_not_tried_again_and_again(library: Library) -> None:
    fill(library, 5)
    record, claims = library.collection(), claiming.Claims(library.app.catalog, "w")
    rows = claims.take(record, 100)
    texts = {key: text for _, key, text in rows}
    with claims.stored(record, texts, {rows[0][1]: "too long"}):
        pass
    assert len(claims.take(record, 100)) == len(rows) - 1
    with library.app.catalog.read() as connection:
        assert embedding_claims.refused(connection, record.model_id) == {rows[0][1]: "too long"}


@pytest.mark.long
def test_a_killed_worker_loses_at_most_its_batch_to_the_lease(library: Library, url: str, tmp_path: Path) -> None:
    fill(library, 600)
    with worker(tmp_path / "dead", url, "--batch", "100") as dead:
        until(lambda: pending(library) < 601)
        dead.process.kill()
        dead.process.wait()
    left = pending(library)
    with worker(tmp_path / "other", url, "--batch", "100"):
        until(lambda: pending(library) <= 100)
        assert left > 100
        until(lambda: pending(library) == 0, 4 * claiming.LEASE_S)
    assert not any(library.verify().values())


def test_a_worker_that_is_told_to_end_stores_what_is_under_way(library: Library, url: str, tmp_path: Path) -> None:
    fill(library, 600)
    with worker(tmp_path / "worker", url, "--batch", "1000") as one:
        until(lambda: _claimed(library) > 0)
        one.process.send_signal(signal.SIGTERM)
        assert one.process.wait(60) == 0, one.said()
    assert 0 < pending(library) < 601
    assert _claimed(library) == 0


def _claimed(library: Library) -> int:
    with library.app.catalog.read() as connection:
        return sum(embedding_claims.held(connection).values())


def test_a_worker_with_another_model_is_refused(library: Library, url: str, tmp_path: Path) -> None:
    fill(library, 3)
    with worker(tmp_path / "worker", url, embedding__provider="named", embedding__model="other/16") as one:
        assert one.process.wait(30) != 0
        assert "was embedded by" in one.said()
        assert "named/other/16" in one.said()
    assert pending(library) == 4


def test_of_two_models_the_first_becomes_that_of_a_new_collection(library: Library) -> None:
    made = library.collecting.create("new")
    claims = claiming.Claims(library.app.catalog, "w")
    bound = claims.bound(made, DeterministicEmbedder())
    assert bound.model_id is not None
    with pytest.raises(ModelMismatch, match="is embedded by"):
        claims.bound(made, DeterministicEmbedder(16))


def test_a_worker_of_a_home_with_a_catalogue_of_its_own_is_refused(tmp_path: Path) -> None:
    with Library(Settings.model_validate({"home": tmp_path})) as library, pytest.raises(PinakesError, match="share"):
        library.embedding_worker(batch=1, on_batch=lambda _: None, say=lambda _: None)


@pytest.mark.long
def test_two_workers_share_the_work_and_embed_nothing_twice(library: Library, url: str, tmp_path: Path) -> None:
    fill(library, 400)
    with ExitStack() as stack:
        held, record = claiming.Claims(library.app.catalog, "held"), library.collection()
        rows = held.take(record, 10_000)
        homes = [tmp_path / f"w{number}" for number in range(2)]
        workers = [started(stack.enter_context(worker(home, url, "--batch", "16"))) for home in homes]
        with held.stored(record, {key: text for _, key, text in rows}, {}):
            pass  # all is given back at once
        due = len(rows)
        wait_for(library, workers, due)
        while not all(map(embedded, workers)):  # one of them was done before the other looked
            drop_vectors(library)
            due += len(rows)
            wait_for(library, workers, due)
    assert sum(map(embedded, workers)) == due
    assert due % 401 == 0


def wait_for(library: Library, workers: list[WorkerProcess], embedded_in_all: int) -> None:
    until(lambda: pending(library) == 0 and sum(map(embedded, workers)) >= embedded_in_all)


def embedded(one: WorkerProcess) -> int:
    """Return how many chunks a worker says it has embedded."""
    said = re.findall(r"chunks embedded, ([\d,]+) in all", one.said())
    return int(said[-1].replace(",", "")) if said else 0


_SCHEDULED = """
[[collections.notes.sources]]
name = "here"
location = "{folder}"
schedule = "@every 1s"

[embedding]
provider = "deterministic"
"""


def test_a_worker_reads_by_schedule_the_folders_that_it_was_told_are_the_same(url: str, tmp_path: Path) -> None:
    folder = tmp_path / "mounted"
    folder.mkdir()
    (folder / "a.md").write_text("# A\n\nThe cardinal buoy.\n")
    for name in ("same", "other"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "config.toml").write_text(_SCHEDULED.format(folder=folder))
    with Library(_settings(tmp_path / "server", url)) as library:
        with worker(tmp_path / "other", url, "--queues", "parse") as other:
            until(lambda: "is left to a server: it is a path" in other.said())
            assert "here → notes" in other.said()
            assert [one.name for one in library.collections()] == []
        with worker(tmp_path / "same", url, "--queues", "embed,parse", "--folders"):
            until(lambda: [hit.path for hit in _searched(library, "cardinal")] == ["a.md"])
            (folder / "b.md").write_text("# B\n\nThe lateral mark.\n")
            until(lambda: [hit.path for hit in _searched(library, "lateral")] == ["b.md"])
        assert not any(library.verify().values())


def _searched(library: Library, words: str) -> list[Any]:
    return list(library.search(words, "notes", mode="keyword").hits) if library.collections() else []


@pytest.mark.parametrize(
    ("kind", "location", "folders", "why"),
    [
        ("http", "https://docs.example.org/guide.html", False, ""),
        ("git", "https://git.example.org/team/notes.git", False, ""),
        ("git", "ssh://git@git.example.org/team/notes.git", False, ""),
        ("git", "{there}", False, "is a path"),
        ("git", "{there}", True, ""),
        ("folder", "{there}", False, "is a path"),
        ("folder", "{there}", True, ""),
        ("folder", "{there}/gone", True, "not there"),
        ("slack", "{there}/export.zip", False, "is a path"),
    ],
)
def test_a_worker_reads_what_it_reaches_as_the_servers_do(
    kind: str, location: str, folders: bool, why: str, tmp_path: Path
) -> None:
    source = SourceSettings.model_validate({"kind": kind, "location": location.format(there=tmp_path)})
    assert why in unreached(source, folders=folders)
    assert bool(why) == bool(unreached(source, folders=folders))


def test_who_finds_nothing_free_writes_nothing(library: Library) -> None:
    fill(library, 5)
    record, catalog = library.collection(), library.app.catalog
    assert claiming.Claims(catalog, "lazy").take(record, 10, only_wanted=True) == []
    assert len(claiming.Claims(catalog, "one").take(record, 10)) == 6
    with catalog.read() as connection:
        assert not embedding_claims.is_free(connection, record.id, record.model_id or 0)
    assert claiming.Claims(catalog, "two").take(record, 10) == []


@pytest.mark.parametrize("queues", ["", "embed,mend"])
def test_a_queue_that_is_none_is_refused(queues: str, url: str, tmp_path: Path) -> None:
    with worker(tmp_path / "worker", url, "--queues", queues) as one:
        assert one.process.wait(30) == 2
        assert "queue" in one.said()
