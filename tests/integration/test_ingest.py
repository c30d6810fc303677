"""From files to a searchable collection, and what happens when the files change."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from counting_embedder import CountingEmbedder

from pinakes.catalog import documents, events
from pinakes.core.errors import InvalidName, NotFound, SourceError
from pinakes.ingestion.report import Event
from pinakes.library import Library
from pinakes.models.embedders import EMBEDDERS
from pinakes.testing import FILES, write_files

OpenLibrary = Callable[..., Library]


@pytest.fixture
def counting(open_library: OpenLibrary, monkeypatch: pytest.MonkeyPatch) -> Library:
    monkeypatch.setitem(EMBEDDERS, "counting", "counting_embedder:CountingEmbedder")
    return open_library(embedding__provider="counting")


def embedded(library: Library) -> list[str]:
    embedder = library.app.embedder
    assert isinstance(embedder, CountingEmbedder)
    texts, embedder.texts = embedder.texts, []
    return texts


def paths(library: Library, collection: str = "default") -> list[str]:
    with library.app.catalog.read() as connection:
        return sorted(documents.paths(connection, library.collection(collection).id))


def ids(library: Library) -> dict[str, int]:
    with library.app.catalog.read() as connection:
        rows = [documents.find(connection, library.collection().id, path)[0] for path in paths(library)]
    return {row.path: row.id for row in rows}


def chunk_ids(library: Library) -> list[int]:
    return [int(chunk_id) for chunk_id in library.app.index("default")[1].contents()["keyword"]]


def whole(library: Library) -> bool:
    return not any(library.verify().values())


def test_a_folder_becomes_searchable(library: Library, docs: Path) -> None:
    report = library.add(str(write_files(docs)))
    assert (report.added, report.failed, report.degraded) == (len(FILES), [], None)
    assert report.embedded + report.reused == report.chunks > 0
    assert paths(library) == sorted(FILES)
    assert library.search("earthworms").hits[0].path == "animals/badger.md"
    assert whole(library)


def test_a_second_add_does_nothing(counting: Library, docs: Path) -> None:
    counting.add(str(write_files(docs)))
    before = ids(counting), chunk_ids(counting)
    embedded(counting)
    report = counting.add(str(docs))
    assert (report.unchanged, report.added, report.changed, report.removed) == (len(FILES), 0, 0, 0)
    assert embedded(counting) == []
    assert (ids(counting), chunk_ids(counting)) == before


def test_a_touched_file_with_the_same_content_is_left_alone(counting: Library, docs: Path) -> None:
    counting.add(str(write_files(docs)))
    before = chunk_ids(counting)
    for path in FILES:
        os.utime(docs / path, (1, 1))
    events: list[Event] = []
    report = counting.add(str(docs), on_event=events.append)
    assert [event.detail for event in events if event.stage == "read"] == sorted(FILES), "fingerprints differ"
    assert (report.unchanged, report.changed, chunk_ids(counting)) == (len(FILES), 0, before)
    events.clear()
    counting.add(str(docs), on_event=events.append)
    assert [event for event in events if event.stage == "read"] == [], "the new fingerprints were remembered"


def test_a_changed_file_is_read_again_and_only_that(counting: Library, docs: Path) -> None:
    counting.add(str(write_files(docs)))
    before = ids(counting)
    embedded(counting)
    (docs / "animals/otter.md").write_text("# Otter\n\nOtters juggle stones.\n")
    report = counting.add(str(docs))
    assert (report.changed, report.unchanged, report.added) == (1, len(FILES) - 1, 0)
    assert len(embedded(counting)) == 1
    assert ids(counting) == before
    assert counting.search("juggle", mode="keyword").hits[0].path == "animals/otter.md"
    assert "river" not in {word for hit in counting.search("river", mode="keyword").hits for word in hit.text.split()}
    assert whole(counting)


def test_a_renamed_file_stays_the_same_document(counting: Library, docs: Path) -> None:
    counting.add(str(write_files(docs)))
    before, chunks = ids(counting), chunk_ids(counting)
    embedded(counting)
    (docs / "birds").mkdir()
    (docs / "animals/heron.md").rename(docs / "birds/grey-heron.md")
    report = counting.add(str(docs))
    assert (report.moved, report.added, report.removed, report.changed) == (1, 0, 0, 0)
    assert embedded(counting) == []
    assert chunk_ids(counting) == chunks
    assert ids(counting)["birds/grey-heron.md"] == before["animals/heron.md"]
    assert counting.search("heron", filters={"path": "birds/*"}).hits[0].path == "birds/grey-heron.md"
    assert counting.search("heron", filters={"path": "animals/heron.md"}).hits == ()
    assert whole(counting)


def test_a_renamed_folder_keeps_all_its_documents(counting: Library, docs: Path) -> None:
    for number in range(40):
        write_files(docs, {f"old/{number}.md": f"# N{number}\n\nText {number % 3}.\n"})
    counting.add(str(docs))
    chunks = chunk_ids(counting)
    (docs / "old").rename(docs / "new")
    report = counting.add(str(docs))
    assert (report.moved, report.added, report.removed) == (40, 0, 0)
    assert chunk_ids(counting) == chunks
    assert whole(counting)


def test_a_file_renamed_to_another_kind_is_read_by_the_other_reader(library: Library, docs: Path) -> None:
    (docs / "a.md").write_text("# Feeding\n\nx = 1\n")
    library.add(str(docs))
    (docs / "a.md").rename(docs / "a.py")
    report = library.add(str(docs))
    assert (report.moved, report.added, report.removed) == (0, 1, 1)
    assert library.read("a.py").document.kind == "code"
    assert whole(library)


def test_two_files_that_swap_names_swap_content(library: Library, docs: Path) -> None:
    write_files(docs, {"a.md": "alpha text\n", "b.md": "beta text\n"})
    library.add(str(docs))
    (docs / "a.md").rename(docs / "c.md")
    (docs / "b.md").rename(docs / "a.md")
    (docs / "c.md").rename(docs / "b.md")
    library.add(str(docs))
    assert (library.read("a.md").text.strip(), library.read("b.md").text.strip()) == ("beta text", "alpha text")
    assert paths(library) == ["a.md", "b.md"]
    assert whole(library)


def test_a_deleted_file_is_gone_everywhere(library: Library, docs: Path) -> None:
    library.add(str(write_files(docs)))
    (docs / "animals/badger.md").unlink()
    report = library.add(str(docs))
    assert report.removed == 1
    assert library.search("earthworms", mode="keyword").hits == ()
    with pytest.raises(NotFound):
        library.read("animals/badger.md")
    assert whole(library)


@pytest.mark.parametrize("content", [b"", b"  \n", b"\x7fELF\x00\x01\x02\xff\xfe" * 50])
def test_a_file_that_becomes_empty_or_binary_leaves_the_collection(
    content: bytes, library: Library, docs: Path
) -> None:
    library.add(str(write_files(docs)))
    (docs / "animals/badger.md").write_bytes(content)
    report = library.add(str(docs))
    assert report.removed == 1
    assert [skipped.path for skipped in report.skipped] == ["animals/badger.md"]
    assert "animals/badger.md" not in paths(library)
    assert [problem["path"] for problem in library.status()[0].problems] == ["animals/badger.md"]
    assert whole(library)
    (docs / "animals/badger.md").write_text("Badgers are back.\n")
    assert library.add(str(docs)).added == 1
    assert library.search("badgers back").hits[0].path == "animals/badger.md"
    assert library.status()[0].problems == ()


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read every file")
def test_a_file_that_cannot_be_read_is_tried_again(library: Library, docs: Path) -> None:
    library.add(str(write_files(docs)))
    path = docs / "animals/badger.md"
    path.write_text("Badgers dig.\n")
    path.chmod(0)
    report = library.add(str(docs))
    assert [failed.path for failed in report.failed] == ["animals/badger.md"]
    assert "animals/badger.md" in paths(library), "what was read before stays"
    path.chmod(0o600)
    assert library.add(str(docs)).changed == 1


def test_a_file_that_keeps_failing_is_tried_each_time(
    library: Library, docs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    library.add(str(write_files(docs)))
    path = docs / "animals/badger.md"
    path.write_text("Badgers dig.\n")
    events: list[Event] = []

    def vanish(event: Event) -> None:
        events.append(event)
        if event.stage == "scan" and event.total:
            path.rename(docs / "elsewhere")

    report = library.add(str(docs), on_event=vanish)
    assert [failed.path for failed in report.failed] == ["animals/badger.md"]
    assert library.status()[0].sources[0]["error"] == "1 file failed"
    assert "earthworms" in library.read("animals/badger.md").text, "what was read before stays"
    (docs / "elsewhere").rename(path)
    report = library.add(str(docs))
    assert (report.changed, report.failed) == (1, [])
    assert library.status()[0].sources[0]["error"] is None
    assert "dig" in library.read("animals/badger.md").text


def test_identical_text_is_embedded_once(counting: Library, docs: Path) -> None:
    text = "# Same\n\nThe very same words.\n"
    write_files(docs, {f"{number}.md": text for number in range(5)})
    report = counting.add(str(docs))
    assert len(embedded(counting)) == 1
    assert (report.chunks, report.embedded, report.reused) == (5, 1, 4)
    write_files(docs, {"more/6.md": text})
    counting.add(str(docs))
    counting.add(str(docs), "another")
    assert embedded(counting) == []
    [hit] = counting.search("very same words", "default", mode="vector").hits
    assert len(hit.duplicates) == 5
    assert whole(counting)


def test_other_sizes_mean_reading_everything_again(open_library: OpenLibrary, docs: Path) -> None:
    text = "\n\n".join(f"Paragraph {number} " + "word " * 40 for number in range(10))
    write_files(docs, {"a.md": text, "b.md": "Short.\n"})
    library = open_library()
    few = library.add(str(docs)).chunks
    library = open_library(chunking__size=60)
    report = library.add(str(docs))
    assert (report.changed, report.added) == (2, 0)
    assert library.status()[0].chunks > few
    assert whole(library)
    assert library.add(str(docs)).unchanged == 2


def test_batches_may_be_as_small_as_one_chunk(open_library: OpenLibrary, docs: Path) -> None:
    library = open_library(ingest__batch_chunks=1)
    report = library.add(str(write_files(docs)))
    assert report.added == len(FILES)
    assert whole(library)


def test_progress_is_told(library: Library, docs: Path) -> None:
    events: list[Event] = []
    library.add(str(write_files(docs)), on_event=events.append)
    stages = [event.stage for event in events]
    assert stages[0] == "scan"
    assert stages[-1] == "index"
    assert [event.done for event in events if event.stage == "read"] == list(range(1, len(FILES) + 1))
    assert {"embed"} < set(stages)


def test_one_file_may_be_added(library: Library, docs: Path) -> None:
    write_files(docs)
    report = library.add(str(docs / "animals/otter.md"))
    assert report.added == 1
    assert library.search("river").hits[0].title == "Otter"


def test_globs_choose_and_unchoose(library: Library, docs: Path) -> None:
    write_files(docs)
    library.add(str(docs), include=["animals/**"], exclude=["*otter*"])
    assert paths(library) == ["animals/badger.md", "animals/heron.md"]
    library.add(str(docs), include=["animals/**"])
    assert paths(library) == ["animals/badger.md", "animals/heron.md", "animals/otter.md"]
    library.sync()
    assert len(paths(library)) == 3
    assert whole(library)


@pytest.mark.parametrize("how", ["exclude", "ignore file"])
def test_a_folder_that_is_left_out_later_leaves_the_collection(how: str, library: Library, docs: Path) -> None:
    library.add(str(write_files(docs)))
    if how == "exclude":
        library.add(str(docs), exclude=["animals/"], remove=True)
    else:
        (docs / ".gitignore").write_text("animals/\n")
        (docs / ".git").mkdir()
        library.add(str(docs))
    assert [path for path in paths(library) if path.startswith("animals/")] == []
    assert whole(library)


def test_a_folder_inside_another_may_be_a_source_too(library: Library, docs: Path) -> None:
    library.add(str(write_files(docs)))
    library.add(str(docs / "animals"), as_source=True)
    assert library.status()[0].documents == len(FILES), "one document per file, whichever source found it"
    library.add(str(docs / "animals"), exclude=["heron.md"])
    library.sync()
    assert any(path.endswith("heron.md") for path in paths(library)), "the outer source still has it"
    assert whole(library)


def test_a_source_that_is_gone_changes_nothing(library: Library, docs: Path) -> None:
    library.add(str(write_files(docs)))
    shutil.move(docs, docs.parent / "elsewhere")
    [report] = library.sync()
    assert isinstance(report.error, SourceError)
    assert "Nothing was removed" in report.error.hint
    with pytest.raises(NotFound):
        library.add(str(docs))
    assert len(paths(library)) == len(FILES)


@pytest.mark.parametrize("name", ["../evil", "a/b", ".", "x" * 300, "🦡"])
def test_a_bad_collection_name_is_refused_before_anything_is_read(name: str, library: Library, docs: Path) -> None:
    with pytest.raises(InvalidName):
        library.add(str(write_files(docs)), name)
    assert library.collections() == []


def test_metadata_that_cannot_be_stored_as_it_is_does_no_harm(library: Library, docs: Path) -> None:
    (docs / "a.json").write_text('{"title": "half \\ud800 pair", "nul": "a\\u0000b", "big": 1' + "0" * 400 + "}")
    (docs / "b.md").write_text("---\nbig: " + "9" * 400 + "\ndate: 2020-01-01\n---\nText of b.\n")
    report = library.add(str(docs))
    assert (report.added, report.failed, report.skipped) == (2, [], [])
    assert whole(library)


KEP: dict[str, Any] = {
    "collections": {
        "default": {
            "path_templates": [r"keps/{sig_name:sig-[^/]+}/{kep_number:\d+}-{slug}/{file}"],
            "document_key": "{sig_name}/{kep_number}",
            "group_metadata": "kep.yaml",
            "key_field": "kep_id",
        }
    }
}


class TestGroups:
    @pytest.fixture
    def keps(self, open_library: OpenLibrary, docs: Path) -> Library:
        write_files(
            docs,
            {
                "keps/sig-auth/1-tokens/README.md": "# Tokens\n\nBound tokens.\n",
                "keps/sig-auth/1-tokens/kep.yaml": "title: Bound Tokens\nstatus: implementable\n",
                "keps/sig-node/2-cpus/README.md": "# CPUs\n\nPinned tokens of time.\n",
                "keps/sig-node/2-cpus/kep.yaml": "title: CPU Pinning\nstatus: implemented\n",
            },
        )
        library = open_library(**KEP)
        library.add(str(docs))
        return library

    def statuses(self, library: Library) -> dict[str, Any]:
        hits = library.search("tokens", mode="keyword", filters={"file_name": "README.md"}).hits
        return {hit.metadata["kep_id"]: hit.metadata.get("status") for hit in hits}

    def found(self, library: Library, **where: str) -> list[str]:
        return sorted(hit.path for hit in library.search("tokens", filters={**where, "file_name": "README.md"}).hits)

    def test_a_group_shares_what_its_file_says(self, keps: Library) -> None:
        assert self.statuses(keps) == {"sig-auth/1": "implementable", "sig-node/2": "implemented"}
        assert self.found(keps, status="implemented") == ["keps/sig-node/2-cpus/README.md"]
        hit = keps.search("bound tokens", filters={"file_name": "README.md"}).hits[0]
        assert hit.chunk_id == f"sig-auth/1_{hit.chunk_index}"
        assert keps.status()[0].groups == 2

    def test_ranked_for_measuring_chunks_have_the_ids_that_search_gives_them(self, keps: Library) -> None:
        hits = keps.search("tokens", top_k=50).hits
        bare = keps.rank("tokens", depth=50).hits
        assert {hit.chunk_index for hit in hits} > {0}, "some follow others of their group"
        assert [(hit.chunk_id, hit.chunk_index) for hit in bare] == [(hit.chunk_id, hit.chunk_index) for hit in hits]

    def test_an_update_reaches_the_group(self, keps: Library, docs: Path) -> None:
        assert self.found(keps, status="implemented"), "the filter's answer is remembered"
        (docs / "keps/sig-node/2-cpus/kep.yaml").write_text("title: CPU Pinning\nstatus: withdrawn\n")
        keps.add(str(docs))
        assert self.statuses(keps)["sig-node/2"] == "withdrawn"
        assert self.found(keps, status="implemented") == []
        assert self.found(keps, status="withdrawn") == ["keps/sig-node/2-cpus/README.md"]

    @pytest.mark.parametrize("how", ["deleted", "emptied", "moved"])
    def test_losing_the_file_reaches_the_group(self, how: str, keps: Library, docs: Path) -> None:
        path = docs / "keps/sig-node/2-cpus/kep.yaml"
        if how == "deleted":
            path.unlink()
        elif how == "emptied":
            path.write_text("")
        else:
            (docs / "keps/sig-node/3-other").mkdir()
            path.rename(docs / "keps/sig-node/3-other/kep.yaml")
        keps.add(str(docs))
        assert self.statuses(keps)["sig-node/2"] is None
        assert self.found(keps, status="implemented") == []

    def test_a_changed_member_still_inherits(self, keps: Library, docs: Path) -> None:
        (docs / "keps/sig-node/2-cpus/README.md").write_text("# CPUs\n\nOther tokens.\n")
        keps.add(str(docs))
        assert self.statuses(keps)["sig-node/2"] == "implemented"

    def test_a_new_member_inherits(self, keps: Library, docs: Path) -> None:
        (docs / "keps/sig-node/2-cpus/notes.md").write_text("More about tokens.\n")
        keps.add(str(docs))
        assert keps.search("more tokens", filters={"status": "implemented", "file_name": "notes.md"}).hits

    def test_a_crash_after_a_batch_does_not_part_members_from_their_metadata(self, keps: Library, docs: Path) -> None:
        (docs / "keps/sig-node/2-cpus/README.md").write_text("# CPUs\n\nOther tokens.\n")

        def stop(event: Event) -> None:
            if event.stage == "embed":
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            keps.add(str(docs), on_event=stop)
        assert self.statuses(keps)["sig-node/2"] == "implemented"
        keps.add(str(docs))
        assert self.statuses(keps)["sig-node/2"] == "implemented"
        assert whole(keps)

    def test_other_templates_mean_reading_everything_again(
        self, keps: Library, open_library: OpenLibrary, docs: Path
    ) -> None:
        library = open_library()
        report = library.add(str(docs))
        assert report.changed == 4
        assert all("kep_id" not in hit.metadata for hit in library.search("tokens").hits)


def test_patterns_given_once_still_hold_when_the_source_is_added_again(library: Library, docs: Path) -> None:
    write_files(docs, {"a.md": "# Kept\n\nwords\n", "b.txt": "left out\n"})
    library.add(str(docs), include=["*.md"])
    again = library.add(str(docs))
    assert (again.unchanged, again.added, again.removed) == (1, 0, 0)
    assert paths(library) == ["a.md"]
    assert library.add(str(docs), include=["*.txt"], remove=True).removed == 1
    assert paths(library) == ["b.txt"]


def test_one_unreachable_source_does_not_keep_the_others_from_a_sync(
    library: Library, docs: Path, tmp_path: Path
) -> None:
    gone = tmp_path / "gone"
    write_files(docs, {"a.md": "# One\n\nwords\n"})
    write_files(gone, {"b.md": "# Two\n\nwords\n"})
    library.add(str(gone))
    library.add(str(docs))
    gone.rename(tmp_path / "elsewhere")
    (docs / "c.md").write_text("# Three\n\nwords\n")
    failed, done = library.sync()
    assert isinstance(failed.error, SourceError)
    assert done.added == 1
    assert paths(library) == ["a.md", "b.md", "c.md"]
    assert [source["error"] for source in library.status()[0].sources] == [failed.error.message, None]


def test_files_that_are_read_anew_for_other_patterns_are_the_versions_they_were(library: Library, docs: Path) -> None:
    read = library.add(str(docs)).added
    assert library.add(str(docs), exclude=["nothing.md"]).changed == read, "all were read again"
    with library.app.catalog.read() as connection:
        told = events.after(connection, 0, 1000, ("indexed", "updated", "deleted"))
    assert [(event.operation, event.version) for event in told] == [("created", 1)] * read
