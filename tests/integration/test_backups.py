"""A home is backed up while it is written to, and made anew of that: whole, or not at all."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import sqlite3
import threading
import zipfile
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from filelock import FileLock

from pinakes.catalog import events, keys, sources
from pinakes.catalog.events import Event
from pinakes.core.errors import CatalogueCorrupt, InvalidInput, NotFound, PinakesError, StorageFull, Unreadable
from pinakes.core.records import Results
from pinakes.library import Library
from pinakes.platform.archives import MANIFEST
from pinakes.services.backup.backups import KIND, Restored, restore
from pinakes.services.documents.planned_changes import Draft
from pinakes.settings import load
from pinakes.testing import FILES, write_files

QUERY = "earthworms of the badger"


@pytest.fixture
def zoo(library: Library, docs: Path) -> Library:
    library.add(str(write_files(docs)), "zoo")
    return library


@pytest.fixture
def file(zoo: Library, tmp_path: Path) -> Path:
    zoo.exchange.back_up(tmp_path / "home.zip")
    return tmp_path / "home.zip"


@pytest.fixture
def new(tmp_path: Path) -> Path:
    return tmp_path / "new"


def opened(home: Path) -> Library:
    settings: dict[str, Any] = {"embedding__provider": "deterministic", "cache": str(home.parent / "cache")}
    return Library.open(home, **settings)


def answer(found: Results) -> list[tuple[str, int, float, str]]:
    return [(hit.path, hit.chunk_index, hit.score, hit.document_id) for hit in found.hits]


def left(place: Path) -> list[str]:
    return sorted(path.name for path in place.iterdir()) if place.is_dir() else []


class TestThereAndBack:
    @pytest.mark.parametrize("with_index", [False, True])
    def test_the_restored_home_answers_alike(self, zoo: Library, tmp_path: Path, new: Path, with_index: bool) -> None:
        done = zoo.exchange.back_up(tmp_path / "home.zip", with_index=with_index)
        assert (done.collections, done.documents, done.with_index) == (1, len(FILES), with_index)
        restored = restore(tmp_path / "home.zip", new)
        assert (restored.collections, restored.documents, restored.with_index) == (1, len(FILES), with_index)
        assert (new / "index").is_dir() == with_index
        with opened(new) as library:
            assert library.verify() == {"zoo": []}
            assert answer(library.search(QUERY, "zoo")) == answer(zoo.search(QUERY, "zoo"))
            [report] = library.sync("zoo")
            assert (report.unchanged, report.embedded) == (len(FILES), 0)

    def test_settings_keys_and_the_audit_log_come_along(
        self, zoo: Library, home: Path, tmp_path: Path, new: Path
    ) -> None:
        (home / "config.toml").write_text("[search]\ntop_k = 3\n")
        write_files(home, {"config.yaml": "search: {shown: 4}\n", "config.local.yaml": "search: {shown: 6}\n"})
        write_files(home / "knowledge_base", {"notes/a.md": "# A\n", "poetry.lock": "mine"})
        write_files(home / "evaluations", {"run.json": "{}"})
        write_files(home / "sources.d", {"team.notes.yaml": "kind: KnowledgeSource\n"})
        (home / "server.json").write_text("{}")
        with zoo.app.catalog.write() as connection:
            _, secret = keys.create(connection, "reader", "read")
        with zoo.audit.recording("search", {"query": "badgers"}):
            pass
        zoo.audit.flush()
        zoo.exchange.back_up(tmp_path / "home.zip")
        restore(tmp_path / "home.zip", new)
        settings = ["config.local.yaml", "config.toml", "config.yaml"]
        assert left(new) == ["catalog.db", *settings, "evaluations", "knowledge_base", "sources.d"]
        assert load(home=new, environment={}).search.shown == 6
        assert left(new / "sources.d") == ["team.notes.yaml"]
        assert left(new / "knowledge_base") == ["notes", "poetry.lock"]
        assert (new / "knowledge_base" / "notes" / "a.md").read_text() == "# A\n"
        with opened(new) as library:
            assert library.settings.search.top_k == 3
            with library.app.catalog.read() as connection:
                assert keys.of_secret(connection, secret) is not None

    def test_a_link_in_the_home_is_left_out_and_told(self, zoo: Library, home: Path, tmp_path: Path) -> None:
        write_files(home / "knowledge_base", {"a.md": "# A\n"})
        (home / "knowledge_base" / "link.md").symlink_to(tmp_path / "docs" / "README.md")
        (home / "knowledge_base" / "folder").symlink_to(tmp_path / "docs")
        done = zoo.exchange.back_up(tmp_path / "home.zip")
        assert done.left_out == tuple(f"knowledge_base/{name}: not a plain file" for name in ("folder", "link.md"))

    def test_folders_that_settings_name_elsewhere_in_the_home_come_along_and_what_does_not_is_told(
        self, docs: Path, home: Path, tmp_path: Path, new: Path
    ) -> None:
        (home / "config.toml").parent.mkdir(exist_ok=True)
        (home / "config.toml").write_text(
            'sources_dir = "team/sources"\n[knowledge_base]\nenabled = true\nfolder = "team/kb"\n'
            '[[sources]]\nlocation = "notes"\n[[sources]]\nlocation = "sources/mine"\n'
        )
        write_files(home, {"team/sources/team.yaml": "kind: KnowledgeSource\n", "team/kb/deep/a.md": "# A\n"})
        write_files(home, {"team/other.txt": "mine", "notes/b.md": "# B\n", "sources/mine/c.md": "# C\n"})
        write_files(
            home, {"server.json": "{}", "startup.lock": "", "worker-0a1b2c3d.lock": "", "cache/model.bin": "weights"}
        )
        with opened(home) as library:
            done = library.exchange.back_up(home / "home.zip")
            again = library.exchange.back_up(home / "home.zip", force=True)
            with pytest.raises(InvalidInput, match="lies in what is backed up"):
                library.exchange.back_up(home / "team" / "kb" / "home.zip")
        assert done.left_out == again.left_out
        assert [one.partition(": ")[0] for one in done.left_out] == ["notes", "team/other.txt", "sources/mine"]
        restore(home / "home.zip", new)
        assert left(new) == ["catalog.db", "config.toml", "team"]
        assert (new / "team" / "sources" / "team.yaml").read_text() == "kind: KnowledgeSource\n"
        assert (new / "team" / "kb" / "deep" / "a.md").read_text() == "# A\n"
        assert not (new / "team" / "other.txt").exists()

    def test_a_name_that_no_archive_can_have_keeps_nothing_else_out(
        self, zoo: Library, home: Path, tmp_path: Path, new: Path
    ) -> None:
        write_files(home / "knowledge_base", {"a.md": "# A\n", "b\\c.md": "# B\n"})
        named = os.fsdecode(b"caf\xe9.md")
        try:
            (home / "knowledge_base" / named).write_text("# C\n")
        except OSError:
            pytest.skip("this disk has no names that are no UTF-8")
        done = zoo.exchange.back_up(tmp_path / "home.zip")
        names = ("b\\c.md", named)
        assert done.left_out == tuple(f"knowledge_base/{one}: no archive can have a file of that name" for one in names)
        restore(tmp_path / "home.zip", new)
        assert left(new / "knowledge_base") == ["a.md"]

    def test_what_killed_backups_left_is_removed_by_the_next_one(self, zoo: Library, tmp_path: Path) -> None:
        killed, others = tmp_path / ".pinakes-backup-1", tmp_path / ".pinakes-backup-2"
        for place in (killed, others):
            write_files(place, {"catalog.db": "half", "under-way.lock": ""})
        with FileLock(others / "under-way.lock"):
            zoo.exchange.back_up(tmp_path / "home.zip")
            assert (killed.exists(), others.exists()) == (False, True)

    def test_into_a_folder_it_is_named_after_the_home_and_the_time(self, zoo: Library, tmp_path: Path) -> None:
        (tmp_path / "backups").mkdir()
        done = zoo.exchange.back_up(tmp_path / "backups")
        [name] = left(tmp_path / "backups")
        assert done.file == str(tmp_path / "backups" / name)
        assert name.startswith("home-20")
        assert name.endswith("Z.zip")


class TestAtAnotherPlace:
    @pytest.fixture
    def kept(self, docs: Path, home: Path, tmp_path: Path) -> Path:
        """Back up a home whose knowledge base and notes were read; return the file."""
        write_files(docs, {"c.md": "# Otters\n\nOtters swim.\n"})
        write_files(home / "Base é", {"deep/a.md": "# Badgers\n\nBadgers dig.\n"})
        write_files(home / "notes", {"b.md": "# Foxes\n\nFoxes run.\n"})
        (home / "config.toml").write_text(
            '[knowledge_base]\nenabled = true\nfolder = "Base é"\n[[sources]]\nlocation = "notes"\n'
            f'[[sources]]\nlocation = "{home / "full"}"\n'
        )
        write_files(home / "full", {"d.md": "# Stoats\n\nStoats hunt.\n"})
        with opened(home) as library:
            library.add(str(docs))
            library.sync()
            library.exchange.back_up(tmp_path / "home.zip")
        return tmp_path / "home.zip"

    def test_what_lay_in_the_home_is_the_same_source_with_the_same_documents(
        self, kept: Path, home: Path, docs: Path, new: Path
    ) -> None:
        with opened(home) as library:
            before = uids(library)
        restore(kept, new)
        shutil.copytree(home / "notes", new / "notes")
        with opened(new) as library:
            assert {Path(place).name for place in places(library)} == {"Base é", "notes", "full", docs.name}
            assert places(library) == {str(place) for place in (new / "Base é", new / "notes", home / "full", docs)}
            filters = {"uri": (new / "Base é" / "deep" / "a.md").as_uri()}
            assert [hit.title for hit in library.search("badgers dig", filters=filters).hits] == ["Badgers"]
            shutil.rmtree(home)
            (new / "Base é" / "deep" / "a.md").touch()
            reports = {Path(one.source).name: one for one in library.sync()}
            read = [reports[name] for name in ("Base é", "notes", docs.name)]
            assert [(one.unchanged, one.added, one.changed, one.moved) for one in read] == [(1, 0, 0, 0)] * 3
            assert len(places(library)) == 4
            assert uids(library) == before

    def test_what_documents_were_is_told_by_where_they_would_be_now(self, kept: Path, home: Path, new: Path) -> None:
        restore(kept, new)
        with opened(new) as library, library.app.catalog.read() as connection:
            query = "SELECT uri FROM documents UNION SELECT uri FROM versions WHERE uri IS NOT NULL"
            uris = set(connection.exec_driver_sql(query).scalars())
            assert (new / "Base é" / "deep" / "a.md").as_uri() in uris
            assert {one for one in uris if one.startswith(home.as_uri())} == {(home / "full" / "d.md").as_uri()}

    @pytest.mark.parametrize("place", [None, 5, "", "relative", "/nowhere"])
    def test_a_backup_that_does_not_say_well_where_it_was_made_stays_as_it_is(
        self, kept: Path, home: Path, new: Path, place: object
    ) -> None:
        with zipfile.ZipFile(kept) as archive:
            manifest = json.loads(archive.read(MANIFEST))
        manifest["home"]["place"] = place
        restore(rewritten(kept, "config.toml", b"", {"home": manifest["home"]}), new)
        with opened(new) as library:
            assert str(home / "Base é") in places(library)


def uids(library: Library) -> set[str]:
    with library.app.catalog.read() as connection:
        return set(connection.exec_driver_sql("SELECT uid FROM documents").scalars())


def places(library: Library) -> set[str]:
    with library.app.catalog.read() as connection:
        return {one.location for one in sources.list_all(connection)}


def test_no_number_of_an_event_is_given_again_by_a_home_that_is_restored(
    zoo: Library, file: Path, new: Path, tmp_path: Path
) -> None:
    """Receivers skip events of numbers that they know, and ask for those after the last one they had."""
    zoo.documents.put("After the backup.\n", title="Told", collection="zoo")
    [known] = told_after(zoo, len(FILES) + 1)
    numbers = []
    for place in (new, tmp_path / "another"):
        restore(file, place)
        with opened(place) as library:
            assert [one.id for one in told_after(library, 0)] == list(range(1, known.id))
            library.documents.put("After restoring.\n", title="New", collection="zoo")
            [event] = told_after(library, known.id)
            numbers.append(event.id)
            with library.app.catalog.read() as connection:
                assert events.missed(connection, 0) == 0
    assert known.id < numbers[0] < numbers[1] < 2**53


def told_after(library: Library, position: int) -> list[Event]:
    with library.app.catalog.read() as connection:
        return events.after(connection, position, 100)


def test_while_others_write_it_is_of_one_moment(zoo: Library, tmp_path: Path, new: Path) -> None:
    """Each step of the writer makes two documents in one transaction: a backup has both or none."""
    stop, steps = threading.Event(), 0

    def write() -> None:
        nonlocal steps
        while not stop.is_set():
            pair = [
                Draft(f"# {half} {steps}\n\nOf step {steps}.\n", title=f"{half} {steps}") for half in ("one", "two")
            ]
            for written in zoo.documents.put_many(pair, collection="pairs"):
                assert not isinstance(written, PinakesError)
            steps += 1

    writer = threading.Thread(target=write)
    writer.start()
    try:
        for number in range(4):
            before = steps
            while steps == before:
                assert writer.is_alive()
            zoo.exchange.back_up(tmp_path / f"{number}.zip", with_index=number % 2 == 1)
            restore(tmp_path / f"{number}.zip", new / str(number))
    finally:
        stop.set()
        writer.join()
    for number in range(4):
        with opened(new / str(number)) as library:
            assert all(not differences for differences in library.verify().values())
            held = library.status("pairs")[0]
            assert 0 < held.documents <= steps * 2
            assert answer(library.search(QUERY, "zoo")) == answer(zoo.search(QUERY, "zoo"))


class TestNothingIsOverwritten:
    def test_a_file_that_is_there_stays_unless_that_is_said(self, zoo: Library, file: Path) -> None:
        before = file.read_bytes()
        with pytest.raises(InvalidInput, match="is there already") as caught:
            zoo.exchange.back_up(file)
        assert "--force" in caught.value.hint
        assert file.read_bytes() == before
        zoo.exchange.back_up(file, force=True)
        assert restore(file, file.parent / "new").documents == len(FILES)

    def test_a_backup_does_not_hold_itself(self, zoo: Library, home: Path) -> None:
        write_files(home / "knowledge_base", {"a.md": "# A\n"})
        with pytest.raises(InvalidInput, match="lies in what is backed up"):
            zoo.exchange.back_up(home / "knowledge_base" / "home.zip")

    def test_a_backup_does_not_replace_what_it_is_made_of(self, zoo: Library, home: Path) -> None:
        with pytest.raises(InvalidInput, match="lies in what is backed up"):
            zoo.exchange.back_up(home / "catalog.db", force=True)
        assert zoo.status("zoo")[0].documents == len(FILES)

    def test_a_home_that_is_there_stays(self, zoo: Library, file: Path, home: Path) -> None:
        with pytest.raises(InvalidInput, match=r"is not empty: there is 'catalog\.db'"):
            restore(file, home)
        assert zoo.status("zoo")[0].documents == len(FILES)

    def test_a_folder_with_anything_in_it_stays_but_models_may_be_there(self, file: Path, new: Path) -> None:
        write_files(new, {"cache/model.bin": "weights", "mine.txt": "words"})
        with pytest.raises(InvalidInput, match=r"'mine\.txt'"):
            restore(file, new)
        assert left(new) == ["cache", "mine.txt"]
        (new / "mine.txt").unlink()
        assert restore(file, new).documents == len(FILES)
        assert left(new) == ["cache", "catalog.db"]

    def test_a_file_is_no_home(self, file: Path) -> None:
        with pytest.raises(InvalidInput, match="is no folder"):
            restore(file, file)

    def test_two_that_are_restored_into_one_place_at_the_same_moment_are_never_mixed(
        self, file: Path, new: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        both, usage = threading.Barrier(2), shutil.disk_usage(file.parent)

        def once_both_found_nothing(_: Path) -> object:
            both.wait(20)
            return usage

        monkeypatch.setattr(shutil, "disk_usage", once_both_found_nothing)
        with ThreadPoolExecutor() as pool:
            ends = [one.exception() for one in [pool.submit(restore, file, new) for _ in range(2)]]
        refused = [error for error in ends if error is not None]
        assert refused
        assert all(isinstance(error, InvalidInput) for error in refused)
        assert left(new) == (["catalog.db"] if len(refused) == 1 else [])

    def test_where_restoring_was_stopped_it_is_told(self, file: Path, new: Path) -> None:
        write_files(new / ".restoring-1234", {"catalog.db": "half"})
        with pytest.raises(InvalidInput, match="was stopped"):
            restore(file, new)


def rewritten(file: Path, name: str, data: bytes, about: Mapping[str, object] | None = None) -> Path:
    """Write the backup anew with another member of this name, its sum right, and ``about`` in its manifest."""
    with zipfile.ZipFile(file) as archive:
        held = {one: archive.read(one) for one in archive.namelist()} | {name: data}
    manifest = {**json.loads(held.pop(MANIFEST)), **(about or {})}
    manifest["members"] = {
        one: {"bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()} for one, content in held.items()
    }
    place = file.with_name("changed.zip")
    with zipfile.ZipFile(place, "w") as archive:
        for one, content in {**held, MANIFEST: json.dumps(manifest).encode()}.items():
            archive.writestr(one, content)
    return place


class TestRefusals:
    @pytest.mark.parametrize(
        "name",
        [
            *("../evil", "/evil", "knowledge_base/../../evil", "index/..", "knowledge_base\\..\\evil", "sources/x"),
            *("evil", "config.toml/x", "server.json/x", ".restoring-1/x"),
        ],
    )
    def test_what_no_backup_holds_is_refused_and_nothing_is_made(self, file: Path, new: Path, name: str) -> None:
        with pytest.raises(Unreadable, match="has a member"):
            restore(rewritten(file, name, b"evil"), new)
        assert not new.exists()
        assert not (new.parent / "evil").exists()

    def test_a_damaged_catalogue_is_not_put_in_place(self, zoo: Library, file: Path, new: Path) -> None:
        with zipfile.ZipFile(file) as archive:
            catalog = bytearray(archive.read("catalog.db"))
        for data in (b"no database at all" * 100, bytes(catalog[:100]) + bytes(len(catalog) - 100)):
            with pytest.raises(CatalogueCorrupt):
                restore(rewritten(file, "catalog.db", data), new)
            assert not new.exists()

    def test_a_newer_catalogue_is_refused(self, file: Path, new: Path, tmp_path: Path) -> None:
        with zipfile.ZipFile(file) as archive:
            (tmp_path / "catalog.db").write_bytes(archive.read("catalog.db"))
        with sqlite3.connect(tmp_path / "catalog.db") as connection:
            connection.execute("UPDATE alembic_version SET version_num = '9999'")
            connection.execute("UPDATE installation SET min_reader = '9999', min_writer = '9999'")
        connection.close()
        with pytest.raises(PinakesError, match="newer Pinakes"):
            restore(rewritten(file, "catalog.db", (tmp_path / "catalog.db").read_bytes()), new)
        assert not new.exists()

    def test_a_cut_off_or_foreign_file_is_refused(self, zoo: Library, file: Path, new: Path, tmp_path: Path) -> None:
        zoo.exchange.export("zoo", tmp_path / "zoo.zip")
        with pytest.raises(Unreadable, match="no backup of a home"):
            restore(tmp_path / "zoo.zip", new)
        data = file.read_bytes()
        file.write_bytes(data[: len(data) // 2])
        with pytest.raises(Unreadable):
            restore(file, new)
        with pytest.raises(NotFound):
            restore(tmp_path / "none.zip", new)
        assert not new.exists()

    def test_a_byte_that_is_another_is_found_before_anything_is_in_place(self, file: Path, new: Path) -> None:
        data = bytearray(file.read_bytes())
        data[len(data) // 3] ^= 0xFF
        file.write_bytes(data)
        with pytest.raises(Unreadable):
            restore(file, new)
        assert not new.exists()

    def test_where_there_is_no_room_nothing_is_begun(
        self, file: Path, new: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        usage = shutil.disk_usage(file.parent)
        monkeypatch.setattr(shutil, "disk_usage", lambda _: usage._replace(free=10))
        with pytest.raises(StorageFull, match="10 are free"):
            restore(file, new)
        assert not new.exists()

    @pytest.mark.parametrize("step", ["catalogue", "packing"])
    def test_being_stopped_leaves_no_half_backup(self, zoo: Library, tmp_path: Path, step: str) -> None:
        before = left(tmp_path)
        with pytest.raises(KeyboardInterrupt):
            zoo.exchange.back_up(tmp_path / "home.zip", on_step=_stop_at(step))
        assert left(tmp_path) == before

    @pytest.mark.parametrize("step", ["unpacking", "checking"])
    def test_being_stopped_leaves_no_half_home(self, file: Path, new: Path, step: str) -> None:
        with pytest.raises(KeyboardInterrupt):
            restore(file, new, _stop_at(step))
        assert not new.exists()
        done: Restored = restore(file, new)
        assert done.documents == len(FILES)

    def test_folders_that_were_made_for_it_go_with_it_and_others_stay(self, file: Path, new: Path) -> None:
        damaged = rewritten(file, "catalog.db", b"no database at all" * 100)
        new.mkdir()
        for home in (new / "deep" / "home", new, new.parent / "other" / "home"):
            with pytest.raises(CatalogueCorrupt):
                restore(damaged, home)
            assert (left(new), new.exists()) == ([], True)
        assert not (new.parent / "other").exists()

    def test_what_cannot_be_put_in_place_leaves_what_was_there_alone(self, file: Path, new: Path) -> None:
        def somebody_writes(what: str, _done: int, _total: int) -> None:
            if what == "checking":
                write_files(new, {"evaluations/mine.json": "{}"})

        with pytest.raises(StorageFull):
            restore(rewritten(rewritten(file, "config.toml", b""), "evaluations/a.json", b"{}"), new, somebody_writes)
        assert left(new) == ["evaluations"]
        assert left(new / "evaluations") == ["mine.json"]


def _stop_at(step: str) -> Callable[[str, int, int], None]:
    def on_step(what: str, _done: int, _total: int) -> None:
        if what == step:
            raise KeyboardInterrupt

    return on_step


@pytest.mark.parametrize("name", ["catalog.db", "config.toml", "index/1-1/keyword/meta.json", "evaluations/a.json"])
def test_these_may_be_in_a_backup(name: str) -> None:
    assert KIND.may_hold(name)
