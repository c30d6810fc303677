"""A collection becomes one file and is taken in elsewhere: whole, without embedding, or not at all."""

from __future__ import annotations

import hashlib
import io
import json
import shutil
import threading
import tracemalloc
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from counting_embedder import CountingEmbedder
from small_pdf import pdf
from sqlalchemy import func, select

from pinakes.catalog import events, schema, sources
from pinakes.catalog.engine import now
from pinakes.core.caller import Caller, calling
from pinakes.core.errors import InvalidInput, InvalidName, NotFound, StorageFull, Unreadable
from pinakes.core.records import Results
from pinakes.library import Library
from pinakes.platform.archives import MANIFEST
from pinakes.testing import FILES, write_files

QUERY = "earthworms of the badger"
OWLS = "# Owls\n\nOwls hunt mice in the dark, and hear them under snow.\n"

Lines = list[dict[str, Any]]


@pytest.fixture
def zoo(library: Library, docs: Path) -> Library:
    """The corpus from a folder and a document put by itself, in a collection with settings of its own."""
    library.collecting.create("zoo", "About animals.", retrieval="hybrid", label="animals")
    library.add(str(write_files(docs)), "zoo")
    library.documents.put(OWLS, title="Owls", collection="zoo", tags=["night"], summary="Hunters of the night.")
    return library


@pytest.fixture
def other(tmp_path: Path) -> Iterator[Library]:
    """Another home, as on another machine."""
    settings: dict[str, Any] = {"embedding__provider": "deterministic", "cache": str(tmp_path / "cache")}
    with Library.open(tmp_path / "other", **settings) as opened:
        yield opened


@pytest.fixture
def file(zoo: Library, tmp_path: Path) -> Path:
    zoo.exchange.export("zoo", tmp_path / "zoo.zip")
    return tmp_path / "zoo.zip"


def answer(found: Results) -> list[tuple[str, int, float, str]]:
    return [(hit.path, hit.chunk_index, hit.score, hit.document_id) for hit in found.hits]


def count(library: Library, *tables: str) -> dict[str, int]:
    with library.app.catalog.read() as connection:
        found = {name: select(func.count()).select_from(schema.metadata.tables[name]) for name in tables}
        return {name: int(connection.execute(query).scalar_one()) for name, query in found.items()}


def rows(library: Library, name: str, collection: str) -> Lines:
    """Return what a collection has in a table, less the ids of its home."""
    record, table, own = library.collection(collection), schema.metadata.tables[name], schema.documents
    query = select(table).where(own.c.collection_id == record.id)
    query = query.select_from(table if table is own else table.join(own, own.c.id == table.c.document_id))
    with library.app.catalog.read() as connection:
        found = connection.execute(query.order_by(table.c.id)).mappings().all()
    ids = {"id", "collection_id", "document_id", "source_id"}
    return [{key: value for key, value in row.items() if key not in ids} for row in found]


def lines(file: Path, member: str) -> Lines:
    with zipfile.ZipFile(file) as archive:
        return [json.loads(line) for line in archive.read(member).splitlines()]


def changed(
    file: Path, members: dict[str, bytes] | None = None, tell: Callable[[dict[str, Any]], object] | None = None
) -> Path:
    """Write the archive anew with other members and another manifest, their sums right."""
    with zipfile.ZipFile(file) as archive:
        held = {name: archive.read(name) for name in archive.namelist()} | (members or {})
    manifest = json.loads(held.pop(MANIFEST))
    for name, data in held.items():
        manifest["members"][name] = {"bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}
    if tell is not None:
        tell(manifest)
    place = file.with_name("changed.zip")
    with zipfile.ZipFile(place, "w") as archive:
        for name, data in {**held, MANIFEST: json.dumps(manifest).encode()}.items():
            archive.writestr(name, data)
    return place


def with_line(file: Path, member: str, change: Callable[[dict[str, Any]], object]) -> Path:
    """Change the first line of a member."""
    every = lines(file, member)
    change(every[0])
    return changed(file, {member: b"".join(json.dumps(line).encode() + b"\n" for line in every)})


class TestThereAndBack:
    def test_the_other_home_holds_the_same_and_answers_alike(self, zoo: Library, other: Library, file: Path) -> None:
        done = other.exchange.take_in(file)
        assert (done.collection, done.documents, done.pending, done.renamed) == ("zoo", len(FILES) + 1, 0, 0)
        assert answer(other.search(QUERY, "zoo")) == answer(zoo.search(QUERY, "zoo"))
        assert answer(other.search("hunters", "zoo")) == answer(zoo.search("hunters", "zoo"))
        assert other.verify() == {"zoo": []}
        for name in ("documents", "chunks", "fields"):
            assert rows(other, name, "zoo") == rows(zoo, name, "zoo")
        one, two = zoo.collection("zoo"), other.collection("zoo")
        assert (one.description, one.kept, one.fingerprint) == (two.description, two.kept, two.fingerprint)
        assert two.embedding is None

    @pytest.mark.parametrize("code", ["LOCKED", None])
    def test_a_file_that_was_skipped_is_tried_again_there(
        self, library: Library, other: Library, docs: Path, tmp_path: Path, code: str | None
    ) -> None:
        (docs / "a.pdf").write_bytes(pdf("Owls", locked=True))
        library.add(str(docs), "locked")
        library.exchange.export("locked", tmp_path / "locked.zip")
        [line] = lines(tmp_path / "locked.zip", "files.jsonl")
        assert (line["status"], line["code"]) == ("skipped", "LOCKED")
        line["code"] = code  # archives from before there were codes have none
        done = other.exchange.take_in(changed(tmp_path / "locked.zip", {"files.jsonl": json.dumps(line).encode()}))
        with other.app.catalog.read() as connection:
            [source] = sources.list_all(connection, other.collection(done.collection).id)
            [record] = sources.manifest(connection, source.id).values()
        assert (record.code, bool(record.fingerprint)) == (code, code is not None)

    def test_a_path_is_kept_as_this_home_keeps_paths(
        self, other: Library, file: Path, docs: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("HOME", str(docs.parent))
        done = other.exchange.take_in(with_line(file, "sources.jsonl", lambda line: line.update(location="~/docs")))
        assert [one.location for one in other.syncing.list_all()] == [str(docs)]
        assert other.sync(done.collection)[0].unchanged == len(FILES)

    def test_nothing_is_embedded(self, other: Library, file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        counting = CountingEmbedder()
        monkeypatch.setattr(other.app, "embedder", counting)
        assert other.exchange.take_in(file).vectors > 0
        assert counting.texts == []

    def test_its_files_are_known_so_a_sync_reads_only_what_changed(
        self, other: Library, file: Path, docs: Path
    ) -> None:
        other.exchange.take_in(file)
        write_files(docs, {"new.md": "# New\n\nA new aviary.\n"})
        [report] = other.sync("zoo")
        assert (report.added, report.changed, report.unchanged, report.embedded) == (1, 0, len(FILES), 1)

    def test_without_its_sources_no_sync_reads_it_again(self, other: Library, file: Path) -> None:
        done = other.exchange.take_in(file, sources=False)
        assert done.sources == ()
        assert other.sync("zoo") == []
        assert other.status("zoo")[0].documents == len(FILES) + 1

    def test_a_document_can_be_changed_and_deleted_there(self, other: Library, file: Path) -> None:
        other.exchange.take_in(file)
        hit = other.search("owls mice", "zoo", mode="keyword").hits[0]
        other.documents.update(hit.document_id, text="# Owls\n\nOwls sleep by day.\n", collection="zoo")
        assert other.search("sleep", "zoo", mode="keyword").hits[0].document_id == hit.document_id
        other.documents.delete(hit.document_id, collection="zoo")
        assert other.search("sleep", "zoo", mode="keyword").hits == ()
        assert other.verify() == {"zoo": []}

    def test_an_empty_collection_goes_there_and_back(self, library: Library, other: Library, tmp_path: Path) -> None:
        library.collecting.create("nothing", "Still empty.")
        library.exchange.export("nothing", tmp_path / "nothing.zip")
        assert other.exchange.take_in(tmp_path / "nothing.zip").documents == 0
        assert other.collection("nothing").description == "Still empty."


class TestBesideTheOriginal:
    def test_a_name_that_is_taken_is_refused_with_what_to_do(self, zoo: Library, file: Path) -> None:
        with pytest.raises(InvalidName, match="'zoo' already") as caught:
            zoo.exchange.take_in(file)
        assert "--as" in caught.value.hint

    def test_under_another_name_documents_get_new_ids(self, zoo: Library, file: Path) -> None:
        before = answer(zoo.search(QUERY, "zoo"))
        done = zoo.exchange.take_in(file, "copy")
        assert done.renamed == done.documents == len(FILES) + 1
        there = answer(zoo.search(QUERY, "copy"))
        assert [one[:3] for one in there] == [one[:3] for one in before]
        assert {one[3] for one in there}.isdisjoint(one[3] for one in before)
        assert answer(zoo.search(QUERY, "zoo")) == before
        assert zoo.verify() == {"copy": [], "zoo": []}

    @pytest.mark.parametrize("name", ["../evil", "", "*", "a,b"])
    def test_a_name_that_cannot_be_makes_nothing(self, other: Library, file: Path, name: str) -> None:
        with pytest.raises(InvalidName):
            other.exchange.take_in(file, name or " ")
        assert other.collections() == []


class TestHistories:
    def test_they_come_along_where_wanted(self, zoo: Library, other: Library, tmp_path: Path) -> None:
        owls = zoo.search("owls mice", "zoo", mode="keyword").hits[0].document_id
        zoo.documents.update(owls, text="# Owls\n\nOwls sleep by day.\n", collection="zoo")
        gone = zoo.documents.put("# Bats\n\nBats hang.\n", title="Bats", collection="zoo").document
        zoo.documents.delete(gone.uid, collection="zoo")
        done = zoo.exchange.export("zoo", tmp_path / "zoo.zip", history=True)
        assert other.exchange.take_in(tmp_path / "zoo.zip").versions == done.versions
        assert other.documents.history(owls, collection="zoo") == zoo.documents.history(owls, collection="zoo")
        assert "hear them under snow" in other.read(owls, "zoo", version=1).text
        other.documents.restore(gone.uid, collection="zoo")
        assert other.read(gone.uid, "zoo").text.startswith("# Bats")

    def test_without_them_a_document_begins_with_the_version_it_has(
        self, zoo: Library, other: Library, tmp_path: Path
    ) -> None:
        owls = zoo.search("owls mice", "zoo", mode="keyword").hits[0].document_id
        zoo.documents.update(owls, title="The owls", collection="zoo")
        zoo.exchange.export("zoo", tmp_path / "zoo.zip")
        other.exchange.take_in(tmp_path / "zoo.zip")
        assert [version.number for version in other.documents.history(owls, collection="zoo")] == [2]
        other.documents.update(owls, title="Owls again", collection="zoo")
        assert [one.number for one in other.documents.history(owls, collection="zoo")] == [3, 2]
        assert "mice" in other.read(owls, "zoo", version=2).text


class TestModels:
    def test_another_model_that_runs_here_comes_as_its_own(self, other: Library, file: Path) -> None:
        def of_another_model(manifest: dict[str, Any]) -> None:
            model = manifest["collection"]["model"]
            model["fingerprint"] = "onnx/elsewhere/384"
            model["settings"] |= {"provider": "onnx", "model": "elsewhere", "path": "/models/elsewhere"}

        done = other.exchange.take_in(changed(file, tell=of_another_model))
        record = other.collection("zoo")
        assert (done.own_model, done.pending, record.fingerprint) == (True, 0, "onnx/elsewhere/384")
        assert record.embedding is not None
        assert (record.embedding["model"], record.embedding["path"]) == ("elsewhere", None)
        assert "keeps the model" in done.notes[0]
        assert other.verify() == {"zoo": []}
        assert other.search(QUERY, "zoo", mode="keyword").hits

    def test_no_archive_decides_which_server_is_asked(self, other: Library, file: Path) -> None:
        def of_a_server(manifest: dict[str, Any]) -> None:
            model = manifest["collection"]["model"]
            model["fingerprint"] = "openai/there/384"
            model["settings"] |= {"provider": "openai"}

        done = other.exchange.take_in(changed(file, tell=of_a_server))
        assert (done.own_model, done.model, done.vectors) == (False, "", 0)
        assert done.pending == done.chunks
        assert other.collection("zoo").embedding is None
        other.embed_pending("zoo")
        assert other.status("zoo")[0].pending == 0
        assert other.verify() == {"zoo": []}

    def test_its_vectors_can_be_left_out(self, other: Library, file: Path) -> None:
        done = other.exchange.take_in(file, embed_anew=True)
        assert (done.vectors, done.pending) == (0, done.chunks)
        assert "as was wanted" in done.notes[0]

    def test_what_waited_for_vectors_waits_there_too(
        self, open_library: Callable[..., Library], docs: Path, other: Library, tmp_path: Path
    ) -> None:
        library = open_library(embedding__provider="onnx", embedding__path=str(tmp_path / "no-model"))
        library.add(str(write_files(docs)), "zoo")
        done = library.exchange.export("zoo", tmp_path / "zoo.zip")
        assert done.pending == done.chunks > 0
        assert other.exchange.take_in(tmp_path / "zoo.zip").pending == done.chunks

    def test_vectors_of_texts_it_does_not_hold_are_not_taken(self, other: Library, file: Path) -> None:
        key = hashlib.sha256(b"a text of somebody else").digest()[:16]
        with zipfile.ZipFile(file) as archive:
            keys, vectors = archive.read("vectors.keys"), archive.read("vectors.npy")
        array = np.load(io.BytesIO(vectors))
        more = io.BytesIO()
        np.save(more, np.vstack([array, array[:1]]))
        members = {"vectors.keys": keys + key.hex().encode() + b"\n", "vectors.npy": more.getvalue()}

        def one_more(manifest: dict[str, Any]) -> None:
            manifest["collection"]["counts"]["vectors"] += 1

        other.exchange.take_in(changed(file, members, one_more))
        with other.app.catalog.read() as connection:
            assert key not in set(connection.scalars(select(schema.embeddings.c.key)))


def other_key(line: dict[str, Any]) -> None:
    line["chunks"][0]["key"] = "00" * 16


def other_text(line: dict[str, Any]) -> None:
    line["text"] = line["text"].upper()


def outside(line: dict[str, Any]) -> None:
    line["chunks"][0]["end"] = 10**9


def no_metadata(line: dict[str, Any]) -> None:
    line["metadata"] = "words"


def foreign(line: dict[str, Any]) -> None:
    line["password"] = "secret"


def no_source(line: dict[str, Any]) -> None:
    line["source"] = 7


def no_time(line: dict[str, Any]) -> None:
    line["created_at"] = "yesterday"


def no_zone(line: dict[str, Any]) -> None:
    line["updated_at"] = "2026-01-31T18:00:00"


def enormous(line: dict[str, Any]) -> None:
    line["chunks"][0]["token_count"] = 10**30


def not_to_be_added_up(line: dict[str, Any]) -> None:
    line["chunks"][0]["token_count"] = 2**62


def last_version(line: dict[str, Any]) -> None:
    line["version"] = 2**63 - 1


def with_login(line: dict[str, Any]) -> None:
    line |= {"kind": "git", "location": "https://user:secret@git.example.org/x"}


def before_time(line: dict[str, Any]) -> None:
    line["synced_at"] = "0001-01-01T00:00:00+14:00"


def no_number(line: dict[str, Any]) -> None:
    line["metadata"] = {"x": float("nan")}


def of_no_kind(line: dict[str, Any]) -> None:
    line["kind"] = "ftp"


def odd_options(line: dict[str, Any]) -> None:
    line["options"] = {"include": 5}


def never(line: dict[str, Any]) -> None:
    line["synced_at"] = "never"


class TestRefusals:
    @pytest.mark.parametrize(
        ("member", "change"),
        [
            *(("documents.jsonl", one) for one in (other_key, other_text, outside, no_metadata, foreign, no_source)),
            *(("documents.jsonl", one) for one in (no_time, no_zone, enormous, no_number)),
            *(("documents.jsonl", one) for one in (not_to_be_added_up, last_version)),
            *(("sources.jsonl", one) for one in (of_no_kind, odd_options, never, with_login, before_time)),
        ],
    )
    def test_a_line_that_cannot_be_leaves_everything_as_it_was(
        self, zoo: Library, file: Path, member: str, change: Callable[[dict[str, Any]], None]
    ) -> None:
        before = count(zoo, "collections", "documents", "chunks", "embeddings", "changes", "versions", "sources")
        with pytest.raises(Unreadable, match="cannot be used"):
            zoo.exchange.take_in(with_line(file, member, change), "copy")
        after = count(zoo, "collections", "documents", "chunks", "embeddings", "changes", "versions", "sources")
        assert after == before
        assert zoo.verify() == {"zoo": []}

    @pytest.mark.parametrize(
        ("members", "words"),
        [
            ({"documents.jsonl": b""}, "0 documents"),
            ({"documents.jsonl": b"no JSON\n"}, "line 1 of 'documents.jsonl'"),
            ({"vectors.npy": b"\x93NUMPY\x01\x00"}, "no float16 array"),
            ({"vectors.npy": b"\x80\x04\x95pickle"}, "no float16 array"),
            ({"vectors.keys": b"no key\n"}, "no key"),
            ({"vectors.keys": b""}, "do not belong together"),
        ],
    )
    def test_members_that_cannot_be_are_refused(
        self, other: Library, file: Path, members: dict[str, bytes], words: str
    ) -> None:
        with pytest.raises(Unreadable, match=words):
            other.exchange.take_in(changed(file, members))
        assert count(other, "collections", "documents", "embeddings") == {
            "collections": 0,
            "documents": 0,
            "embeddings": 0,
        }

    @pytest.mark.parametrize("value", [np.nan, np.inf, 0.0, 3.0])
    def test_vectors_that_are_not_of_unit_length_are_refused(self, other: Library, file: Path, value: float) -> None:
        with zipfile.ZipFile(file) as archive:
            vectors = np.load(io.BytesIO(archive.read("vectors.npy")))
        wrong = io.BytesIO()
        np.save(wrong, np.full_like(vectors, value))
        with pytest.raises(Unreadable, match="unit length"):
            other.exchange.take_in(changed(file, {"vectors.npy": wrong.getvalue()}))

    def test_two_documents_of_one_id_are_refused(self, other: Library, file: Path) -> None:
        every = lines(file, "documents.jsonl")
        every[1]["uid"] = every[0]["uid"]
        members = {"documents.jsonl": b"".join(json.dumps(line).encode() + b"\n" for line in every)}
        with pytest.raises(Unreadable, match="the same id"):
            other.exchange.take_in(changed(file, members))

    @pytest.mark.parametrize(("member", "field"), [("documents.jsonl", "uri"), ("files.jsonl", "path")])
    def test_what_is_there_twice_is_refused(self, other: Library, file: Path, member: str, field: str) -> None:
        every = lines(file, member)
        every[1][field] = every[0][field]
        members = {member: b"".join(json.dumps(line).encode() + b"\n" for line in every)}
        with pytest.raises(Unreadable, match="something twice"):
            other.exchange.take_in(changed(file, members))

    def test_a_backup_is_no_archive_of_a_collection(self, zoo: Library, other: Library, tmp_path: Path) -> None:
        zoo.exchange.back_up(tmp_path / "home.zip")
        with pytest.raises(Unreadable, match="no archive of a collection"):
            other.exchange.take_in(tmp_path / "home.zip")

    def test_settings_that_this_version_does_not_know_are_refused(self, other: Library, file: Path) -> None:
        def more(manifest: dict[str, Any]) -> None:
            manifest["collection"]["settings"]["colour"] = "red"

        with pytest.raises(Unreadable, match="colour"):
            other.exchange.take_in(changed(file, tell=more))

    def test_where_there_is_no_room_nothing_is_begun(
        self, other: Library, file: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        usage = shutil.disk_usage(file.parent)
        monkeypatch.setattr(shutil, "disk_usage", lambda _: usage._replace(free=10))
        with pytest.raises(StorageFull, match="10 are free"):
            other.exchange.take_in(file)

    def test_a_collection_that_is_not_there_is_not_exported(self, library: Library, tmp_path: Path) -> None:
        with pytest.raises(NotFound):
            library.exchange.export("none", tmp_path / "none.zip")
        assert not (tmp_path / "none.zip").exists()

    def test_a_file_is_not_replaced_unless_that_is_said(self, zoo: Library, file: Path) -> None:
        with pytest.raises(InvalidInput, match="is there already"):
            zoo.exchange.export("zoo", file)
        zoo.exchange.export("zoo", file, force=True)

    def test_being_stopped_on_the_way_leaves_nothing(self, other: Library, file: Path) -> None:
        def stop(what: str, done: int, _total: int) -> None:
            if what == "documents" and done == 3:
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt) as stopped:
            other.exchange.take_in(file, on_step=stop)
        assert str(stopped.value) == ""
        assert other.collections() == []
        other.exchange.take_in(file)
        assert other.verify() == {"zoo": []}

    def test_being_stopped_once_it_is_in_is_told_as_that(self, other: Library, file: Path) -> None:
        def stop(what: str, _done: int, _total: int) -> None:
            if what == "index":
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt, match="stopped, but zoo is in, all of it"):
            other.exchange.take_in(file, on_step=stop)
        assert other.search(QUERY, "zoo").hits
        assert other.verify() == {"zoo": []}


def test_an_import_is_told_at_its_own_time_and_by_whom_it_is_made(zoo: Library, other: Library, tmp_path: Path) -> None:
    uid = zoo.documents.put("Hares run.\n", title="Hares", collection="zoo").document.uid
    zoo.documents.update(uid, title="Hares, too", collection="zoo")
    zoo.exchange.export("zoo", tmp_path / "all.zip", history=True)
    before = now()
    with calling(Caller("agent", "mcp")):
        other.exchange.take_in(tmp_path / "all.zip")
    with other.app.catalog.read() as connection:
        told = [one for one in events.after(connection, 0, 100) if one.operation == "copied"]
    assert len(told) == len(FILES) + 2
    assert all(one.at >= before and one.by == "agent (mcp)" and not one.changed for one in told)


def test_it_is_of_one_moment_while_others_write(zoo: Library, other: Library, docs: Path, tmp_path: Path) -> None:
    begun, written = threading.Event(), threading.Event()

    def write() -> None:
        begun.wait(20)
        zoo.documents.put("# Late\n\nToo late.\n", title="Late", collection="zoo")
        (docs / "animals" / "badger.md").write_text("# Badger\n\nAnother text altogether.\n")
        zoo.sync("zoo")
        written.set()

    def on_step(_what: str, _done: int, _total: int) -> None:
        begun.set()
        assert written.wait(20)

    writer = threading.Thread(target=write)
    writer.start()
    before = answer(zoo.search(QUERY, "zoo"))
    zoo.exchange.export("zoo", tmp_path / "zoo.zip", on_step=on_step)
    writer.join()
    other.exchange.take_in(tmp_path / "zoo.zip")
    assert answer(other.search(QUERY, "zoo")) == before
    assert zoo.status("zoo")[0].documents == other.status("zoo")[0].documents + 1


def test_memory_does_not_grow_with_the_collection(library: Library, other: Library, docs: Path, tmp_path: Path) -> None:
    peaks = []
    for size in (50, 400):
        name = f"n{size}"
        words = " ".join(f"word{number}" for number in range(600))
        write_files(docs / name, {f"{number}.md": f"# {number}\n\n{words} {number}\n" for number in range(size)})
        library.add(str(docs / name), name)
        place = tmp_path / f"{name}.zip"
        tracemalloc.start()
        library.exchange.export(name, place)
        written = tracemalloc.get_traced_memory()[1]
        tracemalloc.reset_peak()
        other.app.index = _no_index  # type: ignore[method-assign]
        with pytest.raises(_Taken):
            other.exchange.take_in(place)
        peaks.append((written, tracemalloc.get_traced_memory()[1]))
        tracemalloc.stop()
    (small_out, small_in), (large_out, large_in) = peaks
    assert large_out < small_out + 1_000_000  # the texts alone are 2 MB more
    assert large_in < small_in + 6_000_000  # one batch of documents


class _Taken(Exception):
    """All is in the catalogue; what the index takes is not measured."""


def _no_index(*_: object, **__: object) -> Any:
    raise _Taken
